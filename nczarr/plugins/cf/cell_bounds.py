"""Units of cell bounds, which are those of their coordinate whether they state them or not (CF 7.1)."""

from __future__ import annotations

from nczarr import names
from nczarr.ast import Attribute, Variable
from nczarr.ast.types import is_number
from nczarr.plugins.common.nodes import replace_variables
from nczarr.semantics.checked import Checked, remaining

BOUNDS = ("bounds", "climatology")
"""Attributes that name a variable of cell bounds."""

INHERITED = ("units", "calendar")
"""Attributes that bounds need not repeat."""


def align_bounds(checked: Checked, model: Checked) -> Checked:
    """Return a dataset whose cell bounds state units where those of a model do, and only there.

    Bounds with other units than their coordinate keep these.
    """
    aligned: dict[str, Variable] = {}
    for path, variable in checked.variables.items():
        for name in BOUNDS:
            bounds = find_named(path, text_of(variable, name), checked)
            wanted = None if bounds is None else model.variables.get(bounds)
            if bounds is not None and wanted is not None:
                new = _align(checked.variables[bounds], wanted, {one.name: one for one in variable.attributes})
                if new is not None:
                    aligned[bounds] = new
    if not aligned:
        return checked
    return remaining(checked, replace_variables(checked.dataset, aligned))


def text_of(variable: Variable, name: str) -> str | None:
    """Return the text of an attribute; None if it is absent or not one text."""
    for attribute in variable.attributes:
        data = attribute.value.data
        if attribute.name == name:
            if isinstance(data, tuple) and len(data) == 1 and isinstance(data[0], bytes):
                data = data[0]
            return data.decode("utf-8", "replace") if isinstance(data, bytes) else None
    return None


def find_named(path: str, text: str | None, checked: Checked) -> str | None:
    """Return the variable of numbers that an attribute of the variable at `path` names; None without."""
    if text is None:
        return None
    fqn = names.join(names.parent(path), text.strip())
    found = checked.variables.get(fqn)
    return fqn if found is not None and is_number(found.type) else None


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
