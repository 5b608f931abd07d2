"""Files of Parquet references: a row for each of some chunks of an array; their reader and writer.

    path    text, null for data and empty rows
    offset  integer; with a `size` of 0, 0 means the whole target
    size    integer
    raw     bytes: inline data

Texts stay dictionary-encoded when they are read, so that a file needs no more memory than its pages and numbers. They
are written plain, because readers mistake missing rows of a categorical column for references. Empty files are omitted.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from nczarr.arrays.chunks.manifest import WHOLE, Referred
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import grid_of, index_of, number_of
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity
from nczarr.formats.reference import ARRAY, METADATA
from nczarr.formats.reference.wire import range_fault
from nczarr.registry import ChunkKeys
from nczarr.stores.base import Reference, Store

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, DataType, Table

    Integers = NDArray[np.int64]


LONGEST_URL = 65_536
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


def read_grid(zarray: Any) -> ChunkGrid:
    """Return the chunk grid that `.zarray` declares. Raises RecordFaultError."""
    if not isinstance(zarray, dict):
        raise RecordFaultError("it is not an object")
    shape, chunks = zarray.get("shape"), zarray.get("chunks")
    if not (_lengths(shape, 0) and _lengths(chunks, 1) and len(shape) == len(chunks)):
        raise RecordFaultError("`shape` and `chunks` must be lists of integers of the same length")
    if len(shape) > 1 and zarray.get("dimension_separator", ".") != ".":  # the layout knows dots alone
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
        if len(url) > LONGEST_URL:
            raise RecordFaultError(f"its URL has {len(url)} characters, more than the limit, {LONGEST_URL}")
        if self.offset is None or self.size is None:
            return Reference(url)
        offset, size = self.offset[number].as_py(), self.size[number].as_py()
        wrong = range_fault(offset, size)
        if wrong is not None:
            raise RecordFaultError(wrong)
        return Reference(url, offset, size) if offset or size else Reference(url)  # 0, 0: the whole target

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
    _check_columns(table)
    columns = {name: table[name] if name in names else None for name in (*TEXTS, *NUMBERS)}
    return ReferenceRows(**columns, rows=table.num_rows, nbytes=table.nbytes)


def _check_columns(table: Table) -> None:
    """Raise RecordFaultError for columns that are not those of Parquet references."""
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


USUAL = 10_000
"""Usual rows of a file; if all arrays are smaller, the chunk count of the largest."""

LONGEST = 100_000
"""Maximum rows in a file."""

FILES = 1000
"""Number of files of an array above which files get more rows."""


def record_size(chunks: Iterable[int]) -> int:
    """Return the rows of a file: at most `USUAL` and the largest array, more beyond `FILES` files."""
    largest = max(chunks, default=1)
    return max(1, min(largest, USUAL), min(LONGEST, -(-largest // FILES)))


class _ArrayChunks(NamedTuple):
    """Chunks of an array."""

    folder: str
    grid: ChunkGrid
    referred: Referred | None
    """References; None without any."""
    data: dict[int, bytes]
    """Inlined data by chunk number."""


def write(
    store: Store,
    documents: Iterable[tuple[str, bytes]],
    inline: Mapping[str, bytes],
    arrays: Iterable[Referred],
    rows: int | None = None,
    noted: Mapping[str, Any] | None = None,
) -> None:
    """Put references into a store, `rows` a file (default: `record_size`), without finishing it.

    `noted`: notes on targets. Raises CompileError for unsupported content
    before writing; OSError.
    """
    metadata, columns = dict(documents), list(arrays)
    report = Report()
    chunked = _arrays(metadata, inline, columns, report)
    if report.errors:
        raise CompileError(report.list_sorted())
    rows = rows or record_size(array.grid.chunks for array in chunked if array.referred or array.data)
    for array in chunked:
        for place, data in _files(array, rows):
            store.put(f"{array.folder}refs.{place}.parq", data)
    store.put(METADATA, b"".join(_metadata(metadata, rows, noted)))


def _arrays(
    documents: Mapping[str, bytes], inline: Mapping[str, bytes], columns: list[Referred], report: Report
) -> list[_ArrayChunks]:
    """Return the content to write, by array; report unsupported content."""
    if find_spec("pyarrow") is None:
        text = "writing Parquet references needs `pyarrow`, which is not installed"
        report.error("missing-library", text, helps=["run `pip install 'nczarr[references]'`"])
    grids: dict[str, ChunkGrid] = {}
    for key, data in documents.items():
        folder, slash, name = key.rpartition("/")
        if not name.startswith(".z"):  # fsspec takes keys with `.z` for metadata, and knows no Zarr v3
            _refuse(report, key, "only documents of Zarr 2 are supported")
        elif name == ARRAY:
            try:
                grids[folder + slash] = read_grid(json.loads(data))
            except RecordFaultError as error:
                _refuse(report, key, str(error))
    arrays = {folder: _ArrayChunks(folder, chunk_grid, None, {}) for folder, chunk_grid in grids.items()}
    for referred in columns:
        if not _suits(referred, grids, report):
            continue
        _check_ranges(referred, report)
        arrays[referred.chunk_keys.prefix] = arrays[referred.chunk_keys.prefix]._replace(referred=referred)
    for key, data in inline.items():
        folder = key[: key.rfind("/") + 1]
        number = grids[folder].number(key[len(folder) :]) if folder in grids else None
        if number is None or not folder:
            _refuse(report, key, "it is not a chunk of an array in a folder")
        else:
            arrays[folder].data[number] = data
    return list(arrays.values())


def _suits(referred: Referred, grids: Mapping[str, ChunkGrid], report: Report) -> bool:
    """Return whether the keys of an array fit the layout."""
    first = next(referred.keys(), None)
    if first is None:
        return referred.chunk_keys.prefix in grids
    if referred.chunk_keys.lead or (referred.chunk_keys.separator != "." and len(referred.counts) > 1):
        _refuse(report, first, "only keys such as `0.1` are supported")
    elif referred.chunk_keys.prefix not in grids:
        _refuse(report, first, f"there is no `{referred.chunk_keys.prefix}{ARRAY}`")
    elif not referred.chunk_keys.prefix:
        _refuse(report, first, "an array in the root cannot have chunks")
    elif (grids[referred.chunk_keys.prefix].counts or (1,)) != _grid(referred).counts:  # a scalar may be told as `[1]`
        _refuse(report, first, f"its position is outside `{referred.chunk_keys.prefix}{ARRAY}`")
    else:
        return True
    return False


def _check_ranges(referred: Referred, report: Report) -> None:
    """Report references of offset and length 0, which Parquet references take for whole files."""
    columns = referred.columns
    empty = np.flatnonzero((columns.length == 0) & (columns.offset == 0))
    for row in empty[:1].tolist():
        key = referred.chunk_keys.prefix + _grid(referred).name(int(columns.chunk[row]))
        more = f", and {len(empty) - 1} others" if len(empty) > 1 else ""
        _refuse(report, key, f"an empty range at 0 would mean the whole target{more}")


def _refuse(report: Report, key: str, why: str) -> None:
    message = f"`{key}`: Parquet references cannot hold it: {why}"
    helps = ("write a JSON document, or Zarr v2 metadata with `--metadata nczarr` or `zarr2`",)
    report.add(Diagnostic("unstorable-reference", Severity.ERROR, message, Label(key=key), helps=helps))


def _grid(referred: Referred) -> ChunkGrid:
    return ChunkGrid(referred.counts or (1,))  # a scalar has a grid of one chunk


def _files(array: _ArrayChunks, rows: int) -> Iterator[tuple[int, bytes]]:
    """Yield the nonempty files of an array."""
    import pyarrow as pa

    empty = np.zeros(0, dtype=np.int64)
    columns = None if array.referred is None else array.referred.columns
    chunk = empty if columns is None else columns.chunk
    urls = pa.array([] if columns is None else columns.sources, pa.string())
    starts = np.flatnonzero(np.diff(chunk // rows, prepend=-1))
    ends = [*starts[1:].tolist(), len(chunk)][: len(starts)]
    spans = {int(chunk[start] // rows): slice(start, end) for start, end in zip(starts.tolist(), ends, strict=True)}
    data: dict[int, dict[int, bytes]] = {}
    for number, chunk_data in array.data.items():
        data.setdefault(number // rows, {})[number % rows] = chunk_data
    for place in sorted(spans.keys() | data.keys()):
        source, offset, length = (np.full(rows, fill, dtype=np.int64) for fill in (-1, 0, 0))
        if columns is not None and place in spans:
            span = spans[place]
            at = chunk[span] - place * rows
            source[at], offset[at], length[at] = columns.source[span], columns.offset[span], columns.length[span]
            length[length == WHOLE] = 0  # a length of 0 means the whole target
        inline = data.get(place, {})
        source[list(inline)] = -1
        paths = urls.take(pa.array(source, mask=source < 0))
        raw = pa.array([inline.get(row) for row in range(rows)], pa.binary()) if inline else pa.nulls(rows, pa.binary())
        yield place, _encode([paths, pa.array(offset), pa.array(length), raw])


def _encode(columns: list[object]) -> bytes:
    """Return one encoded file.

    fastparquet reads integers as floats without statistics that exclude nulls,
    and missing texts as NaN unless all are in one dictionary.
    """
    import pyarrow as pa
    from pyarrow import parquet

    fields = [("path", pa.string(), True), ("offset", pa.int64(), False), ("size", pa.int64(), False)]
    schema = pa.schema([pa.field(*field) for field in [*fields, ("raw", pa.binary(), True)]])
    table = pa.Table.from_arrays(columns, schema=schema)
    file = io.BytesIO()
    parquet.write_table(
        table,
        file,
        compression="zstd",
        write_statistics=["offset", "size"],
        use_dictionary=["path", "size"],
        dictionary_pagesize_limit=1 << 30,
        row_group_size=max(table.num_rows, 1),
    )
    return file.getvalue()


def _metadata(documents: Mapping[str, bytes], rows: int, noted: Mapping[str, Any] | None) -> Iterator[bytes]:
    """Yield `.zmetadata` with unchanged documents."""
    begin = b'{"metadata":{'
    for key, data in documents.items():
        if key != METADATA:
            yield begin + json.dumps(key).encode() + b":" + data.strip()
            begin = b","
    rest = f',"nczarr":{json.dumps(noted, separators=(",", ":"))}' if noted else ""
    yield (begin if begin != b"," else b"") + f'}},"record_size":{rows}{rest}}}'.encode()
