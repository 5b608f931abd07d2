"""Conversion of stream attributes to model attributes.

The second generation stores the type in `dataType`, the first in `type`. One
text becomes a char attribute, as in netCDF; zero or several become strings.
"""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.ast import ATOMIC, Constant
from nczarr.ast.node import TypeName
from nczarr.ast.types import EnumType
from nczarr.ast.values import swapped
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire.element_types import ATOMS, ENUM_BASES, OLD_ATTRIBUTE, UNSIGNED_NAMES

_OLD = {int(old): name for name, old in OLD_ATTRIBUTE.items() if not name.startswith("u")}


class UnreadableAttributeError(ValueError):
    """An attribute whose type, count and data are inconsistent."""


def constant(attribute: pb.Attribute) -> Constant:
    """Return the value of an attribute. Raises UnreadableAttributeError."""
    type_name = _type(attribute)
    if type_name == "string":
        texts = list(attribute.sdata)
        if len(texts) == 1:
            return Constant.text(texts[0])
        return Constant.strings(texts)
    width = ATOMIC[type_name].size
    if type_name == "char":
        return Constant.text(attribute.data)
    if len(attribute.data) != attribute.len * width:
        raise UnreadableAttributeError(
            f"{attribute.len} values of type {type_name} do not have {len(attribute.data)} bytes"
        )
    return Constant(type=type_name, count=attribute.len, data=swapped(attribute.data, width))


def _type(attribute: pb.Attribute) -> str:
    """Return the type of the values. Raises UnreadableAttributeError."""
    if attribute.dataType:
        number = int(attribute.dataType)
        type_name = ATOMS.get(number) or ENUM_BASES.get(number)
    elif attribute.type:
        type_name = _OLD.get(int(attribute.type))
    elif attribute.sdata or (not attribute.data and attribute.HasField("type")):
        return "string"
    else:
        return "char"
    if type_name is None:
        raise UnreadableAttributeError(f"unknown attribute type {attribute.dataType or attribute.type}")
    if attribute.unsigned:
        type_name = UNSIGNED_NAMES.get(type_name, type_name)
    return type_name


def fill_value(value: Constant, type_name: TypeName, enums: Iterable[EnumType]) -> Constant | None:
    """Return a fill value in the type of its variable, None if it does not fit.

    Enum names become integers, signed integers unsigned, and char text a
    string, as the type requires.
    """
    if value.type == type_name:
        return value
    if not isinstance(value.data, bytes):
        return None
    if value.type == "char":
        codes = {
            constant.value for enum in enums for constant in enum.constants if constant.name.encode() == value.data
        }
        if len(codes) == 1 and type_name != "string":
            base = type_name if type_name in ATOMIC else next(iter(enums)).base
            data = Constant.numbers(base, codes).data
            return Constant(type=type_name, count=1, data=data)
        return Constant.strings([value.data]) if type_name == "string" else None
    widths = {ATOMIC[enum.base].size for enum in enums if type_name not in ATOMIC}
    if UNSIGNED_NAMES.get(value.type) == type_name or widths == {ATOMIC[value.type].size}:
        return Constant(type=type_name, count=value.count, data=value.data)
    return None
