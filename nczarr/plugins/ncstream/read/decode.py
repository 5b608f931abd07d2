"""Decoding of data messages to value trees, whose numbers are views of the buffer where possible.

Invariant: numbers in `Data` messages are big-endian whatever the byte order
flag, unless the caller asks for it; only rows follow it always.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.options import RunOptions
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.data_columns import ColumnDecoder
from nczarr.plugins.ncstream.read.rows import RowReader
from nczarr.plugins.ncstream.read.scan import StreamEntry, is_counted
from nczarr.plugins.ncstream.wire import element_types as known
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.element_types import (
    NUMPY,
    UNSIGNED,
    Definitions,
    Section,
    check_type,
    dtype_of,
    name_of,
    section_of,
    shape_of,
)
from nczarr.plugins.ncstream.wire.framing import BlockRanges, Incoming
from nczarr.plugins.ncstream.wire.limits import DEFAULT, Limits, UnreadableStreamError, bad, contradictory, oversized
from nczarr.plugins.ncstream.wire.protobuf import Buffer
from nczarr.plugins.ncstream.wire.trees import FixedNumbers, Opaque, RaggedLists, RawStrings, Tree, with_nil
from nczarr.stores.url import BadURLError

JOINED = 512
"""Average bytes per list from which lists are copied one by one."""


MOST_OF_ONE = 1032
"""Maximum inflated bytes per deflated byte."""


ORDER = "ncstream.byte_order"
"""Storage option: `big` (all known senders), or `flag` (as each message states)."""


def is_by_flag(run: RunOptions) -> bool:
    """Return whether numbers have the byte order that messages state. Raises BadURLError."""
    value = run.storage.of("source").get(ORDER, "big")
    if value not in ("big", "flag"):
        raise BadURLError(f"the storage option `{ORDER}` must be `big` or `flag`, not {value!r}")
    return bool(value == "flag")


class Decoded(NamedTuple):
    """Values of a message."""

    section: Section | None
    """Section of the message; None without one."""
    shape: tuple[int, ...]
    """Shape of the cells, from the section or else from the header."""
    tree: Tree
    """The values."""
    ragged: int | None = None
    """Position of the ragged dimension in the section; None without one."""


def column_tree(
    entry: StreamEntry,
    buffer: Buffer,
    definitions: Definitions,
    limits: Limits = DEFAULT,
    *,
    base: int = 0,
    by_flag: bool = False,
) -> Decoded:
    """Decode a `data` or `column` message. `base`: stream offset of the buffer. Raises UnreadableStreamError.

    `by_flag`: the numbers of `data` messages have the byte order that the message states.
    """
    if entry.column is not None:
        return _decode_column(entry, buffer, definitions, base)
    return _DataReader(entry, buffer, definitions, limits, base, big=is_big(entry.message, by_flag=by_flag)).read()


def is_big(message: pb.Data, *, by_flag: bool) -> bool:
    """Return whether the numbers of a message are big-endian; `by_flag`: as the message states."""
    return not by_flag or not message.HasField("bigend") or message.bigend


def _decode_column(entry: StreamEntry, buffer: Buffer, definitions: Definitions, base: int) -> Decoded:
    assert entry.column is not None
    declared = definitions.find(entry.message.name)
    place = None if declared is None else known.find_ragged_place(declared)
    section, tree = ColumnDecoder(buffer, base, big=entry.message.bigend).tree(entry.column, place)
    if known.is_unsigned(declared):
        tree = make_unsigned(tree)
    cells = len(tree)
    if section is None:
        return Decoded(None, _choose_shape(declared, cells), tree)
    shape = shape_of(section)
    if isinstance(tree, RaggedLists) and tree.inner:
        shape = shape[: len(shape) - len(tree.inner)]
    return Decoded(section, shape, tree)


def _choose_shape(declared: known.Declared | None, cells: int) -> tuple[int, ...]:
    """Return the declared shape if its size is `cells`, else one dimension."""
    if declared is not None:
        shape = known.lengths_of(declared)
        if math.prod(shape) == cells:
            return shape
    return (cells,)


def make_unsigned(tree: Tree) -> Tree:
    """Reinterpret signed integers of the first generation as unsigned."""
    if isinstance(tree, RaggedLists):
        return dataclasses.replace(tree, content=make_unsigned(tree.content))
    if isinstance(tree, FixedNumbers) and tree.data_type in UNSIGNED:
        dtype = dtype_of(UNSIGNED[tree.data_type], big=tree.values.dtype.str[0] == ">")
        return dataclasses.replace(tree, values=tree.values.view(dtype))
    return tree


class _DataReader:
    """Decoder of one `Data` message."""

    def __init__(
        self, entry: StreamEntry, buffer: Buffer, definitions: Definitions, limits: Limits, base: int, *, big: bool
    ) -> None:
        assert entry.payload is not None
        self._entry = entry
        self._big = big
        self._message: pb.Data = entry.message
        self._buffer = buffer
        self._limits = limits
        self._base = base
        self._start, self._end = entry.payload
        self._declared = definitions.find(self._message.varName)
        check_type(self._message.dataType, entry.offset)
        ragged = self._message.vdata or self._message.dataType in (pb.STRING, pb.OPAQUE)
        self._section, self._ragged = section_of(self._message, entry.offset, is_ragged=ragged)

    def read(self) -> Decoded:
        message = self._message
        if message.dataType in (pb.STRUCTURE, pb.SEQUENCE):
            return self._rows()
        if message.compress not in (pb.Data.NONE, pb.Data.DEFLATE):
            raise bad(f"unknown compression {message.compress}", self._entry.offset)
        if is_counted(message):
            return self._read_counted()
        count = None if self._section is None else math.prod(shape_of(self._section))
        return self._shape(self._numbers(count))

    def _shape(self, tree: Tree) -> Decoded:
        if self._section is None:
            return Decoded(None, _choose_shape(self._declared, len(tree)), tree)
        return Decoded(self._section, shape_of(self._section), tree, self._ragged)

    def _numbers(self, count: int | None) -> Tree:
        """Return the message's numbers, inflated if need be; `count`: None without a section, which is all of them."""
        dtype = dtype_of(self._message.dataType, big=self._big)
        buffer, start, size = self._buffer, self._start, self._end - self._start
        if self._message.compress == pb.Data.DEFLATE:
            expected = self._message.uncompressedSize if count is None else count * dtype.itemsize
            self._check_announced(expected)
            buffer = inflate(memoryview(buffer)[start : self._end], expected, self._limits, self._base + start)
            start, size = 0, expected
        if count is None:
            count = size // dtype.itemsize
        if count * dtype.itemsize != size:
            text = f"{count} values of type {name_of(self._message.dataType)} in {size} bytes"
            raise contradictory(text, self._base + self._start, self._base + self._end)
        values = np.frombuffer(buffer, dtype, count, start if count else 0)
        return self._sign(FixedNumbers(self._message.dataType, values))

    def _sign(self, tree: Tree) -> Tree:
        return make_unsigned(tree) if known.is_unsigned(self._declared) else tree

    def _check_announced(self, expected: int) -> None:
        announced = self._message.uncompressedSize
        # `uncompressedSize` has 32 bits
        if self._message.HasField("uncompressedSize") and announced != expected & 0xFFFF_FFFF:
            text = f"{announced} bytes are announced, but the section needs {expected}"
            raise contradictory(text, self._entry.offset)

    # ---- counted blocks: strings, opaque values, lists ---------------------------------------------------------------

    def _read_counted(self) -> Decoded:
        """Decode a message whose values have each a length: lists of numbers, strings or opaque values."""
        if self._message.dataType in NUMPY:
            return self._lists(*self._bounds())
        items = self._items()
        cells = None if self._section is None else math.prod(shape_of(self._section))
        if cells is not None and len(items) != cells:
            raise contradictory(f"{len(items)} values, but the section has {cells} places", self._entry.offset)
        if self._message.dataType == pb.OPAQUE:
            return self._shape(Opaque(items))
        return self._shape(RawStrings(with_nil(items, self._nil(), self._entry.offset)))

    def _items(self) -> list[Any]:
        """Return strings or opaque values."""
        entry = self._entry
        if entry.items is not None:
            return entry.items
        if self._message.compress == pb.Data.DEFLATE:
            blocks: list[Any] = self._inflate(lambda inside, count: inside.items(0, count))[1]
            return blocks
        data = bytes(memoryview(self._buffer)[self._start : self._end])
        return list(Incoming(data, self._limits).items(0, entry.blocks)[0])

    def _bounds(self) -> tuple[Buffer, BlockRanges]:
        """Return the positions of lists, and their buffer."""
        entry = self._entry
        if entry.bounds is not None:
            return self._buffer, entry.bounds
        if self._message.compress == pb.Data.DEFLATE:
            return self._inflate(lambda inside, count: inside.bounds(0, count))
        return self._buffer, Incoming(self._buffer, self._limits).bounds(self._start, entry.blocks)[0]

    def _inflate(self, read: Callable[[Incoming, int], tuple[Any, int]]) -> tuple[bytes, Any]:
        """Read deflated blocks that have no count. One writer stores the count as the inflated size."""
        start, end = self._base + self._start, self._base + self._end
        data = inflate(memoryview(self._buffer)[self._start : self._end], None, self._limits, start)
        count = self._message.uncompressedSize
        if self._section is not None:
            count = math.prod(shape_of(self._section))
        try:
            values, after = read(Incoming(data, self._limits), count)
        except UnreadableStreamError as error:  # whose place is one in the inflated bytes
            raise contradictory(f"{count} values within a deflated block: {error}", start, end) from None
        if after != len(data):
            raise contradictory(f"{count} values do not fill the deflated block", start, end)
        return data, values

    def _nil(self) -> NDArray[np.uint64]:
        pieces = [protobuf.integers(self._buffer, *place, wide=True, base=self._base) for place in self._entry.nil]
        return np.concatenate([np.array(self._message.nil, np.uint64), *pieces])

    def _lists(self, buffer: Buffer, bounds: BlockRanges) -> Decoded:
        """Make ragged lists from the ranges of bytes of their elements in a buffer."""
        starts, lengths = bounds
        dtype = dtype_of(self._message.dataType, big=self._big)
        shape, inner = self._cells(len(starts))
        width = dtype.itemsize * math.prod(inner)
        counts = lengths // width if width else np.zeros(len(starts), np.int64)
        wrong = np.flatnonzero(counts * width != lengths)
        if len(wrong):
            first = int(wrong[0])
            place = self._start if buffer is not self._buffer else int(starts[first])
            raise contradictory(f"a list of {lengths[first]} bytes, with elements of {width}", self._base + place)
        content = np.frombuffer(_join(buffer, bounds), dtype)
        tree = self._sign(RaggedLists(counts, FixedNumbers(self._message.dataType, content), inner))
        return Decoded(self._section, shape, tree, self._ragged)

    def _cells(self, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shape of the cells, and that of list elements if dimensions follow the ragged one."""
        if self._section is None:
            return _choose_shape(self._declared, count), ()
        shape = shape_of(self._section)
        place = len(shape) if self._ragged is None else self._ragged
        if place < len(shape) and math.prod(shape[:place]) == count:
            return shape[:place], shape[place:]
        if math.prod(shape) == count:
            return shape, ()
        text = f"{count} lists, but the section has {math.prod(shape)} places"
        raise contradictory(text, self._entry.offset)

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _rows(self) -> Decoded:
        """Decode a message of records, whose number is that of the section's cells or of the rows themselves."""
        reader = RowReader(self._entry, self._buffer, self._declared, self._limits, self._base)
        if self._message.dataType == pb.SEQUENCE:
            tree = reader.sequence(self._nil())
            return Decoded(None, (len(tree),), tree)
        section = self._section
        cells = None if section is None else math.prod(shape_of(section))
        if not self._message.version and cells is not None:
            tree = reader.bare(cells)
        else:
            tree = reader.structure(section, self._nil())
        if section is None or cells != len(tree):
            return Decoded(section, _choose_shape(self._declared, len(tree)), tree)
        return Decoded(section, shape_of(section), tree)


def _join(buffer: Buffer, bounds: BlockRanges) -> bytes | NDArray[np.uint8]:
    """Concatenate the bytes of many ranges: bytes, or uint8 of shape (bytes,)."""
    starts, lengths = bounds
    total = int(lengths.sum())
    if not total:
        return b""
    ends = starts + lengths
    if total >= JOINED * len(lengths):
        view = memoryview(buffer)
        return b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    first, last = int(starts[0]), int(ends[-1])
    raw = np.frombuffer(buffer, np.uint8, last - first, first)
    is_value = np.ones(last - first, np.bool_)
    gaps = starts[1:] - ends[:-1]  # the lengths between blocks
    for step in range(1, int(gaps.max(initial=0)) + 1):
        is_value[starts[1:][gaps >= step] - (first + step)] = False
    return raw[is_value]


def inflate(block: Buffer, expected: int | None, limits: Limits, offset: int) -> bytes:
    """Inflate a block to exactly `expected` bytes; None: to any size within the limit. Raises UnreadableStreamError."""
    from zlib_ng import zlib_ng  # inflates in a third of the time of zlib

    end = offset + len(block)
    if expected is not None:
        if expected > len(block) * MOST_OF_ONE:
            raise contradictory(f"{len(block)} bytes cannot be decompressed to {expected}", offset, end)
        if expected > limits.inflated:
            raise oversized(f"a block has {expected} bytes when decompressed, more than {limits.inflated}", offset, end)
    most = limits.inflated if expected is None else expected
    unpacker = zlib_ng.decompressobj()
    try:
        content = unpacker.decompress(block, most + 1)
    except zlib_ng.error as error:  # type: ignore[misc]
        raise bad(f"a deflated block cannot be decompressed: {error}", offset, end) from None
    if expected is None and len(content) > most:
        raise oversized(f"a block has more than {most} bytes when decompressed", offset, end)
    if expected is not None and len(content) != expected:
        more = "more than " if len(content) > expected else ""
        text = (
            f"a block has {more}{min(len(content), expected)} bytes when decompressed, but its section needs {expected}"
        )
        raise contradictory(text, offset, end)
    if not unpacker.eof or unpacker.unused_data:
        raise bad("the compressed stream does not end with its block", offset, end)
    return bytes(content)
