"""Dataset as the rules of CF see it: variables with their attributes as Python values, and the roles of variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from nczarr import names
from nczarr.ast import Attribute, Dimension, Variable
from nczarr.ast.plain_json import guess_constant, show_untyped
from nczarr.ast.values import SPECIAL_FLOATS
from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf import references
from nczarr.plugins.cf.udunits import UnitSystem
from nczarr.plugins.common.nodes import python_value
from nczarr.semantics.checked import Checked
from nczarr.semantics.resolve import find_in_scope, list_scopes

Version: TypeAlias = tuple[int, int]

NEWEST: Version = (1, 13)
"""Newest version of CF that is known."""

INTEGERS = frozenset(("byte", "ubyte", "short", "ushort", "int", "uint", "int64", "uint64"))
REALS = frozenset(("float", "double"))
TEXTS = frozenset(("char", "string"))


class AttributeOwner:
    """Node with attributes: a group or a variable."""

    def __init__(self, path: str, attributes: tuple[Attribute, ...], *, is_typed: bool = True) -> None:
        self.path = path
        self.is_typed = is_typed
        self.attributes = {attribute.name: attribute for attribute in attributes}
        self._values: dict[str, Any] = {}

    def value(self, name: str) -> Any:
        """Return an attribute as a Python value; None if it is missing or of a user-defined type."""
        if name not in self._values:
            attribute = self.attributes.get(name)
            value = None if attribute is None else python_value(attribute.value)
            words = value if isinstance(value, list) else [value]
            if not self.is_typed and words and all(word in SPECIAL_FLOATS for word in words):
                value = [SPECIAL_FLOATS[str(word)] for word in words]  # JSON has texts for them
                value = value[0] if len(value) == 1 else value
            self._values[name] = value
        return self._values[name]

    def text(self, name: str) -> str:
        """Return an attribute that is a single text, without blanks around it; else an empty text."""
        value = self.value(name)
        return value.strip() if isinstance(value, str) else ""

    def numbers(self, name: str) -> list[Any]:
        """Return the numbers of an attribute; no numbers for a text."""
        value = self.value(name)
        values = value if isinstance(value, list) else [value]
        return [number for number in values if isinstance(number, int | float)]

    def kind(self, name: str) -> str:
        """Return the type of an attribute, `text` for both types of texts; empty if it is missing."""
        attribute = self.attributes.get(name)
        kind = "" if attribute is None else attribute.value.type
        if kind in TEXTS:
            return "double" if self.numbers(name) else "text"
        return kind

    def has_type(self, name: str, type_name: str) -> bool:
        """Return whether an attribute has a type, or may have it where the source stores numbers without types."""
        kind = self.kind(name)
        if kind == type_name or (kind == "text" and type_name in TEXTS):
            return True
        if self.is_typed or kind == "text":
            return False
        return type_name in REALS or all(isinstance(number, int) for number in self.numbers(name))


class CFVariable(AttributeOwner):
    """One variable."""

    def __init__(self, path: str, node: Variable, shape: tuple[int, ...], *, is_typed: bool = True) -> None:
        super().__init__(path, node.attributes, is_typed=is_typed)
        self.node = node
        self.shape = shape
        self.name = node.name
        self.type = node.type
        self.group = names.parent(path)
        self.dimensions = node.dimensions

    @property
    def is_numeric(self) -> bool:
        """True for numbers of atomic types."""
        return self.type in INTEGERS or self.type in REALS

    @property
    def axes(self) -> tuple[Any, ...]:
        """Dimensions without that of the characters of a text."""
        return self.dimensions[:-1] if self.type == "char" else self.dimensions

    @property
    def is_coordinate(self) -> bool:
        """True for a coordinate variable: of one dimension, whose name it has."""
        return len(self.dimensions) == 1 and _last(self.dimensions[0]) == self.name and self.type != "char"

    @property
    def standard_name(self) -> str:
        """The standard name without modifier."""
        return (self.text("standard_name").split() or [""])[0]


def _last(dimension: object) -> str:
    return names.last(dimension) if isinstance(dimension, str) else ""


class CFDataset:
    """A checked dataset with the version of CF that is applied."""

    def __init__(
        self,
        checked: Checked,
        version: Version = NEWEST,
        units: UnitSystem | None = None,
        filename: str | None = None,
        *,
        is_typed: bool | None = None,
    ) -> None:
        self.checked = checked
        self.version = version
        self.units = units
        self.filename = filename
        groups = {path: AttributeOwner(path, group.attributes) for path, group in checked.groups.items()}
        self.root = groups["/"]
        is_typed = has_types(checked) if is_typed is None else is_typed
        self.variables = {
            path: CFVariable(path, node, checked.shapes[path], is_typed=is_typed)
            for path, node in checked.variables.items()
        }
        self.owners: list[AttributeOwner] = [*groups.values(), *self.variables.values()]
        """Groups and variables."""

    def having(self, name: str) -> Iterator[tuple[CFVariable, Attribute]]:
        """Yield the variables with an attribute, and the attribute."""
        for variable in self.variables.values():
            if name in variable.attributes:
                yield variable, variable.attributes[name]

    @property
    def dimensions(self) -> Mapping[str, Dimension]:
        """Dimensions by path."""
        return self.checked.dimensions

    def length(self, dimension: object) -> int:
        """Return the length of a dimension of a variable."""
        return dimension if isinstance(dimension, int) else self.checked.dimensions[str(dimension)].size

    def label(self, dimension: object) -> str:
        """Return the name of a dimension for messages."""
        return _last(dimension) or str(dimension)

    # ---- names in attributes -----------------------------------------------------------------------------------
    def resolve(self, name: str, group: str) -> CFVariable | None:
        """Return the variable that an attribute in a group names, by the scoping of section 2.7; None if missing."""
        path = self._find(names.normal(name), group, self.variables)
        return None if path is None else self.variables[path]

    def resolve_dimension(self, name: str, group: str) -> str | None:
        """Return the path of the dimension that an attribute in a group names; None if missing."""
        return self._find(names.normal(name), group, self.checked.dimensions)

    def _find(self, name: str, group: str, declared: Mapping[str, Any]) -> str | None:
        if "/" in name:
            return _find_path(name, group, declared)
        scopes = list_scopes(group)
        path = find_in_scope(name, scopes, declared)
        return path if path is not None or (group == "/" and len(self.checked.groups) == 1) else self._search(name)

    def _search(self, name: str) -> str | None:
        """Return the coordinate variable nearest to the root, in any group: the lateral search."""
        candidates = [path for path in self._coordinates_by_name.get(name, ()) if self.variables[path].is_coordinate]
        return min(candidates, key=lambda path: path.count("/")) if candidates else None

    @cached_property
    def _coordinates_by_name(self) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = {}
        for path, variable in self.variables.items():
            paths.setdefault(variable.name, []).append(path)
        return paths

    def suggest(self, name: str, group: str) -> tuple[str, ...]:
        """Return the help that names the variable that is probably meant."""
        return _suggest(name, group, self.variables)

    def suggest_dimension(self, name: str, group: str) -> tuple[str, ...]:
        """Return the help that names the dimension that is probably meant."""
        return _suggest(name, group, self.dimensions)

    @cached_property
    def external(self) -> frozenset[str]:
        """Names of variables in other files."""
        return frozenset(self.root.text("external_variables").split())

    def list_named(self, variable: CFVariable, attribute: str) -> list[CFVariable]:
        """Return the variables that an attribute names and that exist."""
        found = (
            self.resolve(name, variable.group) for name in references.list_names(attribute, variable.text(attribute))
        )
        return [other for other in found if other is not None]

    @cached_property
    def referrers(self) -> dict[str, dict[str, list[CFVariable]]]:
        """Variables that name a variable: by attribute, then by path of the named one."""
        table: dict[str, dict[str, list[CFVariable]]] = {name: {} for name in references.EVERY}
        for variable in self.variables.values():
            for attribute in references.EVERY:
                if attribute in variable.attributes:
                    for other in self.list_named(variable, attribute):
                        table[attribute].setdefault(other.path, []).append(variable)
        return table

    # ---- roles -------------------------------------------------------------------------------------------------
    def is_named_by(self, variable: CFVariable, *attributes: str) -> bool:
        """Return whether one of these attributes of any variable names this one."""
        return any(variable.path in self.referrers[attribute] for attribute in attributes)

    def holds_coordinates(self, variable: CFVariable) -> bool:
        """Return whether a variable contains coordinates of any kind."""
        return variable.is_coordinate or self.is_named_by(variable, "coordinates", "node_coordinates")

    def is_boundary(self, variable: CFVariable) -> bool:
        """Return whether a variable has the bounds of cells."""
        return self.is_named_by(variable, "bounds", "climatology", "bounds_tie_points")

    def is_container(self, variable: CFVariable) -> bool:
        """Return whether a variable holds only attributes: grid mappings, geometries, domains, meshes and the like."""
        marks = ("grid_mapping_name", "crs_wkt", "geometry_type", "interpolation_name", "interpolation_description")
        return (
            (not variable.dimensions and any(mark in variable.attributes for mark in marks))
            or self.is_domain(variable)
            or ("cf_role" in variable.attributes and variable.text("cf_role").endswith(("_topology", "_connectivity")))
            or self.is_named_by(variable, "grid_mapping", "geometry", "quantization")
        )

    def is_domain(self, variable: CFVariable) -> bool:
        """Return whether a variable is a domain variable."""
        return "dimensions" in variable.attributes and not variable.dimensions

    def is_structure(self, variable: CFVariable) -> bool:
        """Return whether a variable holds counts, indices or parts of geometries and ragged arrays."""
        marks = ("sample_dimension", "instance_dimension", "compress")
        return any(mark in variable.attributes for mark in marks) or self.is_named_by(
            variable, "node_count", "part_node_count", "interior_ring", "tie_point_indices", "interpolation_parameters"
        )

    @cached_property
    def data(self) -> list[CFVariable]:
        """Data variables: those without another role."""
        return [
            variable
            for variable in self.variables.values()
            if not (
                self.holds_coordinates(variable)
                or self.is_boundary(variable)
                or self.is_container(variable)
                or self.is_structure(variable)
                or self.is_named_by(variable, "formula_terms", "aggregated_data")
            )
        ]

    def coordinates_of(self, variable: CFVariable) -> Iterator[CFVariable]:
        """Yield the coordinate variables of the dimensions of a variable, then those of its attribute `coordinates`."""
        for dimension in variable.dimensions:
            coordinate = self.coordinate_of(dimension, variable.group)
            if coordinate is not None:
                yield coordinate
        yield from self.list_named(variable, "coordinates")

    def coordinate_of(self, dimension: object, group: str) -> CFVariable | None:
        """Return the coordinate variable of a dimension, as a variable of a group sees it."""
        name = _last(dimension)
        variable = self.resolve(name, group) if name else None
        return variable if variable is not None and variable.dimensions == (dimension,) else None

    def find_spanned(self, variable: CFVariable) -> set[object]:
        """Return the dimensions that auxiliary variables may have: also those compressed by gathering."""
        allowed: set[object] = set(variable.dimensions)
        for name in variable.text("aggregated_dimensions").split():
            allowed.add(self.resolve_dimension(name, variable.group))
        for dimension in variable.dimensions:
            coordinate = self.coordinate_of(dimension, variable.group)
            if coordinate is not None and "compress" in coordinate.attributes:
                for name in coordinate.text("compress").split():
                    allowed.add(self.resolve_dimension(name, coordinate.group))
        return allowed

    def find_instances(self, variable: CFVariable) -> set[object]:
        """Return the dimensions of instances to which the elements of a ragged array belong, on both levels."""
        instances: set[object] = set()
        waiting: list[object] = [*variable.dimensions]
        while waiting:
            axis = self.sampled.get(waiting.pop())
            if axis is not None and axis not in instances:
                instances.add(axis)
                waiting.append(axis)
        return instances

    @cached_property
    def sampled(self) -> dict[object, object]:
        """Dimensions of elements of ragged arrays, with their dimensions of instances."""
        table: dict[object, object] = {}
        for variable in self.variables.values():
            if len(variable.dimensions) == 1:
                sample = self.resolve_dimension(variable.text("sample_dimension"), variable.group)
                instance = self.resolve_dimension(variable.text("instance_dimension"), variable.group)
                if sample is not None:
                    table[sample] = variable.dimensions[0]
                if instance is not None:
                    table[variable.dimensions[0]] = instance
        return table


def has_types(checked: Checked) -> bool:
    """Return whether the source surely stores types of attributes; plain Zarr does so for fill values alone."""
    from_documents = False
    for variable in checked.variables.values():
        for attribute in variable.attributes:
            source = attribute.span.source
            if source is None or source.key is None:
                return True
            from_documents = True
            if attribute.name != "_FillValue" and guess_constant(show_untyped(attribute.value)) != attribute.value:
                return True
    return not from_documents


def _suggest(name: str, group: str, declared: Iterable[str]) -> tuple[str, ...]:
    scopes = list_scopes(group)
    return tuple(suggest(name, [names.last(path) for path in declared if names.parent(path) in scopes]))


def _find_path(name: str, group: str, declared: Mapping[str, Any]) -> str | None:
    """Return the path of an absolute or relative reference."""
    parts: list[str] = [] if name.startswith("/") else list(names.split(group))
    for part in name.strip("/").split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    path = names.fqn(parts)
    return path if path in declared else None
