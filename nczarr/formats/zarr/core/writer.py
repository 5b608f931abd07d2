"""The documents of a hierarchy in the order in which they are written, whatever the version of Zarr.

A dialect says what the attributes hold, a version lays down the documents; this module walks the tree. Order: children
before parents, the root last, so that a store whose writing was cut short has no root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nczarr import names
from nczarr.ast import Group, Variable
from nczarr.plan.plans import StorePlan, Target
from nczarr.plan.simple_dimension_names import part_axes

Entry = tuple[str, bytes]
"""A key and its document."""

Json = dict[str, Any]


class Dialect(Protocol):
    """What one format writes among the attributes."""

    def group_attributes(self, path: str, group: Group) -> Json:
        """The attributes of a group."""

    def variable_attributes(self, path: str, variable: Variable) -> Json:
        """The attributes of a variable, be it an array or a group of parts."""


class Emitter(Protocol):
    """How one version of Zarr lays down groups and arrays, each at a prefix."""

    def group(self, prefix: str, attributes: Json) -> Iterator[Entry]:
        """The documents of a group."""

    def array(self, prefix: str, target: Target, axes: Sequence[str], attributes: Json) -> Iterator[Entry]:
        """The documents of a variable that is one array."""

    def part(self, prefix: str, target: Target, axes: Sequence[str]) -> Iterator[Entry]:
        """The documents of an array that is a part of a variable."""


class Walk(NamedTuple):
    """One emission."""

    plan: StorePlan
    dialect: Dialect
    version: Emitter

    def entries(self) -> Iterator[Entry]:
        """Every document of the hierarchy."""
        return self._group("/", self.plan.checked.dataset)

    def _group(self, path: str, group: Group) -> Iterator[Entry]:
        for child in group.groups:
            yield from self._group(names.join(path, child.name), child)
        for variable in group.variables:
            yield from self._variable(names.join(path, variable.name), variable)
        yield from self.version.group(self.plan.prefix(path), self.dialect.group_attributes(path, group))

    def _variable(self, path: str, variable: Variable) -> Iterator[Entry]:
        prefix = self.plan.prefix(path)
        attributes = self.dialect.variable_attributes(path, variable)
        targets = self.plan.targets[path]
        whole = targets.get("")
        if whole is not None:
            yield from self.version.array(prefix, whole, self.plan.axes[path], attributes)
            return
        yield from self._parts(path, targets)
        from nczarr.awkward import sidecar  # few datasets have lists

        yield from sidecar.entries(self.plan, path)
        yield from self.version.group(prefix, attributes)

    def _parts(self, path: str, targets: Mapping[str, Target]) -> Iterator[Entry]:
        """The arrays of a variable that is a group, and the groups between."""
        inner: dict[str, None] = {}
        for part, target in targets.items():
            axes = part_axes(self.plan.axes[path], part, target.layout.shape, targets)
            yield from self.version.part(self.plan.prefix(path, part), target, axes)
            above = part.rpartition("/")[0]
            while above:
                inner.setdefault(above)
                above = above.rpartition("/")[0]
        for name in sorted(inner, key=lambda name: (-name.count("/"), name)):
            yield from self.version.group(self.plan.prefix(path, name), {})
