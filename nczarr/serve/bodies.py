"""The bodies of answers as pieces that connections take, and what becomes of those that nobody takes."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from itertools import chain
from typing import IO

from nczarr.serve.answers import Answer, Body
from nczarr.serve.limits import PIECE
from nczarr.stores import ranges
from nczarr.stores.base import Range

READY = 1 << 20
"""Bytes of a file that one thread reads in one go; then they are handed out piece by piece."""


class Held:
    """The body of an answer that is being given: `next` is called by one thread at a time.

    What is in memory is handed out by `ready`, which waits for nothing, and may be put into a temporary file meanwhile.
    """

    def __init__(self, body: Body) -> None:
        self._stream: Iterator[bytes | Range] = iter((body,) if isinstance(body, bytes) else body)
        self._view = memoryview(b"")
        self._file: IO[bytes] | None = None

    @property
    def heavy(self) -> bool:
        """Whether enough is in memory to be put away."""
        return len(self._view) > PIECE

    def ready(self) -> bytes | None:
        """The next piece, if it is in memory."""
        if not self._view:
            return None
        piece, self._view = self._view[:PIECE], self._view[PIECE:]
        return bytes(piece)

    def next(self) -> bytes | None:
        """The next piece; None at the end. Raises what reading or making it raises."""
        while not self._view:
            if self._file is not None:
                self._view = memoryview(self._file.read(PIECE))
                if not self._view:
                    self._file.close()
                    self._file = None
                continue
            found = next(self._stream, None)
            if found is None:
                return None
            if isinstance(found, Range):
                self._stream = chain(_read(found), self._stream)
            else:
                self._view = memoryview(found)
        return self.ready()

    def put_away(self) -> None:
        """Put what is in memory into a temporary file. Raises OSError."""
        if self._file is not None:
            return
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed at its end, or by `close`)
        file.write(self._view)
        file.seek(0)
        self._file, self._view = file, memoryview(b"")

    def close(self) -> None:
        """Give back what it holds. Raises ValueError if a thread is at work on it."""
        self._view = memoryview(b"")
        if self._file is not None:
            self._file.close()
            self._file = None
        end = getattr(self._stream, "close", None)
        self._stream = iter(())
        if end is not None:
            end()


def _read(place: Range) -> Iterator[bytes]:
    """The bytes of a range of a file, which stays the same one. Raises OSError."""
    file = os.open(place.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        at, end = place.offset, place.offset + place.length
        while at < end:
            data = os.pread(file, min(READY, end - at), at)
            if not data:
                raise OSError(errno.EIO, f"the file ends before byte {end}", place.path)
            yield data
            at += len(data)
    finally:
        os.close(file)


def resolved(answer: Answer) -> Answer:
    """The same answer in memory, if it is a few ranges of files and not much. Raises OSError."""
    body, length = answer.body, answer.length
    if not isinstance(body, tuple) or length is None or length > READY:
        return answer
    return answer._replace(body=b"".join(ranges.read(each) if isinstance(each, Range) else each for each in body))
