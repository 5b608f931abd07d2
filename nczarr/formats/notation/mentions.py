"""Names of a text in the notation with their roles, from the tokens of its scanner."""

from __future__ import annotations

from collections.abc import Callable

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.common.language import Mention, Role, SectionStart, TextMap
from nczarr.formats.notation.tokens import WORDS, EscapeError, read_fqn, read_name, scan
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

_NOT_NAMES = frozenset(
    {P.LBRACE, P.RBRACE, P.STRING, P.SIZE, P.INTEGER, P.FLOAT, P.HEX, P.OFFSET, P.ZARRVERSION, P.FQN, P.EOF}
)
_CONSTANTS = frozenset({P.SIZE, P.INTEGER, P.FLOAT, P.NAN, P.INFINITY, P.HEX, P.STRING, P.NIL, P.NAME})
_ATOMIC = frozenset(kind for word, kind in WORDS.items() if word.decode() in ATOMIC)


class NotationMentions:
    """Walk through the tokens of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = scan(source, Report())
        self.kinds = [token.type for token in self.tokens] + [P.EOF] * 8
        self.map = TextMap([], [], [])
        self.open: list[tuple[str, str, int, int]] = []
        """Kind, name, first byte and number of the mention of each open brace."""
        self.paths = ["/"]

    def walk(self) -> TextMap:
        """Return the names of the text."""
        at = 0
        while self.kinds[at] != P.EOF:
            at = max(self._read_statement(at), at + 1)
        sections = len(self.map.sections)
        while self.open:
            self._close(self.tokens[-1].end)
        del self.map.sections[sections:]  # what is typed at the end belongs to what is open there
        return self.map

    def _name(self, at: int) -> str:
        text = self.source.text(self.tokens[at].start, self.tokens[at].end)
        try:
            return read_fqn(text) if self.kinds[at] == P.FQN else read_name(text)
        except EscapeError:
            return text

    def _add(
        self,
        at: int,
        role: Role,
        owner: str = "",
        type_name: str = "",
        extent: tuple[int, int] | None = None,
        value: tuple[int, int] | None = None,
    ) -> str:
        token, name = self.tokens[at], self._name(at)
        self.map.mentions.append(
            Mention(token.start, token.end, role, name, self.paths[-1], owner, type_name, extent, value)
        )
        return name

    def _is_name(self, at: int) -> bool:
        return self.kinds[at] not in _NOT_NAMES

    def _use_type(self, at: int) -> str:
        """Add the type at a token; return it, empty for something else."""
        if self.kinds[at] in _ATOMIC:
            return self._add(at, "atomic")
        return self._add(at, "type") if self.kinds[at] in (P.NAME, P.FQN) else ""

    def _read_statement(self, at: int) -> int:
        kind = self.kinds[at]
        if kind == P.RBRACE:
            if self.open:
                self._close(self.tokens[at].end)
            return at + 1
        inside, owner = (self.open[-1][0], self.open[-1][1]) if self.open else ("", "")
        if inside == "enum":
            return self._read_constant(at, owner)
        if inside == "compound":
            return self._read_field(at, owner)
        if kind == P.FILL and inside == "variable":
            return self._read_fill(at, owner)
        reader = _READERS.get(kind)
        return at + 1 if reader is None or not (kind == P.DATASET or self._is_name(at + 1)) else reader(self, at)

    def _close(self, end: int) -> None:
        kind, _, start, number = self.open.pop()
        if number >= 0:
            self.map.mentions[number] = self.map.mentions[number]._replace(extent=(start, end))
        self.map.blocks.append((start, end))
        if kind in ("group", "dataset"):
            self.paths = self.paths[:-1] or ["/"]
        self._begin_section(end)

    def _begin_section(self, start: int) -> None:
        kind = self.open[-1][0] if self.open else ""
        self.map.sections.append(SectionStart(start, "body" if kind in ("group", "dataset") else kind, self.paths[-1]))

    def _open_block(self, at: int, kind: str, name: str, start: int, number: int) -> int:
        """Enter the brace at a token, if there is one."""
        if self.kinds[at] != P.LBRACE:
            return at
        self.open.append((kind, name, start, number))
        self._begin_section(self.tokens[at].end)
        return at + 1

    def read_dataset(self, at: int) -> int:
        """Read the head of the dataset."""
        start, number = self.tokens[at].start, -1
        if self._is_name(at + 1) and self.kinds[at + 1] != P.KIND:
            number = len(self.map.mentions)
            self._add(at + 1, "dataset", extent=(start, self.tokens[at + 1].end))
        while self.kinds[at] not in (P.LBRACE, P.EOF):
            at += 1
        self.paths = ["/"]
        return self._open_block(at, "dataset", "", start, number)

    def read_group(self, at: int) -> int:
        """Read the head of a group."""
        start, number = self.tokens[at].start, len(self.map.mentions)
        name = self._add(at + 1, "group", extent=(start, self.tokens[at + 1].end))
        if self.kinds[at + 2] == P.LBRACE:
            self.paths.append(names.join(self.paths[-1], name))
        return self._open_block(at + 2, "group", name, start, number)

    def read_dimension(self, at: int) -> int:
        """Read a dimension."""
        size: int = at + 2 + (self.kinds[at + 2] == P.UNLIMITED)
        has_size = self.kinds[size] == P.SIZE
        end = self.tokens[size if has_size else size - 1].end
        value = (self.tokens[size].start, end) if has_size else None
        self._add(at + 1, "dimension", extent=(self.tokens[at].start, end), value=value)
        return size + 1 if has_size else size

    def read_variable(self, at: int) -> int:
        """Read a variable up to its brace."""
        start, number = self.tokens[at].start, len(self.map.mentions)
        name = self._add(at + 1, "variable", extent=(start, self.tokens[at + 1].end))
        at += 2
        type_name = self._use_type(at)
        at += bool(type_name)
        while self.kinds[at] in (P.SIZE, P.FQN):
            if self.kinds[at] == P.FQN:
                self._add(at, "dimension", name)
            at += 1
        extent = (start, self.tokens[at - 1].end)
        self.map.mentions[number] = self.map.mentions[number]._replace(type=type_name, extent=extent)
        return self._open_block(at, "variable", name, start, number)

    def read_attribute(self, at: int) -> int:
        """Read an attribute with its values."""
        start, number = self.tokens[at].start, len(self.map.mentions)
        owner = self.open[-1][1] if self.open and self.open[-1][0] == "variable" else ""
        self._add(at + 1, "attribute", owner)
        type_name = self._use_type(at + 2)
        first = at = at + 2 + bool(type_name)
        at = self._skip_constants(at)
        value = (self.tokens[first].start, self.tokens[at - 1].end) if at > first else None
        extent = (start, self.tokens[at - 1].end)
        self.map.mentions[number] = self.map.mentions[number]._replace(type=type_name, extent=extent, value=value)
        return at

    def _read_fill(self, at: int, owner: str) -> int:
        """Read `fill X`, which is the attribute `_FillValue`; it has no name of its own."""
        end = self._skip_constants(at + 1)
        if end > at + 1:
            value = (self.tokens[at + 1].start, self.tokens[end - 1].end)
            token = self.tokens[at]
            mention = Mention(token.start, token.end, "attribute", "_FillValue", self.paths[-1], owner, "", None, value)
            self.map.mentions.append(mention)
        return end

    def _skip_constants(self, at: int) -> int:
        """Return the number of the token after a list of constants."""
        depth = 0
        while self.kinds[at] in _CONSTANTS or self.kinds[at] == P.LBRACE or (depth and self.kinds[at] == P.RBRACE):
            depth += (self.kinds[at] == P.LBRACE) - (self.kinds[at] == P.RBRACE)
            at += 1
        return at

    def read_compound(self, at: int) -> int:
        """Read the head of a compound."""
        return self._open_type_block(at, "compound", at + 2 + (self.kinds[at + 2] == P.OFFSET))

    def read_enum(self, at: int) -> int:
        """Read the head of an enum."""
        number = len(self.map.mentions)
        self._add(at + 1, "type", extent=(self.tokens[at].start, self.tokens[at + 1].end))
        brace = at + 2 + bool(self._use_type(at + 2))
        return self._open_block(brace, "enum", self.map.mentions[number].name, self.tokens[at].start, number)

    def _open_type_block(self, at: int, kind: str, brace: int) -> int:
        start, number = self.tokens[at].start, len(self.map.mentions)
        name = self._add(at + 1, "type", extent=(start, self.tokens[at + 1].end))
        return self._open_block(brace, kind, name, start, number)

    def read_opaque(self, at: int) -> int:
        """Read an opaque type."""
        size = self.tokens[at + 2] if self.kinds[at + 2] == P.SIZE else self.tokens[at + 1]
        self._add(at + 1, "type", extent=(self.tokens[at].start, size.end), value=(size.start, size.end))
        return at + 2

    def read_vlen(self, at: int) -> int:
        """Read a vlen type."""
        number = len(self.map.mentions)
        self._add(at + 1, "type")
        base = self._use_type(at + 2)
        end = at + 2 + bool(base)
        extent = (self.tokens[at].start, self.tokens[end - 1].end)
        self.map.mentions[number] = self.map.mentions[number]._replace(type=base, extent=extent)
        return end

    def _read_constant(self, at: int, enum: str) -> int:
        if not self._is_name(at):
            return at + 1
        number = self.tokens[at + 1] if self.kinds[at + 1] in (P.SIZE, P.INTEGER) else self.tokens[at]
        extent, value = (self.tokens[at].start, number.end), (number.start, number.end)
        self._add(at, "constant", enum, extent=extent, value=value)
        return at + 2

    def _read_field(self, at: int, compound: str) -> int:
        if not self._is_name(at):
            return at + 1
        number = len(self.map.mentions)
        self._add(at, "field", compound)
        end = at + 1
        type_name = self._use_type(end)
        end += bool(type_name)
        while self.kinds[end] in (P.SIZE, P.OFFSET):
            end += 1
        extent = (self.tokens[at].start, self.tokens[end - 1].end)
        self.map.mentions[number] = self.map.mentions[number]._replace(type=type_name, extent=extent)
        return end


_READERS: dict[int, Callable[[NotationMentions, int], int]] = {
    P.DATASET: NotationMentions.read_dataset,
    P.GROUP: NotationMentions.read_group,
    P.DIMENSION: NotationMentions.read_dimension,
    P.VARIABLE: NotationMentions.read_variable,
    P.ATTRIBUTE: NotationMentions.read_attribute,
    P.COMPOUND: NotationMentions.read_compound,
    P.OPAQUE: NotationMentions.read_opaque,
    P.ENUM: NotationMentions.read_enum,
    P.VLEN: NotationMentions.read_vlen,
}


def read_mentions(source: Source) -> TextMap:
    """Return the names of a text."""
    return NotationMentions(source).walk()
