"""One file of Parquet references: a row for each of some chunks of an array.

    path    text, null for data and empty rows
    offset  integer; with a `size` of 0, 0 means the whole target
    size    integer
    raw     bytes: inline data

Input: the bytes of `<array>/refs.<r>.parq`. Output: a `ReferenceRows` with access to
single rows. Texts stay dictionary-encoded, so that a file needs no more memory
than its pages and numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import grid_of, index_of, number_of
from nczarr.formats.reference.wire import range_fault
from nczarr.registry import ChunkKeys
from nczarr.stores.base import Reference

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType, Table

LONGEST = 65_536
"""Maximum characters of a URL; dictionaries repeat it in any number of rows."""

TEXTS = ("path", "raw")
NUMBERS = ("offset", "size")


class RecordFaultError(Exception):
    """An invalid file, row or array."""


class ChunkGrid(NamedTuple):
    """Chunk grid of an array."""

    counts: tuple[int, ...]
    """Number of chunks along each dimension; empty for a scalar."""

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return math.prod(self.counts)

    def number(self, name: str) -> int | None:
        """Return the linear index of a chunk name such as `1.0`; None if invalid."""
        index = ChunkKeys().index_of(name, self.counts)
        return None if index is None else number_of(index, self.counts)

    def name(self, number: int) -> str:
        """Return the chunk name of a linear index."""
        return ChunkKeys().key(index_of(number, self.counts))


def grid(zarray: Any) -> ChunkGrid:
    """Return the chunk grid that `.zarray` declares. Raises RecordFaultError."""
    if not isinstance(zarray, dict):
        raise RecordFaultError("it is not an object")
    shape, chunks = zarray.get("shape"), zarray.get("chunks")
    if not (_lengths(shape, 0) and _lengths(chunks, 1) and len(shape) == len(chunks)):
        raise RecordFaultError("`shape` and `chunks` must be lists of integers of the same length")
    if len(shape) > 1 and zarray.get("dimension_separator", ".") != ".":
        raise RecordFaultError("`dimension_separator` must be a dot in Parquet references")
    return ChunkGrid(grid_of(tuple(shape), tuple(chunks)))


def _lengths(value: Any, least: int) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(length) is int and least <= length < 2**63 for length in value)


class ReferenceRows(NamedTuple):
    """Rows of a file. Missing columns are None."""

    path: ChunkedArray | None
    """Targets."""
    offset: ChunkedArray | None
    """Starts in bytes."""
    size: ChunkedArray | None
    """Lengths in bytes."""
    raw: ChunkedArray | None
    """Inlined data."""
    rows: int
    """Number of rows."""
    nbytes: int
    """Size in memory in bytes."""

    def row(self, number: int) -> bytes | Reference | None:
        """Return the data or reference of a row, or None. Raises RecordFaultError."""
        data = None if self.raw is None else self.raw[number].as_py()
        if data is not None:
            return bytes(data.encode() if isinstance(data, str) else data)
        url = None if self.path is None else self.path[number].as_py()
        if url is None:
            return None
        if isinstance(url, bytes):
            try:
                url = url.decode()
            except UnicodeDecodeError as error:
                raise RecordFaultError("its URL is not valid UTF-8") from error
        if len(url) > LONGEST:
            raise RecordFaultError(f"its URL has {len(url)} characters, more than the limit, {LONGEST}")
        if self.offset is None or self.size is None:
            return Reference(url)
        offset, size = self.offset[number].as_py(), self.size[number].as_py()
        wrong = range_fault(offset, size)
        if wrong is not None:
            raise RecordFaultError(wrong)
        return Reference(url, offset, size) if offset or size else Reference(url)

    def present(self) -> NDArray[np.int64]:
        """Return the numbers of the nonempty rows: int64, shape (rows,)."""
        there = np.zeros(self.rows, dtype=bool)
        for column in (self.path, self.raw):
            if column is not None:
                there |= column.is_valid().to_numpy()
        return np.flatnonzero(there)

    def urls(self) -> dict[str, int]:
        """Return every URL with its first row. Raises RecordFaultError."""
        first_rows: dict[str, int] = {}
        if self.path is None:
            return first_rows
        free = np.ones(self.rows, dtype=bool) if self.raw is None else self.raw.is_null().to_numpy()
        start = 0
        for chunk in self.path.chunks:
            places = (chunk if hasattr(chunk, "indices") else chunk.dictionary_encode()).indices
            used = np.where(free[start : start + len(chunk)], places.fill_null(-1).to_numpy(zero_copy_only=False), -1)
            for place, first in zip(*np.unique(used, return_index=True), strict=True):
                value = self.row(start + int(first)) if place >= 0 else None
                if isinstance(value, Reference) and value.url is not None:
                    first_rows.setdefault(value.url, start + int(first))
            start += len(chunk)
        return first_rows


def read(data: bytes, least: int, most: int, largest: int) -> ReferenceRows:
    """Return `least` to `most` rows of a file, at most `largest` bytes. Raises RecordFaultError."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(pa.BufferReader(data))
        texts = [column.path for column in metadata.schema if column.path in TEXTS]
        file = parquet.ParquetFile(pa.BufferReader(data), metadata=metadata, read_dictionary=texts, pre_buffer=False)
        rows, names = metadata.num_rows, set(file.schema_arrow.names)
        if not least <= rows <= most:
            expected = f"{most}" if least == most else f"{least} to {most}"
            raise RecordFaultError(f"it has {rows} rows, but {expected} are expected")
        size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
        if size > largest:
            raise RecordFaultError(f"it declares {size} bytes, more than the limit, {largest}")
        table = file.read(columns=[name for name in (*TEXTS, *NUMBERS) if name in names], use_threads=False)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise RecordFaultError(f"it is not a readable Parquet file: {str(error).splitlines()[0]}") from None
    _check(table)
    columns = {name: table[name] if name in names else None for name in (*TEXTS, *NUMBERS)}
    return ReferenceRows(**columns, rows=table.num_rows, nbytes=table.nbytes)


def _check(table: Table) -> None:
    from pyarrow import types

    for name in table.column_names:
        kind = table[name].type
        fits = _is_text(kind) if name in TEXTS else types.is_integer(kind)
        if not fits:
            raise RecordFaultError(f"column `{name}` has the type {kind}")
    if not {"path", "raw"}.intersection(table.column_names):
        raise RecordFaultError("it has neither `path` nor `raw`")
    if len(set(NUMBERS).intersection(table.column_names)) == 1:
        raise RecordFaultError("`offset` and `size` must be given together")


def _is_text(kind: DataType) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_null)
    return any(suits(kind) for suits in kinds)
