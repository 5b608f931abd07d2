"""Patterns and tables of the fast token source: tokens, simple statements and value lists.

Groups are repeated greedily, never possessively, because Python below 3.11.5
mismatches possessive groups (except single character classes).
"""

from __future__ import annotations

import re
from functools import cache

from nczarr.syntax._generated.CDLParser import CDLParser as P

MAX_GROUPS = 64
"""Maximum nesting of groups (ast.walk.MAX_DEPTH), because the parser and the tree recurse."""

SPACE = re.compile(rb"(?:[ \t\r\n\f]++|//[^\r\n]*+|/\*(?s:.*?)\*/)*")

HEADER = re.compile(rb"(?:netcdf|NETCDF|netCDF)(?![A-Za-z0-9_.@+\-])")
SECTION_LINE = re.compile(rb"^[ \t]*(?:types|dimensions|variables|data|group):", re.MULTILINE)
SECTIONS = {
    b"types": P.TYPES,
    b"dimensions": P.DIMENSIONS,
    b"variables": P.VARIABLES,
    b"data": P.DATA,
    b"group": P.GROUP,
}
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
    **dict.fromkeys((b"compound", b"struct", b"structure"), P.COMPOUND),
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

_START = rb"(?:[A-Za-z_\x80-\xff]|\\[A-Za-z0-9])"
_PART = rb"(?:[A-Za-z0-9_.@+%\-\x80-\xff]|\\[^\r\n])"
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
    "path": P.PATH,
    "hex": P.HEX,
    "float": P.FLOAT,
    "int": P.INT,
    "special": P.SPECIAL_FLOAT,
    "string": P.STRING,
    "char": P.CHAR,
}
CAREFUL_CUT = (
    rb"""(?:[^;"'/\\]++|\\(?s:.)|"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*"|'(?:[^'\\]|\\(?s:.))?'|'"""
    rb"""|//[^\r\n]*+|/\*(?s:.*?)\*/|/(?!\*))*"""
)
"""A value list with strings and comments; as all bytes here, compiled when it is first needed."""

# ---- simple statements: ASCII names without escapes, one declarator, values without strings or one plain string ----
NAME = rb"[A-Za-z_][A-Za-z0-9_.@+\-]*+"
_BLANK = rb"(?:[ \t\r\n\f]++|//[^\r\n]*+)*"
_NO_SECTION = rb"(?!(?i:types|dimensions|variables|data|group)[ \t]*+:)"
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


_RUNS = {
    0: (_ATTRIBUTE,),
    P.TYPES: (_ATTRIBUTE,),
    P.DIMENSIONS: (_ATTRIBUTE, _DIMENSION),
    P.VARIABLES: (_ATTRIBUTE, _VARIABLE),
}


@cache
def simple_run(section: int) -> re.Pattern[bytes] | None:
    """Return the pattern of a section's simple statement runs (compiled on first use), None if it has none."""
    statements = _RUNS.get(section)
    return None if statements is None else _run(*statements)


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
