"""Values that `_` stands for in lists of values, and that a list lacks, as ncgen 4.9.0 makes them."""

import math

from nczarr.arrays.values.parts import Types, is_fixed
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType, Variable
from nczarr.semantics.check_types import default_fill, find_fill_value


def find_marked_value(type_name: str, types: Types, count: int = 1) -> Constant | None:
    """Return `count` values of a type; None for an enum without a constant of value 0.

    Enum: the constant 0; compound: by field, unlike cells that were never written; others: the default fill value.
    """
    declared = types.get(type_name)
    if isinstance(declared, EnumType):
        if not any(constant.value == 0 for constant in declared.constants):
            return None
        return Constant(type=type_name, count=count, data=bytes(ATOMIC[declared.base].size * count))
    if not isinstance(declared, CompoundType):
        return default_fill(type_name, types, count)
    fields = [find_marked_value(field.type, types, math.prod(field.shape)) for field in declared.fields]
    known = [field for field in fields if field is not None]
    if len(known) < len(fields):
        return None
    if is_fixed(type_name, types):
        data = b"".join(field.data for field in known if isinstance(field.data, bytes)) * count
        return Constant(type=type_name, count=count, data=data)
    return Constant(type=type_name, count=count, data=tuple(known) * count)


def mark_of(variable: Variable, types: Types) -> Constant | None:
    """Return what `_` stands for in the values of a variable: its `_FillValue`, else that of its type."""
    return find_fill_value(variable) or find_marked_value(variable.type, types)
