"""`zarr2`: metadata of a pure Zarr v2 store, from a plan.

Attributes are plain JSON; what that cannot hold was reported as a loss by the plan. `_FillValue` is the array's fill
value, and stands among the attributes as well, unless it is NaN or infinite, which plain JSON cannot say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nczarr.ast import Attribute, Group, Variable
from nczarr.ast.plain import HIDDEN, is_finite, plain
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.v2.tree import Entry, Tree
from nczarr.plan.plans import StorePlan
from nczarr.plan.storage_roundtrip import own_type, plain_fill


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Every key of metadata with its document, children first, the root last."""
    return Tree(plan, _Pure(plan)).entries()


@dataclass(frozen=True, slots=True)
class _Pure:
    """The dialect without extension. A scalar has shape `[]`."""

    plan: StorePlan
    scalar_shape: tuple[int, ...] = ()

    def group_attributes(self, path: str, group: Group) -> dict[str, Any]:
        return _attributes(group.attributes, "")

    def variable_attributes(self, path: str, variable: Variable) -> dict[str, Any]:
        types = self.plan.checked.types
        plainly = (plain_fill(each, variable.type, types) for each in variable.attributes)
        shown = _attributes(plainly, own_type(variable.type, types))
        if "" in self.plan.targets[path]:
            shown["_ARRAY_DIMENSIONS"] = self.plan.axes[path]
        return shown


def _attributes(attributes: Iterable[Attribute], owner: str) -> dict[str, Any]:
    shown = {}
    for attribute in attributes:
        value = plain(attribute.value).value
        own_fill = attribute.name == "_FillValue" and attribute.value.type == owner
        if value is None or attribute.name in HIDDEN or (own_fill and not is_finite(attribute.value)):
            continue
        shown[attribute.name] = value
    return shown
