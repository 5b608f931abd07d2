"""Files opened by the netCDF library, for one use: nothing stays open.

HDF5 shares the state of a file that is open twice in one process. A file that
stayed open here could not be written by other code of the process, and closing
either would leave the other with types in freed memory.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import byref, c_char_p, c_int

from nczarr.formats.netcdf4.filter_plugins import lend_readers
from nczarr.formats.netcdf4.image import Image, opened_without_fills, opened_without_strange
from nczarr.formats.netcdf4.library import CallError, Library
from nczarr.formats.netcdf4.survey import Refusal, Survey


@contextmanager
def library_file(lib: Library, path: str, found: Survey | Refusal | None) -> Iterator[int]:
    """Yield the netCDF id of a file without refused objects, and close it. `found`: the objects of the file.

    Expects `LOCK`. Raises OSError, CallError.
    """
    if isinstance(found, Refusal):
        raise OSError(errno.EIO, found.message)
    number, image = _opened(lib, path, found or Survey({}))
    try:
        yield number
    finally:
        with suppress(OSError, CallError):  # it was open for reading alone; if it was cut since, its close may fail
            lib.do("nc_close", number)
        del image  # HDF5 may read its bytes until here


def _opened(lib: Library, path: str, found: Survey) -> tuple[int, Image | None]:
    """Return the netCDF id of a file, with its image if it is open in memory."""
    lend_readers(lib)
    safe = opened_without_fills(lib, path, found)
    if safe is not None:
        return safe
    number = c_int()
    try:
        with lib.enhanced():
            lib.call("nc_open", c_char_p(os.fsencode(os.path.abspath(path))), c_int(0), byref(number))
    except OSError:
        rest = opened_without_strange(lib, path, found)
        if rest is None:
            raise
        return rest
    return number.value, None
