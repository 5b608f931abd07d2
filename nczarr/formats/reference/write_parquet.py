"""Writer of Parquet references: documents, data and chunk columns → `.zmetadata`, written last, and files of rows.

Paths are plain texts, because readers mistake missing rows of a categorical
column for references. Empty files are omitted.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.chunks.chunk_references import WHOLE, Referred
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity
from nczarr.formats.reference.detect import ARRAY, METADATA
from nczarr.formats.reference.parquet_rows import ChunkGrid, RecordFaultError, grid
from nczarr.stores.base import Store

if TYPE_CHECKING:
    Integers = NDArray[np.int64]

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
    """Folder of the array."""
    grid: ChunkGrid
    """Chunk grid."""
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
        raise CompileError(report.sorted())
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
        if not name.startswith(".z"):
            _refuse(report, key, "only documents of Zarr 2 are supported")
        elif name == ARRAY:
            try:
                grids[folder + slash] = grid(json.loads(data))
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
    return ChunkGrid(referred.counts or (1,))


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
            length[length == WHOLE] = 0
        inline = data.get(place, {})
        source[list(inline)] = -1
        paths = urls.take(pa.array(source, mask=source < 0))
        raw = pa.array([inline.get(row) for row in range(rows)], pa.binary()) if inline else pa.nulls(rows, pa.binary())
        yield place, _encoded([paths, pa.array(offset), pa.array(length), raw])


def _encoded(columns: list[object]) -> bytes:
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
