"""Text formats for editors: names with their roles, lexemes, and what can be written where.

The parser of a format makes the tree; the types here keep the places. They are
filled from the tokens of the format's own scanner, also in a text with faults,
and resolve no name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, cast

from nczarr import registry
from nczarr.diagnostics.report import Source
from nczarr.names import plugin_index

Role = Literal[
    "dataset", "group", "type", "atomic", "dimension", "variable", "attribute", "field", "constant", "owner",
]  # fmt: skip
"""Meaning of a name. `owner`: a variable, else a type, before the colon of an attribute."""

LexemeKind = Literal["comment", "string", "number", "word", "path", "keyword", "atomic", "punctuation"]


class Lexeme(NamedTuple):
    """Smallest unit of a text, comments included."""

    start: int
    """First byte."""
    end: int
    """Byte after the last."""
    kind: LexemeKind


class Mention(NamedTuple):
    """A name in a text: a declaration or a use."""

    start: int
    """First byte."""
    end: int
    """Byte after the last."""
    role: Role
    name: str
    """Name without escapes and in NFC; for a path its FQN."""
    scope: str
    """FQN of the group in which the mention stands."""
    owner: str = ""
    """Name of the variable or type that a member belongs to, or of the variable with a dimension; `` for a group's."""
    type: str = ""
    """Type of a variable, field or attribute as written, if it states one."""
    extent: tuple[int, int] | None = None
    """Bytes of the whole declaration; None for a use."""
    value: tuple[int, int] | None = None
    """Bytes of the values or of the size that follow."""


class SectionStart(NamedTuple):
    """Place from which another section of a group, or another group, goes on."""

    start: int
    """First byte."""
    section: str
    """Name of the section; `body` before the first one and after a group."""
    scope: str
    """FQN of the group."""


class TextMap(NamedTuple):
    """All names of a text in order, and its structure."""

    mentions: list[Mention]
    """Names, ordered by place."""
    sections: list[SectionStart]
    """Sections, ordered by place."""
    blocks: list[tuple[int, int]]
    """Bytes of groups and types with braces."""


class Completion(NamedTuple):
    """Kinds of names and words that can be written at a place."""

    wants: tuple[str, ...]
    """Kinds of names: types, dimensions, variables, owners, attributes, constants; with `paths` they are paths."""
    words: tuple[str, ...] = ()
    """Words of the language."""
    scope: str = "/"
    """FQN of the enclosing group."""
    owner: str | None = None
    """Variable or type of the attribute that is written; `` for the group's, None outside of attributes."""
    attribute: str = ""
    """Name of the attribute whose value is written."""
    type: str = ""
    """Type that the attribute states, as written."""
    quoted: int | None = None
    """First byte of the text in the string that contains the place."""


class Language(NamedTuple):
    """Row of a format that people write by hand."""

    read: Callable[[Source], TextMap]
    """Return the names of a text."""
    split: Callable[[bytes], list[Lexeme]]
    """Return the lexemes of a text."""
    spell: Callable[[str, Role], str]
    """Return a name as it is written in this role."""
    spell_path: Callable[[str], str]
    """Return a FQN as it is written."""
    read_name: Callable[[str], str]
    """Return the name that a text spells."""
    complete: Callable[[bytes, Sequence[Lexeme], int, TextMap], Completion]
    """Return what can be written at an offset; lexemes are those before it."""
    words: Mapping[str, tuple[str, ...]]
    """Words of the language by class, such as `types`, which are the atomic ones."""
    documents: dict[str, str]
    """Meaning of the words of the language."""


def find_language(name: str) -> Language | None:
    """Return the language of the format of a name; None for a format that people do not write."""
    place = plugin_index.find_place("language", name)
    return None if place is None else cast("Language", registry.load(place))


def split_text(
    pattern: re.Pattern[bytes], classify: Callable[[re.Match[bytes]], LexemeKind], data: bytes
) -> list[Lexeme]:
    """Return the lexemes of a text. Groups of the pattern are kinds; `classify` returns the kind of a word."""
    matches = pattern.finditer(data)
    kinds = ((one, classify(one) if one.lastgroup == "word" else cast("LexemeKind", one.lastgroup)) for one in matches)
    return [Lexeme(*match.span(), kind) for match, kind in kinds]


def section_at(text_map: TextMap, offset: int) -> SectionStart:
    """Return the section and the group of an offset."""
    before = [start for start in text_map.sections if start.start <= offset]
    return before[-1] if before else SectionStart(0, "", "/")


def statement_before(
    lexemes: Sequence[Lexeme], data: bytes, stops: bytes, heads: Collection[bytes] = ()
) -> list[Lexeme]:
    """Return the last lexemes without comments: after a punctuation mark of `stops`, or from a keyword of `heads`."""
    statement: list[Lexeme] = []
    for lexeme in reversed(lexemes):
        text = data[lexeme.start : lexeme.end]
        if lexeme.kind == "punctuation" and text in stops:
            break
        if lexeme.kind != "comment":
            statement.append(lexeme)
        if lexeme.kind == "keyword" and text in heads:
            break
    return statement[::-1]


_NAME_IN_PATH = re.compile(rb"/((?:[^/\\]|\\(?s:.)?)*)")


def pieces_of_path(data: bytes, mention: Mention) -> Iterator[tuple[int, int]]:
    """Yield the bytes of each name of a path, without its slash."""
    return (piece.span(1) for piece in _NAME_IN_PATH.finditer(data, mention.start, mention.end))
