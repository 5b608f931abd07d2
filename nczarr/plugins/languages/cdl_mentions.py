"""Names of a CDL text with their roles. Statements differ in their first tokens, as in the grammar."""

from __future__ import annotations

import re

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.read.patterns import PRIMITIVES, PUNCTUATION
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.cdl.spelling import Words
from nczarr.plugins.languages.language import Role, TextMap
from nczarr.plugins.languages.mentions import ATOMIC, MentionReader, StatementPatterns
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

_N = "[anUEOCK]"
_ITEM_END = r"(?=(?P<extent>[^;}TDVXG$]*;?))"
"""Tokens of a declaration: to its semicolon, or to the next thing that cannot belong to it."""
_ATTRIBUTE = (
    rf"(?:(?P<use_type>{_N})(?P<use_variable>{_N})|(?P<use_owner>{_N}))?:"
    rf"(?:(?P<attribute>{_N})=(?P<value>v)?;?)?"
)
_BODY = (r"K(?P<dataset>[d?])(?P<open_body>\{)", rf"G(?P<group>{_N})(?P<open_body>\{{)?", _ATTRIBUTE)
_STATEMENTS = {
    "": _BODY,
    "types": (
        *_BODY,
        rf"O\((?P<value>.)\)(?P<type>{_N});?",
        rf"C(?P<type>{_N})(?P<open_compound>\{{)?",
        rf"(?P<use_type>{_N})\(\*\)(?P<type>{_N});?",
        rf"(?P<use_type>{_N})E(?P<type>{_N})(?P<open_enum>\{{)?",
    ),
    "dimensions": (*_BODY, rf"(?P<dimension>{_N})=(?P<value>[Ui*n]);?"),
    "variables": (
        *_BODY,
        rf"(?:(?P<use_type>{_N})|,){_ITEM_END}(?P<variable>{_N})(?!:)(?:\((?P<use_dimension>[anUEOCK,i*]*)\)?)?",
    ),
    "data": (*_BODY, rf"(?P<use_variable>{_N})=(?P<value>v?)"),
    "enum": (rf"(?P<constant>{_N})=(?P<value>[in])?",),
    "compound": (rf"(?:(?P<use_type>{_N})|,){_ITEM_END}(?P<field>{_N})(?:\([^);}}]*\)?)?",),
}
_PATTERNS = StatementPatterns(
    letters={
        **{kind: chr(code) for code, kind in PUNCTUATION.items()},
        **dict.fromkeys((P.NAME, P.PATH, P.FILL, P.SPECIAL_FLOAT, P.NIL), "n"),
        **dict.fromkeys((P.INT, P.FLOAT, P.HEX, P.STRING, P.CHAR), "i"),
        P.PRIMITIVE: ATOMIC, P.UNLIMITED: "U", P.ENUM: "E", P.OPAQUE: "O", P.COMPOUND: "C", P.NETCDF: "K",
        P.TYPES: "T", P.DIMENSIONS: "D", P.VARIABLES: "V", P.DATA: "X", P.GROUP: "G",
        P.VALUES: "v", P.DATASET_NAME: "d", P.EOF: "$",
    },
    names=frozenset("anUEOCKd"),
    sections={"T": "types", "D": "dimensions", "V": "variables", "X": "data", "G": "body"},
    statements={section: tuple(map(re.compile, texts)) for section, texts in _STATEMENTS.items()},
)  # fmt: skip


def _trim(source: Source, token: Token) -> Token:
    """Return a token without the blanks around its text; the name of a dataset must be in ASCII."""
    text = bytes(source.data[token.start : token.end])
    start = token.start + len(text) - len(text.lstrip())
    is_name = token.type == P.VALUES or (text.strip() and text.isascii())
    return Token(token.type if is_name else 0, start, start + len(text.strip()) - 1)


def read_mentions(source: Source) -> TextMap:
    """Return the names of a text."""
    words = Words(source, Report())

    def read_name(token: Token, role: Role) -> str:
        if role == "atomic":
            return PRIMITIVES[bytes(source.data[token.start : token.end])]
        return words.reference(token.start, token.end)

    tokens = FastTokens(source, Report(), simple=False).scan()
    for number, token in enumerate(tokens):
        if token.type in (P.DATASET_NAME, P.VALUES):
            tokens[number] = _trim(source, token)
    return MentionReader(source, tokens, _PATTERNS, read_name).read()
