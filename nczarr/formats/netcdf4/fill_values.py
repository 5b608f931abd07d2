"""Values of unwritten cells of a netCDF-4 file: HDF5's fill value, which may differ from `_FillValue`.

The library sets both alike, other programs do not; unwritten cells show HDF5's.
To preserve both, a variable is declared with HDF5's value as `_FillValue`; once
the dataset exists, the attribute gets its own value, or is deleted.
"""

import math
from ctypes import c_char_p, c_void_p, cast

from nczarr import names
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.sources.source import fill_of
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast import ATOMIC, Attribute, Constant, EnumType, Variable
from nczarr.formats.netcdf4.hdf5 import Hdf5, closing, find
from nczarr.plan.plans import FilePlan
from nczarr.semantics.check_types import library_default
from nczarr.semantics.checked import Checked

FILL = "_FillValue"

_BIG = 1
"""H5T_ORDER_BE."""

WHOLE = 16 << 20
"""Largest no-fill variable, in bytes, whose cells with defined values are all written."""


def library_fill(variable: Variable, types: Types) -> bytes | None:
    """Return the packed value that the library shows in unwritten cells of a fixed-size type or string.

    That is `_FillValue`, else the default of the type, or of an enum's base;
    zeros for other types.
    """
    for attribute in variable.attributes:
        value = attribute.value
        if attribute.name == FILL and value.type == variable.type and value.count == 1:
            first = value.data if isinstance(value.data, bytes) else value.data[0]
            return first if isinstance(first, bytes) else None
    return library_default(variable.type, types)


def own_fill(path: str, checked: Checked) -> bytes | None:
    """Return the source's packed fill value if the library would derive another from the attributes; else None.

    Types of a fixed size only; of records and opaque values only without an attribute, which would have other bytes in
    memory. In no-fill mode, only defined nonzero values of
    variables too large to write out.
    """
    variable = checked.variables[path]
    source = checked.parts.get(path, {}).get("")
    if source is None or variable.type == "string" or not is_fixed(variable.type, checked.types):
        return None
    is_plain = variable.type in ATOMIC or isinstance(checked.types[variable.type], EnumType)
    if not is_plain and any(attribute.name == FILL for attribute in variable.attributes):
        return None
    fill = fill_of(source)
    if fill is None or len(fill) != size(variable.type, checked.types):
        return None
    if variable.storage.no_fill:
        return fill if not source.undefined and fill.strip(b"\0") and is_large(path, checked) else None
    return None if fill == library_fill(variable, checked.types) else fill


def is_large(path: str, checked: Checked) -> bool:
    """Return whether a variable is too large to write all of its unwritten cells."""
    return math.prod(checked.shapes[path]) * size(checked.variables[path].type, checked.types) > WHOLE


def declare_fill(path: str, checked: Checked) -> tuple[Attribute, ...]:
    """Return the attributes to declare: `_FillValue` is the value for unwritten cells."""
    variable = checked.variables[path]
    fill = own_fill(path, checked)
    if fill is None:
        return variable.attributes
    fill_attribute = Attribute(name=FILL, value=Constant(type=variable.type, count=1, data=fill))
    if all(attribute.name != FILL for attribute in variable.attributes):
        return (fill_attribute, *variable.attributes)
    return tuple(fill_attribute if attribute.name == FILL else attribute for attribute in variable.attributes)


def restore(h5: Hdf5, file: int, plan: FilePlan) -> None:
    """Restore the `_FillValue` of variables declared with another. Raises OSError."""
    checked = plan.checked
    for path, variable in checked.variables.items():
        if own_fill(path, checked) is not None:
            values = [attribute.value.data for attribute in variable.attributes if attribute.name == FILL]
            group = names.split(names.parent(path))
            with LOCK:
                _set(h5, file, group, variable.name, values[0] if values else None)


def _set(h5: Hdf5, file: int, group: tuple[str, ...], name: str, value: object) -> None:
    """Set the attribute to packed little-endian bytes of one element; None deletes it."""
    with closing(h5, "H5Dclose", find(h5, file, group, name)) as dataset:
        if not isinstance(value, bytes):
            h5.do("H5Adelete", dataset, FILL.encode())
            return
        with (
            closing(h5, "H5Aclose", h5.do("H5Aopen", dataset, FILL.encode(), 0)) as attribute,  # not by name: HDF5
            closing(h5, "H5Tclose", h5.do("H5Aget_type", attribute)) as kind,  # 2.2.0 cannot write such a one
        ):
            data = value[::-1] if h5.H5Tget_order(kind) == _BIG else value  # constants are little-endian
            h5.do("H5Awrite", attribute, kind, cast(c_char_p(data), c_void_p))
