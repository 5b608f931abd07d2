"""Stores: bytes by key. What a store promises, and which keys there are.

A key is a path of segments joined by `/`, relative to the store. Invariant: no key leaves its store; `safe_key` is the
one rule of what a key may look like, and every store that touches files obeys it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from typing import Protocol

from nczarr.stores.ranges import Range, read
from nczarr.stores.reference import Reference

JOURNAL = ".nczarr-journal"
"""The key that a store has in its root as long as it is not finished (`journal.py`)."""

ROOT_KEYS = (
    *(".zgroup", "zarr.json", ".zarray", ".zmetadata", ".zattrs", ".nczarr", JOURNAL),
    *("root.group.json", "root.array.json"),
)
"""Keys of which the root of every store has one."""

HELD = 64 << 20
"""Bytes of a key's pieces that a store may hold in memory."""


class Store(Protocol):
    """Bytes by key. Methods raise OSError where the medium fails, UnsafeKeyError for a key that is none.

    What a store does not define is that of one which is there already, on this machine: it is read-only, nothing
    travels, nothing is to be finished.
    """

    path: str
    """The name of the store for people."""
    sequential: bool = False
    """Whether keys lie in the order in which they are put, so that one thread has to put them all."""
    distant: bool = False
    """Whether every call travels over a network, so that many should be under way at once."""
    listed: bool = True
    """Whether `children` and `keys` name everything that is there."""
    refers: bool = False
    """Whether keys are references to bytes elsewhere: a chunk is exactly those bytes, or damaged."""
    archive: bool = False
    """Whether all keys lie in one file."""

    @property
    def home(self) -> str:
        """The folder or URL that the store lies in."""
        return os.path.dirname(os.path.abspath(self.path))

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, None if it is absent."""

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Some bytes of a key, None if it is absent; a negative offset counts from its end. Raises OSError if it ends
        before they do.
        """
        data = self.get(key)
        return None if data is None else cut(data, key, offset, length)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""

    def children(self, prefix: str) -> list[str]:
        """The next segments of all keys that begin with `prefix`, which is empty or ends in a slash; sorted."""
        return next_segments(self.keys(prefix), prefix)

    def several(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The bytes of those keys that few requests bring together; others may be left out. Raises OSError."""
        return {}

    def lacks(self, key: str) -> bool:
        """Whether a look at its name alone says that there is no such key; False where only `get` can tell."""
        return False

    def put(self, key: str, data: bytes) -> None:
        """Set a key that was not set before. May be called from several threads, for different keys."""
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), self.path)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Set a key to pieces, one behind the other. Ranges of files are moved without being held in memory where the
        store can. Raises what `put` does, and OSError if a file ends before its range does.
        """
        self.put(key, b"".join(read(piece) if isinstance(piece, Range) else piece for piece in pieces))

    def survey(self) -> None:
        """All of the store is going to be read: a distant one lists everything first."""
        return

    def expect(self, keys: Iterable[str]) -> None:
        """These documents will be asked for: a distant store fetches many at once."""
        return

    def locate(self, key: str) -> Range | None:
        """Where the bytes of a key lie in a file; None if it is absent, or in none."""
        return None

    def refer(self, key: str) -> Reference | None:
        """Where anyone finds the bytes of a key: in a file, or at a URL; None if it is absent, or nowhere else."""
        place = self.locate(key)
        return None if place is None else Reference(*place)

    def told(self, key: str) -> int | None:
        """Return the bytes of a key where a listing has told them; None: nobody has, or there is no such key."""
        return None

    def is_done(self, key: str) -> bool:
        """Whether a run that this one resumes has put this key of data, whole; then it need not be made again."""
        return False

    def seal(self) -> None:
        """All is written: it may be read at `path`, before it is visible to others."""
        return

    def finish(self) -> None:
        """All is written: make it visible, whole."""
        return

    def suspend(self) -> bool:
        """The run ends before its end. Whether what is done was kept, for another run to go on with; then `abort` does
        nothing.
        """
        return False

    def abort(self) -> None:
        """Nothing will come of it: remove every trace. Does nothing after `finish`."""
        return


def cut(data: bytes, key: str, offset: int, length: int) -> bytes:
    """Some bytes of a value; a negative offset counts from its end. Raises OSError if they are not there."""
    begin = len(data) + offset if offset < 0 else offset
    found = data[begin : begin + length] if begin >= 0 else b""
    if len(found) != length:
        raise OSError(errno.EIO, f"it has {len(data)} bytes, too few for {length} at {offset}", key)
    return found


class UnsafeKeyError(ValueError):
    """A key that is no relative path, or would leave the store."""


_NO_SEGMENTS = frozenset({"", ".", ".."})
"""What no segment of a key is."""


def safe_key(key: str) -> str:
    """The key itself. Raises UnsafeKeyError if it is empty, absolute, has an empty, `.` or `..` segment, or a NUL."""
    if "\0" in key or not _NO_SEGMENTS.isdisjoint(key.split("/")):
        raise UnsafeKeyError(f"not a key of a store: {key!r}")
    return key


def is_safe(key: str) -> bool:
    """Whether `safe_key` takes a key."""
    try:
        safe_key(key)
    except UnsafeKeyError:
        return False
    return True


def next_segments(keys: Iterable[str], prefix: str) -> list[str]:
    """The segments that follow `prefix` in keys that begin with it, each once, sorted."""
    return sorted({key[len(prefix) :].split("/", 1)[0] for key in keys if len(key) > len(prefix)})
