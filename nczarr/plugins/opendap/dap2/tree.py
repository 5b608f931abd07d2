"""Declarations of a DDS → variables, dimensions and types, with the place of each in the data.

A grid is a variable with the grid's name and dimensions. Its maps are
coordinate variables, which several grids share if their values are equal;
otherwise a map and its dimension get the name `GRID.MAP`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from nczarr import names
from nczarr.ast import Attribute, CompoundType, Constant, Dimension, Field, Variable, VlenType
from nczarr.plugins.opendap.common.columns import check_size
from nczarr.plugins.opendap.common.declarations import DmrScope, declare
from nczarr.plugins.opendap.common.words import ATOMIC_OF_DAP2
from nczarr.plugins.opendap.dap2.dialect import RESTORED, TYPE, decode_name, read_texts, recast
from nczarr.plugins.opendap.dap2.parser import Dds, Declaration, Dim, TextFaultError

MOST_DIMENSIONS = 1024

LARGEST = (1 << 63) - 1

MOST_CHARS = 1 << 31
"""Maximum chars of a variable that are made of texts; texts stay if they claim more."""

FILL = "_FillValue"

TEXT_LENGTH, TEXT_DIMENSION = "DODS.strlen", "DODS.dimName"
"""Attributes of texts that are chars: length and name of their last dimension."""


class DataSlot(NamedTuple):
    """Values of one variable in the data: of a top-level variable, or of one part of a grid."""

    declared: Declaration
    grid: Declaration | None
    """The grid of an array or map."""
    type: str
    """Type of the values."""
    shape: tuple[int, ...]
    """Shape of the values."""

    @property
    def projection_name(self) -> str:
        """Name in constraint expressions, without escapes."""
        return f"{self.grid.name}.{self.declared.name}" if self.grid is not None else self.declared.name

    @property
    def projection(self) -> str:
        """Name in constraint expressions, with the server's escapes."""
        return f"{self.grid.written}.{self.declared.written}" if self.grid is not None else self.declared.written

    @property
    def array(self) -> bool:
        """True if the values are sent as an array."""
        return bool(self.declared.dims)


class Declared(NamedTuple):
    """Declarations of a DDS."""

    schema: Dds
    scope: DmrScope
    """Scope with the types."""
    slots: list[DataSlot]
    """Values in their order in the data."""


@dataclass(eq=False)
class TreeVariable:
    """A variable of the tree."""

    name: str
    slot: DataSlot
    """Its values."""
    dimensions: tuple[str | int, ...]
    """Dimensions: FQN, or length of an anonymous one."""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    """Attributes by name."""
    chars: int | None = None
    """Length of the last dimension of chars, whose texts are sent; 0: single chars; None for other types."""

    integer: str | None = None
    """Type of its integers, if another one is sent."""

    @property
    def type(self) -> str:
        """Type of the variable."""
        return self.integer or (self.slot.type if self.chars is None else "char")


def _fault(declared: Declaration, text: str) -> TextFaultError:
    """Return the fault of a declaration."""
    return TextFaultError(text, declared.span.start, declared.span.end)


def _type_of(declared: Declaration, scope: DmrScope) -> str:
    """Return the type of a variable or member, declaring compounds and lists. Raises TextFaultError."""
    if declared.kind == "plain":
        atomic = ATOMIC_OF_DAP2.get(declared.type.lower())
        if atomic is None:
            raise _fault(declared, f"`{declared.type[:40]}` is not a type of DAP2")
        return atomic
    if not declared.members:
        raise _fault(declared, f"{declared.kind} `{declared.name}` has no members")
    fields: list[Field] = []
    for member in declared.members:
        shape = tuple(dim.size for dim in member.dims)
        if 0 in shape:
            raise _fault(member, f"member `{member.name}` has a dimension of length 0")
        if any(field.name == member.name for field in fields):
            raise _fault(member, f"two members of `{declared.name}` have the name `{member.name}`")
        if not names.is_segment(member.name):
            raise _fault(member, f"netCDF does not allow the name `{member.name[:40]}` of a member")
        fields.append(Field(name=member.name, type=_type_of(member, scope), shape=shape))
    compound = _name(declared, CompoundType(name="_", fields=tuple(fields)), scope, "t")
    try:
        check_size(compound, scope.all_types())
    except ValueError as found_fault:
        raise _fault(declared, f"`{declared.name}` is too large: {found_fault}") from None
    if declared.kind != "sequence":
        return compound
    if declared.dims:
        raise _fault(declared, f"sequence `{declared.name}` has dimensions")
    return _name(declared, VlenType(name="_", base=compound), scope, "rows_t")


def _name(declared: Declaration, declaration: CompoundType | VlenType, scope: DmrScope, ending: str) -> str:
    """Declare a type under the name of its variable or member; equal types are one."""
    if not names.is_segment(f"{declared.name}_{ending}"):
        raise _fault(declared, f"netCDF does not allow the name `{declared.name[:40]}`")
    return declare(declaration, f"{declared.name}_{ending}", scope)


def slots_of(schema: Dds, scope: DmrScope) -> list[DataSlot]:
    """Return the values of a dataset in their order, declaring types in a scope. Raises TextFaultError."""
    slots = []
    for declared in schema.variables:
        grid = declared if declared.kind == "grid" else None
        for member in declared.members if grid is not None else (declared,):
            if grid is not None and member.kind != "plain":
                raise _fault(member, f"`{member.name}` of grid `{declared.name}` is not an array")
            shape = tuple(dim.size for dim in member.dims)
            if math.prod(shape) > LARGEST or len(shape) > MOST_DIMENSIONS:
                raise _fault(member, f"`{member.name}` has too many or too large dimensions")
            slots.append(DataSlot(member, grid, _type_of(member, scope), shape))
    return slots


class Tree:
    """Tree of a dataset, of which attributes are still missing. Raises TextFaultError, and the errors of `equal`.

    `equal`: whether two maps of one name, type and length have equal values.
    """

    def __init__(self, declared: Declared, equal: Callable[[DataSlot, DataSlot], bool]) -> None:
        self.declared, self.equal = declared, equal
        self.dimensions: dict[str, int] = {}
        self.variables: dict[str, TreeVariable] = {}
        self.maps: dict[int, TreeVariable] = {}
        """Variables of maps, by the number of their slot."""
        taken: set[str] = set()  # names of variables come first, so that a map never takes the name of one
        for variable in declared.schema.variables:
            if variable.name in taken:
                raise _fault(variable, f"two variables have the name `{variable.name}`")
            taken.add(variable.name)
        for slot in declared.slots:
            if slot.grid is None:
                dims = self._find_dimensions(slot.declared.dims)
                self.variables[slot.declared.name] = TreeVariable(slot.declared.name, slot, dims)
        number = 0
        while number < len(declared.slots):
            grid = declared.slots[number].grid
            number = number + 1 if grid is None else self._grid(grid, number, taken)
        ranks = {variable.name: number for number, variable in reversed(self.maps.items())}
        order = [slot.grid.name if slot.grid else slot.declared.name for slot in declared.slots]
        ranks |= {name: rank for rank, name in reversed(list(enumerate(order)))}
        self.variables = dict(sorted(self.variables.items(), key=lambda item: ranks.get(item[0], len(order))))

    def _grid(self, grid: Declaration, number: int, taken: set[str]) -> int:
        """Add the variables of a grid whose slots begin at a number; return the number after them."""
        array, maps = grid.members[0], grid.members[1:]
        if len(maps) != len(array.dims):
            raise _fault(grid, f"grid `{grid.name}` has {len(maps)} maps for {len(array.dims)} dimensions")
        dims: list[str | int] = []
        for at, (dim, declared) in enumerate(zip(array.dims, maps, strict=True), number + 1):
            slot = self.declared.slots[at]
            if slot.shape != (dim.size,):
                raise _fault(
                    declared, f"map `{declared.name}` of grid `{grid.name}` does not have the length of its dimension"
                )
            variable = self._find_or_add_map(grid, slot, dim.name or declared.name, taken)
            self.maps[at] = variable
            dims.append(variable.dimensions[0])
        self.variables[grid.name] = TreeVariable(grid.name, self.declared.slots[number], tuple(dims))
        return number + 1 + len(maps)

    def _find_or_add_map(self, grid: Declaration, slot: DataSlot, dimension: str, taken: set[str]) -> TreeVariable:
        """Return the coordinate variable of a map: an existing one with equal values, or a new one."""
        name = slot.declared.name
        existing = self.variables.get(name)
        if existing is None and name not in taken:
            variable = TreeVariable(name, slot, (self.dimension(dimension, slot.shape[0]),))
        elif existing is not None and self._same(existing, slot, dimension):
            return existing
        else:
            own_name = f"{grid.name}.{name}"
            variable = TreeVariable(own_name, slot, (self.dimension(own_name, slot.shape[0]),))
            if own_name in taken or own_name in self.variables:
                raise _fault(slot.declared, f"two variables have the name `{own_name}`")
        self.variables[variable.name] = variable
        return variable

    def _same(self, existing: TreeVariable, slot: DataSlot, dimension: str) -> bool:
        """Return whether a slot repeats a variable: the same type, shape, dimension and values."""
        other = existing.slot
        if (other.type, other.shape) != (slot.type, slot.shape) or existing.slot.declared.kind != "plain":
            return False
        if other.grid is None and existing.dimensions != (self.dimension(dimension, slot.shape[0]),):
            return False
        return self.equal(other, slot)

    def _find_dimensions(self, dims: tuple[Dim, ...]) -> tuple[str | int, ...]:
        return tuple(dim.size if dim.name is None else self.dimension(dim.name, dim.size) for dim in dims)

    def restore_chars(self) -> None:
        """Make chars of texts whose attributes have the length, and the name, of a last dimension of chars."""
        for variable in self.variables.values():
            length, name = variable.attributes.get(TEXT_LENGTH), variable.attributes.get(TEXT_DIMENSION)
            if (
                variable.slot.type != "string"
                or length is None
                or (length.value.type, length.value.count) != ("int", 1)
            ):
                continue
            size = int(length.value.as_numbers()[0])
            written = None if name is None else name.value.data
            if written is None and size == 1 and not variable.slot.shape:
                variable.chars = 0
            elif isinstance(written, bytes) and 0 < size * max(1, math.prod(variable.slot.shape)) <= MOST_CHARS:
                name_of_chars = decode_name(written.decode("utf-8", "surrogateescape"))
                variable.dimensions = (*variable.dimensions, self.dimension(name_of_chars, size))
                variable.chars = size
            else:
                continue
            variable.attributes.pop(TEXT_LENGTH)
            variable.attributes.pop(TEXT_DIMENSION, None)
            fill = variable.attributes.get(FILL)
            if fill is not None and fill.value.type == "string":
                (text,) = fill.value.data
                assert isinstance(text, bytes)
                variable.attributes[FILL] = fill.model_copy(update={"value": Constant.text(text)})

    def restore_integers(self) -> None:
        """Give variables the type that an attribute tells, and the attributes that it names."""
        for variable in self.variables.values():
            texts = read_texts(variable.attributes[TYPE]) if TYPE in variable.attributes else []
            if not texts or RESTORED.get(texts[0]) != variable.slot.type:
                continue
            del variable.attributes[TYPE]
            variable.integer = texts[0]
            for name in texts[1:]:
                found = variable.attributes.get(name)
                if found is not None and found.value.type == variable.slot.type:
                    value = recast(found.value, variable.slot.type, texts[0])
                    variable.attributes[name] = found.with_value(value)

    def dimension(self, name: str, size: int) -> str:
        """Return the FQN of a dimension of this length; other lengths of one name get a number behind it."""
        free_name, number = name, 1
        while self.dimensions.setdefault(free_name, size) != size:
            number += 1
            free_name = f"{name}_{number}"
        return names.join("/", free_name)

    def nodes(self, unlimited: set[str]) -> tuple[tuple[Dimension, ...], tuple[Variable, ...]]:
        """Return dimensions and variables as nodes."""
        dimensions = tuple(
            Dimension(name=name, size=size, unlimited=name in unlimited) for name, size in self.dimensions.items()
        )
        variables = tuple(
            Variable(
                name=variable.name,
                type=variable.type,
                dimensions=variable.dimensions,
                attributes=tuple(variable.attributes.values()),
                span=variable.slot.declared.span,
            )
            for variable in self.variables.values()
        )
        return dimensions, variables
