"""What cells of a netCDF-4 file hold that are never written: HDF5's fill value, which is not always `_FillValue`.

The library sets both alike. Other programs do not: a file may have a fill value and no `_FillValue`, or two that
differ, and then cells that were never written show the first. To keep that, a variable is declared with HDF5's value
as `_FillValue`; once the library has made the dataset, the attribute gets its own value back, or goes.
"""

from __future__ import annotations

import math
from ctypes import c_char_p, c_void_p, cast

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.library_lock import LOCK
from nczarr.arrays.parts import Types, is_fixed, size
from nczarr.arrays.source import fill_of
from nczarr.ast import ATOMIC, Attribute, Constant, EnumType, Variable
from nczarr.check.checked import Checked
from nczarr.check.fill_values import default_fill
from nczarr.formats.netcdf4.c_values import c_dtype, unpacked
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing
from nczarr.formats.netcdf4.inquiry import Inquiry
from nczarr.formats.netcdf4.library import BYTE_ORDER
from nczarr.formats.netcdf4.objects import DatasetInfo, descr_of, find
from nczarr.plan.plans import FilePlan

FILL = "_FillValue"

WHOLE = 16 << 20
"""Bytes of a variable without fill mode up to which cells that hold a defined value are all written."""


def library_fill(variable: Variable, types: Types) -> bytes | None:
    """What the library shows in a cell of a fixed-size type, or string, that was never written, packed.

    That is `_FillValue`, else the default of the type; for an enum that of its base, for all other types zeros.
    """
    for attribute in variable.attributes:
        value = attribute.value
        if attribute.name == FILL and value.type == variable.type and value.count == 1:
            first = value.data if isinstance(value.data, bytes) else value.data[0]
            return first if isinstance(first, bytes) else None
    return library_default(variable.type, types)


def library_default(type_name: str, types: Types) -> bytes | None:
    """Fill value of the library for variables of a type without one of their own: one element, packed."""
    declared = types.get(type_name)
    if declared is not None and not isinstance(declared, EnumType):
        return bytes(size(type_name, types))
    constant = default_fill(declared.base if isinstance(declared, EnumType) else type_name, types)
    if constant is None:
        return None
    return constant.data if isinstance(constant.data, bytes) else b""


def beyond(
    ask: Inquiry, at: tuple[int, int], type_name: str, types: Types, dataset: DatasetInfo | None, *, no_fill: bool
) -> bytes | None:
    """Return what the library shows beyond the extent of a variable's dataset: one element of its array, packed.

    HDF5's fill value if the file gives one, else the default of the type, whatever `_FillValue` is. None for empty
    strings, and for types of variable size, which are empty there. `at`: the library's numbers of group and variable.
    """
    if type_name == "string":
        return None if dataset is None else dataset.text  # the library ends the process when asked for some
    if not is_fixed(type_name, types):
        return None
    if no_fill:
        return library_default(type_name, types)
    if type_name in ATOMIC:
        data = ask.fill(*at, ATOMIC[type_name].size)
        return data if BYTE_ORDER == "little" else data[::-1]
    dtype = c_dtype(type_name, types)
    memory = np.frombuffer(ask.fill(*at, dtype.itemsize), dtype)
    return dict(unpacked(memory, type_name, types))[""].tobytes()


def own_fill(path: str, checked: Checked) -> bytes | None:
    """The fill value that a variable's source has, packed, where the library would make another one of the attributes;
    None where it would not. Only numbers and characters have one; without fill mode only where the value is defined and
    not zero, and the variable too large to write it out.
    """
    variable = checked.variables[path]
    source = checked.parts.get(path, {}).get("")
    if source is None or variable.type not in ATOMIC or variable.type == "string":
        return None
    fill = fill_of(source)
    if fill is None or len(fill) != ATOMIC[variable.type].size:
        return None
    if variable.storage.no_fill:
        return fill if not source.undefined and fill.strip(b"\0") and is_large(path, checked) else None
    return None if fill == library_fill(variable, checked.types) else fill


def is_large(path: str, checked: Checked) -> bool:
    """Whether a variable is too large for all of its cells to be written because of those that were not."""
    variable = checked.variables[path]
    return math.prod(checked.shapes[path]) * size(variable.type, checked.types) > WHOLE


def declared(path: str, checked: Checked) -> tuple[Attribute, ...]:
    """The attributes by which a variable is declared: `_FillValue` is what its unwritten cells are to hold."""
    variable = checked.variables[path]
    fill = own_fill(path, checked)
    if fill is None:
        return variable.attributes
    wanted = Attribute(name=FILL, value=Constant(type=variable.type, count=1, data=fill))
    if all(attribute.name != FILL for attribute in variable.attributes):
        return (wanted, *variable.attributes)
    return tuple(wanted if attribute.name == FILL else attribute for attribute in variable.attributes)


def restore(h5: Hdf5, file: int, plan: FilePlan) -> None:
    """Give `_FillValue` its own value wherever it was declared with another one. Raises OSError."""
    checked = plan.checked
    for path, variable in checked.variables.items():
        if own_fill(path, checked) is not None:
            own = [attribute.value.data for attribute in variable.attributes if attribute.name == FILL]
            group = names.split(names.parent(path))
            with LOCK:
                _set(h5, file, group, variable.name, own[0] if own else None)


def _set(h5: Hdf5, file: int, group: tuple[str, ...], name: str, value: object) -> None:
    """Set the attribute to the packed little-endian bytes of one element; None: remove it."""
    with closing(h5, "H5Dclose", find(h5, file, group, name)) as dataset:
        if not isinstance(value, bytes):
            h5.do("H5Adelete", dataset, FILL.encode())
            return
        with (
            closing(h5, "H5Aclose", h5.do("H5Aopen", dataset, FILL.encode(), 0)) as attribute,  # not by name: HDF5
            closing(h5, "H5Tclose", h5.do("H5Aget_type", attribute)) as kind,  # 2.2.0 cannot write such a one
        ):
            dtype = descr_of(h5, kind)
            data = value[::-1] if isinstance(dtype, str) and dtype[0] == ">" else value
            h5.do("H5Awrite", attribute, kind, cast(c_char_p(data), c_void_p))
