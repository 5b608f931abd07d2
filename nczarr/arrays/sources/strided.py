"""Uncompressed arrays at regular places of one file: netCDF-3 variables, contiguous data of others.

A source describes the start and the row stride. Regions are views of the file's
memory map, copied only on conversion. A pickled source has the file's path and
size, and maps it again on use. Bytes without a file are stored, and pickled,
whole.
"""

from __future__ import annotations

import itertools
import math
import mmap as mmap_module
import os
from collections import deque
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import TYPE_CHECKING, Any
from weakref import ref

from nczarr.arrays.chunks.manifest import Affine, ChunkPlace, Manifest, PlaceColumns
from nczarr.arrays.execution.thread_pool import run_each
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Index,
    Region,
    Selection,
    bounds_of,
    chunk_ranges,
    clip,
    every_block,
    grid_of,
    inside,
    lengths_within,
    linear_pieces,
    number_of,
)
from nczarr.arrays.sources.source import ArraySource, Layout, Stored, itemsize, numpy_dtype
from nczarr.names.records import frozen, replace
from nczarr.stores import local_paths
from nczarr.stores.places import RemoteFile, find_remote_file
from nczarr.stores.ranges import GAP

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Buffer, Source
    from nczarr.stores.local_file import LocalFile

RESIDENT = 1 << 26
"""Bytes read from a map before its pages are released."""

MAPPED = 128
"""Maximum mapped files: each uses one of the process's few file descriptors."""

STRETCH = 1 << 20
"""Bytes that are copied at once."""

SHARED = 1 << 22
"""Bytes of a region from which several threads copy it."""

_DROP: int | None = getattr(mmap_module, "MADV_DONTNEED", None)


class FileBytes:
    """Bytes of a file, mapped on first use; or in-memory bytes without path.

    `modified`: modification time in nanoseconds; None: not checked. `name`:
    display name, if not the path.
    """

    __slots__ = ("__weakref__", "_data", "_seen", "modified", "name", "path", "size")

    def __init__(
        self,
        path: str | None,
        size: int,
        data: Buffer | RemoteFile | LocalFile | None = None,
        modified: int | None = None,
        name: str | None = None,
    ) -> None:
        """Take bytes of a file, not yet mapped, or `data`; `modified` is in nanoseconds, None if not checked."""
        self.path = path
        self.size = size
        self.modified = modified
        self.name = name or path or ""
        self._data = data
        self._seen = 0
        if isinstance(data, mmap):
            self._hold()

    @classmethod
    def of(cls, source: Source) -> FileBytes:
        """Return the bytes of a source: in memory, or its file's map."""
        path = None if isinstance(source.data, bytes) else local_paths.absolute(source.path)
        return cls(path, len(source.data), source.data, name=source.name)

    @classmethod
    def at(cls, path: str, name: str) -> FileBytes:
        """Return the bytes of a file, which must not change; `name`: display name. Raises OSError."""
        remote = find_remote_file(path)
        if remote is not None:
            return cls(path, remote.size, remote, name=name)
        status = os.stat(path)
        return cls(local_paths.absolute(path), status.st_size, modified=status.st_mtime_ns, name=name)

    @property
    def remote(self) -> RemoteFile | None:
        """The remote file that has the bytes; None for others."""
        return self._data if isinstance(self._data, RemoteFile) else None

    @property
    def data(self) -> Buffer | LocalFile:
        """Return the bytes. Raises OSError if the file is remote, unreadable or has changed in size."""
        data = self._data
        if isinstance(data, RemoteFile):
            raise OSError(None, "a remote file is read by ranges", self.name)
        if data is None:
            from nczarr.stores.open import open_source

            assert self.path is not None
            self.check()
            data = open_source(self.path).data
            if len(data) != self.size:
                text = f"the file had {self.size} bytes when it was opened, and now has {len(data)}"
                raise OSError(None, text, self.name)
            self._data = data
            if isinstance(data, mmap):
                self._hold()
        return data

    def _hold(self) -> None:
        """Hold the map until `MAPPED` others exist. Views remain valid; it is mapped again on use."""
        _mapped.append(ref(self))
        if len(_mapped) > MAPPED:
            oldest = _mapped.popleft()()
            if oldest is not None and oldest.path is not None:
                oldest._data = None

    def region(
        self, base: int, shape: tuple[int, ...], steps: tuple[int, ...], size: int
    ) -> tuple[Buffer | bytearray, int]:
        """Return a buffer with the elements of a region, and the position of its first element in it.

        `base`: position of that in the file; `steps`: strides in bytes; `size`: bytes
        of an element. Of a file without a map just these are read. Raises OSError.
        """
        file = self.remote or self.data
        if isinstance(file, bytes | mmap):
            return file, base
        return file.window(base, _end(base, shape, steps, size), _runs(base, shape, steps, size)), 0

    def piece(self, start: int, length: int) -> bytes:
        """Return bytes of the file. Raises OSError."""
        remote = self.remote
        return bytes(self.data[start : start + length]) if remote is None else remote.value(start, start + length)

    def check(self) -> None:
        """Raise OSError if the file is unreachable or has changed; skipped without `modified`."""
        if self.modified is None or self.path is None:
            return
        status = os.stat(self.path)
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified):
            raise OSError(None, "the file has changed since it was opened", self.name)

    def count_seen(self, size: int) -> None:
        """Count bytes to be read from the map; release its pages from time to time.

        They would count as process memory. Views remain valid: pages are mapped
        again on access.
        """
        self._seen += size
        data = self._data
        if self._seen > RESIDENT and isinstance(data, mmap) and _DROP is not None:
            self._seen = 0
            data.madvise(_DROP)

    def __reduce__(self) -> tuple[Any, ...]:
        data = None if self.path is not None and self.remote is None else self._data
        return FileBytes, (self.path, self.size, data, self.modified, self.name)


_mapped: deque[ref[FileBytes]] = deque()


@frozen
class AffineArray(ArraySource):
    """Array whose rows are regularly spaced in a file. A row has its elements in C order, without gaps."""

    layout: Layout
    file: FileBytes
    base: int
    """Start of the first row in bytes."""
    stride: int
    """Distance of two rows in bytes."""
    missing: bytes = b""
    """Element beyond the end of the file, in the bytes of the layout's dtype; empty: zero bytes."""
    sparse: bool = False
    """True if `missing` is the fill value, so that chunks wholly beyond the end are not occupied."""
    strict: bool = False
    """True if reading elements beyond the end of the file is an error."""

    def manifest(self, region: Region | None = None) -> Manifest | None:
        """Return the chunks in the file, one range each; None without a path."""
        if self.file.path is None:
            return None
        if region:
            return self._columns(chunk_ranges(self.layout.chunks, region))
        length, counts = self._chunk_bytes(), self._counts()
        count, chunks_per_row = math.prod(counts), math.prod(counts[1:])
        if self.is_complete and (chunks_per_row == 1 or self.stride * self._rows == length * chunks_per_row):
            distance = self.stride * self._rows if chunks_per_row == 1 and count > 1 else length
            return Affine(self.file.path, self.base, distance, length, count)
        return self._columns([range(count) for count in counts])

    def _columns(self, ranges: Sequence[range]) -> PlaceColumns:
        """Return the chunks in the file within a range of indices along each dimension, as rows."""
        length, counts = self._chunk_bytes(), self._counts()
        chunk: NDArray[np.int64] = np.zeros((), np.int64)
        offset: NDArray[np.int64] = np.full((), self.base, np.int64)
        for axis, (count, part) in enumerate(zip(counts, ranges, strict=True)):
            step = length * math.prod(counts[axis + 1 :]) if axis else self.stride * self._rows
            number = np.arange(part.start, part.stop, dtype=np.int64)
            chunk = chunk[..., None] * count + number  # one more dimension: every index before with every one here
            offset = offset[..., None] + number * step
        chunk, offset = chunk.reshape(-1), offset.reshape(-1)
        there = offset + length <= self.file.size
        chunk, offset = chunk[there], offset[there]
        zeros = np.zeros(len(chunk), np.int64)
        return PlaceColumns((str(self.file.path),), chunk, zeros, offset, zeros + length, zeros.astype(np.int32))

    @property
    def paged(self) -> bool:
        """True if the bytes are in a local file."""
        return self.file.path is not None and self.file.remote is None

    @property
    def distant(self) -> bool:
        """True if the file is remote."""
        return self.file.remote is not None

    @property
    def _rows(self) -> int:
        return self.layout.chunks[0] if self.layout.chunks else 1

    def recut(self, chunks: tuple[int, ...]) -> AffineArray | None:
        """Return the array in other chunks, if all are full and one file range each."""
        shape, itemsize = self.layout.shape, self._itemsize
        if len(chunks) != len(shape) or any(
            chunk_length < 1 or length % chunk_length for chunk_length, length in zip(chunks, shape, strict=True)
        ):
            return None
        inner = next((axis for axis in range(len(shape) - 1, -1, -1) if chunks[axis] != shape[axis]), 0)
        if any(chunk_length != 1 for chunk_length in chunks[:inner]):
            return None
        if chunks and chunks[0] > 1 and self.stride != math.prod(shape[1:]) * itemsize:
            return None
        return replace(self, layout=self.layout._replace(chunks=chunks))

    @property
    def is_complete(self) -> bool:
        """True if the file contains every element."""
        return 0 in self.layout.shape or self._end <= self.file.size

    @property
    def lacking(self) -> int:
        """Bytes of elements missing from the file."""
        if self.is_complete:
            return 0
        row_count = self.layout.shape[0] if self.layout.shape else 1
        row_size = math.prod(self.layout.shape[1:]) * self._itemsize
        available = self.file.size - self.base
        full_rows = (available - row_size) // self.stride + 1 if available >= row_size else 0
        return (row_count - full_rows) * row_size - min(row_size, max(0, available - full_rows * self.stride))

    @property
    def _itemsize(self) -> int:
        return itemsize(self.layout.dtype)

    @property
    def _end(self) -> int:
        """End of the last element."""
        return _end(self.base, self.layout.shape, self._steps(), self._itemsize)

    def _steps(self) -> tuple[int, ...]:
        """Return the strides in bytes."""
        shape = self.layout.shape
        steps = [self._itemsize] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            steps[axis] = steps[axis + 1] * shape[axis + 1]
        if steps:
            steps[0] = self.stride
        return tuple(steps)

    def _chunk_bytes(self) -> int:
        return math.prod(self.layout.chunks) * self._itemsize

    def _counts(self) -> tuple[int, ...]:
        """Return the chunks along each dimension."""
        return grid_of(self.layout.shape, self.layout.chunks)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype, which has the file's byte order.

        Returns a view if the file contains the whole region, else a copy.
        """
        bounds = bounds_of(selection, self.layout.shape)
        shape = tuple(max(0, stop - start) for start, stop in bounds)
        dtype, steps = numpy_dtype(self.layout.dtype), self._steps()
        if 0 in shape:
            return np.empty(shape, dtype)
        base = self.base + sum(start * step for (start, _), step in zip(bounds, steps, strict=True))
        end = _end(base, shape, steps, dtype.itemsize)
        self.file.count_seen(min(end, self.file.size) - min(base, self.file.size))
        if end <= self.file.size:
            buffer, at = self.file.region(base, shape, steps, dtype.itemsize)
            return np.ndarray(shape, dtype, buffer, at, _strides(shape, steps, dtype.itemsize))
        self._check_end(end)
        out = np.empty(shape, dtype)
        out[...] = np.frombuffer(self.missing or bytes(dtype.itemsize), dtype)[0]
        self._copy(out, base, steps)
        return out

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`: in stretches, which stay in the cache."""
        if self.distant:  # from few requests, as a whole
            out[...] = self.read(selection)
            return
        region = clip(selection, self.layout.shape)

        def put(part: Selection) -> None:
            place: Any = (*inside(part, region), ...)
            out[place] = self.read(part)

        if out.size:
            run_each(put, linear_pieces(region, STRETCH // out.itemsize), 0 if out.nbytes > SHARED else None)

    def _check_end(self, end: int) -> None:
        """Raise CompileError with `unreadable-chunk` for bytes to `end` that the file must have, and lacks."""
        if self.strict and end > self.file.size:
            from nczarr.arrays.chunks.grid import unreadable

            text = f"the file ends at byte {self.file.size}, before values that are asked for: they end at byte {end}"
            unreadable(self.file.name, text, offset=self.file.size)

    def _copy(self, out: NDArray[Any], base: int, steps: tuple[int, ...]) -> None:
        """Copy existing file data of a region from byte `base`: whole rows, then part of the next.

        `out`: the region's shape, the layout's dtype.
        """
        size, target = self.file.size, out
        for axis, step in enumerate(steps):
            shape = target.shape
            row = _end(0, shape[1:], steps[axis + 1 :], out.itemsize)
            rows = min(shape[0], (size - base - row) // step + 1) if size - base >= row else 0
            if rows:
                strides = _strides((rows, *shape[1:]), steps[axis:], out.itemsize)
                stored_shape = rows, *shape[1:]
                buffer, at = self.file.region(base, stored_shape, steps[axis:], out.itemsize)
                target[:rows] = np.ndarray(stored_shape, out.dtype, buffer, at, strides)
            if rows == shape[0]:
                return
            base += rows * step
            target = target[rows : rows + 1].reshape(shape[1:])
        if not self.missing and base < size:  # an element that the end cuts
            part = np.frombuffer(self.file.piece(base, size - base), np.uint8)
            target.reshape(1).view(np.uint8)[: len(part)] = part

    @property
    def stored(self) -> Stored:
        """Encoding: plain elements."""
        return Stored(self.layout.dtype, self.layout.chunks, ())

    def read_encoded(self, chunk: Index) -> bytes | None:
        """Return the bytes of a chunk; None if the file lacks part of it."""
        start, length = self._begin(chunk), self._chunk_bytes()
        self._check_end(start + length)
        return self.file.piece(start, length) if start + length <= self.file.size else None

    def place(self, chunk: Index) -> ChunkPlace | None:
        """Return a chunk's location; None if the file lacks part of it, is remote or has no path."""
        start, length = self._begin(chunk), self._chunk_bytes()
        if self.file.path is None or self.distant or start + length > self.file.size:
            return None
        self.file.check()
        return ChunkPlace(self.file.path, start, length)

    def _begin(self, chunk: Index) -> int:
        if not chunk:
            return self.base
        number = number_of(chunk[1:], self._counts()[1:])
        return self.base + chunk[0] * self._rows * self.stride + number * self._chunk_bytes()

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return all blocks of a region; if missing elements are fill, only those partly in the file."""
        lengths = self._present() if self.sparse and not self.strict else self.layout.shape
        if region is not None:
            lengths = lengths_within(region, lengths)
        return every_block(lengths, chunks)

    def _present(self) -> tuple[int, ...]:
        """Return the lengths of the smallest box from the origin with all elements in the file."""
        available, lengths = self.file.size - self.base, list(self.layout.shape)
        if available <= 0:
            return (0,) * len(lengths)
        for axis, step in enumerate(self._steps()):
            rows = min(lengths[axis], -(-available // step))
            lengths[axis] = rows
            if rows > 1:
                break
        return tuple(lengths)


def _end(base: int, shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int) -> int:
    """Return the end of the last element of a region from `base`."""
    if 0 in shape:
        return base
    return base + sum((length - 1) * step for length, step in zip(shape, steps, strict=True)) + itemsize


def _strides(shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return NumPy strides; those along length 1 are replaced, because declared ones may exceed 64 bits."""
    return tuple(step if length > 1 else itemsize for length, step in zip(shape, steps, strict=True))


def _runs(base: int, shape: tuple[int, ...], steps: tuple[int, ...], size: int) -> Iterator[tuple[int, int]]:
    """Yield the places (offset, length) of the elements of a region; those with small gaps are one."""
    length, outer = size, len(shape)
    while outer and steps[outer - 1] - length <= GAP:
        outer -= 1
        length += (shape[outer] - 1) * steps[outer]
    for index in itertools.product(*map(range, shape[:outer])):
        yield base + sum(number * step for number, step in zip(index, steps, strict=False)), length
