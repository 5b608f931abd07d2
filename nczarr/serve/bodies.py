"""Bodies of answers as pieces for a connection, and their storage for slow clients."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from nczarr.serve.answers import Body, HttpAnswer
from nczarr.serve.limits import PIECE
from nczarr.serve.spool import Disk, FullError, Spool
from nczarr.stores import ranges
from nczarr.stores.local_file import Identity, ReplacedError, identity_of
from nczarr.stores.ranges import Range

READY = 1 << 20
"""Bytes of a file that one thread reads at once; they are sent in smaller pieces."""


class DeliveredBody:
    """Body of an answer during delivery. One thread at a time calls `next` and `put_away`.

    `ready` returns bytes in memory without waiting. `making`: memory in bytes
    that a stream needs until its end; `length`: bytes of the whole body, if
    known; `states`: states of files that are known from when the answer was made.
    """

    def __init__(
        self, body: Body, making: int = 0, length: int = 0, states: Mapping[str, Identity] = MappingProxyType({})
    ) -> None:
        self._parts: deque[bytes | Range | Spool] = deque()
        self._stream: Iterator[bytes] | None = None
        self._data: bytes = b""
        self._view = memoryview(b"")
        self._read: Range | Spool | None = None
        self._file: tuple[str, int] | None = None
        self._states = dict(states)
        self._making = making
        self._length = length
        self._taken = 0
        if isinstance(body, bytes | Spool):
            self._parts.append(body)
        elif isinstance(body, tuple):
            self._parts.extend(body)
        else:
            self._stream = body

    @property
    def memory(self) -> int:
        """Approximate bytes of memory in use."""
        parts = sum(len(each) for each in self._parts if isinstance(each, bytes))
        return len(self._data) + parts + self.making

    @property
    def making(self) -> int:
        """Bytes of memory needed to make the rest; 0 at the end."""
        return self._making if self._stream is not None else 0

    def ready(self, size: int = PIECE) -> bytes | None:
        """Return the next piece if it is in memory."""
        if not self._view and self._parts and isinstance(self._parts[0], bytes):
            self._begin()
        if not self._view:
            return None
        whole = len(self._data) == len(self._view) <= size
        piece = self._data if whole else bytes(self._view[:size])
        self._view = self._view[size:]
        self._taken += len(piece)
        if not self._view:
            self._release()
        return piece

    def next(self, size: int = PIECE) -> bytes | None:
        """Return the next piece, None at the end. Raises errors of reading or making it."""
        while not self._view:
            if self._parts:
                self._begin()
            elif self._stream is not None:
                found = next(self._stream, None)
                if found is None:
                    self._stream = None
                    return None
                self._hold(found)
            else:
                return None
        return self.ready(size)

    def _begin(self) -> None:
        """Load the next bytes of the first part. Raises OSError."""
        part = self._parts.popleft()
        if isinstance(part, bytes):
            self._hold(part)
        elif isinstance(part, Spool):
            self._hold(part.read(PIECE))
            if self._view:
                self._parts.appendleft(part)
                self._read = part
            else:
                part.close()
        elif part.length:
            data = self._bytes_at(part, min(READY, part.length))
            if len(data) < part.length:
                self._parts.appendleft(Range(part.path, part.offset + len(data), part.length - len(data)))
            self._hold(data)
            self._read = Range(part.path, part.offset, len(data))

    def _hold(self, data: bytes) -> None:
        self._view, self._data = memoryview(data), data

    def _release(self) -> None:
        self._view, self._data, self._read = memoryview(b""), b"", None

    def put_away(self, disk: Disk) -> bool:
        """Release memory: file ranges are read again later, everything else goes to a temporary file.

        Returns False without room for all of it. Raises errors of making the rest, and OSError if the disk is full.
        """
        self._unread()
        if not self.memory:
            return True
        if not disk.has(max(len(self._view), self._length - self._taken)):
            return False
        spool, piece = Spool(disk), None
        try:
            while (piece := self.next(READY)) is not None:
                spool.write(piece)
        except FullError:  # other answers took the room meanwhile
            assert piece is not None
            self._parts.extendleft((bytes(self._view), piece, spool))
            self._release()
            return False
        except BaseException:
            spool.close()
            raise
        self._parts.append(spool)
        return True

    def _unread(self) -> None:
        """Release unsent bytes of a file, which are read again."""
        left, place = len(self._view), self._read
        if left and place is not None:
            if isinstance(place, Spool):
                place.rewind(left)
            else:
                self._parts.appendleft(Range(place.path, place.offset + place.length - left, left))
            self._release()

    def _bytes_at(self, place: Range, count: int) -> bytes:
        """Return the first bytes of a file range; the file is kept open while it is read. Raises OSError."""
        if self._file is None or self._file[0] != place.path:
            self._close_file()
            flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self._file = place.path, os.open(place.path, flags)
        data = os.pread(self._file[1], count, place.offset)
        identity = identity_of(os.fstat(self._file[1]))
        if self._states.setdefault(place.path, identity) != identity:
            raise ReplacedError(place.path)
        if not data:
            raise OSError(errno.EIO, f"the file ends before byte {place.offset + place.length}", place.path)
        return data

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file[1])

    def close(self) -> None:
        """Release everything. Raises ValueError while a thread uses it."""
        self._close_file()
        self._release()
        for each in self._parts:
            if isinstance(each, Spool):
                each.close()
        self._parts.clear()
        stream, self._stream = self._stream, None
        end = getattr(stream, "close", None)
        if end is not None:
            end()


def weight(answer: HttpAnswer) -> int:
    """Return the approximate memory in bytes of an answer until it is sent."""
    return DeliveredBody(answer.body, answer.need).memory


def resolved(answer: HttpAnswer) -> HttpAnswer:
    """Return the answer with short file ranges read into memory. Raises OSError."""
    body, length = answer.body, answer.length
    if not isinstance(body, tuple) or length is None or length > READY:
        return answer
    return answer._replace(body=b"".join(ranges.read(each) if isinstance(each, Range) else each for each in body))
