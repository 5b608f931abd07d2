"""What the CDL front end builds while it reads: one mutable scope a group, frozen into nodes at the end.

CDL spreads a variable over many statements (declaration, attributes, data); a scope gathers them. Names are looked
up here only where the language needs it to know what a statement means (`x:a`: variable or type?); uses of
dimensions and types stay as they were written, for the pass `resolve`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Dataset, Dimension, Group, Kind, Storage, UserType, Variable
from nczarr.ast.storage import DEFAULT_STORAGE
from nczarr.diagnostics.report import Label, Report
from nczarr.source import Span
from nczarr.syntax.tokens import Token


@dataclass(slots=True)
class VariableDraft:
    """A declared variable that still gathers attributes and storage properties."""

    name: str
    type: str
    dimensions: tuple[str, ...]
    span: Span
    attributes: list[Attribute] = field(default_factory=list)
    specials: dict[str, tuple[object, Span]] = field(default_factory=dict)
    storage: Storage = DEFAULT_STORAGE

    def freeze(self, report: Report) -> Variable:
        """The finished node."""
        return Variable(
            name=self.name,
            type=self.type,
            dimensions=self.dimensions,
            attributes=merged(self.attributes, self.name, report),
            storage=self.storage,
            span=self.span,
        )


@dataclass(slots=True)
class Scope:
    """A group under construction; `path` is its FQN."""

    name: str
    path: str
    span: Span
    parent: Scope | None = None
    types: list[UserType] = field(default_factory=list)
    dimensions: list[Dimension] = field(default_factory=list)
    variables: list[VariableDraft] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    groups: list[Scope] = field(default_factory=list)
    variable_by_name: dict[str, VariableDraft] = field(default_factory=dict)
    sections: dict[int, Token] = field(default_factory=dict)

    def declare(self, variable: VariableDraft) -> None:
        """Add a variable; of two of one name the first is the one that attributes find."""
        self.variables.append(variable)
        self.variable_by_name.setdefault(variable.name, variable)

    def child(self, name: str) -> Scope | None:
        """The first subgroup of this name."""
        return next((group for group in self.groups if group.name == name), None)

    def has_type(self, name: str) -> bool:
        """Whether a type of this name could be meant here: in this group, an ancestor, or anywhere in the tree."""
        scope: Scope | None = self
        root = self
        while scope is not None:
            if any(declared.name == name for declared in scope.types):
                return True
            root, scope = scope, scope.parent
        return any(declared.name == name for group in root.walk() for declared in group.types)

    def walk(self) -> Iterator[Scope]:
        """Yield this scope and all below it, parents first."""
        yield self
        for group in self.groups:
            yield from group.walk()

    def freeze(self, report: Report) -> Group:
        """The finished group."""
        return Group(name=self.name, **self._members(report))

    def freeze_dataset(self, kind: Kind | None, report: Report) -> Dataset:
        """The finished dataset; this scope is the root, whose name may be empty."""
        return Dataset(name=self.name, kind=kind, **self._members(report))

    def _members(self, report: Report) -> dict[str, Any]:
        return {
            "types": tuple(self.types),
            "dimensions": tuple(self.dimensions),
            "variables": tuple(variable.freeze(report) for variable in self.variables),
            "attributes": merged(self.attributes, "", report),
            "groups": tuple(group.freeze(report) for group in self.groups),
            "span": self.span,
        }

    def variable_path(self, name: str) -> str:
        """FQN of a variable of this group."""
        return names.join(self.path, name)


def merged(attributes: list[Attribute], owner: str, report: Report) -> tuple[Attribute, ...]:
    """The attributes of one owner; a text given twice replaces the first in its place, as in ncgen, with a warning.

    Any other attribute given twice stays twice, for the pass that refuses it (check_names).
    """
    if len({attribute.name for attribute in attributes}) == len(attributes):
        return tuple(attributes)
    kept: list[Attribute] = []
    for attribute in attributes:
        at = next((i for i, item in enumerate(kept) if item.name == attribute.name), None)
        if at is None or not attribute.value.type == kept[at].value.type == "char":
            kept.append(attribute)
            continue
        message = f"attribute `{owner}:{attribute.name}` is given again; this text replaces the first one"
        first = Label(kept[at].span, "first given here")
        report.warning("repeated-attribute", message, attribute.span, others=[first], helps=["remove one of them"])
        kept[at] = attribute
    return tuple(kept)
