r"""Spelling of names, paths and texts in the notation; each pair of functions is inverse.

Names follow the specification: `\/`, `\\` and `\ ` are slash, backslash and
blank. Further escapes make every name writable: a backslash before punctuation
or a first digit, and `\xHH` for control characters. Texts are bytes: UTF-8
unchanged, others as `\xHH`.
"""

from __future__ import annotations

import re

from nczarr import names

_NAME_NEEDS = re.compile(r'[\x00-\x1f\x7f "/\\{}]')
_FIRST_NEEDS = re.compile(r"[-+.@0-9]")
_NAME_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_TEXT_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_TEXT_NEEDS = re.compile('["\\\\\x00-\x1f\x7f\udc80-\udcff]')
_PLAIN = re.compile(r"[^\x00-\x20\x7f\"/\\{}]*")

_TEXT_LETTERS = {
    b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v", b"a": b"\a",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_TEXT_SPELT = {
    bytes_.decode("ascii"): "\\" + letter.decode("ascii") for letter, bytes_ in _TEXT_LETTERS.items()
}  # fmt: skip


class EscapeError(ValueError):
    """An invalid escape; `.at` is its offset in the given text."""

    def __init__(self, escape: str, at: int) -> None:
        self.escape = escape
        self.at = at
        super().__init__(escape)


def write_name(name: str) -> str:
    """Return the NAME token of a name; empty for the empty name, which has no token."""
    text = name if _PLAIN.fullmatch(name) else _NAME_NEEDS.sub(_escaped, name)
    return "\\" + text if _FIRST_NEEDS.match(text) else text


def read_name(text: str) -> str:
    """Return the name of a NAME token in NFC. Raises EscapeError."""
    return names.normal(_NAME_ESCAPE.sub(_meant, text) if "\\" in text else text)


def write_fqn(path: str) -> str:
    """Return the token of a FQN."""
    return "/" + "/".join(_NAME_NEEDS.sub(_escaped, part) for part in names.split(path))


def read_fqn(text: str) -> str:
    """Return the FQN of a token in the form of `names.fqn`. Raises EscapeError."""
    if "\\" not in text:
        return names.normal(text)
    parts = re.findall(r"/((?:[^\\/]|\\.)*)", text, re.DOTALL)
    return names.fqn(read_name(part) for part in parts)


def write_text(data: bytes) -> str:
    """Return the STRING token of bytes."""
    text = data.decode("utf-8", "surrogateescape")
    return f'"{_TEXT_NEEDS.sub(_text_escaped, text)}"'


def read_text(content: bytes) -> bytes:
    """Return the bytes of a STRING token's content. Raises EscapeError."""
    return _TEXT_ESCAPE.sub(_text_meant, content) if b"\\" in content else content


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    return "\\" + character if character > "\x1f" and character != "\x7f" else f"\\x{ord(character):02x}"


def _meant(match: re.Match[str]) -> str:
    escape = match.group(1)
    if len(escape) == 3:
        return chr(int(escape[1:], 16))
    if escape.isalpha() or ord(escape) < 0x20 or ord(escape) > 0x7E:
        raise EscapeError(match.group(), match.start())
    return escape


def _text_escaped(match: re.Match[str]) -> str:
    character = match.group()
    spelled = _TEXT_SPELT.get(character)
    return spelled if spelled is not None else f"\\x{ord(character) & 0xFF:02x}"


def _text_meant(match: re.Match[bytes]) -> bytes:
    escape = match.group(1)
    if len(escape) == 3:
        return bytes((int(escape[1:], 16),))
    if escape not in _TEXT_LETTERS:
        raise EscapeError(match.group().decode("utf-8", "replace"), match.start())
    return _TEXT_LETTERS[escape]
