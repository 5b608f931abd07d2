"""Temporary files for slow clients, and an account of their bytes."""

from __future__ import annotations

import os
import tempfile
from threading import Lock
from typing import IO


class FullError(Exception):
    """The temporary files of all answers are full."""


class Disk:
    """Account of the bytes in temporary files, at most `most`. Thread-safe."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._lock = Lock()

    def has(self, size: int) -> bool:
        """Return whether `size` bytes fit."""
        return self.used + size <= self.most

    def take(self, size: int) -> None:
        """Reserve bytes. Raises FullError."""
        with self._lock:
            if self.used + size > self.most:
                raise FullError(f"temporary files have {self.used} bytes; the limit is {self.most}")
            self.used += size

    def give(self, size: int) -> None:
        """Release bytes."""
        with self._lock:
            self.used -= size


class Spool:
    """Unnamed temporary file, written once, then read from its start. Raises OSError."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._size = 0
        self._at = 0
        self._file: IO[bytes] | None = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed by `close`)

    @classmethod
    def taken(cls, disk: Disk, path: str) -> Spool:
        """Return a finished file, whose name the caller removes. Raises FullError, OSError."""
        made = cls(disk)
        size = os.stat(path).st_size
        disk.take(size)
        assert made._file is not None
        made._file.close()
        made._size, made._file = size, open(path, "rb", buffering=0)  # noqa: SIM115 (closed by `close`)
        return made

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._size

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes. Raises FullError, OSError."""
        assert self._file is not None
        self._disk.take(len(data))
        self._size += len(data)
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]

    def read(self, size: int) -> bytes:
        """Return the next bytes, empty at the end. Raises OSError."""
        assert self._file is not None
        data = os.pread(self._file.fileno(), size, self._at) if hasattr(os, "pread") else self._seek_read(size)
        self._at += len(data)
        return data

    def _seek_read(self, size: int) -> bytes:
        assert self._file is not None
        self._file.seek(self._at)
        return self._file.read(size)

    def rewind(self, count: int) -> None:
        """Go back by `count` bytes."""
        self._at -= count

    def close(self) -> None:
        """Delete the file and release its bytes."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self._disk.give(self._size)

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()
