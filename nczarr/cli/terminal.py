"""Products for a terminal, without control characters and direction marks of names, values and arguments.

They could change its title, colours and lines already shown. In a product they become escapes: those of its format in
strings, so that the text can be copied and read back, elsewhere those of Python. Files and pipes get the bytes as they
are.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator

from nczarr import names

KEPT = "\n\t"
"""Control characters that lay out a text."""

_DECEPTIVE = re.compile(rf"[{''.join(map(re.escape, map(chr, names.DECEPTIVE)))}]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)')


def _escape_octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in names.to_bytes(character))


def _escape_hex(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in names.to_bytes(character))


def _escape_unicode(character: str) -> str:
    return f"\\u{ord(character):04x}"


_ESCAPES: dict[str | None, Callable[[str], str]] = {
    "octal": _escape_octal, "hex": _escape_hex, "unicode": _escape_unicode,
}  # fmt: skip


def clean(pieces: Iterable[bytes], string_escapes: str | None) -> Iterator[bytes]:
    """Yield the pieces of a product for a terminal. `string_escapes`: those of its format."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    escape = _ESCAPES.get(string_escapes)
    rest = ""
    for piece in pieces:
        shown, newline, rest = (rest + decoder.decode(piece)).rpartition("\n")
        yield _clean_lines(shown + newline, escape).encode()
    yield _clean_lines(rest + decoder.decode(b"", final=True), escape).encode()


def _clean_lines(text: str, escape: Callable[[str], str] | None) -> str:
    """Return whole lines without deceptive characters: a string never goes beyond its line."""
    if escape is not None and _DECEPTIVE.search(text):
        text = _STRING.sub(lambda string: _DECEPTIVE.sub(lambda found: _keep(found[0], escape), string[0]), text)
    return names.readable(text, KEPT)


def _keep(character: str, escape: Callable[[str], str]) -> str:
    return character if character in KEPT else escape(character)
