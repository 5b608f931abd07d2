"""Model types and stored dtypes: compatibility, and invented types for unnamed dtypes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from nczarr import names
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.arrays.values.elements import ELEMENT_TYPES, declare_type, element_of, field_of, model_dtype, plain_type
from nczarr.arrays.values.parts import Types, descr
from nczarr.ast import CompoundType, Field, OpaqueType
from nczarr.check.check_names import make_unique, namesakes
from nczarr.check.check_types import LARGEST_VALUE, MOST_MEMBERS
from nczarr.check.checked import Namesake
from nczarr.formats.common.declared_types import DeclaredTypes
from nczarr.names import name_problem


def holds(stored: Descr, type_name: str, types: Types) -> bool:
    """Return whether a dtype can hold strings or values of a fixed-size type."""
    if type_name == "string":
        return isinstance(stored, str) and stored[1] in "SOU"
    return _same(descr(type_name, types), stored)


def _same(declared: Descr, stored: Descr, shape: tuple[int, ...] = (), other: tuple[int, ...] = ()) -> bool:
    stored = model_dtype(stored)
    if isinstance(stored, str) and stored[1] == "V" and not other and (shape or declared != stored):
        return itemsize(declared) * math.prod(shape) == int(stored[2:])
    if shape != other:
        return False
    if isinstance(declared, str) or isinstance(stored, str):
        return isinstance(declared, str) and isinstance(stored, str) and declared[1:] == stored[1:]
    if [name for name, _, _ in declared] != [name for name, _, _ in stored]:
        return False
    return all(
        _same(field, stored_field, inner, own_inner)
        for (_, field, inner), (_, stored_field, own_inner) in zip(declared, stored, strict=True)
    )


def members(stored: Descr) -> int:
    """Return the number of members of an element, nested ones included."""
    return 1 if isinstance(stored, str) else sum(members(field) for _, field, _ in stored)


class Inventor(DeclaredTypes):
    """Invented types of one group, for records and raw bytes."""

    def __init__(self, path: str, taken: Iterable[str]) -> None:
        super().__init__(path, taken)
        self.namesakes: list[Namesake] = []
        """Renamed fields of equal names."""

    def type_of(self, stored: Descr, name: str) -> str:
        """Return the type of a variable or field. Raises ValueError for invalid names and too large elements."""
        if itemsize(stored) > LARGEST_VALUE or members(stored) > MOST_MEMBERS:
            raise ValueError(f"elements of {itemsize(stored)} bytes are too large")
        element = element_of(stored)
        if element in ELEMENT_TYPES:
            return self.share(declare_type(element, element))
        if isinstance(stored, str) and stored[1] == "V":
            return self.share(OpaqueType(name=f"opaque_{stored[2:]}", size=int(stored[2:])))
        if isinstance(stored, str):
            return plain_type(stored) or ""
        fields, record = [], self.free(f"{name}_t")
        items = [("field", field) for field, _, _ in stored]
        shown = make_unique(items)
        self.namesakes += namesakes(items, shown, names.join(self.path, record))
        for (called, _), (field, inner, shape) in zip(shown, stored, strict=True):
            problem = name_problem(field)
            if problem is not None:
                raise ValueError(f"a field of the record: {problem}")
            inner, length = field_of(inner)
            kind = self.type_of(inner, f"{name}_{field}")
            fields.append(Field(name=called, type=kind, shape=(*shape, *length)))
        return self.declare(CompoundType(name=self.free(f"{name}_t"), fields=tuple(fields)))
