"""Patterns and tables of the fast token source, and input before the tokens: byte checks, `netcdf NAME {`.

Groups are repeated greedily, never possessively, because Python below 3.11.5
mismatches possessive groups (except single character classes).
"""

import re
from functools import cache

from nczarr.diagnostics.report import Buffer, Report, Source, Span
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

MAX_GROUPS = 64
"""Maximum nesting of groups (ast.walk.MAX_DEPTH), because the parser and the tree recurse."""

SPACE = re.compile(rb"(?:[ \t\r\n\f]++|//[^\r\n]*+|/\*(?s:.*?)\*/)*")  # no vertical tab, as in ncgen

HEADER = re.compile(rb"(?:netcdf|NETCDF|netCDF)(?![A-Za-z0-9_.@+\-])")  # not `NetCDF`, as in ncgen
SECTION_LINE = re.compile(rb"^[ \t]*(?:types|dimensions|variables|data|group):", re.MULTILINE)
SECTIONS = {
    b"types": P.TYPES, b"dimensions": P.DIMENSIONS, b"variables": P.VARIABLES, b"data": P.DATA, b"group": P.GROUP,
}  # fmt: skip
PUNCTUATION = {
    0x7B: P.LBRACE, 0x7D: P.RBRACE, 0x28: P.LPAREN, 0x29: P.RPAREN,
    0x3A: P.COLON, 0x3B: P.SEMICOLON, 0x2C: P.COMMA, 0x3D: P.EQUALS, 0x2A: P.STAR,
}  # fmt: skip

PRIMITIVES: dict[bytes, str] = {
    b"byte": "byte", b"char": "char", b"short": "short", b"int": "int", b"long": "int", b"integer": "int",
    b"float": "float", b"real": "float", b"double": "double", b"ubyte": "ubyte", b"ushort": "ushort",
    b"uint": "uint", b"ulong": "uint", b"uinteger": "uint", b"int64": "int64", b"uint64": "uint64",
    b"string": "string",
}  # fmt: skip
"""Spellings of the atomic types."""

WORDS: dict[bytes, int] = {
    **dict.fromkeys(PRIMITIVES, P.PRIMITIVE),
    **dict.fromkeys((b"netcdf", b"NETCDF", b"netCDF"), P.NETCDF),
    **dict.fromkeys((b"compound", b"struct", b"structure"), P.COMPOUND),  # ncgen takes all three
    **dict.fromkeys((b"unlimited", b"UNLIMITED"), P.UNLIMITED),
    **dict.fromkeys((b"NIL", b"nil", b"Nil"), P.NIL),
    **dict.fromkeys(
        (b"NaN", b"nan", b"NaNf", b"nanf", b"Infinity", b"Infinityf", b"Inff", b"DoubleInf", b"FloatInf"),
        P.SPECIAL_FLOAT,
    ),
    b"enum": P.ENUM,
    b"opaque": P.OPAQUE,
    b"_": P.FILL,
}

_START = rb"(?:[A-Za-z_\x80-\xff]|\\[ -~])"
_PART = rb"(?:[A-Za-z0-9_.@+%\-\x80-\xff]|\\[^\r\n])"  # ncdump prints `%` in names without a backslash
PLAIN = re.compile(
    rb"(?P<word>%(start)s%(part)s*+)"
    rb"|(?P<path>(?:/%(start)s%(part)s*+)+|/)"
    rb"|(?P<hex>0[xX][0-9a-fA-F]++(?:[sS]|[lL][lL]?)?)"
    rb"|(?P<float>[+-]?(?:[0-9]++\.[0-9]*+|\.[0-9]*+)(?:[eE][+-]?[0-9]++)?[fFdDlL]?|[+-]?[0-9]++[eE][+-]?[0-9]++[fFdDlL]?)"
    rb"|(?P<int>[+-]?[0-9]++[A-Za-z_]*+)"
    rb"|(?P<special>-(?:Infinityf?|Inff))"
    rb'|(?P<string>"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*")'
    rb"|(?P<char>'[^'\\]*+(?:\\(?s:.)[^'\\]*+)*')"
    rb"|(?P<punctuation>[{}():;,=*])" % {b"start": _START, b"part": _PART}
)
KIND = {
    "path": P.PATH, "hex": P.HEX, "float": P.FLOAT, "int": P.INT, "special": P.SPECIAL_FLOAT, "string": P.STRING,
    "char": P.CHAR,
}  # fmt: skip
CAREFUL_CUT = (
    rb"""(?:[^;"'/\\]++|\\(?s:.)|"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*"|'(?:[^'\\]|\\(?s:.))?'|'"""
    rb"""|//[^\r\n]*+|/\*(?s:.*?)\*/|/(?!\*))*"""
)
"""A value list with strings and comments; as all bytes here, compiled when it is first needed."""

# ---- simple statements: ASCII names without escapes, one declarator, values without strings or one plain string ----
NAME = rb"[A-Za-z_][A-Za-z0-9_.@+\-]*+"
_BLANK = rb"(?:[ \t\r\n\f]++|//[^\r\n]*+)*"
_SECTION = re.compile(rb"(?i:types|dimensions|variables|data|group)[ \t]*+:")
_NO_SECTION = rb"(?!%s)" % _SECTION.pattern
_ATTRIBUTE = (
    rb"(?:(?P<word1>%(name)s)(?:[ \t]++(?P<word2>%(name)s))?[ \t]*+)?:[ \t]*+(?P<attribute>%(name)s)[ \t]*+=[ \t]*+"
    rb"(?:\"(?P<text>[^\"\\\r\n]*+)\"[ \t]*+|(?P<other>[^;\"'/{}()\\:\r\n\x80-\xff]*+));" % {b"name": NAME}
)
_VARIABLE = (
    rb"(?P<type>%(name)s)[ \t]++(?P<variable>%(name)s)[ \t]*+"
    rb"(?:\([ \t]*+(?P<dims>%(name)s[ \t]*+(?:,[ \t]*+%(name)s[ \t]*+)*)\)[ \t]*+)?;" % {b"name": NAME}
)
_DIMENSION = rb"(?P<dimension>%s)[ \t]*+=[ \t]*+(?P<size>0|[1-9][0-9]{0,18}|UNLIMITED|unlimited)[ \t]*+;" % NAME

STATEMENT = re.compile(rb"(?:%s|%s|%s)%s" % (_ATTRIBUTE, _VARIABLE, _DIMENSION, _BLANK))
"""One simple statement with named groups, and the blanks after it; a SIMPLE token is a run of them."""


def _run(*statements: bytes) -> re.Pattern[bytes]:
    """Compile runs of simple statements without groups, because each repetition of a group costs a capture."""
    either = b"|".join(re.sub(rb"\?P<\w+>", b"?:", statement) for statement in statements)
    return re.compile(rb"(?:%s(?:%s)%s)+" % (_NO_SECTION, either, _BLANK))


_RUNS = {0: (_ATTRIBUTE,), P.TYPES: (_ATTRIBUTE,), P.DIMENSIONS: (_DIMENSION,), P.VARIABLES: (_ATTRIBUTE, _VARIABLE)}

_simple_run = cache(lambda section: _run(*_RUNS[section]))  # a pattern is compiled for the first statement


def match_simple_run(data: Buffer, at: int, section: int) -> re.Match[bytes] | None:
    """Match a run of the simple statements of a section (0: before any section)."""
    if section not in _RUNS or (section == 0 and _SECTION.match(data, at)):
        return None
    return _simple_run(section).match(data, at)


HAND_TYPED = 1 << 14
"""Maximum bytes of value lists that are searched for a forgotten semicolon."""

BRACES = rb'"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*"|//[^\r\n]*+|/\*(?s:.*?)\*/|\\(?s:.)|[{}]'
"""The braces of a value list, and tokens that can contain some."""

NEXT_STATEMENT = (
    rb"[\r\n][ \t]*+(?:(?:types|dimensions|variables|data|group):"
    rb"|(?:%(name)s(?:[ \t]++%(name)s)?)?[ \t]*+:[ \t]*+%(name)s[ \t]*+="
    rb"|%(name)s[ \t]++%(name)s[ \t]*+[(,;]|%(name)s[ \t]*+=)" % {b"name": NAME}
)
"""A line that seems to begin a statement, after an attribute."""

NEXT_DATA = rb"[\r\n][ \t]*+(?:group:|[/\w]%s[ \t]*+=|%s[ \t]*+=)" % (NAME, NAME)
"""A line that seems to begin a statement, after data values."""


def scan_header(source: Source, report: Report, tokens: list[Token]) -> int | None:
    """Scan `netcdf NAME {` into three tokens. Returns the offset after it, None if it is hopeless."""
    data = source.data
    at = 3 if data[:3] == b"\xef\xbb\xbf" else 0  # ncgen, too, skips a byte order mark of UTF-8
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
    brace = data.find(b"{", start.end())  # all up to the first brace is the name, as in ncgen
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
    at = data.find(b"\0")  # ncgen ends the input at a NUL, and cuts strings there
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
            _invalid(source, report, at + error.start)
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


def find_unclosed_string(data: Buffer, last: int) -> tuple[int, int | None]:
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


def end_of_values(data: Buffer, start: int, end: int) -> int:
    """Return the end of the last value of a list, before the comments and blanks behind it."""
    last = start
    pattern = rb"""//[^\r\n]*+|/\*(?s:.*?)\*/|'(?:[^'\\]|\\(?s:.))'|"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*"|[^\s"'/]++|["'/]"""
    for match in re.compile(pattern).finditer(data, start, end):
        if not match[0].startswith((b"//", b"/*")):
            last = match.end()
    return last


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
