"""No times in a netCDF-4 file: the same dataset makes the same bytes, whenever it is written.

The library keeps times out of the headers of groups and datasets, but lets HDF5 note in that of each user-defined type
when it was made. In the finished, closed file these are set to zero, which a reader takes for the beginning of 1970.

Source: HDF5 File Format Specification 3.0, IV.A.1.b (version 2 object headers).
"""

from __future__ import annotations

import errno
from collections.abc import Collection

from nczarr import names
from nczarr.formats.netcdf4.headers import Place, addresses, first_block, put
from nczarr.formats.netcdf4.library import Library


def take_times(lib: Library, path: str, types: Collection[str]) -> None:
    """Take the times of these user-defined types out of a file that nobody has open. Raises OSError."""
    if not types:
        return
    places = [Place(names.split(names.parent(each)), (names.last(each),)) for each in types]
    found = addresses(lib, path, places)
    with open(path, "r+b") as raw:
        for address, name in zip(found, types, strict=True):
            block = first_block(raw, address)
            if block is None:
                raise OSError(errno.EIO, f"the header of `{name}` is not as HDF5 was known to write it: its times stay")
            if block.times is not None:
                data = bytearray(block.data)
                data[block.times] = bytes(block.times.stop - block.times.start)
                put(raw, address, bytes(data))
