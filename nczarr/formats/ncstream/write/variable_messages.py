"""The values of a variable, or of a section of it, as messages of data.

Comes in: a checked dataset, a variable, perhaps the indices that are wanted. Goes out: the bytes of messages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from nczarr.arrays.blocks import Selection, every_block, linear_block, region_of, within
from nczarr.arrays.part_fills import all_fill
from nczarr.arrays.parts import ListTree, PartTree, RecordTree, Types, is_fixed, part_tree, size
from nczarr.arrays.sliced import cut
from nczarr.arrays.source import Parts
from nczarr.arrays.streaming import slabs
from nczarr.ast.node import TypeName
from nczarr.check.checked import Checked
from nczarr.formats.ncstream.wire.byte_pieces import Piece
from nczarr.formats.ncstream.wire.cells import Cursor
from nczarr.formats.ncstream.wire.dtypes import full_bytes, wire_type
from nczarr.formats.ncstream.wire.element_types import NUMPY
from nczarr.formats.ncstream.wire.encode import column_message, data_message, numbers_message
from nczarr.formats.ncstream.wire.limits import LONGEST_BLOCK
from nczarr.formats.ncstream.wire.trees import Lists, Numbers, Opaque, Records, Texts, Tree
from nczarr.formats.ncstream.write.header_writer import is_sequence

PIECE = 4 << 20
"""Bytes of numbers that are read in one go, about."""

CELLS = 1 << 16
"""Cells of other types that one message of a file holds, at most."""

MESSAGE = 32 << 20
"""Bytes of one message of lists in a file, about; a single cell may have more."""

DEFLATED = 64 << 20
"""Bytes of numbers in one deflated message of a file, at most: what comes of them is held in memory."""

Profile = Literal["mixed", "first", "second"]
"""Which kinds of message are written: the first for numbers and texts and the second for all else, or one of them
wherever that has a form for the values.
"""


class Values(NamedTuple):
    """What is written: `ranges` are the indices in the variable, `sources` have just these cells."""

    name: bytes
    type: TypeName
    ranges: tuple[range, ...]
    sources: Parts
    types: Types

    @classmethod
    def of(cls, checked: Checked, path: str, wanted: tuple[range, ...] | None = None) -> Values:
        """A variable, or the cells of it that are wanted."""
        variable, shape = checked.variables[path], checked.shapes[path]
        usual = all_fill(checked.fills[path], variable.type, shape, checked.types)
        sources: Parts = {**usual, **checked.parts.get(path, {})}
        whole = tuple(map(range, shape))
        if wanted is not None and wanted != whole:
            sources = cut(variable.type, wanted, sources, checked.types)
        name = full_bytes(path)
        return cls(name, variable.type, whole if wanted is None else wanted, sources, checked.types)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is written."""
        return tuple(map(len, self.ranges))

    @property
    def are_numbers(self) -> bool:
        """Whether each cell is a number, a char or the integer of an enum."""
        wire = wire_type(self.type, self.types)
        return not wire.ragged and wire.element in NUMPY

    def messages(self, deflate: int | None = None) -> Iterator[Piece]:
        """The messages of a file. `deflate`: a level, for numbers. Raises OSError."""
        if self.are_numbers:
            width = size(self.type, self.types)
            shape = self.shape
            block = linear_block(shape, (LONGEST_BLOCK if deflate is None else DEFLATED) // width)
            for index in every_block(shape, block):
                yield from self._numbers(region_of(index, block, shape), deflate)
            return
        cursor = Cursor(self.sources, self.type, self.types)
        for region in self._regions():
            yield from self._message(cursor.tree(region), self._section(region), "mixed", None)

    def message(self, profile: Profile = "mixed", deflate: int | None = None) -> Iterator[Piece]:
        """All that is wanted as one message, as answers have it. `deflate`: a level, for numbers.

        Raises OSError, and UnwritableError for more than one message holds.
        """
        whole = tuple(slice(0, length) for length in self.shape)
        if self.are_numbers and profile != "second":
            yield from self._numbers(whole, deflate)
            return
        tree = Cursor(self.sources, self.type, self.types).tree(whole)
        yield from self._message(tree, self.ranges, profile, deflate)

    def _message(
        self, tree: Tree, section: tuple[range, ...], profile: Profile, deflate: int | None
    ) -> Iterator[Piece]:
        if isinstance(tree, Lists) and is_sequence(self.type, self.shape, self.types) and profile != "second":
            return data_message(self.name, tree.content, None)
        first = isinstance(tree, Texts | Opaque | Numbers) or (profile == "first" and has_first_form(tree))
        if first and profile != "second":
            return data_message(self.name, tree, section, deflate=deflate)
        return column_message(self.name, tree, section)

    def _numbers(self, region: Selection, deflate: int | None) -> Iterator[Piece]:
        """One message of numbers, which are read piece by piece."""
        section = self._section(region)
        count = math.prod(map(len, section))
        arrays = slabs(self.sources[""], max(1, PIECE // size(self.type, self.types)), region)
        element = wire_type(self.type, self.types).element
        return numbers_message(self.name, element, section, arrays, count, deflate=deflate)

    def _section(self, region: Selection) -> tuple[range, ...]:
        """Where the cells of a region lie in the variable."""
        return tuple(indices[part] for indices, part in zip(self.ranges, region, strict=True))

    def _regions(self) -> Iterator[Selection]:
        """Stretches of the variable one behind the other, each for one message."""
        shape = self.shape
        block = linear_block(shape, CELLS)
        for index in every_block(shape, block):
            region = region_of(index, block, shape)
            room = self._room(region)
            lengths = tuple(part.stop - part.start for part in region)
            inner = linear_block(lengths, room)
            for each in every_block(lengths, inner):
                yield within(region, region_of(each, inner, lengths))

    def _room(self, region: Selection) -> int:
        """How many cells of a region one message holds, by what its lists take on average."""
        cells: int = math.prod(part.stop - part.start for part in region)
        weight: int = 0
        for path, width in _list_widths(part_tree(self.type, self.types), self.types):
            counts = self.sources[path]
            rest = tuple(slice(0, length) for length in counts.layout.shape[len(region) :])
            lengths = counts.read((*region, *rest))
            weight += int(lengths.sum()) * width
        if is_fixed(self.type, self.types):
            weight = cells * size(self.type, self.types)
        return cells if weight <= MESSAGE else max(1, cells * MESSAGE // weight)


def _list_widths(tree: PartTree, types: Types) -> Iterator[tuple[str, int]]:
    """The counts of the outermost lists, and bytes of one item: what has none of its own counts as a few."""
    match tree:
        case ListTree():
            yield tree.counts.path, size(tree.base, types) if is_fixed(tree.base, types) else 256
        case RecordTree():
            for _, inner in tree.members:
                yield from _list_widths(inner, types)


def has_first_form(tree: Tree) -> bool:
    """Whether values have a form in messages of the first kind."""
    match tree:
        case Lists():
            return isinstance(tree.content, Numbers)
        case Records():
            return all(isinstance(each, Numbers | Texts | Records) and has_first_form(each) for each in tree.members)
        case _:
            return True
