"""Fill values: the values of unwritten cells."""

from __future__ import annotations

import functools
import math
from typing import assert_never

from nczarr.arrays.values.parts import Types, is_fixed
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType, OpaqueType, TypeName, Variable, VlenType
from nczarr.check.checked import Tables

DEFAULT: dict[str, int | float] = {
    "byte": -127,
    "ubyte": 255,
    "short": -32767,
    "ushort": 65535,
    "int": -2147483647,
    "uint": 4294967295,
    "int64": -9223372036854775806,
    "uint64": 18446744073709551614,
    "float": 9.969209968386869e36,
    "double": 9.969209968386869e36,
}
"""Default fill values of numeric types (NC_FILL_*); char is NUL, string is empty."""


@functools.cache
def _number(type_name: TypeName) -> Constant:
    """Return one default fill value of a numeric type, shared by all its variables. Raises KeyError for others."""
    return Constant.numbers(type_name, [DEFAULT[type_name]])


def default_fill(type_name: TypeName, types: Types, count: int = 1) -> Constant | None:
    """Return `count` default fill values; None for an enum without a constant of value 0.

    Opaque: zeros; enum: the constant 0; compound: by field; vlen: empty
    sequences.
    """
    declared = types.get(type_name)
    data: bytes | tuple[Constant, ...]
    match declared:
        case None if type_name == "string":
            return Constant.strings([b""] * count)
        case None if type_name == "char":
            return Constant.text(b"\0" * count)
        case None if count == 1:
            return _number(type_name)
        case None:
            return Constant(type=type_name, count=count, data=_number(type_name).data * count)
        case OpaqueType():
            return Constant(type=type_name, count=count, data=bytes(declared.size * count))
        case EnumType():
            if not any(constant.value == 0 for constant in declared.constants):
                return None
            return Constant(type=type_name, count=count, data=bytes(ATOMIC[declared.base].size * count))
        case VlenType():
            empty = Constant(type=declared.base, count=0, data=b"" if is_fixed(declared.base, types) else ())
            return Constant(type=type_name, count=count, data=(empty,) * count)
        case CompoundType():
            fields = [default_fill(field.type, types, math.prod(field.shape)) for field in declared.fields]
            field_fills = [field for field in fields if field is not None]
            if len(field_fills) < len(fields):
                return None
            if is_fixed(type_name, types):
                data = b"".join(field.data for field in field_fills if isinstance(field.data, bytes)) * count
            else:
                data = tuple(field_fills) * count
            return Constant(type=type_name, count=count, data=data)
        case _:
            assert_never(declared)


def variable_fill(variable: Variable, tables: Tables) -> Constant | None:
    """Return a variable's `_FillValue`, else the default of its type, else None."""
    for attribute in variable.attributes:
        if attribute.name == "_FillValue" and attribute.value.type == variable.type and attribute.value.count == 1:
            return attribute.value
    return default_fill(variable.type, tables.types)
