"""netCDF-4 files through the C interface: the parts of every variable and the bytes of every attribute.

C structs in memory are taken apart as the front end does it. (h5py was tried: it mixes up nested lists, and one of them
corrupted its memory.)
"""

from __future__ import annotations

from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from nczarr import names
from nczarr.formats.netcdf4.c_values import c_dtype, unpack
from nczarr.formats.netcdf4.library import GLOBAL, Library, library
from nczarr.semantics.checked import Checked

Parts = dict[str, Any]


class File:
    """An open file; raises AssertionError where the library fails."""

    def __init__(self, path: Path, checked: Checked) -> None:
        self.lib: Library = library()
        self.checked = checked
        self.number = self._id("nc_open", str(path).encode(), c_int(0))

    def __enter__(self) -> File:
        return self

    def __exit__(self, *failure: object) -> None:
        self._do("nc_close", c_int(self.number))

    def _do(self, name: str, *arguments: Any) -> None:
        status = getattr(self.lib.dll, name)(*arguments)
        assert status == 0, (name, status)

    def _id(self, name: str, *arguments: Any) -> int:
        found = c_int()
        self._do(name, *arguments, byref(found))
        return found.value

    def _group(self, path: str) -> int:
        group = self.number
        for name in names.split(path):
            group = self._id("nc_inq_ncid", c_int(group), c_char_p(name.encode()))
        return group

    def variable(self, fqn: str) -> Parts:
        """The parts of a variable, whole."""
        variable, shape = self.checked.variables[fqn], self.checked.shapes[fqn]
        group = self._group(names.parent(fqn))
        number = self._id("nc_inq_varid", c_int(group), c_char_p(variable.name.encode()))
        memory = np.zeros(shape, c_dtype(variable.type, self.checked.types))
        if memory.size:
            self._do("nc_get_var", c_int(group), c_int(number), c_void_p(memory.ctypes.data))
        return dict(unpack(memory, variable.type, self.checked.types))

    def attribute(self, owner: str, name: str, type_name: str, count: int) -> Parts:
        """The parts of an attribute of a variable or, by its path, of a group."""
        number = GLOBAL
        group = self._group(owner if owner in self.checked.groups else names.parent(owner))
        if owner not in self.checked.groups:
            number = self._id("nc_inq_varid", c_int(group), c_char_p(names.last(owner).encode()))
        length = c_size_t()
        self._do("nc_inq_attlen", c_int(group), c_int(number), c_char_p(name.encode()), byref(length))
        assert length.value == count, (owner, name)
        memory = np.zeros((count,), c_dtype(type_name, self.checked.types))
        if count:
            self._do("nc_get_att", c_int(group), c_int(number), c_char_p(name.encode()), c_void_p(memory.ctypes.data))
        return dict(unpack(memory, type_name, self.checked.types))


def bits(values: Any) -> Any:
    """What is equal exactly if the values are, NaN and -0.0 included."""
    return values.tolist() if values.dtype == object else (values.shape, values.tobytes())
