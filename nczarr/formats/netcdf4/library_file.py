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

from nczarr.formats.netcdf4.damage import give_up, open_files, scan
from nczarr.formats.netcdf4.filter_plugins import lend_readers
from nczarr.formats.netcdf4.hdf5 import hdf5, opened_file
from nczarr.formats.netcdf4.image import (
    Image,
    LackingBytesError,
    opened_in_memory,
    opened_without_damage,
    opened_without_strange,
)
from nczarr.formats.netcdf4.isolation import SuspectError, is_apart
from nczarr.formats.netcdf4.library import CallError, Library
from nczarr.formats.netcdf4.survey import Survey
from nczarr.stores import remote_file
from nczarr.stores.remote_file import KEPT

T = TypeVar("T")


@contextmanager
def library_file(lib: Library, path: str, survey: Survey | None) -> Iterator[int]:
    """Yield the netCDF id of a file without refused objects, and close it. `survey`: the objects of the file.

    Expects `LOCK`. Raises OSError, CallError, LackingBytesError (`use_library_file`), and DamagedFileError if the
    library failed on attributes that HDF5 cannot read either.
    """
    h5, failures = hdf5(lib), lib.failures
    before = open_files(h5)
    number, image = _opened(lib, path, survey or Survey({}))
    try:
        yield number
    finally:
        damaged = None if lib.failures == failures or survey is None else _new_damage(lib, path, survey)
        if damaged is None:
            with suppress(OSError, CallError):  # it was open for reading alone; if it was cut since, its close may fail
                lib.do("nc_close", number)
        else:
            give_up(h5, before)
        if image is not None:  # HDF5 may read its bytes until here
            image.check()
        if damaged is not None:
            raise DamagedFileError(damaged)


class DamagedFileError(Exception):
    """A file with unreadable attributes was given to the library, which would crash when it closes it."""

    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.survey = survey
        """The objects of the file, with what cannot be read."""


def _new_damage(lib: Library, path: str, survey: Survey) -> Survey | None:
    """Return a survey with the unreadable objects that `survey` lacks; None if it has all of them."""
    h5 = hdf5(lib)
    with opened_file(h5, path) as file:
        scanned = survey if file < 0 else scan(h5, file, survey, _size(path))
    return None if scanned == survey else scanned


def use_library_file(lib: Library, path: str, survey: Survey | None, use: Callable[[int, Survey | None], T]) -> T:
    """Return the result of `use` for the netCDF id of a file, as `library_file` yields it, and the objects it shows.

    Of a remote file the library has an image of the bytes that were fetched. If it
    reads others, these are fetched and `use` is called anew: its last call alone
    saw the file. A damaged file is opened without what cannot be read, in a process
    apart. Expects `LOCK`. Raises OSError, CallError, and SuspectError elsewhere.
    """
    lacked = 0
    while True:
        try:
            with library_file(lib, path, survey) as number:
                return use(number, survey)
        except DamagedFileError as error:
            if not is_apart():
                raise SuspectError(path) from None
            survey = error.survey
        except LackingBytesError as error:
            remote = remote_file.at(path)
            lacked += sum(length for _, length in error.places)
            if remote is None or lacked > KEPT:
                text = f"the netCDF library reads more than {KEPT >> 20} MiB of it at once"
                raise OSError(errno.EFBIG, text, path) from None
            remote.fetch(error.places)


def _opened(lib: Library, path: str, survey: Survey) -> tuple[int, Image | None]:
    """Return the netCDF id of a file, with its image if it is open in memory."""
    lend_readers(lib)
    safe = opened_without_damage(lib, path, survey)
    if safe is not None:
        return safe
    if survey.elsewhere:  # the library would open other files
        rest = opened_without_strange(lib, path, survey)
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
        rest = opened_without_strange(lib, path, survey)
        if rest is None:
            raise
        return rest
    return number.value, None


def _size(path: str) -> int:
    """Return the bytes of a file. Raises OSError."""
    remote = remote_file.at(path)
    return os.path.getsize(path) if remote is None else remote.size
