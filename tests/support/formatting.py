"""Formatting in tests: what must stay is found by a small scanner of its own."""

from __future__ import annotations

import random
import re

from nczarr.diagnostics.report import Report, Source
from nczarr.plugins.fmt.reformat import reformat

_PIECE = re.compile(
    rb"""(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.)"""
    rb"""|(?P<blank>[ \t\r\n\f]+)|(?P<mark>[{}();:,=])|(?P<word>/?[^\s{}();:,="'\\/]+|/)""",
    re.DOTALL,
)


def pieces(data: bytes) -> tuple[list[bytes], list[bytes]]:
    """The words, marks and strings of a CDL text from its first brace, and its comments, by one regular expression."""
    body = data.partition(b"{")[2]
    tokens, comments = [], []
    for match in _PIECE.finditer(body):
        if match["comment"]:
            lines = re.split(rb"\r\n|\r|\n", match["comment"])
            comments.append(b"\n".join(line.rstrip() for line in lines))
        elif not match["blank"]:
            tokens.append(match.group())
    return tokens, comments


def format_text(data: bytes, name: str = "t.cdl") -> tuple[bytes | None, list[str]]:
    """The formatted text, None if it is refused, and the codes of all errors."""
    report = Report()
    text = reformat(Source(name, data), report)
    return text, [diagnostic.code for diagnostic in report.list_sorted() if diagnostic.severity == "error"]


def assert_formats(data: bytes, name: str = "t.cdl") -> bytes | None:
    """Format twice and compare words and comments; None for a text that is refused."""
    text, codes = format_text(data, name)
    if text is None:
        assert codes, name
        assert "internal-error" not in codes, (name, data[:2000])
        return None
    assert format_text(text, name)[0] == text, name
    assert text.endswith(b"\n")
    if name.endswith(".cdl") and b"'" not in data:
        assert pieces(text) == pieces(data), name
    return text


_INSERTED = (
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\n\n\n",
    b"/* c */",
    b"\n/* c\n   d */\n",
    b"// c\n",
    b"\n  // c\r\n",
    b"\f",
)


def scatter(data: bytes, pick: random.Random, count: int) -> bytes:
    """The text with blanks, line breaks and comments at some of its blanks and marks, and some blanks taken out."""
    places = [match.start() for match in re.finditer(rb"[\s{}();,=]", data)] or [0]
    chosen = sorted(pick.sample(places, min(count, len(places))), reverse=True)
    out = bytearray(data)
    for at in chosen:
        if pick.random() < 0.3 and out[at : at + 1].isspace() and out[at + 1 : at + 2].isspace():
            del out[at]
        out[at:at] = pick.choice(_INSERTED)
    return bytes(out)
