"""2.5.1 Missing data, valid and actual range of data."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.values import has_values, read_pieces
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-missing-data", "2.5.1")

RULES = (
    R.must("range", "`valid_range` is not present together with `valid_min` or `valid_max`.",
        "float v ; v:valid_range = 0.f, 1.f ; «v:valid_min = 0.f ;|»", "remove `valid_min` and `valid_max`"),
    R.must("fill-type", "`_FillValue` and `missing_value` have the type of their variable.",
        "float v ; v:missing_value = «-1|-1.f» ;",
        "write the value in the type of the variable"),
    R.must("actual-type", "`actual_range` has the type of its variable, or that of `scale_factor` and `add_offset`.",
        "float v ; v:actual_range = «1, 1|1.f, 1.f» ; data: v = 1 ;", "write the values in this type", since=(1, 7)),
    R.must("actual-range", "`actual_range` is the smallest and the largest value that is not missing.",
        "float v ; v:actual_range = «0.f|1.f», 1.f ; data: v = 1 ;", "write the smallest and the largest value",
        since=(1, 7)),
    R.must("actual-missing", "There is no `actual_range` if all values are missing.",
        "float v ; v:_FillValue = 0.f ; v:actual_range = «0.f, 0.f|1.f, 1.f» ; data: v = «0|1» ;",
        "remove the attribute", since=(1, 7)),
    R.must("actual-valid", "The values of `actual_range` are valid values.",
        "float v ; v:valid_min = «2.f|0.f» ; v:actual_range = 1.f, 1.f ; data: v = 1 ;",
        "correct the valid range, or the values", since=(1, 7)),
    R.should("fill-valid", "`_FillValue` is outside of the valid range.",
        "float v ; v:_FillValue = «1.f|9.f» ; v:valid_max = 2.f ;", "choose a fill value outside of the range"),
    R.should("fill-equal", "`missing_value` and `_FillValue` are equal if both are present.",
        "float v ; v:_FillValue = 9.f ; v:missing_value = «8.f|9.f» ;", "write the same value in both"),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find contradictions among the attributes of missing and valid values."""
    for variable in dataset.variables.values():
        attributes, path = variable.attributes, variable.path
        limits = [name for name in ("valid_min", "valid_max") if name in attributes]
        if "valid_range" in attributes and limits:
            text = f"`{path}` has `valid_range` and `{limits[0]}`"
            yield Breach("range", text, attributes[limits[0]])
        for name in ("_FillValue", "missing_value"):
            if name in attributes and not variable.has_type(name, variable.type):
                text = f"`{name}` of `{path}` has the type `{attributes[name].value.type}`, not `{variable.type}`"
                yield Breach("fill-type", text, attributes[name])
        yield from _find_fills(variable)
        if "actual_range" in attributes:
            yield from _find_actual(dataset, variable)


def _valid_range(variable: CFVariable) -> tuple[float, float]:
    """Return the smallest and the largest valid value as stored."""
    both = variable.numbers("valid_range")
    if len(both) == 2:
        return both[0], both[1]
    lowest, highest = variable.numbers("valid_min"), variable.numbers("valid_max")
    return (lowest[0] if lowest else -np.inf), (highest[0] if highest else np.inf)


def _find_fills(variable: CFVariable) -> Iterator[Breach]:
    fills, marks = variable.numbers("_FillValue"), variable.numbers("missing_value")
    low, high = _valid_range(variable)
    if fills and (low, high) != (-np.inf, np.inf) and low <= fills[0] <= high:
        text = f"`_FillValue` of `{variable.path}`, {fills[0]:g}, is a valid value"
        yield Breach("fill-valid", text, variable.attributes["_FillValue"])
    if fills and marks and fills[0] not in marks and not (fills[0] != fills[0] and marks[0] != marks[0]):
        text = f"`missing_value` of `{variable.path}` is {marks[0]:g}, and `_FillValue` {fills[0]:g}"
        yield Breach("fill-equal", text, variable.attributes["missing_value"])


def _find_actual(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node, actual, path = variable.attributes["actual_range"], variable.numbers("actual_range"), variable.path
    packing = variable.kind("scale_factor") or variable.kind("add_offset")
    expected = packing or variable.type
    if not variable.has_type("actual_range", expected):
        text = f"`actual_range` of `{path}` has the type `{node.value.type}`, not `{expected}`"
        yield Breach("actual-type", text, node)
    if len(actual) != 2:
        yield Breach("actual-range", f"`actual_range` of `{path}` has {node.value.count} values, not 2", node)
        return
    low, high = _valid_range(variable)
    scale, offset = ([*variable.numbers(name), other][0] for name, other in (("scale_factor", 1), ("add_offset", 0)))
    ends = sorted((low * scale + offset, high * scale + offset))
    if not (ends[0] <= actual[0] and actual[1] <= ends[1]):
        text = f"`actual_range` of `{path}`, {actual[0]:g} to {actual[1]:g}, is outside of the valid range"
        yield Breach("actual-valid", text, node)
    if variable.is_numeric and has_values(dataset, variable):
        lowest, highest = np.inf, -np.inf
        for values, missing in read_pieces(dataset, variable):
            if not missing.all():
                lowest, highest = min(lowest, values[~missing].min()), max(highest, values[~missing].max())
        if lowest > highest:
            text = f"`{path}` has `actual_range`, and all its values are missing"
            yield Breach("actual-missing", text, node)
        elif not _are_equal((lowest, highest), actual, exact=not packing):
            text = f"`actual_range` of `{path}` is {actual[0]:g} to {actual[1]:g}, not {lowest:g} to {highest:g}"
            yield Breach("actual-range", text, node)


def _are_equal(values: tuple[float, float], actual: list[float], *, exact: bool) -> bool:
    """Return whether two ranges are equal; unpacked values are rounded."""
    return values == tuple(actual) if exact else bool(np.allclose(values, actual, rtol=1e-5))


TOPIC = Topic(RULES, find)
