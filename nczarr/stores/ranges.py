"""Ranges of files: reading, and copying to other files, by the kernel where possible; and the cache of open files.

A few files stay open for the next range. Callers read ranges of a file in
order, so that adjacent ones can be merged. Remote files have paths too
(`places.py`), and answer here for themselves. From a `BoundedCache`, here of
open files, the least recently used entries go first.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from threading import RLock, local
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from nczarr.names.records import NamedTuple
from nczarr.stores.allowance import LARGE, check_memory
from nczarr.stores.local_paths import add_path_to_errors

if TYPE_CHECKING:
    from cachetools import LRUCache


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Thread-safe cache. Without `size_of`, each entry has size 1.

    An entry whose size exceeds `most` is the only one, until the next.
    """

    def __init__(self, most: int, size_of: Callable[[V], int] | None = None) -> None:
        self.most = most
        self._size_of = size_of
        self._entries: LRUCache[K, V] | None = None
        self._lock = RLock()

    def get(self, key: K, default: Any = None) -> V | Any:
        """Return an entry, which becomes the most recently used one, or the default."""
        with self._lock:
            return default if self._entries is None else self._entries.get(key, default)

    def put(self, key: K, value: V) -> None:
        """Add or replace an entry."""
        with self._lock:
            if self._entries is None:
                self._entries = self._make()
            self._entries[key] = value

    def _make(self) -> LRUCache[K, V]:
        from cachetools import LRUCache

        most, size_of = self.most, self._size_of
        return LRUCache(most, None if size_of is None else lambda value: min(most, size_of(value)))

    def entries(self) -> dict[K, V]:
        """Return all entries, the least recently used first."""
        with self._lock:
            return {} if self._entries is None else dict(self._entries.items())

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return self._entries is not None and key in self._entries

    def __len__(self) -> int:
        with self._lock:
            return 0 if self._entries is None else len(self._entries)


OPEN_FILES = 32
"""Maximum open files."""

PIECE = 8 << 20
"""Bytes in memory at once."""

BLOCK = 4096
"""Block size of file systems."""

BUFFER = 1 << 18
"""Size of a thread's copy buffer."""

GAP = 1 << 18
"""Maximum gap that is read rather than skipped: the bytes of a connection in one round trip."""

REQUEST = 8 << 20
"""Maximum bytes of one request for several places."""

T = TypeVar("T")

_own = local()
"""Thread-local state."""


class Range(NamedTuple):
    """Byte range of a file."""

    path: str
    """Path or URL of the file."""
    offset: int
    """Start in bytes."""
    length: int
    """Length in bytes."""


REMOTE = os.sep + "nczarr remote file"
"""Folder of the paths of all remote files, which does not exist."""


class Remote(Protocol):
    """A file that is read by requests. Methods raise OSError, also if the file is too short."""

    def value(self, begin: int, end: int) -> bytes:
        """Return the bytes from `begin` to `end`."""

    def several(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes of places (offset, length), from few requests."""


_remote: WeakValueDictionary[str, Remote] = WeakValueDictionary()
_again: dict[str, Callable[[], Remote]] = {}
"""Functions that open remote files again, without the blocks that they kept."""


def announce(path: str, file: Remote, again: Callable[[], Remote]) -> None:
    """Let ranges with this path be read from a remote file; `again` opens it after the last reference is gone."""
    _remote[path] = file
    _again[path] = again


def remote(path: str) -> Remote | None:
    """Return the remote file with this path; None for paths of the file system. Raises OSError if it is unknown."""
    if not path.startswith(REMOTE):
        return None
    file = _remote.get(path)
    if file is not None:
        return file
    if path not in _again:
        raise OSError(errno.ENOENT, "no remote file has this path", path)
    return _again[path]()


_NOT_HERE = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF})
"""Errors of `copy_file_range` if it is unsupported between two files."""


class _RangeFile:
    """A file open for reading, closed when it is unreferenced."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))

    def __del__(self) -> None:
        if hasattr(self, "number"):
            os.close(self.number)


_files: BoundedCache[str, tuple[tuple[int, int, int], _RangeFile]] = BoundedCache(OPEN_FILES)
"""Recently opened files by path, with the identity by which a replaced one is noticed."""


def _open(path: str) -> _RangeFile:
    """Return the open file of a path from the cache; open it anew if it was changed or replaced."""
    status = os.stat(path)
    identity = status.st_dev, status.st_ino, status.st_mtime_ns
    entry = _files.get(path)
    if entry is None or entry[0] != identity:
        entry = identity, _RangeFile(path)
        _files.put(path, entry)
    return entry[1]


def read(place: Range) -> bytes:
    """Return the bytes of a range. Raises OSError, also if the file is too short."""
    return b"".join(pieces(place))


def pieces(place: Range) -> Iterator[bytes]:
    """Yield the bytes of a range in pieces of `PIECE`. Raises OSError."""
    at, end = place.offset, place.offset + place.length
    far = remote(place.path)
    if far is not None:
        yield from (far.value(start, min(start + PIECE, end)) for start in range(at, end, PIECE))
        return
    opened = _open(place.path)
    while at < end:
        with add_path_to_errors(place.path):
            data = os.pread(opened.number, min(PIECE, end - at), at)
        if not data:
            raise _cut(place)
        yield data
        at += len(data)


def join(parts: Iterable[bytes | Range]) -> Iterator[bytes | Range]:
    """Merge adjacent ranges."""
    last: Range | None = None
    for part in parts:
        if isinstance(part, Range) and last is not None and part[:2] == (last.path, last.offset + last.length):
            last = Range(last.path, last.offset, last.length + part.length)
            continue
        if last is not None:
            yield last
        last = part if isinstance(part, Range) else None
        if last is None:
            yield part
    if last is not None:
        yield last


def read_places(path: str, places: Sequence[tuple[int, int]]) -> bytes:
    """Return the bytes of places (offset, length) of a file in sequence. Raises OSError, also if the file is too short.

    The file is looked up once.
    """
    far = remote(path)
    if far is not None:
        return b"".join(far.several(places))
    opened = _open(path)
    size = sum(length for _, length in places)
    if size > LARGE:  # lengths that a document states
        with add_path_to_errors(path):
            end = os.fstat(opened.number).st_size
        for offset, length in places:
            if offset + length > end:
                raise _cut(Range(path, offset, length))
        check_memory(size)
    data = bytearray(size)
    view, at = memoryview(data), 0
    with add_path_to_errors(path):
        for offset, length in places:
            end = at + length
            while at < end:
                count = os.preadv(opened.number, [view[at:end]], offset + length - (end - at))
                if not count:
                    raise _cut(Range(path, offset, length))
                at += count
    return bytes(data)


def neighbours(places: Iterable[tuple[int, int, T]]) -> Iterator[tuple[int, int, list[tuple[int, int, T]]]]:
    """Group places (offset, length, item) for common requests; yield start, end and places of each group.

    Gaps in a group are at most `GAP`, its length at most `REQUEST` unless it is
    one place.
    """
    group: list[tuple[int, int, T]] = []
    begin = end = 0
    for place in sorted(places, key=lambda place_of_item: place_of_item[:2]):
        offset, length = place[:2]
        if group and (offset - end > GAP or max(end, offset + length) - begin > REQUEST):
            yield begin, end, group
            group = []
        if not group:
            begin = end = offset
        group.append(place)
        end = max(end, offset + length)
    if group:
        yield begin, end, group


def copy_to(place: Range, target: int) -> None:
    """Copy a range to the position of the open file `target`. Raises OSError.

    The kernel copies block-aligned ranges, perhaps by sharing blocks. Unaligned
    ranges it would copy page by page, which takes 1.5 times as long as a buffer
    in the CPU cache.
    """
    if remote(place.path) is not None:
        for data in pieces(place):
            write(target, data)
    elif place.length and not (_begins_blocks(place, target) and _copy_by_kernel(place, target)):
        _copy_by_buffer(place, target)


def _begins_blocks(place: Range, target: int) -> bool:
    return place.offset % BLOCK == 0 and os.lseek(target, 0, os.SEEK_CUR) % BLOCK == 0


def _copy_by_buffer(place: Range, target: int) -> None:
    opened = _open(place.path)
    if not hasattr(_own, "buffer"):
        _own.buffer = memoryview(bytearray(BUFFER))
    buffer: memoryview = _own.buffer
    at, end = place.offset, place.offset + place.length
    while at < end:
        with add_path_to_errors(place.path):
            count = os.preadv(opened.number, [buffer[: min(BUFFER, end - at)]], at)
        if not count:
            raise _cut(place)
        write(target, buffer[:count])
        at += count


def _copy_by_kernel(place: Range, target: int) -> bool:
    """Return whether the kernel copied the range; if not, nothing was written."""
    if not hasattr(os, "copy_file_range"):
        return False
    opened = _open(place.path)
    at, end = place.offset, place.offset + place.length
    while at < end:
        try:
            count = os.copy_file_range(opened.number, target, end - at, at)
        except OSError as error:
            if at == place.offset and error.errno in _NOT_HERE:
                return False
            raise
        if not count:
            if at == place.offset:
                return False  # some file systems say so of files that have bytes there
            raise _cut(place)
        at += count
    return True


def write(target: int, data: bytes | memoryview) -> None:
    """Append bytes to an open file; the kernel accepts at most 2 GiB at a time. Raises OSError."""
    written = os.write(target, data)
    while written < len(data):
        written += os.write(target, memoryview(data)[written:])


def _cut(place: Range) -> OSError:
    text = f"the file ends before byte {place.offset + place.length}, to which its own directory refers"
    return OSError(errno.EIO, text, place.path)
