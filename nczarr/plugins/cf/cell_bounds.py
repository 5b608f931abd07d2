"""Units of cell bounds, which are those of their coordinate whether they state them or not (CF 7.1)."""

from __future__ import annotations

from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Group, Variable
from nczarr.ast.dataset import map_groups
from nczarr.pipeline.select.physical import NUMBERS
from nczarr.semantics.checked import Checked, remaining

NAMING = ("bounds", "climatology")
"""Attributes that name a variable of cell bounds."""

INHERITED = ("units", "calendar")
"""Attributes that bounds need not repeat."""


def align_bounds(checked: Checked, model: Checked) -> Checked:
    """Return a dataset whose cell bounds state units where those of a model do, and only there.

    Bounds with other units than their coordinate keep these.
    """
    aligned: dict[str, Variable] = {}
    for path, variable in checked.variables.items():
        own = {one.name: one for one in variable.attributes}
        for name in NAMING:
            bounds = _find_bounds(path, own.get(name), checked)
            wanted = None if bounds is None else model.variables.get(bounds)
            if bounds is not None and wanted is not None:
                new = _align(checked.variables[bounds], wanted, own)
                if new is not None:
                    aligned[bounds] = new
    if not aligned:
        return checked

    def change(path: str, group: Group) -> dict[str, Any]:
        """Return the variables of a group, bounds with their new attributes."""
        return {"variables": tuple(aligned.get(names.join(path, one.name), one) for one in group.variables)}

    return remaining(checked, map_groups(checked.dataset, change))


def _find_bounds(path: str, attribute: Attribute | None, checked: Checked) -> str | None:
    """Return the variable of numbers that an attribute of a coordinate names, in its group; None without one."""
    data: object = None if attribute is None else attribute.value.data
    data = data[0] if isinstance(data, tuple) and len(data) == 1 else data
    if attribute is None or attribute.value.type not in ("char", "string") or not isinstance(data, bytes):
        return None
    bounds = names.join(names.parent(path), names.from_bytes(data).strip())
    found = checked.variables.get(bounds)
    return bounds if found is not None and found.type in NUMBERS else None


def _align(bounds: Variable, model: Variable, coordinate: dict[str, Attribute]) -> Variable | None:
    """Return bounds that state units as those of the model do; None if they do already, or have units of their own."""
    stated = {one.name: one.value for one in bounds.attributes if one.name in INHERITED}
    wanted = {one.name for one in model.attributes if one.name in INHERITED}
    if ("units" in stated) == ("units" in wanted):
        return None
    if "units" in wanted:
        added = [coordinate[name] for name in INHERITED if name in wanted - stated.keys() and name in coordinate]
        return bounds.model_copy(update={"attributes": (*bounds.attributes, *added)})
    if any(name not in coordinate or coordinate[name].value != value for name, value in stated.items()):
        return None
    kept = tuple(one for one in bounds.attributes if one.name not in INHERITED)
    return bounds.model_copy(update={"attributes": kept})
