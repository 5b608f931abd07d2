"""Tolerant JSON, as found in stores: lenient where nothing is lost.

Accepted with a remark: bytes after the document, a comma before a closing
bracket, invalid words and numbers (`TRUE`, `007`), which become texts, escapes
of lone surrogates. Accepted
silently: a byte order mark, bare NaN, infinities, raw control bytes.
"""

import functools
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from nczarr.ast.plain_json import Real
from nczarr.names.records import NamedTuple

DEEPEST = 128
"""Maximum nesting of brackets; readers recurse."""

_TOKEN = r'(?s:"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])|[-+\w.]+)'
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_WORDS = frozenset({"true", "false", "null", "NaN", "Infinity", "-Infinity"})
_ESCAPE = r"(?s:\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.))"
_BLANK = " \t\r\n\0"
_BRACKETS = (dict, list)


class NotJsonError(ValueError):
    """Invalid or too deeply nested JSON."""


class Parsed(NamedTuple):
    """A JSON value, with remarks."""

    value: Any
    """The JSON value."""
    remarks: tuple[str, ...]
    """Deviations from JSON."""
    repeated: tuple[str, ...] = ()
    """Names of repeated members; `value` has the last of each."""


class RepeatedError(Exception):
    """Repeated member in an object; the argument is its name."""


def reason(error: json.JSONDecodeError) -> str:
    """Return the text of an error without its place, for the middle of a sentence."""
    return f"{error.msg[:1].lower()}{error.msg[1:]}".removesuffix(" starting at")


def check_unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises RepeatedError."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise RepeatedError(Counter(name for name, _ in pairs).most_common(1)[0][0])
    return members


def lone_surrogate(text: str) -> re.Match[str] | None:
    """Return the first escape of a surrogate without its partner, which is no character."""
    return next((match for match in re.finditer(_ESCAPE, text) if match[2]), None) if "\\u" in text else None


def noting(repeated: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return an object hook that records the names of repeated members."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members_by_name = dict(pairs)
        if len(members_by_name) < len(pairs):
            repeated.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return members_by_name

    return members


_DECODER = json.JSONDecoder(object_pairs_hook=check_unrepeated, parse_float=Real.of, strict=False)

_SHORT = 1024
"""Maximum bytes of cached documents: arrays of a store often have equal ones."""


def parse(data: bytes) -> Parsed:
    """Return the JSON value of a document. Raises NotJsonError with a message.

    Invalid UTF-8 becomes surrogates; escapes of lone surrogates become U+FFFD.
    Equal documents may share a value, which must not be modified.
    """
    return _parse(data) if len(data) > _SHORT else _known(data)


def _parse(data: bytes) -> Parsed:
    """Parse JSON; what is repaired, such as a comma before `]`, becomes a remark."""
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").lstrip(_BLANK)
    remarks: list[str] = []
    if "\\u" in text and lone_surrogate(text) is not None:
        text = re.sub(_ESCAPE, lambda match: "\\ufffd" if match[2] else match[0], text)
        remarks.append("has escapes of lone surrogates, which are read as U+FFFD")
    repeated: list[str] = []
    try:
        value, end = _decode(text, repeated)
    except json.JSONDecodeError as error:
        mended = re.sub(_TOKEN, _mend, text)
        repeated.clear()
        try:
            value, end = _decode(mended, repeated)
        except json.JSONDecodeError:
            raise NotJsonError(f"{reason(error)} at character {error.pos}") from None
        text = mended
        remarks.append("has words or numbers that are not JSON")
    rest = len(text[end:].strip(_BLANK)) if end < len(text) else 0
    if rest:
        remarks.append(f"has {rest} character{'s' * (rest != 1)} after its end, ignored")
    if text.count("[") + text.count("{") > DEEPEST and too_deep(value):
        raise NotJsonError(f"it is nested more than {DEEPEST} deep")
    return Parsed(value, tuple(remarks), tuple(dict.fromkeys(repeated)) if repeated else ())


_known = functools.lru_cache(maxsize=256)(_parse)


def _decode(text: str, repeated: list[str]) -> tuple[Any, int]:
    """Return the value of a text and its end; add names of repeated members to `repeated`."""
    try:
        try:
            return _DECODER.raw_decode(text)
        except RepeatedError:
            hook = noting(repeated)
            return json.JSONDecoder(object_pairs_hook=hook, parse_float=Real.of, strict=False).raw_decode(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise NotJsonError("it is nested too deeply") from None
    except ValueError:  # Python refuses integers of thousands of digits
        raise NotJsonError("a number has thousands of digits") from None


def _mend(match: re.Match[str]) -> str:
    """Return a token as JSON: surplus commas vanish, unknown words become strings."""
    token = match[0]
    if token == ",":
        return ""
    if token[0] == '"' or token in _WORDS or re.fullmatch(_NUMBER, token):
        return token
    return json.dumps(token, ensure_ascii=False)


def too_deep(value: Any) -> bool:
    """Return whether brackets nest deeper than readers can recurse."""
    level = [value] if isinstance(value, _BRACKETS) else []
    for _ in range(DEEPEST - 1):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, _BRACKETS)
        ]
        if not level:
            return False
    return any(level)
