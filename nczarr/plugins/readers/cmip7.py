"""Demands of CMIP7 on the variables of a file: types, missing values, times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.ast import Attribute, Constant, Group, Variable
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.ast.plain_json import plain
from nczarr.diagnostics.report import Report
from nczarr.semantics.checked import Checked, find_coordinates

MISSING = 1e20
"""Missing value of data variables."""


class UnmetDemand(NamedTuple):
    """A demand that a dataset does not meet."""

    what: str
    """Description of the fault."""
    node: Group | Variable | Attribute
    """Its place in the tree."""
    required: str
    """Type, value or unit that CMIP7 demands."""


def report_unmet(checked: Checked, report: Report) -> None:
    """Report, as warnings, what CMIP7 does not accept of variables: unmet-requirement. Raises OSError."""
    for fault in find_unmet_demands(checked):
        text = f"{fault.what}: CMIP7 demands `{fault.required}`"
        report.warning("unmet-requirement", text, fault.node.span)


def find_data_variable(checked: Checked) -> str | None:
    """Return the FQN of the variable that the global attribute `variable_id` names; None without one."""
    name = _read_attributes(checked.groups["/"]).get("variable_id")
    path = f"/{name}"
    return path if isinstance(name, str) and path in checked.variables else None


def _read_attributes(owner: Group | Variable) -> Mapping[str, Any]:
    return {attribute.name: plain(attribute.value).value for attribute in owner.attributes}


def find_unmet_demands(checked: Checked) -> Iterator[UnmetDemand]:
    """Yield the demands on variables that a dataset does not meet. Reads the times; raises OSError."""
    path = find_data_variable(checked)
    if path is None:
        text = "the global attribute `variable_id` does not name a variable of the root"
        yield UnmetDemand(text, checked.groups["/"], "variable_id")
    else:
        yield from _check_data(path, checked.variables[path])
    for name in find_coordinates(checked):
        variable = checked.variables[name]
        if variable.type not in ("double", "char", "string", "int", "int64"):
            yield UnmetDemand(f"coordinate `{name}` has the type `{variable.type}`", variable, "double")
    if "/time" in checked.variables:
        yield from _check_time(checked)


def _check_data(path: str, variable: Variable) -> Iterator[UnmetDemand]:
    """Yield the demands on a data variable that are not met."""
    if variable.type != "float":
        yield UnmetDemand(f"data variable `{path}` has the type `{variable.type}`", variable, "float")
        return
    attributes = {attribute.name: attribute for attribute in variable.attributes}
    for name in MISSING_MARKS:
        attribute = attributes.get(name)
        if attribute is None:
            yield UnmetDemand(f"`{path}` has no attribute `{name}`", variable, f"{name} = {MISSING:g}f")
        elif not _is_missing(attribute.value):
            yield UnmetDemand(f"`{name}` of `{path}` has another value", attribute, f"{MISSING:g}f")


def _is_missing(value: Constant) -> bool:
    return value.type == "float" and value.count == 1 and np.float32(value.as_numbers()[0]) == np.float32(MISSING)


def _check_time(checked: Checked) -> Iterator[UnmetDemand]:
    """Yield the demands on times that are not met: units of days, increasing values."""
    variable, source = checked.variables["/time"], checked.parts.get("/time", {}).get("")
    units = _read_attributes(variable).get("units")
    if not isinstance(units, str) or not units.startswith("days since "):
        yield UnmetDemand(f"the units of `/time` are `{units}`", variable, "days since …")
    if source is not None and len(source.layout.shape) == 1:
        values = source.read((slice(0, source.layout.shape[0]),))
        if values.dtype.kind in "iuf" and not (values[1:] > values[:-1]).all():
            yield UnmetDemand("the values of `/time` do not increase", variable, "increasing times")
