"""Names of a text in the notation with their roles."""

from __future__ import annotations

import re

from nczarr import names
from nczarr.ast import ATOMIC as ATOMIC_TYPES
from nczarr.ast.types import MAX_DEPTH
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.notation.tokens import WORDS, EscapeError, read_fqn, read_name, scan
from nczarr.plugins.languages.language import Role, TextMap
from nczarr.plugins.languages.mentions import ATOMIC, MentionReader, StatementPatterns
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
        **{kind: ATOMIC for word, kind in WORDS.items() if word.decode() in ATOMIC_TYPES},
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
