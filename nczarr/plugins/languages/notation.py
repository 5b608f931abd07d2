"""The notation for editors: lexemes, spelling, what can follow where, and names with their roles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.ast.dataset import FILTER_NUMBERS
from nczarr.ast.types import MAX_DEPTH
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.notation.tokens import WORDS, EscapeError, read_fqn, read_name, scan, write_fqn, write_name
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
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.tokens import Token

_N = "[ancwDGIVACEOLFKU]"
_TYPE = "(?P<use_type>[an/])"
_CONSTANTS = "[nicsf]"
for _ in range(MAX_DEPTH):
    _CONSTANTS = rf"(?:[nicsf]++|\{{{_CONSTANTS}*\}}?)"
_VALUE = f"(?P<value>{_CONSTANTS}+)"
_BODY = (
    rf"D(?P<dataset>(?!K){_N})?[^{{$]*(?P<open_body>\{{)?",
    rf"G(?P<group>{_N})(?P<open_body>\{{)?",
    rf"I(?P<dimension>{_N})U?(?P<value>i)?",
    rf"V(?P<variable>{_N}){_TYPE}?(?P<use_dimension>[i/]*)(?P<open_variable>\{{)?",
    rf"A(?P<attribute>{_N}){_TYPE}?{_VALUE}?",
    rf"C(?P<type>{_N})@?(?P<open_compound>\{{)?",
    rf"E(?P<type>{_N}){_TYPE}?(?P<open_enum>\{{)?",
    rf"O(?P<type>{_N})(?P<value>i)?",
    rf"L(?P<type>{_N}){_TYPE}?",
)
_STATEMENTS = {
    "": _BODY,
    "variable": (f"(?P<use_attribute>F){_VALUE}", *_BODY),
    "enum": (f"(?P<constant>{_N})(?P<value>[if])?",),
    "compound": (f"(?P<field>{_N}){_TYPE}?[i@]*",),
}
_PATTERNS = StatementPatterns(
    letters={
        **dict.fromkeys(WORDS.values(), "w"),
        **{kind: ATOMIC_LETTER for text, kind in WORDS.items() if text.decode() in ATOMIC},
        **dict.fromkeys((P.NAN, P.INFINITY, P.NIL), "c"),
        **dict.fromkeys((P.INTEGER, P.FLOAT, P.HEX), "f"),
        P.NAME: "n", P.FQN: "/", P.LBRACE: "{", P.RBRACE: "}", P.STRING: "s", P.SIZE: "i", P.OFFSET: "@",
        P.DATASET: "D", P.GROUP: "G", P.DIMENSION: "I", P.VARIABLE: "V", P.ATTRIBUTE: "A", P.COMPOUND: "C",
        P.ENUM: "E", P.OPAQUE: "O", P.VLEN: "L", P.FILL: "F", P.KIND: "K", P.UNLIMITED: "U", P.EOF: "$",
    },
    names=frozenset("ancwDGIVACEOLFKU/"),
    sections={},
    statements={section: tuple(map(re.compile, texts)) for section, texts in _STATEMENTS.items()},
)  # fmt: skip


def read_mentions(source: Source) -> TextMap:
    """Return the names of a text; `fill X` is the attribute `_FillValue`."""

    def read(token: Token, role: Role) -> str:
        text = source.text(token.start, token.end)
        try:
            return read_fqn(text) if token.type == P.FQN else read_name(text)
        except EscapeError:  # reported where the tree is built
            return names.fqn(text[1:].split("/")) if token.type == P.FQN else text

    text_map = MentionReader(source, scan(source, Report()), _PATTERNS, read).read()
    for number, mention in enumerate(text_map.mentions):
        if mention.role == "attribute" and mention.extent is None:
            text_map.mentions[number] = mention._replace(name="_FillValue")
    return text_map


_CHARACTER = rb"(?:[!#-.0-\[\]-z|~\x80-\xff]|\\[ -~])"
_LEXEME = re.compile(
    rb'(?P<comment>//[^\r\n]*+)|(?P<string>"(?:\\[^\r\n]|[^"\\\r\n])*"?)|(?P<number>[-+.@0-9]%(c)s*+)'
    rb"|(?P<path>(?:/%(c)s++)+|/)|(?P<word>%(c)s++)|(?P<punctuation>[{}])" % {b"c": _CHARACTER}
)


def _classify(word: re.Match[bytes]) -> LexemeKind:
    text = word.group()
    return "word" if text not in WORDS else "atomic" if text.decode() in ATOMIC else "keyword"


_DECLARATIONS = ("dimension", "variable", "attribute", "group", "compound", "enum", "opaque", "vlen")
_PROPERTIES = ("attribute", "fill", "chunks", "codec", "layout", "endian", "quantize", "element")
_AFTER = {
    b"codec": tuple(FILTER_NUMBERS),
    b"layout": ("contiguous", "compact", "chunked"),
    b"endian": ("little", "big"),
    b"quantize": ("bitgroom", "granularbitround", "bitround"),
    b"element": ("bool", "float16", "complex64", "complex128"),
    b"kind": ("nc3", "nc6", "nc5", "nc4", "nc7"),
}
_HEADS = frozenset(word.encode() for word in (*_DECLARATIONS, *_PROPERTIES, "dataset", "kind"))


def complete(data: bytes, before: Sequence[Lexeme], offset: int, text_map: TextMap) -> Completion:
    """Return what can be written at an offset, after the lexemes `before`."""
    place = section_at(text_map, offset)
    quoted = None
    if before and before[-1].kind == "string" and before[-1].end >= offset:
        quoted, before = before[-1].start + 1, before[:-1]
    statement = [data[one.start : one.end] for one in statement_before(before, data, b"{}", _HEADS)]
    words = _PROPERTIES if place.section == "variable" else _DECLARATIONS
    head, count = (statement[0] if statement else b""), len(statement)
    owner = next((one.name for one in reversed(text_map.mentions) if one.role == "variable" and one.start < offset), "")
    owner = owner if place.section == "variable" else ""
    if not place.section and not statement:
        return Completion((), ("dataset",))
    if place.section in ("enum", "compound"):
        is_named = False
        for text in statement:
            is_named = not is_named and not text[:1].isdigit() and text[:1] != b"@"
        return Completion(("types",) if place.section == "compound" and is_named else (), (), place.scope)
    if head == b"attribute":
        if count == 1:
            return Completion(("attributes",), (), place.scope, owner)
        if count == 2:
            return Completion(("types",), (), place.scope)
        name = statement[1].decode("utf-8", "replace")
        type_name = statement[2].decode("utf-8", "replace")
        return Completion(("constants",), () if quoted else words, place.scope, owner, name, type_name, quoted)
    if quoted is not None:
        return Completion((), ())
    if head in _AFTER and count == 1:
        return Completion((), _AFTER[head], place.scope)
    if head == b"fill" and count == 1:
        return Completion(("constants",), ("none", "NaN", "Infinity"), place.scope, owner, "_FillValue")
    if head in (b"variable", b"enum", b"vlen") and count == 2:
        return Completion(("types",), (), place.scope)
    if head == b"variable" and count > 2:
        return Completion(("dimensions", "paths"), _DECLARATIONS, place.scope)
    if head == b"dimension" and count == 2:
        return Completion((), ("unlimited",), place.scope)
    if head in (b"variable", b"dimension", b"group", b"compound", b"enum", b"opaque", b"vlen") and count == 1:
        return Completion((), (), place.scope)
    return Completion((), words if place.section else ("kind",), place.scope)


def _read_written(text: str) -> str:
    """Return the name that a text spells, or the text if it has a wrong escape."""
    try:
        return read_name(text)
    except EscapeError:
        return text


LANGUAGE = Language(
    read=read_mentions,
    split=partial(split_text, _LEXEME, _classify),
    spell=lambda name, role: write_name(name),
    spell_path=write_fqn,
    read_name=_read_written,
    complete=complete,
    words={
        "declarations": tuple(sorted((*_DECLARATIONS, "dataset"))),
        "properties": tuple(sorted({*_PROPERTIES, "kind"} - {"attribute"})),
        "types": tuple(ATOMIC),
        "constants": ("Infinity", "NIL", "NaN", "none", "unlimited"),
    },
    documents={
        "dataset": "Begins a dataset: `dataset name 2.0.0 { … }`.",
        "dimension": "A dimension: `dimension lat 180`, `dimension time unlimited 0`.",
        "variable": "A variable: `variable t float /time /lat { … }`.",
        "attribute": 'An attribute: `attribute units string "K"`.',
        "group": "A group: `group name { … }`.",
        "compound": "A record: `compound point { x float y float }`.",
        "enum": "Named integers: `enum sky byte { clear 0 cloudy 1 }`.",
        "opaque": "Bytes without a meaning: `opaque raw 11`.",
        "vlen": "Lists of values: `vlen row int`.",
        "unlimited": "The dimension can grow.",
        "fill": "Value of cells that were never written, or `none`.",
        "chunks": "Chunk length of each dimension: `chunks 1 180 360`.",
        "codec": "A step of encoding: `codec deflate 5`.",
        "layout": "Layout in an HDF5 file.",
        "endian": "Byte order.",
        "quantize": "Rounding: algorithm and digits.",
        "element": "The store's type of the values, where the model has no such type.",
        "kind": "Kind of netCDF file.",
    },
)
"""The notation for editors."""
