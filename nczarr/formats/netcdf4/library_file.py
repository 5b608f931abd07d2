"""Files opened by the netCDF library, for one use: nothing stays open.

HDF5 shares the state of a file that is open twice in one process. A file that
stayed open here could not be written by other code of the process, and closing
either would leave the other with types in freed memory.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import byref, c_char_p, c_int
from typing import TypeVar

from nczarr.formats.netcdf4.filter_plugins import lend_readers
from nczarr.formats.netcdf4.image import (
    Image,
    LackingBytesError,
    opened_in_memory,
    opened_without_fills,
    opened_without_strange,
)
from nczarr.formats.netcdf4.library import CallError, Library
from nczarr.formats.netcdf4.survey import Refusal, Survey
from nczarr.stores import remote_file
from nczarr.stores.remote_file import KEPT

T = TypeVar("T")


@contextmanager
def library_file(lib: Library, path: str, found: Survey | Refusal | None) -> Iterator[int]:
    """Yield the netCDF id of a file without refused objects, and close it. `found`: the objects of the file.

    Expects `LOCK`. Raises OSError, CallError, LackingBytesError (`use_library_file`).
    """
    if isinstance(found, Refusal):
        raise OSError(errno.EIO, found.message)
    number, image = _opened(lib, path, found or Survey({}))
    try:
        yield number
    finally:
        with suppress(OSError, CallError):  # it was open for reading alone; if it was cut since, its close may fail
            lib.do("nc_close", number)
        if image is not None:  # HDF5 may read its bytes until here
            image.check()


def use_library_file(lib: Library, path: str, found: Survey | Refusal | None, use: Callable[[int], T]) -> T:
    """Return the result of `use` for the netCDF id of a file, as `library_file` yields it.

    Of a remote file the library has an image of the bytes that were fetched. If it
    reads others, these are fetched and `use` is called anew: its last call alone
    saw the file. Expects `LOCK`. Raises OSError, CallError.
    """
    lacked = 0
    while True:
        try:
            with library_file(lib, path, found) as number:
                return use(number)
        except LackingBytesError as error:
            remote = remote_file.at(path)
            lacked += sum(length for _, length in error.places)
            if remote is None or lacked > KEPT:
                text = f"the netCDF library reads more than {KEPT >> 20} MiB of it at once"
                raise OSError(errno.EFBIG, text, path) from None
            remote.fetch(error.places)


def _opened(lib: Library, path: str, found: Survey) -> tuple[int, Image | None]:
    """Return the netCDF id of a file, with its image if it is open in memory."""
    lend_readers(lib)
    safe = opened_without_fills(lib, path, found)
    if safe is not None:
        return safe
    if found.elsewhere:  # the library would open other files
        rest = opened_without_strange(lib, path, found)
        if rest is None:
            raise OSError(errno.EIO, "the netCDF library does not open the file without its links to other files")
        return rest
    number = c_int()
    try:
        if remote_file.at(path) is not None:
            return opened_in_memory(lib, path)
        with lib.enhanced():
            lib.call("nc_open", c_char_p(os.fsencode(os.path.abspath(path))), c_int(0), byref(number))
    except OSError:
        rest = opened_without_strange(lib, path, found)
        if rest is None:
            raise
        return rest
    return number.value, None
