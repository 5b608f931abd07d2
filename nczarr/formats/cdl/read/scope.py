"""Mutable scopes of the CDL front end: one per group, finally frozen into nodes.

A scope collects the statements of a variable (declaration, attributes, data).
Names are resolved only if a statement's meaning depends on it (`x:a`: variable
or type?); other uses remain as written, for the pass `resolve`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Dataset, Dimension, Group, Kind, Storage, UserType, Variable
from nczarr.ast.dataset import DEFAULT_STORAGE
from nczarr.diagnostics.report import Label, Report, Span
from nczarr.names.records import fresh, record
from nczarr.syntax.tokens import Token


@record
class VariableDraft:
    """A declared variable that still collects attributes and storage properties."""

    name: str
    type: str
    """Type reference as written."""
    dimensions: tuple[str, ...]
    """Dimension references as written."""
    span: Span
    """Position of the declaration."""
    attributes: list[Attribute] = fresh(factory=list)
    """Attributes so far."""
    specials: dict[str, tuple[object, Span]] = fresh(factory=dict)
    """Special (virtual) attributes so far, with positions."""
    storage: Storage = DEFAULT_STORAGE
    """Storage so far."""

    def freeze(self, report: Report) -> Variable:
        """Return the finished node."""
        return Variable(
            name=self.name,
            type=self.type,
            dimensions=self.dimensions,
            attributes=merge(self.attributes, self.name, report),
            storage=self.storage,
            span=self.span,
        )


@record
class GroupScope:
    """A group under construction."""

    name: str
    path: str
    """FQN of the group."""
    span: Span
    """Position of the declaration."""
    parent: GroupScope | None = None
    """Enclosing group."""
    types: list[UserType] = fresh(factory=list)
    """Types so far."""
    dimensions: list[Dimension] = fresh(factory=list)
    """Dimensions so far."""
    variables: list[VariableDraft] = fresh(factory=list)
    """Variables so far."""
    attributes: list[Attribute] = fresh(factory=list)
    """Attributes so far."""
    groups: list[GroupScope] = fresh(factory=list)
    """Child groups so far."""
    variable_by_name: dict[str, VariableDraft] = fresh(factory=dict)
    sections: dict[int, Token] = fresh(factory=dict)
    """First token of each section."""

    def declare(self, variable: VariableDraft) -> None:
        """Add a variable; attributes find the first one of a name."""
        self.variables.append(variable)
        self.variable_by_name.setdefault(variable.name, variable)

    def child(self, name: str) -> GroupScope | None:
        """Return the first subgroup of this name."""
        return next((group for group in self.groups if group.name == name), None)

    def has_type(self, name: str) -> bool:
        """Return whether a type of this name exists anywhere in the tree."""
        root = self
        while root.parent is not None:
            root = root.parent
        return any(declared.name == name for group in root.walk() for declared in group.types)

    def walk(self) -> Iterator[GroupScope]:
        """Yield this scope and all below it, parents first."""
        yield self
        for group in self.groups:
            yield from group.walk()

    def freeze(self, report: Report) -> Group:
        """Return the finished group."""
        return Group(name=self.name, **self._collect_members(report))

    def freeze_dataset(self, kind: Kind | None, report: Report) -> Dataset:
        """Return the finished dataset of the root scope, whose name may be empty."""
        return Dataset(name=self.name, kind=kind, **self._collect_members(report))

    def _collect_members(self, report: Report) -> dict[str, Any]:
        return {
            "types": tuple(self.types),
            "dimensions": tuple(self.dimensions),
            "variables": tuple(variable.freeze(report) for variable in self.variables),
            "attributes": merge(self.attributes, "", report),
            "groups": tuple(group.freeze(report) for group in self.groups),
            "span": self.span,
        }

    def variable_path(self, name: str) -> str:
        """Return the FQN of a variable of this group."""
        return names.join(self.path, name)


def merge(attributes: list[Attribute], owner: str, report: Report) -> tuple[Attribute, ...]:
    """Return the attributes of one owner. A repeated text replaces the first, as in ncgen, with a warning.

    Other repeated attributes remain, for the pass that refuses them
    (check_names).
    """
    if len({attribute.name for attribute in attributes}) == len(attributes):
        return tuple(attributes)
    unique: list[Attribute] = []
    for attribute in attributes:
        at = next((i for i, item in enumerate(unique) if item.name == attribute.name), None)
        if at is None or not attribute.value.type == unique[at].value.type == "char":
            unique.append(attribute)
            continue
        message = f"attribute `{owner}:{attribute.name}` is given twice; the second text replaces the first"
        first = Label(unique[at].span, "first given here")
        report.warning("repeated-attribute", message, attribute.span, others=[first], helps=["remove one of them"])
        unique[at] = attribute
    return tuple(unique)
