"""Names of a CDL text with their roles, from the tokens of the scanner.

Statements differ in their first tokens, as in the grammar. After a fault the
walk goes on with the next token, so that the names of other statements keep
their places.
"""

from __future__ import annotations

import re

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl import spelling
from nczarr.formats.cdl.read.patterns import PRIMITIVES, STATEMENT
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.common.language import Mention, Role, SectionStart, TextMap
from nczarr.names import join
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

_SECTIONS = {P.TYPES: "types", P.DIMENSIONS: "dimensions", P.VARIABLES: "variables", P.DATA: "data"}
_NAMES = frozenset(
    {P.NAME, P.PATH, P.PRIMITIVE, P.ENUM, P.OPAQUE, P.COMPOUND, P.UNLIMITED, P.NETCDF, P.FILL, P.SPECIAL_FLOAT, P.NIL}
)
_SIZES = frozenset({P.UNLIMITED, P.INT, P.FLOAT, P.HEX, P.STRING, P.CHAR, P.STAR, P.NAME})


class CdlMentions:
    """Walk through the tokens of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = FastTokens(source, Report()).scan()
        self.kinds = [token.type for token in self.tokens] + [-1] * 8
        self.words = spelling.Words(source, Report())
        self.map = TextMap([], [], [])
        self.section = 0
        self.groups: list[tuple[str, int, int]] = [("/", 0, -1)]
        """FQN, first byte and number of the mention of each open group."""

    def walk(self) -> TextMap:
        """Return the names of the text."""
        if self.kinds[0] != P.NETCDF:
            return self.map
        name = self.tokens[1]
        text = self.source.text(name.start, name.end)
        start = (
            name.start + len(text.encode("utf-8", "surrogateescape")) - len(text.lstrip().encode("utf-8", "replace"))
        )
        if text.strip() and text.isascii():
            extent = (self.tokens[0].start, self.tokens[-1].end)
            self._add(start, start + len(text.strip()), "dataset", text.strip(), extent=extent)
        self._begin_section(self.tokens[2].end, "body")
        at = 3
        while at < len(self.tokens):
            at = max(self._read_statement(at), at + 1)
        sections = len(self.map.sections)
        while len(self.groups) > 1:
            self._close_group(self.tokens[-1].end)
        del self.map.sections[sections:]  # what is typed at the end belongs to the groups that are open there
        return self.map

    @property
    def scope(self) -> str:
        """FQN of the group that is read."""
        return self.groups[-1][0]

    def _add(
        self,
        start: int,
        end: int,
        role: Role,
        name: str,
        owner: str = "",
        type_name: str = "",
        extent: tuple[int, int] | None = None,
        value: tuple[int, int] | None = None,
    ) -> None:
        self.map.mentions.append(Mention(start, end, role, name, self.scope, owner, type_name, extent, value))

    def _begin_section(self, start: int, name: str) -> None:
        self.map.sections.append(SectionStart(start, name, self.scope))

    def _name(self, at: int) -> str:
        token = self.tokens[at]
        return self.words.reference(token.start, token.end)

    def _use(self, at: int, role: Role, owner: str = "", value: tuple[int, int] | None = None) -> str:
        """Add the use of a name; return it."""
        token = self.tokens[at]
        raw = bytes(self.source.data[token.start : token.end])
        if role == "type" and raw in PRIMITIVES:
            name, role = PRIMITIVES[raw], "atomic"
        else:
            name = self._name(at)
        self._add(token.start, token.end, role, name, owner, value=value)
        return name

    def _declare(
        self, at: int, role: Role, first: int, end: int, owner: str = "", type_name: str = "", value: int | None = None
    ) -> str:
        """Add a declaration from the byte `first` to `end`; return its name. `value`: number of the token with it."""
        token, name = self.tokens[at], self._name(at)
        place = None if value is None else (self.tokens[value].start, self.tokens[value].end)
        self._add(token.start, token.end, role, name, owner, type_name, (first, max(end, token.end)), place)
        return name

    def _end(self, at: int) -> int:
        """Return the byte after the semicolon at `at`, else after the token before."""
        return self.tokens[at].end if self.kinds[at] == P.SEMICOLON else self.tokens[at - 1].end

    def _find_end(self, at: int) -> int:
        """Return the byte after the next semicolon, or after the last token before something else."""
        while self.kinds[at] not in (P.SEMICOLON, P.RBRACE, P.SIMPLE, P.GROUP, -1, *_SECTIONS):
            at += 1
        return self._end(at)

    def _read_statement(self, at: int) -> int:
        """Read what begins with the token `at`; return the number of the token after it."""
        kind, token = self.kinds[at], self.tokens[at]
        after = self.kinds[at + 1]
        if kind in _SECTIONS:
            self.section = kind
            self._begin_section(token.start, _SECTIONS[kind])
        elif kind == P.SIMPLE:
            self._read_simple(token)
        elif kind == P.GROUP:
            return self._open_group(at)
        elif kind == P.RBRACE:
            self._close_group(token.end)
        elif kind == P.COLON:
            return self._read_attribute(at, at)
        elif kind in _NAMES and after == P.COLON:
            return self._read_attribute(at, at + 1)
        elif kind in _NAMES and after in _NAMES and self.kinds[at + 2] == P.COLON:
            return self._read_attribute(at, at + 2)
        elif self.section == P.TYPES:
            return self._read_type(at)
        elif kind in _NAMES and self.section == P.DIMENSIONS:
            return self._read_dimensions(at)
        elif kind in _NAMES and self.section == P.VARIABLES:
            return self._read_variables(at)
        elif kind in _NAMES and self.section == P.DATA and after == P.EQUALS:
            has_values = self.kinds[at + 2] == P.VALUES
            place = self.tokens[at + 2 if has_values else at + 1]
            self._use(at, "variable", value=(place.start if has_values else place.end, place.end))
            return at + 3 if has_values else at + 2
        return at + 1

    def _open_group(self, at: int) -> int:
        if self.kinds[at + 1] not in _NAMES:
            return at + 1
        name, start = self._name(at + 1), self.tokens[at].start
        self._begin_section(start, "body")
        number = len(self.map.mentions)
        self._declare(at + 1, "group", start, self.tokens[at + 1].end)
        if self.kinds[at + 2] != P.LBRACE:
            return at + 2
        self.groups.append((join(self.scope, name.rpartition("/")[2] or "_"), start, number))
        self.section = 0
        self._begin_section(self.tokens[at + 2].end, "body")
        return at + 3

    def _close_group(self, end: int) -> None:
        if len(self.groups) > 1:
            _, start, number = self.groups.pop()
            self.map.mentions[number] = self.map.mentions[number]._replace(extent=(start, end))
            self.map.blocks.append((start, end))
        self.section = 0
        self._begin_section(end, "body")

    def _read_attribute(self, at: int, colon: int) -> int:
        words, name = colon - at, colon + 1
        type_name = self._use(at, "type") if words == 2 else ""
        owner = self._use(colon - 1, "variable" if words == 2 else "owner") if words else ""
        if self.kinds[name] not in _NAMES or self.kinds[colon + 2] != P.EQUALS:
            return name
        has_values = self.kinds[colon + 3] == P.VALUES
        end = colon + 4 if has_values else colon + 3
        value = colon + 3 if has_values else None
        self._declare(name, "attribute", self.tokens[at].start, self._end(end), owner, type_name, value)
        return end

    def _read_dimensions(self, at: int) -> int:
        first = self.tokens[at].start
        while self.kinds[at] in _NAMES and self.kinds[at + 1] == P.EQUALS and self.kinds[at + 2] in _SIZES:
            self._declare(at, "dimension", first, self._end(at + 3), value=at + 2)
            at += 3
            if self.kinds[at] != P.COMMA:
                break
            at += 1
            first = self.tokens[at].start
        return at

    def _read_variables(self, at: int) -> int:
        if self.kinds[at + 1] not in _NAMES:
            return at + 1
        first, end = self.tokens[at].start, self._find_end(at)
        type_name = self._use(at, "type")
        at += 1
        while self.kinds[at] in _NAMES:
            name = self._declare(at, "variable", first, end, type_name=type_name)
            at += 1
            if self.kinds[at] == P.LPAREN:
                at += 1
                while self.kinds[at] in _NAMES or self.kinds[at] in (P.COMMA, P.INT, P.FLOAT, P.STRING, P.STAR):
                    if self.kinds[at] in _NAMES:
                        self._use(at, "dimension", name)
                    at += 1
                at += self.kinds[at] == P.RPAREN
            if self.kinds[at] != P.COMMA:
                break
            at += 1
        return at

    def _read_type(self, at: int) -> int:
        first, kinds = self.tokens[at].start, self.kinds
        if kinds[at] == P.OPAQUE and kinds[at + 1 : at + 4 : 2] == [P.LPAREN, P.RPAREN] and kinds[at + 4] in _NAMES:
            self._declare(at + 4, "type", first, self._end(at + 5), value=at + 2)
            return at + 5
        if kinds[at] == P.COMPOUND and kinds[at + 1] in _NAMES:
            return self._read_block(at, at + 1)
        if kinds[at] in _NAMES and kinds[at + 1 : at + 4] == [P.LPAREN, P.STAR, P.RPAREN] and kinds[at + 4] in _NAMES:
            base = self._use(at, "type")
            self._declare(at + 4, "type", first, self._end(at + 5), type_name=base)
            return at + 5
        if kinds[at] in _NAMES and kinds[at + 1] == P.ENUM and kinds[at + 2] in _NAMES:
            self._use(at, "type")
            return self._read_block(at, at + 2)
        return at + 1

    def _read_block(self, first: int, at: int) -> int:
        """Read name and braces of an enum or a compound."""
        start, number, is_enum = self.tokens[first].start, len(self.map.mentions), at > first + 1
        name = self._declare(at, "type", start, self.tokens[at].end)
        at += 1
        if self.kinds[at] != P.LBRACE:
            return at
        at += 1
        while self.kinds[at] not in (P.RBRACE, -1, P.GROUP, P.SIMPLE, *_SECTIONS):
            at = max(self._read_constant(at, name) if is_enum else self._read_fields(at, name), at + 1)
        at += self.kinds[at] == P.RBRACE
        end = self._end(at)
        self.map.mentions[number] = self.map.mentions[number]._replace(extent=(start, end))
        self.map.blocks.append((start, end))
        return at

    def _read_constant(self, at: int, enum: str) -> int:
        if self.kinds[at] not in _NAMES or self.kinds[at + 1] != P.EQUALS:
            return at + 1
        self._declare(at, "constant", self.tokens[at].start, self.tokens[at + 2].end, enum, value=at + 2)
        return at + 3

    def _read_fields(self, at: int, compound: str) -> int:
        if self.kinds[at] not in _NAMES or self.kinds[at + 1] not in _NAMES:
            return at + 1
        first, type_name = self.tokens[at].start, self._use(at, "type")
        at += 1
        while self.kinds[at] in _NAMES:
            self._declare(at, "field", first, self._find_end(at), compound, type_name)
            at += 1
            if self.kinds[at] == P.LPAREN:
                while self.kinds[at] not in (P.RPAREN, P.SEMICOLON, P.RBRACE, -1):
                    at += 1
                at += self.kinds[at] == P.RPAREN
            if self.kinds[at] != P.COMMA:
                break
            at += 1
        return at

    def _read_simple(self, run: Token) -> None:
        """Read a run of simple statements, whose names have no escapes."""
        data = self.source.data
        for match in STATEMENT.finditer(data, run.start, run.end):
            start, end = match.start(), data.find(b";", match.end(match.lastindex or 0)) + 1
            if match["attribute"] is not None:
                first, second, name = match["word1"], match["word2"], match["attribute"].decode()
                type_name = self._simple_use(match, "word1", "type") if second is not None else ""
                owner = ""
                if first is not None:
                    role: Role = "owner" if second is None else "variable"
                    owner = self._simple_use(match, "word1" if second is None else "word2", role)
                value = (
                    match.span("other") if match["text"] is None else (match.start("text") - 1, match.end("text") + 1)
                )
                self._add(*match.span("attribute"), "attribute", name, owner, type_name, (start, end), value)
            elif match["variable"] is not None:
                type_name, name = self._simple_use(match, "type", "type"), match["variable"].decode()
                self._add(*match.span("variable"), "variable", name, "", type_name, (start, end))
                at = match.start("dims")
                for piece in (match["dims"] or b"").split(b",") if at >= 0 else ():
                    text = piece.strip(b" \t\r\n\f")
                    begin = at + piece.find(text)
                    self._add(begin, begin + len(text), "dimension", text.decode(), name)
                    at += len(piece) + 1
            else:
                name = match["dimension"].decode()
                self._add(*match.span("dimension"), "dimension", name, extent=(start, end), value=match.span("size"))

    def _simple_use(self, match: re.Match[bytes], group: str, role: Role) -> str:
        raw: bytes = match[group]
        name = PRIMITIVES.get(raw) or raw.decode()
        if role == "type" and raw in PRIMITIVES:
            role = "atomic"
        self._add(*match.span(group), role, name if role == "atomic" else raw.decode())
        return name


def read_mentions(source: Source) -> TextMap:
    """Return the names of a text."""
    return CdlMentions(source).walk()
