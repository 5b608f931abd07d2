"""Bodies of answers as pieces for a connection, and their storage for slow clients."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from types import MappingProxyType

from nczarr.serve.answers import Body, HttpAnswer
from nczarr.serve.limits import PIECE
from nczarr.serve.spool import Disk, FullError, Spool
from nczarr.stores import ranges
from nczarr.stores.local_file import Identity, ReplacedError, identity_of
from nczarr.stores.ranges import Range

SHORT = 1 << 20
"""Bytes of file ranges that are read when the answer is made."""


class DeliveredBody:
    """Body of an answer during delivery. One thread at a time calls `next` and `put_away`.

    `making`: memory in bytes that a stream needs until its end; `length`: bytes
    of the whole body, if known; `states`: states of files that are known from
    when the answer was made.
    """

    def __init__(
        self, body: Body, making: int = 0, length: int = 0, states: Mapping[str, Identity] = MappingProxyType({})
    ) -> None:
        self._size = PIECE
        self._left = length
        self._states = dict(states)
        self._spools: list[Spool] = []
        self.making = 0
        """Bytes of memory needed to make the rest; 0 at the end."""
        self.memory = 0
        """Approximate bytes of memory in use."""
        if isinstance(body, bytes | Spool | tuple):
            self._pieces = [self._of_parts(*(body if isinstance(body, tuple) else (body,)))]
        else:
            self._pieces = [self._of_stream(body)]
            self.making = self.memory = making

    def next(self, size: int = PIECE) -> bytes | None:
        """Return the next piece, None at the end. Raises errors of reading or making it."""
        self._size = size
        while self._pieces:
            piece = next(self._pieces[0], None)
            if piece is not None:
                self._left -= len(piece)
                return piece
            self._pieces.pop(0)
        return None

    def _of_parts(self, *listed: bytes | Range | Spool) -> Generator[bytes, None, None]:
        """Return the pieces of parts, which leave memory one after the other."""
        self._spools += [part for part in listed if isinstance(part, Spool)]
        self.memory += sum(len(part) for part in listed if isinstance(part, bytes))
        return self._pieces_of(deque(listed))

    def _pieces_of(self, parts: deque[bytes | Range | Spool]) -> Generator[bytes, None, None]:
        while parts:
            part = parts.popleft()
            if isinstance(part, Spool):
                while data := part.read(self._size):
                    yield data
                part.close()
            elif isinstance(part, Range):
                yield from self._of_file(part)
            else:
                size, pieces = len(part), self._cut((part,))
                del part
                yield from pieces
                self.memory -= size

    def _cut(self, blocks: Iterable[bytes]) -> Generator[bytes, None, None]:
        """Yield blocks in pieces, without a reference to what was yielded."""
        for block in blocks:
            view = memoryview(block)
            del block
            while view:
                piece, view = bytes(view[: self._size]), view[self._size :]
                yield piece

    def _of_file(self, place: Range) -> Generator[bytes, None, None]:
        """Yield the bytes of a file range. Raises OSError, ReplacedError if the file changes meanwhile."""
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        at, end, number = place.offset, place.offset + place.length, os.open(place.path, flags)
        try:
            while at < end:
                data = os.pread(number, min(self._size, end - at), at)
                identity = identity_of(os.fstat(number))
                if self._states.setdefault(place.path, identity) != identity:
                    raise ReplacedError(place.path)
                if not data:
                    raise OSError(errno.EIO, f"the file ends before byte {end}", place.path)
                at += len(data)
                yield data
        finally:
            os.close(number)

    def _of_stream(self, stream: Iterator[bytes]) -> Generator[bytes, None, None]:
        try:
            yield from self._cut(stream)
        finally:
            self.memory -= self.making
            self.making = 0
            end = getattr(stream, "close", None)
            if end is not None:
                end()

    def put_away(self, disk: Disk) -> bool:
        """Release memory: file ranges are read again later, everything else goes to a temporary file.

        Returns False without room for all of it. Raises errors of making the rest, and OSError if the disk is full.
        """
        left = self._left
        if not self.memory:
            return True
        if not disk.has(left or self.memory - self.making):
            return False
        spool, piece = Spool(disk), None
        try:
            while (piece := self.next(SHORT)) is not None:
                spool.write(piece)
        except FullError:  # other answers took the room meanwhile
            assert piece is not None
            self._pieces.insert(0, self._of_parts(spool, piece))
        except BaseException:
            spool.close()
            raise
        else:
            self._pieces = [self._of_parts(spool)]
        self._left = left
        return piece is None

    def close(self) -> None:
        """Release everything. Raises ValueError while a thread uses it."""
        generators, self._pieces = self._pieces, []  # they refer to this object: nothing else ends that circle
        for pieces in generators:
            pieces.close()
        self.memory = self.making = 0
        for spool in self._spools:
            spool.close()


def weight(answer: HttpAnswer) -> int:
    """Return the approximate memory in bytes of an answer until it is sent."""
    match answer.body:
        case bytes() as data:
            return len(data)
        case tuple() as parts:
            return sum(len(part) for part in parts if isinstance(part, bytes))
        case Spool():
            return 0
        case _:
            return answer.need


def resolved(answer: HttpAnswer) -> HttpAnswer:
    """Return the answer with short file ranges read into memory. Raises OSError."""
    body, length = answer.body, answer.length
    if not isinstance(body, tuple) or length is None or length > SHORT:
        return answer
    return answer._replace(body=b"".join(ranges.read(each) if isinstance(each, Range) else each for each in body))
