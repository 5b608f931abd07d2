"""Byte ranges of encoded chunks: one range, a table of them, or regular ranges; and listings of chunk keys."""

from __future__ import annotations

import errno
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, every_index, indices_of, table_of
from nczarr.ast.dataset import Codec
from nczarr.names.records import NamedTuple
from nczarr.registry import ChunkKeys
from nczarr.stores import ranges
from nczarr.stores.base import Store
from nczarr.stores.ranges import Range

SHORT = 1 << 16
"""Bytes of a range below which several are read together rather than moved one by one."""


class ChunkPlace(NamedTuple):
    """Byte range of an encoded chunk in a file."""

    path: str
    """Path or URL of the file."""
    offset: int
    """Start in bytes."""
    length: int
    """Length in bytes."""
    mask: int = 0
    """Bit i is set if encoding step i was skipped."""


class PlaceColumns(NamedTuple):
    """Encoded chunks as byte ranges, one row per chunk, in equally long columns."""

    sources: tuple[str, ...]
    """Paths or URLs of the files."""
    chunk: NDArray[np.int64]
    """Linear index of the chunk in the grid."""
    source: NDArray[np.int64]
    """Index into `sources`."""
    offset: NDArray[np.int64]
    """Start in bytes."""
    length: NDArray[np.int64]
    """Length in bytes."""
    mask: NDArray[np.int32]
    """Bit i is set if encoding step i was skipped."""


def columns_from(places: Iterable[tuple[int, ChunkPlace | None]]) -> PlaceColumns:
    """Return numbered places as columns, in the same order; None has no row."""
    sources: dict[str, int] = {}
    rows = array("q")  # there may be a million of them
    for number, place in places:
        if place is not None:
            source = sources.setdefault(place.path, len(sources))
            rows.extend((number, source, place.offset, place.length, place.mask))
    table = np.array(rows, np.int64).reshape(-1, 5).T.copy()
    return PlaceColumns(tuple(sources), table[0], table[1], table[2], table[3], table[4].astype(np.int32))


def runs(columns: PlaceColumns) -> Iterator[bytes | Range]:
    """Yield the bytes of all rows in sequence: adjacent ones as one range; short ones of a file are read together.

    Raises OSError.
    """
    sources, _, source, offset, length, _ = columns
    adjacent = (source[1:] == source[:-1]) & (offset[1:] == offset[:-1] + length[:-1])
    first = np.flatnonzero(np.concatenate(([True], ~adjacent))) if len(source) else np.zeros(0, np.int64)
    files, begins = source[first].tolist(), offset[first].tolist()
    sizes = np.add.reduceat(length, first).tolist() if len(first) else []
    waiting: list[tuple[int, int]] = []
    for number, (file, begin, size) in enumerate(zip(files, begins, sizes, strict=True)):
        if size >= SHORT:
            yield Range(sources[file], begin, size)
            continue
        waiting.append((begin, size))
        following = number + 1
        if following == len(files) or files[following] != file or sizes[following] >= SHORT:
            yield Range(sources[file], *waiting[0]) if len(waiting) == 1 else ranges.read_places(sources[file], waiting)
            waiting = []


class Affine(NamedTuple):
    """Regular chunks of one file: chunk i begins at `base + i * stride`."""

    source: str
    """Path or URL of the file."""
    base: int
    """Start of the first chunk in bytes."""
    stride: int
    """Distance of two chunks in bytes."""
    length: int
    """Length of each chunk in bytes."""
    number: int
    """Number of chunks."""


Manifest: TypeAlias = PlaceColumns | Affine

WHOLE = -1
"""Length of a reference to a whole file or object."""

BATCH = 1 << 14
"""Chunks whose indices become Python integers at once."""


class Referred(NamedTuple):
    """Chunks of one array as byte ranges of other files."""

    chunk_keys: ChunkKeys
    """Names of the chunks."""
    counts: tuple[int, ...]
    """Shape of the chunk grid."""
    columns: PlaceColumns
    """Byte ranges, sorted by chunk, without duplicates and masks. Length `WHOLE` with offset 0: a whole file."""
    noted: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Recorded properties of the files, as in `ArraySource`."""

    def keys(self) -> Iterator[str]:
        """Yield the key of each row."""
        chunk, (prefix, separator, lead) = self.columns.chunk, self.chunk_keys
        if not self.counts:
            yield from (self.chunk_keys.key(()) for _ in range(len(chunk)))
            return
        head = f"{prefix}{lead}{separator}" if lead else prefix
        for start in range(0, len(chunk), BATCH):
            axes = [axis.tolist() for axis in np.unravel_index(chunk[start : start + BATCH], self.counts)]
            if len(axes) == 1:
                yield from (f"{head}{number}" for number in axes[0])
            else:
                yield from (head + separator.join(map(str, index)) for index in zip(*axes, strict=True))


def columns_of(manifest: Manifest) -> PlaceColumns:
    """Return a manifest with one row per chunk."""
    if isinstance(manifest, PlaceColumns):
        return manifest
    chunk = np.arange(manifest.number, dtype=np.int64)
    source = np.zeros(manifest.number, np.int64)
    offset = manifest.base + chunk * manifest.stride
    length = np.full(manifest.number, manifest.length, np.int64)
    mask = np.zeros(manifest.number, np.int32)
    return PlaceColumns((manifest.source,), chunk, source, offset, length, mask)


def some(columns: PlaceColumns, rows: NDArray[Any] | slice) -> PlaceColumns:
    """Select rows by a slice, a mask (bool, shape (rows,)) or row numbers (integers, shape (selected rows,))."""
    sources, chunk, source, offset, length, mask = columns
    return PlaceColumns(sources, chunk[rows], source[rows], offset[rows], length[rows], mask[rows])


def unmask(codecs: tuple[Codec, ...], mask: int) -> tuple[Codec, ...]:
    """Return the steps that a mask does not skip."""
    return tuple(codec for number, codec in enumerate(codecs) if not mask >> number & 1)


FEW = 256
"""Maximum keys that are looked up one by one, instead of listing all."""


class KeyListing:
    """Keys of one array in one process.

    `counts`: grid shape. `expected`: the `digest` of another process, until it
    is compared.
    """

    def __init__(
        self, store: Store, chunk_keys: ChunkKeys, counts: tuple[int, ...], expected: str | None = None
    ) -> None:
        """Begin without a look into the store; `counts`: grid shape, `expected`: digest of another listing."""
        self.lock = Lock()
        """For what is looked up once."""
        self.token = object()
        """Identity of the array in the cache of chunks, which must not keep the store and its open file."""
        self._store = store
        self.chunk_keys = chunk_keys
        self._counts = counts
        self._expected = expected
        self._table: NDArray[np.int64] | None = None
        self.manifest: PlaceColumns | None = None
        """Where the chunks are that lie in files or objects, once it was looked up (`placed`)."""
        self.placed = False
        self.length: int | None = None
        """The bytes of every encoded chunk; None where they depend on the chunk or its values."""
        self.varies = False
        """True if chunks differ in shape."""

    def list_stored(self) -> list[Index]:
        """Return the indices of existing keys in C order. Raises OSError."""
        return list(indices_of(self.table()))

    def table(self) -> NDArray[np.int64]:
        """Return the indices of existing keys, in C order: int64, shape (keys, dimensions); cached. Raises OSError."""
        if self._table is None:
            count, numbers = 0, array("q")  # of a million keys, tuples would take ten times the memory
            for key in self._store.keys(self.chunk_keys.prefix):
                index = self.chunk_keys.index_of(key, self._counts)
                if index is not None:
                    count += 1
                    numbers.extend(index)
                elif self._store.archive:
                    self._store.confirm_name(key)
            table = np.array(numbers, np.int64).reshape(count, len(self._counts))
            if self._counts:
                table = table[np.lexsort(table.T[::-1])]
            if self._store.archive:
                self._confirm_absent(table)
            self._table = table
        return self._table

    def _confirm_absent(self, table: NDArray[np.int64]) -> None:
        """Raise OSError if a missing key of an archive is there under a damaged name."""
        there, counts = set(indices_of(table)), self._counts
        missing = (index for index in every_index([range(count) for count in counts]) if index not in there)
        self._store.confirm_missing(map(self.chunk_keys.key, missing), math.prod(counts) - len(there))

    def table_in(self, ranges: Sequence[range], *, exactly: bool) -> NDArray[np.int64]:
        """Return those of `table` within a range of indices along each dimension. Raises OSError.

        Keys are not listed to find a few: their names are looked up. Without `exactly`, the
        result has also those that only a read can tell to be missing, as in a distant store.
        """
        count = math.prod(map(len, ranges))
        if self._table is None and count <= FEW and not (exactly and self._store.distant):
            lacks, key = self._store.lacks, self.chunk_keys.key
            return table_of((index for index in every_index(ranges) if not lacks(key(index))), len(ranges))
        table = self.table()
        low, high = np.searchsorted(table[:, 0], (ranges[0].start, ranges[0].stop))
        table = table[low:high]
        inside = np.ones(len(table), bool)
        for axis, part in enumerate(ranges[1:], 1):
            inside &= (table[:, axis] >= part.start) & (table[:, axis] < part.stop)
        return table[inside]

    def holds(self, key: str) -> bool:
        """Return whether a key with the prefix is a chunk or shard of the array."""
        return self.chunk_keys.index_of(key, self._counts) is not None

    def read_whole(self, index: Index) -> bytes | None:
        """Return the bytes of a key, of a shard too, or None; checked where they lie. Raises OSError, CompileError."""
        return self._store.get(self.chunk_keys.key(index))

    def check_absent(self, index: Index) -> None:
        """Raise OSError if a missing key was listed before."""
        if self._table is None:
            return
        low, high = 0, len(self._table)
        for axis, number in enumerate(index):
            column = self._table[low:high, axis]
            low, high = low + int(np.searchsorted(column, number)), low + int(np.searchsorted(column, number, "right"))
        if low < high:
            path = f"{self._store.path}/{self.chunk_keys.key(index)}"
            raise OSError(errno.EIO, "it is listed but does not exist", path)

    def digest(self) -> str | None:
        """Return a digest of all key indices; None if they cannot be listed. Raises OSError."""
        if not self._store.listed:
            return None
        import hashlib

        key_hash = hashlib.sha256()
        for index in self.list_stored():
            key_hash.update(repr(index).encode())
        return key_hash.hexdigest()

    def check_seen(self) -> None:
        """Raise OSError unless this process sees the same keys as the describing one."""
        if self._expected is None:
            return
        with self.lock:
            if self._expected is not None and self.digest() != self._expected:
                text = "this process lists other keys of the store than the process that began the run"
                raise OSError(errno.EIO, text, f"{self._store.path}/{self.chunk_keys.prefix}".rstrip("/"))
            self._expected = None
