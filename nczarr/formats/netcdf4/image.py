"""Opens HDF5 files without the objects and links that make the netCDF library refuse them.

The file is mapped privately. HDF5 removes the links in memory, and the netCDF
library opens the result. Unmodified pages stay pages of the file, other data
keep their offsets, and the file never changes.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.netcdf4.hdf5 import (
    IMAGE_FREE,
    IMAGE_MALLOC,
    IMAGE_MEMCPY,
    IMAGE_REALLOC,
    Hdf5,
    ImageCallbacks,
    closing,
    hdf5,
    opened_file,
)
from nczarr.formats.netcdf4.library import CallError, Library
from nczarr.formats.netcdf4.survey import Survey, strange_objects
from nczarr.formats.netcdf4.unsafe_fill_values import without_fill
from nczarr.stores import remote_file
from nczarr.stores.local_file import sparse_memory, touched
from nczarr.stores.remote_file import RemoteFile

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of HDF5's data."""

_names = itertools.count()
"""Counter for image names: HDF5 treats two images of one name as one file."""


def base_of(data: mmap.mmap | RemoteFile) -> int:
    """Return the offset of HDF5's data in a file, which may follow a user block. Raises OSError."""
    places = [0, *(512 << k for k in range(56))]
    return next((at for at in places if at < len(data) and data[at : at + len(SIGNATURE)] == SIGNATURE), 0)


class LackingBytesError(Exception):
    """Bytes of a remote file that the library read from an image without them; its results mean nothing."""

    def __init__(self, places: list[tuple[int, int]]) -> None:
        super().__init__(places)
        self.places = places
        """Offset and length of each."""


class Image:
    """Bytes of a file in memory, valid as long as this object lives.

    Of a remote file, an image has the pages that were fetched before; `lacking`
    tells whether others were read.
    """

    def __init__(self, path: str) -> None:
        self._whole: NDArray[np.bool_] | None = None
        remote = remote_file.at(path)
        if remote is None:
            with open(path, "rb") as file:
                self.map = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
            self.size = len(self.map)
        else:
            self.size = remote.size
            self.map = sparse_memory(remote.size)
            self._fill(remote)
        self._bytes = (ctypes.c_char * self.size).from_buffer(self.map)
        self.address = ctypes.addressof(self._bytes)

    def _fill(self, remote: RemoteFile) -> None:
        """Put the kept blocks of a remote file in place, and note which pages they fill."""
        present = np.zeros(-(-remote.size // remote_file.BLOCK), bool)
        for offset, block in remote.kept().items():
            self.map[offset : offset + len(block)] = block
            present[offset // remote_file.BLOCK] = True
        blocks = max(1, mmap.PAGESIZE // remote_file.BLOCK)
        self._whole = np.logical_and.reduceat(present, np.arange(0, len(present), blocks))

    def lacking(self) -> list[tuple[int, int]]:
        """Return the places (offset, length) of a remote file that were read, but are not in the image."""
        if self._whole is None:
            return []
        pages = np.flatnonzero((np.frombuffer(touched(self.map), np.uint8) & 1).astype(bool) & ~self._whole)
        return [(page * mmap.PAGESIZE, mmap.PAGESIZE) for page in pages.tolist()]

    def check(self) -> None:
        """Raise LackingBytesError if bytes were read that are not in the image."""
        places = self.lacking()
        if places:
            raise LackingBytesError(places)

    def base(self) -> int:
        """Return the offset of HDF5's data, which may follow a user block."""
        return base_of(self.map)


def opened_in_memory(lib: Library, path: str) -> tuple[int, Image]:
    """Open an image of a remote file. Returns file id and image. Expects the lock.

    Raises LackingBytesError if the library read pages that were not fetched,
    OSError, CallError.
    """
    image = Image(path)
    try:
        number = _open(lib, path, image)
    except (OSError, CallError):
        image.check()
        raise
    try:
        image.check()
    except LackingBytesError:
        lib.do("nc_close", number)
        raise
    return number, image


def opened_without_strange(lib: Library, path: str, survey: Survey) -> tuple[int, Image] | None:
    """Open a file without refused objects; None without such, or if the rest fails too.

    Returns file id and image. Expects the lock. Raises OSError.
    """
    places = _strange(lib, path, survey)
    if not places:
        return None
    image = Image(path)
    if not _unlink(lib, image, places):
        return None
    return _opened(lib, path, image)


def opened_without_damage(lib: Library, path: str, survey: Survey) -> tuple[int, Image] | None:
    """Open a file without what crashes the library: fill values, links, damaged objects and attributes.

    None without such.

    Refused objects are omitted too. Returns file id and image. Expects the
    lock. Raises OSError.
    """
    if not (survey.fatal or survey.hidden or survey.damaged or survey.unreadable):
        return None
    image = Image(path)
    base = image.base()
    if not all(without_fill(image.map, base, address) for address in survey.fatal):
        raise OSError(errno.EIO, "the netCDF library crashes on fill values of fixed-length strings and half floats")
    if "/" in survey.damaged:
        raise OSError(errno.EIO, "the attributes of the root group cannot be read")
    links = [place for place, _ in survey.hidden]
    if not _unlink(lib, image, (*links, *survey.damaged), survey.unreadable):
        raise OSError(errno.EIO, "the objects of the file that the netCDF library does not read cannot be left out")
    opened = None if survey.elsewhere else _opened(lib, path, image)  # the library would open other files
    if opened is None:
        places = [place for place in _strange(lib, path, survey) if place not in survey.damaged]
        opened = _opened(lib, path, image) if places and _unlink(lib, image, places) else None
    if opened is None:
        raise OSError(errno.EIO, "the netCDF library does not open the file")
    return opened


def _opened(lib: Library, path: str, image: Image) -> tuple[int, Image] | None:
    """Open an image by the library; None on failure. Raises LackingBytesError."""
    try:
        return _open(lib, path, image), image
    except (OSError, CallError):
        image.check()
        return None


def _open(lib: Library, path: str, image: Image) -> int:
    """Return the id of an image that the library opens. Raises OSError, CallError."""
    function = ctypes.CFUNCTYPE(c_int, c_char_p, c_int, c_size_t, c_void_p, POINTER(c_int), use_errno=True)
    number = c_int()
    name = os.fsencode(os.path.abspath(path))
    with lib.enhanced():
        failed = function(("nc_open_mem", lib.dll))(name, 0, image.size, image.address, byref(number))
    if failed:
        lib.fail("nc_open_mem", failed)
    return number.value


def _strange(lib: Library, path: str, survey: Survey) -> list[str]:
    """Return the paths of the objects that the library refuses."""
    h5 = hdf5(lib)
    with opened_file(h5, path) as file:
        return [] if file < 0 else [place for place, _ in strange_objects(h5, file, survey)]


def _unlink(lib: Library, image: Image, places: Sequence[str], attributes: Sequence[tuple[str, bytes]] = ()) -> bool:
    """Remove links and attributes (path of the object, name) in memory; False on failure. Raises OSError."""
    if not places and not attributes:
        return True
    h5 = hdf5(lib)
    uses = _in_place(image)
    with closing(h5, "H5Pclose", h5.do("H5Pcreate", h5.file_access)) as access:
        h5.do("H5Pset_fapl_core", access, 1, 0)
        h5.do("H5Pset_file_image_callbacks", access, byref(uses))
        h5.do("H5Pset_file_image", access, image.address, image.size)
        file = h5.H5Fopen(f"nczarr image {next(_names)}".encode(), 1, access)
    if file < 0:
        image.check()
        return False
    with closing(h5, "H5Fclose", file):
        failed = [
            attribute
            for attribute in attributes
            if h5.H5Adelete_by_name(file, attribute[0].encode(), attribute[1], 0) < 0
        ]
        objects = dict.fromkeys((*(place for place, _ in failed), *places))
        return all(_delete(h5, file, place.encode("utf-8", "surrogateescape")) for place in objects)


def _delete(h5: Hdf5, file: int, path: bytes) -> bool:
    """Remove a link; return whether it is gone: another path may have led to it."""
    return bool(h5.H5Ldelete(file, path, 0) >= 0 or h5.H5Lexists(file, path, 0) == 0)


def _in_place(image: Image) -> ImageCallbacks:
    """Return callbacks that let HDF5 modify an image in place instead of a copy."""
    address, size = image.address, image.size
    return ImageCallbacks(
        IMAGE_MALLOC(lambda count, operation, data: address if count <= size else None),
        IMAGE_MEMCPY(lambda target, source, count, operation, data: target),
        IMAGE_REALLOC(lambda at, count, operation, data: at if count <= size else None),
        IMAGE_FREE(lambda at, operation, data: 0),
    )
