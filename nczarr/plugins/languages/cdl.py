"""CDL for editors: lexemes, spelling, what can follow where, and names with their roles."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl import spelling
from nczarr.formats.cdl.read.patterns import PRIMITIVES, PUNCTUATION, SECTIONS, WORDS
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.cdl.spelling import Words
from nczarr.names import escape_cdl, unescape_cdl
from nczarr.plugins.languages.language import (
    Completion,
    Language,
    Lexeme,
    LexemeKind,
    Role,
    TextMap,
    section_at,
    split_text,
    statement_before,
)
from nczarr.plugins.languages.mentions import ATOMIC_LETTER, MentionReader, StatementPatterns
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
        P.PRIMITIVE: ATOMIC_LETTER, P.UNLIMITED: "U", P.ENUM: "E", P.OPAQUE: "O", P.COMPOUND: "C", P.NETCDF: "K",
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


_LEXEME = re.compile(
    rb"(?P<comment>//[^\r\n]*+|/\*(?s:.*?)(?:\*/|\Z))"
    rb'|(?P<string>"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*"?'
    rb"|'[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*'?)"
    rb"|(?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[A-Za-z]*+"
    rb"|-(?:Infinityf?|Inff))"
    rb"|(?P<word>(?:[A-Za-z_\x80-\xff]|\\[ -~])(?:[A-Za-z0-9_.@+%\-\x80-\xff]|\\[^\r\n])*)"
    rb"|(?P<path>(?:/(?:[A-Za-z_\x80-\xff]|\\[ -~])(?:[A-Za-z0-9_.@+%\-\x80-\xff]|\\[^\r\n])*)+|/)"
    rb"|(?P<punctuation>[{}():;,=*])"
)


def _classify(word: re.Match[bytes]) -> LexemeKind:
    """Return the kind of a word; a section's name without its colon is a keyword."""
    text = word.group()
    if text in PRIMITIVES:
        return "atomic"
    is_section = text in SECTIONS and word.string[word.end() : word.end() + 1] == b":"
    return "keyword" if is_section or text in WORDS else "word"


def _spell(name: str, role: Role) -> str:
    """Return a name as it is written; attributes and members may have any word of the language."""
    if role == "owner":
        return spelling.attribute_owner(name)
    if role in ("attribute", "constant", "field"):
        return escape_cdl(name)
    return spelling.identifier(name)


def complete(data: bytes, before: Sequence[Lexeme], offset: int, text_map: TextMap) -> Completion:
    """Return what can be written at an offset, after the lexemes `before`."""
    place = section_at(text_map, offset)
    section, scope = place.section, place.scope
    quoted = None
    if before and before[-1].kind == "string" and before[-1].end >= offset and data[before[-1].start] == 0x22:
        quoted, before = before[-1].start + 1, before[:-1]
    before = before[bisect_left(before, place.start, key=lambda lexeme: lexeme.start) :]
    statement = statement_before(before, data, b";" if section in ("variables", "data") else b";{}" if section else b"")
    texts = [data[lexeme.start : lexeme.end] for lexeme in statement]
    while texts[1:2] == [b":"] and texts[0] in SECTIONS and statement[0].kind == "keyword":
        del texts[:2]
    while section == "types" and b"*" in texts and len(texts) > texts.index(b"*") + 2:
        del texts[: texts.index(b"*") + 3]  # a vlen, whose semicolon is optional
    if b":" in texts:
        colon = texts.index(b":")
        owner = unescape_cdl(texts[colon - 1].decode("utf-8", "replace")) if colon else ""
        if b"=" not in texts[colon:]:
            return Completion(("attributes",), scope=scope, owner=owner)
        name = texts[colon + 1].decode("utf-8", "replace") if len(texts) > colon + 1 else ""
        type_name = unescape_cdl(texts[colon - 2].decode("utf-8", "replace")) if colon > 1 else ""
        return Completion(("constants",), ("NaN", "Infinity"), scope, owner, name, type_name, quoted)
    if quoted is not None or section == "":
        return Completion((), ("netcdf",) if not texts and quoted is None else ())
    if b"=" in texts and section == "data":
        owner = unescape_cdl(texts[0].decode("utf-8", "replace"))
        return Completion(("constants",), ("_", "NaN", "Infinity", "NIL"), scope, owner)
    if section == "dimensions" and texts[-1:] == [b"="]:
        return Completion((), ("UNLIMITED",), scope)
    if section == "variables" and texts.count(b"(") > texts.count(b")"):
        return Completion(("dimensions",), (), scope)
    if section == "types" and texts and len(texts) < 2:
        return Completion((), ("enum",), scope)
    if texts:
        return Completion((), (), scope)
    words = tuple(f"{word.decode()}:" for word in SECTIONS)
    wants = {"types": ("types",), "variables": ("types", "owners"), "data": ("variables",)}.get(section, ())
    return Completion(wants, (*words, *(("compound", "opaque") if section == "types" else ())), scope)


def _list_words(*kinds: int) -> tuple[str, ...]:
    return tuple(sorted(word.decode() for word, kind in WORDS.items() if kind in kinds))


LANGUAGE = Language(
    read=read_mentions,
    split=partial(split_text, _LEXEME, _classify),
    spell=_spell,
    spell_path=spelling.path,
    read_name=unescape_cdl,
    complete=complete,
    words={
        "sections": tuple(word.decode() for word in SECTIONS),
        "declarations": _list_words(P.NETCDF, P.ENUM, P.OPAQUE, P.COMPOUND),
        "types": tuple(word.decode() for word in PRIMITIVES),
        "constants": _list_words(P.UNLIMITED, P.NIL, P.SPECIAL_FLOAT, P.FILL),
        "attributes": tuple(sorted((*spelling.SPECIAL, "_FillValue"))),
    },
    documents={
        "netcdf": "Begins a dataset: `netcdf NAME { … }`.",
        "types:": "User-defined types of the group: enum, compound, opaque and vlen.",
        "dimensions:": "Dimensions of the group: `lat = 180 ;`, `time = UNLIMITED ;`.",
        "variables:": "Variables and attributes of the group: `float t(time, lat) ;`, `t:units = \"K\" ;`.",
        "data:": "Values of the group's variables: `lat = 1, 2, 3 ;`.",
        "group:": "A group in the group: `group: name { … }`.",
        "UNLIMITED": "The dimension can grow; its length follows from the data.",
        "enum": "Named integers: `byte enum sky { clear = 0, cloudy = 1 } ;`.",
        "compound": "A record: `compound point { float x ; float y ; } ;`.",
        "opaque": "Bytes without a meaning: `opaque(11) raw ;`.",
        "_": "The fill value of the variable.",
        "NIL": "A string that is absent.",
        "NaN": "Not a number.",
        "Infinity": "Infinity; `-Infinity` is the negative one.",
    },
)  # fmt: skip
"""CDL for editors."""
