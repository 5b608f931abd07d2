r"""Names: fully-qualified names, the escapes of CDL, the notation and text; and read-only mappings by name.

Names are unescaped and in NFC; each escape/unescape is an inverse pair. A FQN
(`/g1/a\ b`) follows the data model specification: `/` separates, `\/`, `\\` and
`\ ` are slash, backslash and blank; the dataset's name is not part of it.
"""

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

MAX_NAME_BYTES = 256
"""Maximum UTF-8 length of a name in the netCDF library (NC_MAX_NAME)."""

LONGEST = 1 << 16
"""Maximum characters of a name in the tree."""

CDL_SPECIAL = " !\"#$%&'()*,:;<=>?[\\]^`{|}~"
"""Characters escaped with a backslash in CDL names."""

_CDL_FIRST = frozenset("0123456789.@+-%")
"""Characters that are escaped at the start of a name in CDL."""
_CDL_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CDL_NEEDS = re.compile("[" + re.escape(CDL_SPECIAL) + "]")
_FQN_NEEDS = re.compile(r"[\\/ ]")
_FQN_PART = re.compile(r"/((?:[^\\/]|\\.)*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f/]")
_UNSEEN = (0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x206A), 0xFEFF)
DECEPTIVE = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    code: f"\\u{code:04x}" for code in _UNSEEN
}
"""Escapes of control characters, ends of lines, and characters without width or that change the direction of text."""


def normal(name: str) -> str:
    """Return the name in NFC, the form for comparison and storage, as in the netCDF library."""
    if name.isascii():
        return name
    import unicodedata  # only where a name is not ASCII

    return unicodedata.normalize("NFC", name)


@lru_cache(maxsize=1 << 12)
def problem(name: str) -> tuple[str, str] | None:
    """Return why the netCDF library would refuse this name, as (code, text), or None.

    Its rules: not empty, at most 256 bytes of UTF-8, no slash, no control
    character, no trailing space, first character a letter, digit, underscore or
    outside ASCII.
    """
    if not name:
        return "bad-name", "a name cannot be empty"
    if "/" in name:
        return "slash-in-name", f'name `{name}` contains "/", which is not allowed in netCDF names'
    if _CONTROL.search(name):
        return "bad-name", f"name {name!r} contains a control character"
    if name.endswith(" "):
        return "bad-name", f"name `{name}` ends in a space"
    first = name[0]
    if first.isascii() and not (first.isalnum() or first == "_"):
        return "bad-name", f"name `{name}` starts with `{first}`; names start with a letter, a digit or an underscore"
    size = len(name.encode("utf-8", "surrogatepass"))
    if size > MAX_NAME_BYTES:
        return "name-too-long", f"name `{name[:20]}…` is {size} bytes long; the limit is {MAX_NAME_BYTES}"
    return None


def is_unspeakable(name: str) -> bool:
    """Return whether a name has a slash or control character, which CDL cannot express."""
    return _UNSPEAKABLE.search(name) is not None


def readable(text: str, keep: str = "") -> str:
    """Return a text with control characters, direction marks and lone surrogates escaped, except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    escapes = {code: escape for code, escape in DECEPTIVE.items() if chr(code) not in keep} if keep else DECEPTIVE
    return text.translate(escapes).encode("utf-8", "backslashreplace").decode("utf-8")


def escape_fqn_part(name: str) -> str:
    """Escape slash, backslash and blank in one component of a FQN."""
    return _FQN_NEEDS.sub(lambda match: "\\" + match.group(), name)


def unescape_fqn_part(text: str) -> str:
    """Unescape one component of a FQN. Raises ValueError for other escapes."""

    def plain(match: re.Match[str]) -> str:
        if match.group(1) not in "\\/ ":
            raise ValueError(f"unknown escape `{match.group()}` in a name")
        return match.group(1)

    if text.endswith("\\") and not (len(text) - len(text.rstrip("\\"))) % 2 == 0:
        raise ValueError("a name ends in a lone backslash")
    return _CDL_ESCAPED.sub(plain, text)


def join(parent: str, name: str) -> str:
    """Return the FQN of `name` in the group `parent` (`/` for the root)."""
    written = escape_fqn_part(name) if _FQN_NEEDS.search(name) else name
    return "/" + written if parent == "/" else f"{parent}/{written}"


def fqn(parts: Iterable[str]) -> str:
    """Return the FQN of a path of names from the root; `/` for an empty path."""
    return "/" + "/".join(escape_fqn_part(part) for part in parts)


def split(path: str) -> tuple[str, ...]:
    """Return the names along a FQN; the inverse of `fqn`. Raises ValueError for an invalid FQN."""
    if path == "/":
        return ()
    if "\\" not in path and path[:1] == "/":  # by far the most; nothing is escaped
        return tuple(path[1:].split("/"))
    pieces = _FQN_PART.findall(path)
    if not path.startswith("/") or "".join("/" + piece for piece in pieces) != path:
        raise ValueError(f"not a fully qualified name: {path!r}")
    return tuple(unescape_fqn_part(piece) for piece in pieces)


def parent(path: str) -> str:
    """Return the FQN of the containing group."""
    return fqn(split(path)[:-1])


def last(path: str) -> str:
    """Return the simple name at the end of a FQN."""
    return split(path)[-1]


def to_bytes(text: str) -> bytes:
    """Encode a text as UTF-8; surrogate-escaped bytes are restored."""
    return text.encode("utf-8", "surrogateescape")


def from_bytes(data: bytes) -> str:
    """Invert `to_bytes`."""
    return data.decode("utf-8", "surrogateescape")


def escape_cdl(name: str) -> str:
    """Return the name in CDL, with non-ASCII spaces escaped; control characters, impossible in CDL, are unchanged."""
    text = _CDL_NEEDS.sub(lambda match: "\\" + match.group(), name)
    if not text.isascii():
        text = "".join(
            "\\" + character if not character.isascii() and is_strange(character) else character for character in text
        )
    return "\\" + text if text[:1] in _CDL_FIRST else text


def unescape_cdl(text: str) -> str:
    r"""Return the name of a CDL identifier: each backslash pair is its second character (`\?` too)."""
    return _CDL_ESCAPED.sub(r"\1", text) if "\\" in text else text


def is_strange(character: str) -> bool:
    """Return whether a character is a control or invisible space, which names of CDL or the notation must escape."""
    import unicodedata

    return unicodedata.category(character) in ("Cc", "Zs", "Zl", "Zp")


def bad_character(character: str) -> str:
    """Return the message for a character in an invalid place."""
    import unicodedata

    first = character[:1] or chr(0)  # the end of the text is taken for NUL
    code, name = f"U+{ord(first):04X}", unicodedata.name(first, "")
    category = unicodedata.category(first)
    if category in ("Zs", "Zl", "Zp"):
        return f"{code} {name} is not allowed as white space"
    if category == "Cc":
        return f"control character {code} is not allowed here"
    if category == "Cs":
        return "this byte is not UTF-8"
    return f"`{character}` is not allowed here" if character.isascii() else f"{code} {name} is not allowed here"


def free(name: str, is_taken: Callable[[str], bool]) -> str:
    """Return the name, or else the first of `name_2`, `name_3` and so on that is not taken."""
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain((name,), numbered) if not is_taken(candidate))


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the probably intended candidate, or None."""
    return _find_closest(name, tuple(candidates)[:5000])


@lru_cache(maxsize=64)  # a name that is wrong once is often wrong everywhere
def _find_closest(name: str, choices: tuple[str, ...]) -> str | None:
    """Return the probably intended choice, or None."""
    lowered = {candidate.lower(): candidate for candidate in choices}
    if name.lower() in lowered:
        return lowered[name.lower()]
    import difflib  # only where a name is wrong

    matches = difflib.get_close_matches(name, choices, n=1, cutoff=0.6)
    return matches[0] if matches else None


def list_first(shown: Iterable[str], most: int) -> str:
    """Return the first of some names in backticks, and the number of the others."""
    every = [f"`{name}`" for name in shown]
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def name_problem(name: str) -> str | None:
    """Return why no item of the tree can have this name, or None. The tree holds names that netCDF does not allow."""
    if not name:
        return "a name cannot be empty"
    if len(name) > LONGEST:
        return f"name `{name[:20]}…` is {len(name)} characters long; the limit is {LONGEST}"
    try:
        name.encode()
    except UnicodeEncodeError:
        return f"name {name!r} is not UTF-8"
    return None


def is_segment(name: str) -> bool:
    """Return whether an item can have this name where paths have no escapes: any one without a slash."""
    return 0 < len(name) <= LONGEST and "/" not in name


def list_texts(texts: str | Iterable[str]) -> tuple[str, ...]:
    """Return texts as a tuple; a text alone is one of them, not its characters."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def stem(path: str) -> str:
    """Return the default dataset name: the file name without its last suffix."""
    name = normal(os.path.splitext(os.path.basename(path.rstrip(os.sep)))[0])
    return name if name_problem(name) is None else ""


T = TypeVar("T")


class FrozenMapping(Mapping[str, T]):
    """Read-only mapping of names to values, in order; shown like a dict.

    Parameters
    ----------
    content : dict of str
        The items. The mapping owns the dict.
    """

    __slots__ = ("_content",)

    def __init__(self, content: dict[str, T]) -> None:
        self._content = content

    def __getitem__(self, name: str) -> T:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return repr(self._content)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._content, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self._content}

    def copy(self) -> dict[str, T]:
        """Return the items in a new dict."""
        return dict(self._content)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._content,)
