"""Input before the tokens: byte checks, and hand-written scanning of `netcdf NAME {`."""

from __future__ import annotations

import re

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Buffer, Source, Span
from nczarr.formats.cdl.read.patterns import HEADER, SECTION_LINE, SPACE
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token


def scan_header(source: Source, report: Report, tokens: list[Token]) -> int | None:
    """Scan `netcdf NAME {` into three tokens. Returns the offset after it, None if it is hopeless."""
    data = source.data
    at = 3 if data[:3] == b"\xef\xbb\xbf" else 0
    space = SPACE.match(data, at)
    at = space.end() if space else at
    if at >= len(data):
        report.error("empty-input", "the file is empty; expected `netcdf NAME { … }`", Span(source, 0, 0))
        return None
    start = HEADER.match(data, at)
    if start is None:
        if not opens_comment(source, report, at):
            message = "a CDL file starts with `netcdf NAME {`"
            report.error("expected-token", message, Span(source, at, at + 1), helps=["write `netcdf NAME {` first"])
        return None
    tokens.append(Token(P.NETCDF, at, start.end() - 1))
    brace = data.find(b"{", start.end())
    section = SECTION_LINE.search(data, start.end())
    if brace < 0 or (section is not None and section.start() < brace):
        return _no_brace(source, report, tokens, start.end())
    tokens.append(Token(P.DATASET_NAME, start.end(), brace - 1))
    tokens.append(Token(P.LBRACE, brace, brace))
    return brace + 1


def _no_brace(source: Source, report: Report, tokens: list[Token], at: int) -> int | None:
    """Report a missing brace after `netcdf NAME`; continue as if present, if text follows."""
    word = re.compile(rb"[ \t]*[^\s{};:]*").match(source.data, at)
    end = word.end() if word else at
    space = SPACE.match(source.data, end)
    here = space.end() if space else end
    report.error("expected-token", "expected `{` after the dataset name", Span(source, here, here + 1))
    if here >= len(source.data):
        tokens.clear()
        return None
    tokens.append(Token(P.DATASET_NAME, at, end - 1))
    tokens.append(Token(P.LBRACE, end, end - 1))
    return end


def check_bytes(source: Source, report: Report, slab: int = 1 << 20) -> None:
    """Report NUL bytes and invalid UTF-8, at most 20 of each."""
    data, count = source.data, 0
    at = data.find(b"\0")
    while at >= 0 and count < 20:
        report.error(
            "nul-byte", "NUL byte in the source text", Span(source, at, at + 1), helps=[r"write \000 in a string"]
        )
        at, count = data.find(b"\0", at + 1), count + 1
    at = 0
    count = 0
    while at < len(data) and count < 20:
        piece = bytes(data[at : at + slab])
        if piece.isascii():
            at += slab
            continue
        try:
            piece.decode("utf-8")
            at += slab
        except UnicodeDecodeError as error:
            if error.start + 4 > len(piece) and at + len(piece) < len(data) and error.start > 0:
                at += error.start  # a character cut by the slab's end
                continue
            bad = at + error.start
            _invalid(source, report, bad)
            at, count = at + max(error.end, error.start + 1), count + 1


def _invalid(source: Source, report: Report, at: int) -> None:
    """Report invalid UTF-8: an error for another encoding, a warning for raw data (0x80 .. 0x9F, not Latin-1)."""
    byte = source.data[at]
    message = f"byte 0x{byte:02X} is not valid UTF-8"
    if byte < 0xA0:
        help_ = f"the raw byte is kept; write \\{byte:03o} to make this explicit"
        report.warning("raw-byte", message, Span(source, at, at + 1), helps=[help_])
    else:
        help_ = f"save the file as UTF-8, or write \\{byte:03o} for a raw byte in char data"
        report.error("invalid-utf8", message, Span(source, at, at + 1), helps=[help_])


def opens_comment(source: Source, report: Report, at: int) -> bool:
    """Report an unclosed block comment at `at`; SPACE consumes all others."""
    if bytes(source.data[at : at + 2]) != b"/*":
        return False
    message = "block comment is not closed before the end of the file"
    report.error("unterminated-comment", message, Span(source, at, at + 2), helps=["close it with `*/`"])
    return True


def unclosed_string(data: Buffer, last: int) -> tuple[int, int | None]:
    """Return where the string opens that lacks its closing quote, and the quote that closes it instead.

    `last`: the quote that nothing closes. An earlier string is at fault if text
    follows its closing quote directly, as in `"K ; v:name = "temperature"`: that
    quote was meant to open the next string.
    """
    pattern = re.compile(_CONSTANTS)  # only where a string is not closed
    at = 0
    while match := pattern.search(data, at, last):
        string = match["string"]
        at = match.end("string") if string else match.end()
        follows = match["next"]
        if string and follows and follows not in b",;)}/\r" and (follows != b'"' or b"\n" in string):
            return match.start("string"), at - 1
    return last, None


_CONSTANTS = (
    rb"""//[^\r\n]*+|/\*(?s:.*?)\*/|'(?:[^'\\]|\\(?s:.))'"""
    rb"""|(?P<string>"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*")[ \t]*+(?P<next>.?)"""
)
"""A comment, or a constant and what follows a string on its line."""


def skip_character(data: Buffer, at: int) -> int:
    """Return the offset after the UTF-8 character at `at`, tolerating invalid bytes."""
    end = at + 1
    while end < len(data) and data[at] >= 0xC0 and 0x80 <= data[end] < 0xC0:
        end += 1
    return end


def line_end(data: Buffer, at: int) -> int:
    """Return the offset of the next newline, or of the end."""
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end
