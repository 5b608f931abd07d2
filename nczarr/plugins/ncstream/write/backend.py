"""`write`: a dataset as a sequential stream, suitable for pipes: header, values in header order, END.

Numbers are big-endian `Data` messages (several above 2³¹ - 1 bytes), which
every reader accepts; strings and opaque values are length-prefixed; lists and
records are columns with bounded cells per message. Invariant: memory holds a
piece of one variable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Literal, NamedTuple

from nczarr.arrays.regions import (
    Selection,
    all_of,
    lengths_of,
    linear_pieces,
)
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import ListTree, PartTree, RecordTree, Types, is_fixed, part_tree, size
from nczarr.ast.node import TypeName
from nczarr.diagnostics.report import Report
from nczarr.names import to_bytes
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan
from nczarr.plugins.common.selected_parts import select_parts
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.element_types import NUMPY, full_bytes, is_sequence, wire_type
from nczarr.plugins.ncstream.wire.framing import END, ERROR, HEADER, START, add_crc32, are_requested, frame
from nczarr.plugins.ncstream.wire.limits import LONGEST_BLOCK
from nczarr.plugins.ncstream.wire.trees import Cursor, FixedNumbers, Opaque, RaggedLists, RawStrings, Records, Tree
from nczarr.plugins.ncstream.write.encode import column_message, data_message, numbers_message
from nczarr.plugins.ncstream.write.header_writer import header
from nczarr.plugins.ncstream.write.pack_rows import Piece
from nczarr.semantics.checked import Checked

PIECE = 4 << 20
"""Approximate bytes of numbers read at once."""

CELLS = 1 << 16
"""Maximum cells of other types in one message of a file."""

MESSAGE = 32 << 20
"""Approximate maximum bytes of a list message in a file; a single cell may exceed it."""

DEFLATED = 64 << 20
"""Maximum bytes of numbers in one deflated message of a file; the result is held in memory."""

Profile = Literal["mixed", "first", "second"]
"""Message kinds to write. "mixed": `Data` for numbers and texts, else columns;
"first", "second": one kind if it can represent the values.
"""


class MessageValues(NamedTuple):
    """Values to write."""

    name: bytes
    type: TypeName
    ranges: tuple[range, ...]
    """Indices in the variable."""
    sources: Parts
    """Arrays that hold exactly these cells."""
    types: Types
    """Declared types by FQN."""
    checksums: bool = False
    """True for `Data` messages with their CRC-32."""

    @classmethod
    def of(
        cls, checked: Checked, path: str, section: tuple[range, ...] | None = None, *, checksums: bool = False
    ) -> MessageValues:
        """Return the values of a variable, or of a section of it."""
        ranges = tuple(map(range, checked.shapes[path])) if section is None else section
        sources = select_parts(checked, path, ranges)
        return cls(full_bytes(path), checked.variables[path].type, ranges, sources, checked.types, checksums)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return tuple(map(len, self.ranges))

    @property
    def are_numbers(self) -> bool:
        """True if each cell is a number, char or enum value."""
        wire = wire_type(self.type, self.types)
        return not wire.ragged and wire.element in NUMPY

    def messages(self, deflate: int | None = None) -> Iterator[Piece]:
        """Yield the messages for a file. `deflate`: level, for numbers. Raises OSError."""
        if self.are_numbers:
            width = size(self.type, self.types)
            # netCDF-Java's file reader takes one message for the whole variable
            for region in linear_pieces(all_of(self.shape), (LONGEST_BLOCK if deflate is None else DEFLATED) // width):
                yield from self._numbers(region, deflate)
            return
        cursor = Cursor(self.sources, self.type, self.types)
        for region in self._regions():
            yield from self._message(cursor.tree(region), self._section(region), "mixed", None)

    def message(self, profile: Profile = "mixed", deflate: int | None = None) -> Iterator[Piece]:
        """Yield all values as one message, for answers. `deflate`: level, for numbers.

        Raises OSError; UnwritableError if they exceed one message.
        """
        whole = all_of(self.shape)
        if self.are_numbers and profile != "second":
            yield from self._numbers(whole, deflate)
            return
        tree = Cursor(self.sources, self.type, self.types).tree(whole)
        yield from self._message(tree, self.ranges, profile, deflate)

    def _message(
        self, tree: Tree, section: tuple[range, ...], profile: Profile, deflate: int | None
    ) -> Iterator[Piece]:
        """Yield a data message, or a column message if the profile or the form of the values asks for it."""
        make = partial(self._encode, tree, section, profile, deflate)
        return add_crc32(make) if self.checksums else make()

    def _encode(self, tree: Tree, section: tuple[range, ...], profile: Profile, deflate: int | None) -> Iterator[Piece]:
        """Yield the message without a checksum."""
        if isinstance(tree, RaggedLists) and is_sequence(self.type, self.shape, self.types) and profile != "second":
            return data_message(self.name, tree.content, None)
        first = isinstance(tree, RawStrings | Opaque | FixedNumbers) or (profile == "first" and has_first_form(tree))
        if first and profile != "second":
            return data_message(self.name, tree, section, deflate=deflate)
        return column_message(self.name, tree, section)

    def _numbers(self, region: Selection, deflate: int | None) -> Iterator[Piece]:
        """Yield one message of numbers, read piece by piece; twice for its checksum."""
        make = partial(self._encode_numbers, region, deflate)
        return add_crc32(make) if self.checksums else make()

    def _encode_numbers(self, region: Selection, deflate: int | None) -> Iterator[Piece]:
        """Yield the message without a checksum."""
        section = self._section(region)
        count = math.prod(map(len, section))
        arrays = slabs(self.sources[""], max(1, PIECE // size(self.type, self.types)), region)
        element = wire_type(self.type, self.types).element
        return numbers_message(self.name, element, section, arrays, count, deflate=deflate)

    def _section(self, region: Selection) -> tuple[range, ...]:
        """Return the section of a region in the variable."""
        return tuple(indices[part] for indices, part in zip(self.ranges, region, strict=True))

    def _regions(self) -> Iterator[Selection]:
        """Yield consecutive regions, one per message."""
        for region in linear_pieces(all_of(self.shape), CELLS):
            yield from linear_pieces(region, self._room(region))

    def _room(self, region: Selection) -> int:
        """Return how many cells of a region fit in one message, from the average list size."""
        cells: int = math.prod(lengths_of(region))
        weight: int = 0
        for path, width in _list_widths(part_tree(self.type, self.types), self.types):
            counts = self.sources[path]
            rest = all_of(counts.layout.shape[len(region) :])
            lengths = counts.read((*region, *rest))
            weight += int(lengths.sum()) * width
        if is_fixed(self.type, self.types):
            weight = cells * size(self.type, self.types)
        return cells if weight <= MESSAGE else max(1, cells * MESSAGE // weight)


def _list_widths(tree: PartTree, types: Types) -> Iterator[tuple[str, int]]:
    """Yield path and item bytes of the outermost lists; 256 for items of variable size."""
    match tree:
        case ListTree():
            yield tree.counts.path, size(tree.base, types) if is_fixed(tree.base, types) else 256
        case RecordTree():
            for _, inner in tree.members:
                yield from _list_widths(inner, types)


def has_first_form(tree: Tree) -> bool:
    """Return whether a `Data` message can hold the values."""
    match tree:
        case RaggedLists():
            return isinstance(tree.content, FixedNumbers)
        case Records():
            return all(
                isinstance(member, FixedNumbers | RawStrings | Records) and has_first_form(member)
                for member in tree.members
            )
        case _:
            return True


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the pieces of the stream. Raises OSError.

    If a variable is unreadable from its start, the stream ends with an error
    message; later faults break it off.
    """
    checked, checksums = plan.checked, are_requested(options.run)
    yield START
    yield frame(HEADER, header(checked))
    for path in checked.variables:
        storage = plan.storage.get(path)
        level = storage.codecs[0].parameters[0] if storage is not None and storage.codecs[0].parameters else None
        begun = False
        try:
            for piece in _one_behind(MessageValues.of(checked, path, checksums=checksums).messages(deflate=level)):
                begun = True
                yield piece
        except OSError as error:
            if not begun:
                yield frame(ERROR, pb.Error(message=to_bytes(str(error.strerror or error))))
            raise
    yield END


def _one_behind(pieces: Iterator[Piece]) -> Iterator[bytes]:
    """Delay each piece until the next is available, so that a message header waits for its first values."""
    waiting: Piece | None = None
    for piece in pieces:
        if waiting is not None:
            yield bytes(waiting)
        waiting = piece
    if waiting is not None:
        yield bytes(waiting)
