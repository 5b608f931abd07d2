"""Single files: sources opened without copying, targets that appear whole or not at all."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple

from nczarr.source import Source
from nczarr.stores.place import sibling


def open_source(path: str) -> Source:
    """The text or file at `path`, memory-mapped where it is a regular file. Raises OSError if it cannot be read."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size:
            return Source(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return Source(path, file.read())


class Unfinished(NamedTuple):
    """A file that is being made: `path` is where it grows; `discard` says that it is not to take its place."""

    path: str
    discard: Callable[[], None]


@contextmanager
def beside(path: str) -> Iterator[Unfinished]:
    """The name of a new file beside `path`, which takes its place when the block ends well, and vanishes otherwise.

    So nobody ever sees half a target, and a run that fails leaves an old one untouched. Raises OSError.
    """
    partial = sibling(path, "partial")
    discarded: list[bool] = []
    try:
        yield Unfinished(partial, lambda: discarded.append(True))
        if not discarded:
            os.replace(partial, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(partial)


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """An open file that takes the place of `path` when the block ends well: see `beside`. Raises OSError."""
    with beside(path) as unfinished, open(unfinished.path, "xb") as file:
        yield file
