"""Atomic extension of ZIP archives.

Members are stored uncompressed with ZIP's earliest date, so equal members give
equal bytes.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

from nczarr.stores import finish
from nczarr.stores.finish import put_in_place
from nczarr.stores.zip import new_entry

if TYPE_CHECKING:
    from zipfile import ZipFile

Member: TypeAlias = tuple[str, Callable[[], bytes]]
"""A key, and a function that returns its bytes when called in turn."""

Check: TypeAlias = Callable[[list[str]], None]
"""Function of the existing member names that raises on a conflict."""

IN_MEMORY = 64 << 20


def extend_file(path: str, mode: str, members: Iterable[Member], check: Check) -> None:
    """Add members to the archive at a path ("a"), or create one ("w", "x"); follows links.

    Extends a copy and replaces the original in one rename. Raises OSError, and
    errors of `check` and the members; the original is then unchanged.
    """
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if mode == "x" and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    old = mode == "a" and os.path.exists(target) and os.path.getsize(target) > 0
    if old:
        with open(target, "rb") as file, _opened(file, "r", path) as archive:
            check(archive.namelist())
    partial = finish.partial(target)
    try:
        if old:
            shutil.copyfile(target, partial)
        with open(partial, "r+b" if old else "x+b") as out, _opened(out, "a" if old else "w", path) as archive:
            _add(archive, members)
        if os.path.exists(target):
            shutil.copymode(target, partial)
        put_in_place(partial, target, overwrite=mode != "x")
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        finish.unfinished.discard(partial)
        raise


def extend_object(file: IO[bytes], mode: str, members: Iterable[Member], check: Check) -> None:
    """Add members to the archive in a file object ("a"), or write one at its position ("w", "x").

    On failure, an extended archive gets its old end back, and a new one is not
    written. Raises OSError, and errors of `check` and the members.
    """
    if mode == "a" and file.seek(0, os.SEEK_END) > 0:
        _extend_in_place(file, members, check)
        return
    with SpooledTemporaryFile(IN_MEMORY) as spool:
        with _opened(spool, "w", "the archive") as archive:
            _add(archive, members)
        spool.seek(0)
        shutil.copyfileobj(spool, file, 1 << 20)
    if file.seekable():
        with suppress(OSError):
            file.truncate()


def _extend_in_place(file: IO[bytes], members: Iterable[Member], check: Check) -> None:
    with _opened(file, "r", "the object") as archive:
        check(archive.namelist())
        start = archive.start_dir
    file.seek(start)
    end = file.read()
    try:
        with _opened(file, "a", "the object") as archive:
            _add(archive, members)
    except BaseException:
        file.seek(start)
        file.write(end)
        file.truncate()
        raise


@contextmanager
def _opened(file: IO[bytes], mode: Literal["r", "w", "a"], name: str) -> Iterator[ZipFile]:
    """Open the archive in a file. Raises OSError if it is invalid."""
    from zipfile import ZIP_STORED, BadZipFile, ZipFile

    try:
        archive = ZipFile(file, mode, ZIP_STORED)
    except (BadZipFile, ValueError) as error:
        raise OSError(errno.EINVAL, f"invalid ZIP archive: {error}", name) from None
    try:
        yield archive
    finally:
        archive.close()


def _add(archive: ZipFile, members: Iterable[Member]) -> None:
    for key, data in members:
        archive.writestr(new_entry(key), data())
