"""Base of file objects whose bytes are elsewhere than in an open file: remote, or partly in memory; their changes."""

from __future__ import annotations

import errno
import io
import os


class ChangedError(OSError):
    """A file that changed between two requests."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "the file has changed since it was opened")


class SeekableFile(io.RawIOBase):
    """Raw file object with a place; subclasses read, write and know their length."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        """Offset of the next byte."""

    def size(self) -> int:
        """Return the length of the file in bytes."""
        raise NotImplementedError

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place; return it. Raises OSError before the first byte."""
        at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.size()}[whence]
        if at < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self.at = at
        return at

    def tell(self) -> int:
        """Return the place."""
        return self.at
