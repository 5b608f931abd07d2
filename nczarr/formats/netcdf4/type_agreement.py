"""Whether the type that the library gives a variable is what HDF5 has: what netCDF does not know it makes others of.

libnetcdf 4.10.1 shows half and extended floats as strings, texts of fixed length in records as single characters, and
records without the members that it has no type for.
"""

from __future__ import annotations

from typing import assert_never

from nczarr.arrays.parts import Types, descr, is_fixed
from nczarr.arrays.source import little_descr
from nczarr.ast import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.formats.netcdf4 import objects
from nczarr.formats.netcdf4.objects import DatasetInfo, Outline


def agrees(type_name: str, types: Types, dataset: DatasetInfo) -> bool:
    """Whether a variable of this type can be read from a dataset."""
    if dataset.dtype is not None:
        return is_fixed(type_name, types) and little_descr(dataset.dtype) == descr(type_name, types)
    return dataset.outline is None or fits(type_name, types, dataset.outline)


def fits(type_name: str, types: Types, found: Outline) -> bool:
    """Whether a type is the one that an outline tells of. Integers of odd widths are converted by the library."""
    declared = types.get(type_name)
    match declared:
        case None:
            return _fits_atomic(type_name, found)
        case EnumType():
            return found.family == objects.ENUM and found.base is not None and fits(declared.base, types, found.base)
        case OpaqueType():
            return (found.family, found.size) == (objects.OPAQUE, declared.size)
        case VlenType():
            return found.family == objects.VLEN and found.base is not None and fits(declared.base, types, found.base)
        case CompoundType():
            return (
                found.family == objects.COMPOUND
                and [name for name, _, _ in found.members] == [field.name for field in declared.fields]
                and all(
                    shape == field.shape and fits(field.type, types, inner)
                    for field, (_, shape, inner) in zip(declared.fields, found.members, strict=True)
                )
            )
        case _:
            assert_never(declared)


def _fits_atomic(type_name: str, found: Outline) -> bool:
    if type_name in ("string", "char"):
        return found.family == objects.STRING and (type_name == "string" or found.size == 1)
    if type_name in ("float", "double"):
        return found.family == objects.FLOAT and found.size == ATOMIC[type_name].size
    return found.family == objects.INTEGER and found.size <= ATOMIC[type_name].size
