"""The schema as templates see it: groups, types, dimensions and variables with identifiers of the target language.

Names of netCDF may have any character. `UniqueIdentifiers` makes an identifier for each node, so that no two are equal
and none is a word of the language.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any

from nczarr.ast.types import dependencies_first
from nczarr.sdk import (
    Attribute,
    Checked,
    CompoundType,
    DatasetHandle,
    Dimension,
    EnumType,
    Group,
    OpaqueType,
    Report,
    Storage,
    UserType,
    Variable,
    VlenType,
    groups,
    is_fixed,
    names,
)

NO_MACROS = re.compile(r"(?!)")
"""Pattern that matches nothing."""


class UniqueIdentifiers:
    """Identifiers of a program.

    `reserved`: words that none may be; `macros`: beginnings that none may have; `same_case`: differ by more than case.
    """

    def __init__(
        self,
        reserved: Iterable[str] = (),
        *,
        macros: re.Pattern[str] = NO_MACROS,
        same_case: bool = False,
        longest: int = 200,
    ) -> None:
        self._longest = longest
        self._macros = macros
        self._fold: Callable[[str], str] = str.lower if same_case else str
        self._taken = {self._fold(word) for word in reserved}

    def make(self, *parts: str) -> str:
        """Return a new identifier like some names, joined by underscores."""
        words = [re.sub(r"[^A-Za-z0-9_]+", "_", _in_ascii(part)) for part in parts if part]
        word = "_".join(filter(None, words)).strip("_") or "x"
        word = re.sub(r"_{2,}", "_", word)[: self._longest]
        if word[0].isdigit():
            word = f"n{word}"
        if self._macros.match(word):
            word = f"x_{word}"
        found, number = word, 2
        while self._fold(found) in self._taken:
            found, number = f"{word}_{number}", number + 1
        self._taken.add(self._fold(found))
        return found


def _in_ascii(text: str) -> str:
    """Return a text without accents: `Höhe` becomes `Hohe`."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "x"


def write_camel(identifier: str) -> str:
    """Return an identifier as names of classes are written: `sea_level` becomes `SeaLevel`."""
    return "".join(part[:1].upper() + part[1:] for part in identifier.split("_")) or "X"


MOST_VALUES = 1_000_000
"""Most values of a variable in a program: a schema may declare any length, and state a single value."""

OWN_ATTRIBUTES = frozenset(
    "_NCProperties _IsNetcdf4 _SuperblockVersion _Format _nc3_strict _Netcdf4Coordinates _Netcdf4Dimid CLASS NAME "
    "DIMENSION_LIST REFERENCE_LIST".split()
)
"""Attributes of netCDF-4 files that libnetcdf refuses to write for others."""

DEFAULT_NAME = "dataset"
"""Name of a schema without one."""


class SchemaNode:
    """A node with its path and identifier."""

    def __init__(self, schema: Schema, path: str, identifier: str) -> None:
        self.schema = schema
        self.path = path
        """FQN of the node."""
        self.identifier = identifier
        """Its identifier in the program."""

    @property
    def key(self) -> str:
        """Names from the root, joined by slashes, as libraries take paths."""
        return "/".join(names.split(self.path))


class SchemaGroup(SchemaNode):
    """A group."""

    def __init__(self, schema: Schema, path: str, identifier: str, node: Group) -> None:
        super().__init__(schema, path, identifier)
        self.node = node
        self.name = node.name
        self.dimensions: list[SchemaDimension] = []
        self.types: list[SchemaType] = []
        self.variables: list[SchemaVariable] = []
        self.parent: SchemaGroup | None = None

    @property
    def is_root(self) -> bool:
        """True of the root."""
        return self.path == "/"

    @property
    def members(self) -> list[SchemaVariable | SchemaGroup]:
        """Variables, then groups."""
        return [*self.variables, *(one for one in self.schema.groups if one.parent is self)]

    def find_dimension(self, name: str) -> SchemaDimension | None:
        """Return the dimension that a name means in the group: its own, or that of the nearest group around it."""
        for one in self.dimensions:
            if one.name == name:
                return one
        return None if self.parent is None else self.parent.find_dimension(name)

    @cached_property
    def attributes(self) -> list[SchemaAttribute]:
        """Attributes of the group in order."""
        values = self.schema.handle.attributes if self.is_root else self.schema.handle[self.path].attributes
        return [
            SchemaAttribute(self.schema, attribute, values[attribute.name], self.identifier)
            for attribute in self.node.attributes
        ]


class SchemaDimension(SchemaNode):
    """A dimension."""

    def __init__(self, schema: Schema, path: str, identifier: str, node: Dimension) -> None:
        super().__init__(schema, path, identifier)
        self.node = node
        self.name, self.size, self.unlimited = node.name, node.size, node.unlimited


class SchemaType(SchemaNode):
    """A user-defined type."""

    def __init__(self, schema: Schema, path: str, identifier: str, node: UserType) -> None:
        super().__init__(schema, path, identifier)
        self.node = node
        self.name = node.name
        self.kind = node.kind

    @property
    def base(self) -> str:
        """Type of the elements of a list, or of an enum's integers."""
        assert isinstance(self.node, VlenType | EnumType)
        return self.node.base

    @property
    def size(self) -> int:
        """Bytes of an opaque value."""
        assert isinstance(self.node, OpaqueType)
        return self.node.size

    @cached_property
    def constants(self) -> list[tuple[str, str, int]]:
        """Constants of an enum: identifier, name, value."""
        assert isinstance(self.node, EnumType)
        make = self.schema.identifiers.make
        return [(make(self.identifier, one.name), one.name, one.value) for one in self.node.constants]

    @cached_property
    def fields(self) -> list[SchemaField]:
        """Fields of a compound in order."""
        assert isinstance(self.node, CompoundType)
        own = self.schema.make_identifiers()
        return [SchemaField(own.make(one.name), one.name, one.type, one.shape) for one in self.node.fields]


class SchemaField:
    """A field of a compound."""

    def __init__(self, identifier: str, name: str, type_name: str, shape: tuple[int, ...]) -> None:
        self.identifier, self.name, self.type, self.shape = identifier, name, type_name, shape


class SchemaAttribute:
    """An attribute with its values as NumPy and Python have them."""

    def __init__(self, schema: Schema, node: Attribute, value: Any, owner: str) -> None:
        self.schema = schema
        self.name = node.name
        self.type = node.value.type
        self.count = node.value.count
        self.constant = node.value
        self.value = value
        self._owner = owner

    @cached_property
    def identifier(self) -> str:
        """Name of the constant array that has the values."""
        return self.schema.identifiers.make(self._owner, self.name)

    @property
    def text(self) -> bytes:
        """Bytes of a text; none of other types."""
        data = self.constant.data
        return data if isinstance(data, bytes) and self.type == "char" else b""


class SchemaVariable(SchemaNode):
    """A variable."""

    def __init__(self, schema: Schema, path: str, identifier: str, node: Variable, group: SchemaGroup) -> None:
        super().__init__(schema, path, identifier)
        self.node = node
        self.name, self.type, self.group = node.name, node.type, group
        self.shape = schema.checked.shapes[path]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def storage(self) -> Storage:
        """Layout, chunks and codecs of the schema."""
        return self.node.storage

    @cached_property
    def dimensions(self) -> list[SchemaDimension | int]:
        """Dimensions; an anonymous one is its length."""
        return [one if isinstance(one, int) else self.schema.dimensions[one] for one in self.node.dimensions]

    @property
    def has_default_chunks(self) -> bool:
        """True if the schema asks for chunks, without lengths, where nothing else makes any."""
        stored = self.storage
        is_implied = stored.chunks or stored.codecs or self.is_growing or not self.rank
        return stored.layout == "chunked" and not is_implied

    def find_hidden(self) -> Iterator[tuple[SchemaDimension, SchemaDimension | None]]:
        """Yield the dimensions that their names alone do not mean in the group, and those that the names mean."""
        for one in self.dimensions:
            if not isinstance(one, int) and (nearest := self.group.find_dimension(one.name)) is not one:
                yield one, nearest

    @property
    def is_growing(self) -> bool:
        """True if a dimension is unlimited."""
        return any(not isinstance(one, int) and one.unlimited for one in self.dimensions)

    @property
    def attributes(self) -> list[SchemaAttribute]:
        """Attributes in order."""
        values = self.schema.handle[self.path].attributes
        return [
            SchemaAttribute(self.schema, attribute, values[attribute.name], self.identifier)
            for attribute in self.node.attributes
        ]

    @property
    def has_values(self) -> bool:
        """True if a program writes values, of which there are any, and no more than it may have.

        Those of the schema, or fill values where the library writes none.
        """
        is_written = self.path in self.schema.checked.parts or self.storage.no_fill
        return is_written and 0 < math.prod(self.shape) <= MOST_VALUES

    @cached_property
    def values(self) -> Any:
        """Values as `handle[path][...]` has them."""
        return self.schema.handle[self.path][...]

    @property
    def fill(self) -> Any:
        """Value of cells that were never written, as Python has it; zero for an enum without one."""
        fill = self.schema.checked.fills[self.path]
        if fill is None:
            return 0
        if isinstance(fill.data, bytes) and self.type != "char":
            declared = self.schema.types.get(self.type)
            base = declared.base if declared is not None and declared.kind == "enum" else self.type
            return next(iter(fill.model_copy(update={"type": base}).as_numbers()))
        first = fill.data[:1] if isinstance(fill.data, bytes) else fill.data[0]
        return (
            first if self.type == "char" or not isinstance(first, bytes) else first.decode("utf-8", "surrogateescape")
        )

    def _find_text(self, *wanted: str) -> str:
        """Return the first of some attributes that is a text."""
        found = {one.name: one.text.decode("utf-8", "replace") for one in self.attributes if one.type == "char"}
        return next(filter(None, map(found.get, wanted)), "")

    @property
    def title(self) -> str:
        """Description of the variable in the schema."""
        return self._find_text("long_name", "standard_name", "description")

    @property
    def comment(self) -> str:
        """Description of the variable, and its units."""
        units = self._find_text("units")
        return " ".join(filter(None, (self.title, f"[{units}]" if units else "")))


class Schema:
    """A whole schema. `identifiers` are those of the language."""

    def __init__(
        self,
        checked: Checked,
        name: str,
        reserved: Iterable[str] = (),
        *,
        macros: re.Pattern[str] = NO_MACROS,
        same_case: bool = False,
        longest: int = 200,
    ) -> None:
        self.checked = checked
        self.handle = DatasetHandle(checked)
        self.reserved = frozenset(reserved)
        self.make_identifiers = partial(
            UniqueIdentifiers, self.reserved, macros=macros, same_case=same_case, longest=longest
        )
        self.identifiers = self.make_identifiers()
        self.name = self.identifiers.make(name or DEFAULT_NAME)
        self.kind = checked.dataset.kind
        self.types: dict[str, SchemaType] = {}
        self.dimensions: dict[str, SchemaDimension] = {}
        self.groups = list(self._make_groups())

    def _make_groups(self) -> Iterator[SchemaGroup]:
        make, made = self.identifiers.make, {}
        for path, node in groups(self.checked.dataset):
            segments = names.split(path)
            group = made[path] = SchemaGroup(self, path, make("group", *segments) if segments else "root", node)
            if segments:
                group.parent = made[names.parent(path)]
            for declared in node.types:
                own = names.join(path, declared.name)
                self.types[own] = SchemaType(self, own, make(declared.name), declared)
                group.types.append(self.types[own])
            for dimension in node.dimensions:
                own = names.join(path, dimension.name)
                self.dimensions[own] = SchemaDimension(self, own, make(*segments, dimension.name, "dim"), dimension)
                group.dimensions.append(self.dimensions[own])
            for variable in node.variables:
                own = names.join(path, variable.name)
                group.variables.append(SchemaVariable(self, own, make(*segments, variable.name), variable, group))
            yield group

    @cached_property
    def variables(self) -> list[SchemaVariable]:
        """All variables in the order of the tree."""
        return [variable for group in self.groups for variable in group.variables]

    @property
    def nodes(self) -> list[SchemaGroup | SchemaVariable]:
        """All groups, then all variables."""
        return [*self.groups, *self.variables]

    @property
    def attributes(self) -> Iterator[tuple[str, SchemaAttribute]]:
        """All attributes with their places, `/path@name`."""
        for node in self.nodes:
            yield from ((f"{node.path}@{attribute.name}", attribute) for attribute in node.attributes)

    def find_large(self) -> Iterator[tuple[str, str]]:
        """Yield the variables with too many values for a program: FQN and reason."""
        for variable in self.variables:
            if variable.path in self.checked.parts and math.prod(variable.shape) > MOST_VALUES:
                yield variable.path, f"a program has at most {MOST_VALUES} values of a variable"

    def find_reserved(self) -> Iterator[tuple[str, str]]:
        """Yield the attributes that only libnetcdf itself writes to a netCDF-4 file: FQN and reason."""
        for place, attribute in self.attributes:
            if attribute.name in OWN_ATTRIBUTES and self.kind in (None, "nc4", "nc7"):
                yield place, "libnetcdf has an attribute of this name for itself"

    def find_undefined(self) -> Iterator[tuple[str, str]]:
        """Yield the variables whose cells libnetcdf cannot leave undefined: FQN and reason."""
        for variable in self.variables:
            if variable.storage.no_fill and not is_fixed(variable.type, self.checked.types):
                yield variable.path, "libnetcdf leaves no cells of strings and lists undefined"

    def find_types(self) -> Iterator[tuple[str, str]]:
        """Yield the user-defined types, used or not, for languages without them: FQN and reason."""
        for declared in self.types.values():
            yield declared.path, "it is a user-defined type"

    def refuse(self, obstacles: Iterable[tuple[str, str]], target: str, report: Report) -> bool:
        """Report what a language cannot express, each node once; return whether there is an error."""
        first: dict[str, str] = {}
        for path, reason in obstacles:
            first.setdefault(path, reason)
        for path, reason in first.items():
            report.error("unknown-target", f"`{path}` has no {target}: {reason}")
        return bool(report.errors)

    @cached_property
    def types_in_order(self) -> list[SchemaType]:
        """Types, each after those that it uses."""
        return [self.types[path] for path in dependencies_first(self.checked.types)]
