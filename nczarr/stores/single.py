"""Single files: sources opened without copying, targets that appear whole or not at all."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from nczarr.source import Source


def open_source(path: str) -> Source:
    """The text or file at `path`, memory-mapped where it is a regular file. Raises OSError if it cannot be read."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size:
            return Source(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return Source(path, file.read())


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A new file beside `path` that takes its place when the block ends well, and vanishes otherwise.

    So nobody ever sees half a target, and a run that fails leaves an old one untouched. Raises OSError.
    """
    partial = f"{path}.partial-{os.urandom(4).hex()}"
    try:
        with open(partial, "xb") as file:
            yield file
        os.replace(partial, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise
