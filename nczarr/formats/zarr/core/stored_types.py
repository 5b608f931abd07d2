"""Model types and stored dtypes: compatibility, and invented types for unnamed dtypes."""

from __future__ import annotations

import functools
import math
from collections.abc import Container

from nczarr import names
from nczarr.arrays.elements import ELEMENT_TYPES, declared, element_of, field_of, modelled
from nczarr.arrays.parts import NUMPY, Types, descr
from nczarr.arrays.source import Descr, itemsize
from nczarr.ast import CompoundType, Field, OpaqueType, UserType
from nczarr.ast.storage import Element
from nczarr.check.checked import Namesake
from nczarr.check.duplicate_names import apart, namesakes
from nczarr.check.type_sizes import LARGEST_VALUE, MOST_MEMBERS
from nczarr.names import name_problem


@functools.lru_cache(maxsize=256)
def plain_type(stored: Descr) -> str | None:
    """Return the atomic type of a dtype; one byte of text is char, raw bytes and records None."""
    known = modelled(stored)
    if not isinstance(stored, str) or stored[1] in "Vb" or not isinstance(known, str):
        return None
    if known[1] in "SOU":
        return "char" if known[1:] == "S1" else "string"
    return next(name for name, numpy in NUMPY.items() if numpy[1:] == known[1:])


def holds(stored: Descr, type_name: str, types: Types) -> bool:
    """Return whether a dtype can hold strings or values of a fixed-size type."""
    if type_name == "string":
        return isinstance(stored, str) and stored[1] in "SOU"
    return _same(descr(type_name, types), stored)


def _same(wanted: Descr, stored: Descr, shape: tuple[int, ...] = (), other: tuple[int, ...] = ()) -> bool:
    stored = modelled(stored)
    if isinstance(stored, str) and stored[1] == "V" and not other and (shape or wanted != stored):
        return itemsize(wanted) * math.prod(shape) == int(stored[2:])
    if shape != other:
        return False
    if isinstance(wanted, str) or isinstance(stored, str):
        return isinstance(wanted, str) and isinstance(stored, str) and wanted[1:] == stored[1:]
    if [name for name, _, _ in wanted] != [name for name, _, _ in stored]:
        return False
    return all(
        _same(field, own, inner, own_inner)
        for (_, field, inner), (_, own, own_inner) in zip(wanted, stored, strict=True)
    )


def members(stored: Descr) -> int:
    """Return the number of members of an element, nested ones included."""
    return 1 if isinstance(stored, str) else sum(members(field) for _, field, _ in stored)


class Inventor:
    """Invented types of one group, for records and raw bytes.

    `taken`: names used in the group; `made`: the types in order.
    """

    def __init__(self, path: str, taken: Container[str]) -> None:
        self._path = path
        self._taken = taken
        self.made: dict[str, UserType] = {}
        self.namesakes: list[Namesake] = []
        """Renamed fields of equal names."""

    def type_of(self, stored: Descr, name: str) -> str:
        """Return the type of a variable or field. Raises ValueError for invalid names and too large elements."""
        if itemsize(stored) > LARGEST_VALUE or members(stored) > MOST_MEMBERS:
            raise ValueError(f"elements of {itemsize(stored)} bytes are too large")
        element = element_of(stored)
        if element in ELEMENT_TYPES:
            return self._element(element)
        if isinstance(stored, str):
            return self._opaque(int(stored[2:])) if stored[1] == "V" else plain_type(stored) or ""
        fields, own = [], self._free(f"{name}_t")
        items = [("field", field) for field, _, _ in stored]
        shown = apart(items)
        self.namesakes += namesakes(items, shown, names.join(self._path, own))
        for (called, _), (field, inner, shape) in zip(shown, stored, strict=True):
            problem = name_problem(field)
            if problem is not None:
                raise ValueError(f"a field of the record: {problem}")
            inner, length = field_of(inner)
            kind = self.type_of(inner, f"{name}_{field}")
            fields.append(Field(name=called, type=kind, shape=(*shape, *length)))
        return self._declared(CompoundType(name=self._free(f"{name}_t"), fields=tuple(fields)))

    def _opaque(self, size: int) -> str:
        for made in self.made.values():
            if isinstance(made, OpaqueType) and made.size == size:
                return names.join(self._path, made.name)
        return self._declared(OpaqueType(name=self._free(f"opaque_{size}"), size=size))

    def _element(self, element: Element) -> str:
        for name, made in self.made.items():
            if made == declared(element, name):
                return names.join(self._path, name)
        return self._declared(declared(element, self._free(element)))

    def _declared(self, made: UserType) -> str:
        self.made[made.name] = made
        return names.join(self._path, made.name)

    def _free(self, name: str) -> str:
        while name in self._taken or name in self.made:
            name += "_"
        return name
