"""`write`: plan → a classic netCDF file, front to back, so that it can go to a pipe.

Header of exactly `layout.header` bytes (with the room of `--header-pad`), fixed
variables in definition order, records, with the bytes of the netCDF library; cells that it leaves undefined
(unwritten under `_NoFill`) hold the fill value. Names and values of the header
are zero-padded to multiples of four. Source: the netCDF file format
specifications.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection, all_of, linear_block, number_of_first, region_of
from nczarr.arrays.sources.bands import HELD, Bands
from nczarr.arrays.sources.source import ArraySource, Parts, fill_of
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Attribute, Kind
from nczarr.ast.values import swap
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf3.wire import (
    ABSENT,
    ATTRIBUTE,
    DIMENSION,
    LARGEST_VSIZE,
    MAGIC,
    TOO_LARGE_VSIZE,
    TYPES,
    VARIABLE,
)
from nczarr.names.records import NamedTuple
from nczarr.options import Options
from nczarr.plan.plans import FilePlan
from nczarr.semantics.checked import Checked
from nczarr.semantics.classic_layout import TAG, WIDTHS, ClassicLayout, VariablePlace, encode, lay_out

PIECE = 1 << 22
"""Size of a piece, in bytes."""

MOST = 200
"""Maximum of record variables read by whole chunks: each may use a temporary file."""


class VariableColumn(NamedTuple):
    """A variable to write. A fixed variable is a single record."""

    place: VariablePlace
    """Location in the file."""
    shape: tuple[int, ...]
    dtype: str
    """Big-endian NumPy type."""
    fill: bytes
    """One fill value."""
    source: ArraySource | None
    """Values; None: fill values only."""
    bands: Bands | None
    """Buffer of the source; None: direct reads, or no source."""

    @property
    def padding(self) -> bytes:
        """Padding of the values to a multiple of four bytes: fill, as in the library."""
        return (self.fill * 4)[: self.place.padded - self.place.size]  # the specification: fill values, not NULs

    @property
    def inner(self) -> tuple[int, ...]:
        """Shape of one contiguous piece of the file: one record, or a whole fixed variable."""
        return self.shape[self.place.record :]

    def read(self, region: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the source's dtype. Raises OSError.

        Regions advance in order.
        """
        reader = self.bands or self.source
        assert reader is not None
        return reader.read(region)

    def close(self) -> None:
        """Release buffered values."""
        if self.bands is not None:
            self.bands.close()


def values(checked: Checked, parts: Mapping[str, Parts], layout: ClassicLayout) -> Iterator[bytes]:
    """Yield all bytes from the end of the header to the end of the file."""
    growing = sum(place.record for place in layout.places.values())
    share = HELD // growing if 0 < growing <= MOST else 0
    columns = [
        _prepare_column(path, checked, parts, place, share if place.record else HELD)
        for path, place in layout.places.items()
    ]
    try:
        for column in columns:
            if not column.place.record:
                yield from Strip(column).record(0)  # a fixed variable is laid out like a lone record
                yield from repeat_element(column.fill, column.place.padded - column.place.size)
                column.close()  # its buffer is freed before the next variable is read
        records = [column for column in columns if column.place.record]
        if layout.record_size > PIECE:
            yield from _large_records(records, layout)
        elif layout.records and layout.record_size:
            yield from _small_records(records, layout)
    finally:
        for column in columns:
            column.close()


def _prepare_column(
    path: str, checked: Checked, parts: Mapping[str, Parts], place: VariablePlace, held: int
) -> VariableColumn:
    """Prepare a variable for writing: big-endian fill value, source of values, and bands that read it in order."""
    type_name = checked.variables[path].type
    width = ATOMIC[type_name].size
    source = parts.get(path, {}).get("")
    constant = checked.fills[path]
    fill = constant.data if constant is not None and isinstance(constant.data, bytes) else bytes(width)
    unwritten = fill_of(source) if source is not None else None
    if unwritten is not None:
        fill = unwritten
    bands = None if source is None or not held else Bands(source, PIECE // width, held=held)
    return VariableColumn(
        place, checked.shapes[path], NUMPY[type_name].replace("<", ">"), swap(fill, width), source, bands
    )


class Strip:
    """One variable, read in order in slabs: C-order stretches of a record, up to `PIECE` bytes."""

    def __init__(self, column: VariableColumn) -> None:
        """Begin at the first slab; `_next` is the next block that is stored, as others are all fill."""
        self._prepare_column = column
        self._slab = linear_block(column.inner, PIECE // len(column.fill))
        self._occupied: Iterator[Index] = iter(())
        if column.source is not None:
            leading = (1,) if column.place.record else ()
            self._occupied = column.source.list_occupied((*leading, *self._slab))
        self._next = next(self._occupied, None)

    def record(self, number: int) -> Iterator[bytes]:
        """Yield the bytes of one record; records are requested once each, in order."""
        column, at = self._prepare_column, 0
        while self._next is not None and (not column.place.record or self._next[0] == number):
            region = region_of(self._next[column.place.record :], self._slab, column.inner)
            start = number_of_first(region, column.inner) * len(column.fill)
            yield from repeat_element(column.fill, start - at)
            data = self._read(region)
            yield data
            at = start + len(data)
            self._next = next(self._occupied, None)
        yield from repeat_element(column.fill, column.place.size - at)

    def _read(self, region: Selection) -> bytes:
        column = self._prepare_column
        assert self._next is not None
        leading = (slice(self._next[0], self._next[0] + 1),) if column.place.record else ()
        return column.read((*leading, *region)).astype(column.dtype, copy=False).tobytes()


def repeat_element(element: bytes, size: int) -> Iterator[bytes]:
    """Yield `size` bytes of a repeated element, in pieces."""
    if size <= 0:
        return
    piece = element * (min(size, PIECE) // len(element))
    for _ in range(size // len(piece)):
        yield piece
    if size % len(piece):
        yield piece[: size % len(piece)]


def _large_records(columns: list[VariableColumn], layout: ClassicLayout) -> Iterator[bytes]:
    """Yield records larger than a piece one by one, each variable in pieces of its own."""
    strips = [Strip(column) for column in columns]
    for number in range(layout.records):
        for strip, column in zip(strips, columns, strict=True):
            yield from strip.record(number)
            if len(columns) > 1:  # a lone record variable has no padding between records
                yield from repeat_element(column.fill, column.place.padded - column.place.size)


def _small_records(columns: list[VariableColumn], layout: ClassicLayout) -> Iterator[bytes]:
    """Yield blocks of records: a matrix of fill, with values as strided columns."""
    size = layout.record_size
    record = b"".join(column.fill * math.prod(column.inner) + column.padding for column in columns)[:size]
    many = min(layout.records, max(1, PIECE // size))
    empty = record * many
    written = 0
    for block, present in _list_occupied_blocks(columns, many):
        yield from _empty_blocks(empty, written, block * many, size)
        first = block * many
        count = min(many, layout.records - first)
        yield _fill_in(bytearray(empty[: count * size]), present, first, count, layout)
        written = first + count
    yield from _empty_blocks(empty, written, layout.records, size)


def _empty_blocks(empty: bytes, start: int, stop: int, size: int) -> Iterator[bytes]:
    """Yield records of fill alone."""
    many = len(empty) // size
    for first in range(start, stop, many):
        yield empty if stop - first >= many else empty[: (stop - first) * size]


def _list_occupied_blocks(columns: list[VariableColumn], many: int) -> Iterator[tuple[int, list[VariableColumn]]]:
    """Yield blocks of `many` records with values, in order, and the variables that have them."""
    from heapq import merge

    def blocks(number: int, source: ArraySource, inner: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        return ((index[0], number) for index in source.list_occupied((many, *inner)))

    walks = [blocks(number, item.source, item.inner) for number, item in enumerate(columns) if item.source is not None]
    present: list[VariableColumn] = []
    block = 0
    for start, number in merge(*walks):
        if present and start != block:
            yield block, present
            present = []
        block = start
        present.append(columns[number])
    if present:
        yield block, present


def _fill_in(block: bytearray, present: list[VariableColumn], first: int, count: int, layout: ClassicLayout) -> bytes:
    """Return a block of records with the values of some variables in place."""
    for column in present:
        inner = column.inner
        strides = [len(column.fill)] * len(inner)
        for axis in range(len(inner) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * inner[axis + 1]
        target: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = np.ndarray(
            (count, *inner),
            column.dtype,
            block,
            column.place.begin - layout.record_begin,
            (layout.record_size, *strides),
        )
        target[...] = column.read((slice(first, first + count), *all_of(inner)))  # strides over the other variables
    return bytes(block)


def write(plan: FilePlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the pieces of the file, whose kind the plan has checked."""
    assert plan.kind is not None
    layout = lay_out(plan.checked, plan.kind, plan.options.target.header_pad)
    yield header(plan.checked, plan.kind, layout).ljust(layout.header, b"\0")  # unused up to `begin`
    yield from values(plan.checked, plan.checked.parts, layout)


def header(checked: Checked, kind: Kind, layout: ClassicLayout) -> bytes:
    """Return the header of a file of a classic kind."""
    writer = _Header(kind)
    writer.out += MAGIC[kind]
    writer.count(layout.records)
    writer.head(DIMENSION, len(checked.dataset.dimensions))
    ids: dict[str, int] = {}
    for number, (path, dimension) in enumerate(checked.dimensions.items()):
        ids[path] = number
        writer.name(dimension.name)
        writer.count(0 if dimension.unlimited else dimension.size)  # length 0 marks the record dimension
    writer.attributes(checked.dataset.attributes)
    writer.head(VARIABLE, len(checked.variables))
    for path, variable in checked.variables.items():
        place = layout.places[path]
        writer.name(variable.name)
        writer.count(len(variable.dimensions))
        for reference in variable.dimensions:
            writer.count(ids[str(reference)])
        writer.attributes(variable.attributes)
        writer.tag(TYPES[variable.type])
        writer.count(place.padded if writer.wide or place.padded <= LARGEST_VSIZE else TOO_LARGE_VSIZE)
        writer.offset(place.begin)
    return bytes(writer.out)


class _Header:
    """Growing header. `wide`: counts have eight bytes."""

    def __init__(self, kind: Kind) -> None:
        self.out = bytearray()
        self._count, self._offset = WIDTHS[kind]
        self.wide = self._count == 8

    def tag(self, number: int) -> None:
        self.out += number.to_bytes(TAG, "big")

    def count(self, number: int) -> None:
        self.out += number.to_bytes(self._count, "big")

    def offset(self, number: int) -> None:
        self.out += number.to_bytes(self._offset, "big")

    def head(self, tag: int, length: int) -> None:
        """Append the head of a list."""
        self.tag(tag if length else ABSENT)  # the specification: ABSENT is tag 0 with count 0
        self.count(length)

    def pad(self, data: bytes) -> None:
        self.out += data
        self.out += bytes(-len(data) % 4)

    def name(self, name: str) -> None:
        data = encode(name)
        self.count(len(data))  # bytes of UTF-8, not characters
        self.pad(data)

    def attributes(self, attributes: tuple[Attribute, ...]) -> None:
        self.head(ATTRIBUTE, len(attributes))
        for attribute in attributes:
            value = attribute.value
            assert isinstance(value.data, bytes)  # no classic kind has strings
            self.name(attribute.name)
            self.tag(TYPES[value.type])
            self.count(value.count)
            self.pad(swap(value.data, ATOMIC[value.type].size))  # values are stored big-endian
