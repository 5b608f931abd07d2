"""Items of a header in the model: attributes and fill values; dimensions, enums and types in the scope of a group.

The second generation stores the type of an attribute in `dataType`, the first in
`type`. One text becomes a char attribute, as in netCDF; zero or several become
strings.
"""

from __future__ import annotations

from collections.abc import Iterable

from nczarr import names
from nczarr.ast import ATOMIC, Constant
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, DeclaredTypes, EnumType, Field, VlenType
from nczarr.ast.values import swap
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.element_types import ATOMS, ENUM_BASES, OLD_ATTRIBUTE, UNSIGNED_NAMES

_OLD = {int(old): name for name, old in OLD_ATTRIBUTE.items() if not name.startswith("u")}


class UnreadableAttributeError(ValueError):
    """An attribute whose type, count and data are inconsistent."""


def constant(attribute: pb.Attribute) -> Constant:
    """Return the value of an attribute. Raises UnreadableAttributeError."""
    type_name = _find_type(attribute)
    if type_name == "string":
        texts = list(attribute.sdata)
        return Constant.text(texts[0]) if len(texts) == 1 else Constant.strings(texts)
    width = ATOMIC[type_name].size
    if type_name == "char":
        return Constant.text(attribute.data)
    if len(attribute.data) != attribute.len * width:
        text = f"{attribute.len} values of type {type_name} do not have {len(attribute.data)} bytes"
        raise UnreadableAttributeError(text)
    return Constant(type=type_name, count=attribute.len, data=swap(attribute.data, width))  # numbers are big-endian


def _find_type(attribute: pb.Attribute) -> str:
    """Return the type of the values. Raises UnreadableAttributeError."""
    if attribute.dataType:  # TDS 5 leaves out the type 0, CHAR
        number = int(attribute.dataType)
        type_name = ATOMS.get(number) or ENUM_BASES.get(number)
    elif attribute.type:
        type_name = _OLD.get(int(attribute.type))
    elif attribute.sdata or (not attribute.data and attribute.HasField("type")):  # TDS 4 writes the type 0, STRING
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


LARGEST = 2**63 - 1
"""Maximum length of a dimension."""

VALUES = "values"
"""Member name of records generated for the dimensions after a ragged one."""


class UnreadableVariableError(ValueError):
    """A variable that the model cannot represent."""


class StreamScope(DeclaredTypes):
    """A group that is being read.

    `dimensions`: visible dimensions by name, as FQN and length; `enums`: visible
    enums by name, as FQN and type.
    """

    longest = 240

    def __init__(self, path: str, around: StreamScope | None, taken: Iterable[str]) -> None:
        super().__init__(path, taken)
        self.dimensions: dict[str, tuple[str, int]] = dict(around.dimensions) if around else {}
        self.enums: dict[str, tuple[TypeName, EnumType]] = dict(around.enums) if around else {}

    def free(self, preferred: str) -> str:
        """Return an unused type name, and reserve it."""
        name = super().free(preferred)
        self.taken.add(name)
        return name

    def nest_type(self, base: TypeName, stars: int, inner: tuple[int, ...], name: str) -> TypeName:
        """Return the type of `stars` nested lists. Elements of shape `inner` become records."""
        if inner:
            rows = Field(name=VALUES, type=base, shape=inner)
            base = self.declare(CompoundType(name=self.free(f"{name}_row"), fields=(rows,)))
        for number in range(stars):
            suffix = "list" if number == stars - 1 else "item" * (stars - 1 - number)
            base = self.declare(VlenType(name=self.free(f"{name}_{suffix}"), base=base))
        return base


def split(dimensions: Iterable[pb.Dimension]) -> tuple[list[pb.Dimension], int, list[pb.Dimension]]:
    """Return the dimensions before the first ragged one, the count of ragged ones, and later dimensions."""
    outer: list[pb.Dimension] = []
    inner: list[pb.Dimension] = []
    stars = 0
    for dimension in dimensions:
        if dimension.isVlen:
            stars += 1
        else:
            (inner if stars else outer).append(dimension)
    return outer, stars, inner


def lengths_of(dimensions: Iterable[pb.Dimension]) -> tuple[int, ...]:
    """Return lengths within a record. Raises UnreadableVariableError."""
    lengths = tuple(int(dimension.length) for dimension in dimensions)
    if not all(0 < length <= LARGEST for length in lengths):
        raise UnreadableVariableError("a member has no elements, or too many")
    return lengths


def reference(dimension: pb.Dimension, scope: StreamScope) -> str | int:
    """Return the FQN of a shared dimension, else its length. Raises UnreadableVariableError."""
    if dimension.length > LARGEST:
        raise UnreadableVariableError(f"{dimension.length} is not a dimension length")
    # shared dimensions are repeated in shapes, and match by name
    shared_dimension = scope.dimensions.get(names.normal(dimension.name.decode("utf-8", "surrogateescape")))
    shared = not dimension.isPrivate and shared_dimension is not None and shared_dimension[1] == dimension.length
    return shared_dimension[0] if shared and shared_dimension is not None else int(dimension.length)
