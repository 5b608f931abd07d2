"""Texts of fixed length, read by HDF5: the netCDF library cuts them at the first NUL, and loses their fill value.

A text ends before the NULs at its end; in a type that ends texts by a NUL, at the first one.
"""

from __future__ import annotations

from ctypes import c_void_p
from typing import TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import np
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing, open_file
from nczarr.formats.netcdf4.library import sizes
from nczarr.formats.netcdf4.objects import FixedText, find, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nczarr.arrays.source import Selection

_SET = 0
"""H5S_SELECT_SET."""


def read_texts(
    h5: Hdf5, path: str, group: tuple[str, ...], name: str, kind: FixedText, region: Selection
) -> NDArray[Any]:
    """Return the texts of a region of a dataset: an array of objects. Expects the lock. Raises OSError."""
    shape = tuple(part.stop - part.start for part in region)
    made = np.zeros(shape, f"S{kind.size}")
    file = open_file(h5, path)
    if file < 0:
        h5.lib.fail_hdf5("H5Fopen")
    with (
        closing(h5, "H5Fclose", file),
        closing(h5, "H5Dclose", find(h5, file, group, name)) as dataset,
        closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as element,
        closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space,
        closing(h5, "H5Sclose", _memory(h5, dataset, shape)) as memory,
    ):
        if shape:
            start, count = sizes([part.start for part in region]), sizes(shape)
            h5.do("H5Sselect_hyperslab", space, _SET, start, None, count, None)
        h5.do("H5Dread", dataset, element, memory, space, 0, c_void_p(made.ctypes.data))
    out = np.empty(shape, object)
    data = made.tobytes()
    texts = [text_of(data[at : at + kind.size], terminated=kind.terminated) for at in range(0, len(data), kind.size)]
    out.reshape(-1)[:] = texts
    return out


def _memory(h5: Hdf5, dataset: int, shape: tuple[int, ...]) -> int:
    """The dataspace of an array in memory, to be closed."""
    if not shape:
        return h5.do("H5Dget_space", dataset)
    return h5.do("H5Screate_simple", len(shape), sizes(shape), None)
