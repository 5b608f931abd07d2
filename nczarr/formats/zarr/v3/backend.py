"""`zarr3`: metadata of a pure Zarr v3 store, from a plan.

Attributes are plain JSON; what that cannot hold was reported as a loss by the plan. A variable's `_FillValue` is the
array's fill value, and stands among the attributes as well where xarray takes it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nczarr.arrays.parts import Types
from nczarr.ast import Attribute, Group, Variable
from nczarr.ast.plain import HIDDEN, plain
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.v3.dtypes import fill_attribute
from nczarr.formats.zarr.v3.tree import Entry, Tree
from nczarr.plan.plans import StorePlan
from nczarr.plan.storage_roundtrip import own_type, plain_fill


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Every key of metadata with its document, children first, the root last."""
    return Tree(plan, _Pure(plan.checked.types)).entries()


class _Pure(NamedTuple):
    """The dialect without extension."""

    types: Types

    def group_attributes(self, path: str, group: Group) -> dict[str, Any]:
        return _attributes(group.attributes, "")

    def variable_attributes(self, path: str, variable: Variable) -> dict[str, Any]:
        shown = (plain_fill(each, variable.type, self.types) for each in variable.attributes)
        return _attributes(shown, own_type(variable.type, self.types))


def _attributes(attributes: Iterable[Attribute], owner: str) -> dict[str, Any]:
    shown = {}
    for attribute in attributes:
        own_fill = attribute.name == "_FillValue" and attribute.value.type == owner
        value = (fill_attribute if own_fill else plain)(attribute.value).value
        if value is not None and attribute.name not in HIDDEN:
            shown[attribute.name] = value
    return shown
