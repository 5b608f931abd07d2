"""Parquet references: a folder with all metadata in one document and the chunks in files of rows.

    .zmetadata            {"metadata": {"x/.zarray": {…}, …}, "record_size": N}
    x/refs.<r>.parq       the chunks r·N to r·N + N - 1 of the array `x`, in C order (`parquet_rows.py`)

Input: a store. Output: `ParquetReferences`, None after an error. Files are read
on demand, the most recent are cached. A missing file has no chunks.
"""

import json
import re
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity, Source
from nczarr.formats.reference import ARRAY, METADATA
from nczarr.formats.reference.limits import DEFAULT, Limits
from nczarr.formats.reference.parquet_rows import ChunkGrid, RecordFaultError, ReferenceRows, read, read_grid
from nczarr.formats.reference.target import text_of
from nczarr.formats.reference.wire import is_oversized, report_repeated
from nczarr.stores.base import Reference, Store, folders_with, is_node, is_safe, next_segments, with_prefix
from nczarr.stores.ranges import BoundedCache
from nczarr.syntax.json.positions import Faults, members
from nczarr.syntax.json.tolerant import NotJsonError, parse

HELD = 64 << 20
"""Size of the file cache, in bytes."""

USUAL_RECORD_SIZE = 100_000
"""Maximum rows of a file, which is read whole; a larger limit of entries raises it."""

ENTRIES_PER_ROW = 10
"""Entries of the limit for each row that a file may have."""

ROWS = 1 << 16
"""Rows converted to Python numbers at once."""

ROW = 32
"""Maximum bytes of a row besides texts and data."""

_FILE = re.compile(r"refs\.(0|[1-9][0-9]{0,17})\.parq")


class ParquetReferences:
    """Entries of a folder. Pickles its store; the metadata are read again.

    `texts`: documents by key. `arrays`: chunk grids by folder with final
    slash. `noted`: notes of the metadata on targets, unchecked.
    """

    def __init__(
        self, store: Store, limits: Limits, texts: dict[str, str], rows: int, arrays: dict[str, ChunkGrid], noted: Any
    ) -> None:
        """Take the documents by key, and the chunk grids by prefix; `rows`: chunks of each Parquet file."""
        self._store = store
        self._limits = limits
        self.documents = texts
        self._rows = rows
        self._arrays = arrays
        self.noted = noted
        self._documents, self._folders = sorted(texts), sorted(arrays)
        self._cache: BoundedCache[tuple[str, int], ReferenceRows | None] = BoundedCache(HELD, _bytes)
        self._lock = threading.Lock()

    def find(self, key: str) -> bytes | Reference | None:
        """Return the bytes or location of a key, or None. Raises OSError, CompileError."""
        if key in self.documents:
            return self.documents[key].encode()
        folder = key[: key.rfind("/") + 1]
        array = self._arrays.get(folder)
        number = None if array is None else array.number(key[len(folder) :])
        if number is None:
            return None
        place, row = divmod(number, self._rows)
        record = self._read_file(folder, place)
        return None if record is None else _read_row(record, row, key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        keys = [*with_prefix(self._documents, prefix)]
        for folder in folders_with(self._folders, prefix):
            keys += [key for key, _, _ in self._list_chunks(folder) if key.startswith(prefix)]
        yield from sorted(keys)

    def children(self, prefix: str) -> list[str]:
        keys = [*with_prefix(self._documents, prefix)]
        if prefix in self._arrays:
            keys += [key for key, _, _ in self._list_chunks(prefix)]
        return next_segments(keys, prefix)

    def nodes(self, prefix: str) -> list[str]:
        return list(filter(is_node, with_prefix(self._documents, prefix)))

    def odd(self) -> list[str]:
        return [key for key in self.documents if not is_safe(key)]

    def list_named(self) -> Iterator[tuple[str | None, str]]:
        """Yield every URL once with a key that names it. Reads all files. Raises OSError, CompileError."""
        seen: set[str] = set()
        for folder, array in self._arrays.items():
            for place, record in self._list_files(folder):
                try:
                    urls = record.urls()
                except RecordFaultError as error:
                    raise _fault("bad-reference", _file(folder, place), str(error)) from None
                for url, row in urls.items():
                    if url not in seen:
                        seen.add(url)
                        yield url, folder + array.name(place * self._rows + row)

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield keys with bytes or locations: documents, then chunks in C order. Raises as `find`."""
        for key, text in self.documents.items():
            yield key, text.encode()
        for folder in self._arrays:
            for key, record, row in self._list_chunks(folder):
                reference = _read_row(record, row, key)
                assert reference is not None
                yield key, reference

    def _list_chunks(self, folder: str) -> Iterator[tuple[str, ReferenceRows, int]]:
        """Yield key, file and row of an array's existing chunks, in C order."""
        array = self._arrays[folder]
        for place, record in self._list_files(folder):
            start = place * self._rows
            present = record.present()
            for first in range(0, len(present), ROWS):
                for row in present[first : first + ROWS].tolist():
                    if start + row < array.chunks:
                        yield folder + array.name(start + row), record, row

    def _list_files(self, folder: str) -> Iterator[tuple[int, ReferenceRows]]:
        """Yield the existing files of an array, in order."""
        size, chunks = self._rows, self._arrays[folder].chunks
        places: Iterator[int]
        if self._store.listed:
            named = [_FILE.fullmatch(name) for name in self._store.children(folder)]
            places = iter(sorted(int(match[1]) for match in named if match is not None))
        elif chunks > self._limits.entries:
            text = f"an array of {chunks} chunks in a place that cannot be listed; the limit is {self._limits.entries}"
            raise _fault("oversized-expansion", folder + ARRAY, text)
        else:
            places = iter(range(-(-chunks // size)))
        for place in places:
            record = self._read_file(folder, place) if place * size < chunks else None
            if record is not None:
                yield place, record

    def _read_file(self, folder: str, place: int) -> ReferenceRows | None:
        """Return a file or None. One thread reads at a time: others usually want the same."""
        with self._lock:
            name = (folder, place)
            if name in self._cache:
                known: ReferenceRows | None = self._cache.get(name)
                return known
            data = self._store.get(_file(folder, place))
            size = self._rows
            rest = self._arrays[folder].chunks - place * size
            try:
                record = None if data is None else read(data, min(size, rest), size, self._limits.value + size * ROW)
            except RecordFaultError as error:
                raise _fault("bad-reference-document", _file(folder, place), str(error)) from None
            self._cache.put(name, record)
            return record

    def __reduce__(self) -> tuple[Any, ...]:
        return _valid, (self._store, self._limits)


def _bytes(record: ReferenceRows | None) -> int:
    return 256 if record is None else 256 + record.nbytes


def _file(folder: str, place: int) -> str:
    return f"{folder}refs.{place}.parq"


def _read_row(record: ReferenceRows, row: int, key: str) -> bytes | Reference | None:
    try:
        return record.row(row)
    except RecordFaultError as error:
        raise _fault("bad-reference", key, str(error)) from None


def _fault(code: str, key: str, message: str) -> CompileError:
    return CompileError([Diagnostic(code, Severity.ERROR, f"`{key}`: {message}", Label(key=key))])


def open_folder(store: Store, report: Report, limits: Limits = DEFAULT) -> ParquetReferences | None:
    """Return the references of a folder, or None (reported). Raises OSError."""
    if find_spec("pyarrow") is None:
        text = "reading Parquet references needs `pyarrow`, which is not installed"
        report.error("missing-library", text, helps=["run `pip install 'nczarr[references]'`"])
        return None
    data = store.get(METADATA)
    if data is None:
        text = f"`{store.path}` is not a folder of Parquet references: `{METADATA}` is missing"
        report.add(Diagnostic("bad-reference-document", Severity.ERROR, text, Label(key=METADATA)))
        return None
    before = report.errors
    references = _read_references(store, Source(METADATA, data), report, limits)
    return references if report.errors == before else None


def entries(store: Store, report: Report, limits: Limits) -> Iterator[tuple[str, Any]]:
    """Yield keys and values of version 0: documents, then chunks in C order. Raises CompileError, OSError."""
    references = _valid(store, limits, report)
    for number, (key, entry) in enumerate(references.entries(), 1):
        if number > limits.entries:
            text = f"`{key}` raises the number of entries above the limit, {limits.entries}"
            report.error("oversized-expansion", text, helps=["raise the limit with `--max-entries`"])
            raise CompileError(report.list_sorted())
        if isinstance(entry, bytes):
            yield key, references.documents.get(key) or text_of(entry)
        else:
            yield key, [entry.url] if entry.length is None else [entry.url, entry.offset, entry.length]


def _read_references(store: Store, source: Source, report: Report, limits: Limits) -> ParquetReferences | None:
    """Parse the metadata, or report faults and return None."""
    faults = Faults(source, report)
    data = bytes(source.data)
    if is_oversized(data, faults, limits):
        return None
    try:
        parsed = parse(data)  # limits the nesting, and finds repeated names
        document_text = data.decode("utf-8-sig")
        json.loads(document_text, strict=False)  # `parse` mends faults of JSON, but `_cut_documents` cuts this text
    except (NotJsonError, ValueError) as error:
        faults.error("bad-reference-document", f"`{METADATA}` is not valid JSON: {error}")
        return None
    report_repeated(parsed.repeated, faults, limits)
    root = parsed.value if isinstance(parsed.value, dict) else {}
    documents = root.get("metadata")
    if not isinstance(documents, dict):
        faults.error("bad-reference-document", f"`{METADATA}` must have an object `metadata`", ("metadata",))
        return None
    record_size = root.get("record_size")
    largest = max(USUAL_RECORD_SIZE, limits.entries // ENTRIES_PER_ROW)
    if type(record_size) is not int or not 0 < record_size <= largest:
        shown = json.dumps(record_size)[:40]
        message = f"`record_size` must be an integer from 1 to {largest}, not `{shown}`"
        helps = ["`--max-entries` sets this limit, ten times as large"]
        faults.error("bad-reference-document", message, ("record_size",), helps)
        return None
    grids = _read_grids(documents, faults)
    return ParquetReferences(store, limits, _cut_documents(document_text), record_size, grids, root.get("nczarr"))


def _read_grids(documents: dict[str, Any], faults: Faults) -> dict[str, ChunkGrid]:
    """Return the chunk grids of the arrays by folder with final slash; report faulty documents."""
    grids = {}
    for key, document in documents.items():
        folder, slash, name = key.rpartition("/")
        if not isinstance(document, dict):
            faults.error("bad-reference-document", f"`{key}` must be an object", ("metadata", key))
        elif name == ARRAY:
            try:
                grids[folder + slash] = read_grid(document)
            except RecordFaultError as error:
                faults.error("bad-reference-document", f"`{key}`: {error}", ("metadata", key))
    return grids


def _cut_documents(text: str) -> dict[str, str]:
    """Return the documents unparsed."""
    decoder = json.JSONDecoder(strict=False)
    start = dict(members(text, len(text) - len(text.lstrip())))["metadata"]
    return {str(key): text[at : decoder.raw_decode(text, at)[1]] for key, at in members(text, start)}


def _valid(store: Store, limits: Limits, report: Report | None = None) -> ParquetReferences:
    """Return the references of a folder, also of a pickled description. Raises OSError, CompileError."""
    report = report or Report()
    references = open_folder(store, report, limits)
    if references is None:
        raise CompileError(report.list_sorted())
    return references
