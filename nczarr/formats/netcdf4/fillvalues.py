"""What cells of a netCDF-4 file hold that are never written: HDF5's fill value, which is not always `_FillValue`.

The library sets both alike. Other programs do not: a file may have a fill value and no `_FillValue`, or two that
differ, and then cells that were never written show the first. To keep that, a variable is declared with HDF5's value
as `_FillValue`; once the library has made the dataset, the attribute gets its own value back, or goes.
"""

from __future__ import annotations

from ctypes import c_char_p, c_void_p, cast

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Constant, EnumType, Variable
from nczarr.data.parts import Types, size
from nczarr.data.source import fill_of
from nczarr.formats.netcdf4.hdf5 import LOCK, Hdf5, closing
from nczarr.formats.netcdf4.objects import descr_of, find
from nczarr.passes.checked import Checked
from nczarr.passes.fills import default_fill
from nczarr.passes.planned import Planned

FILL = "_FillValue"


def library_fill(variable: Variable, types: Types) -> bytes | None:
    """What the library shows in a cell of a fixed-size type, or string, that was never written, packed.

    That is `_FillValue`, else the default of the type; for an enum that of its base, for all other types zeros.
    """
    for attribute in variable.attributes:
        value = attribute.value
        if attribute.name == FILL and value.type == variable.type and value.count == 1:
            first = value.data if isinstance(value.data, bytes) else value.data[0]
            return first if isinstance(first, bytes) else None
    declared = types.get(variable.type)
    if declared is not None and not isinstance(declared, EnumType):
        return bytes(size(variable.type, types))
    constant = default_fill(declared.base if isinstance(declared, EnumType) else variable.type, types)
    if constant is None:
        return None
    return constant.data if isinstance(constant.data, bytes) else b""


def own_fill(path: str, checked: Checked) -> bytes | None:
    """The fill value that a variable's source has, packed, where the library would make another one of the attributes;
    None where it would not. Only numbers and characters have one.
    """
    variable = checked.variables[path]
    source = checked.parts.get(path, {}).get("")
    if source is None or variable.type not in ATOMIC or variable.type == "string" or variable.storage.no_fill:
        return None
    fill = fill_of(source)
    if fill is None or len(fill) != ATOMIC[variable.type].size or fill == library_fill(variable, checked.types):
        return None
    return fill


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


def restore(h5: Hdf5, file: int, planned: Planned) -> None:
    """Give `_FillValue` its own value wherever it was declared with another one. Raises OSError."""
    checked = planned.checked
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
