"""xarray 2026.9.0: undecodable attributes, and faults with netCDF files, read through netCDF4-python 1.7.5.1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.ast import Attribute, CompoundType, Dimension, Group, OpaqueType, Variable, VlenType
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.diagnostics.report import CompileError
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import is_numeric
from nczarr.plugins.common.nodes import python_value
from nczarr.plugins.readers.rule import Finding, faults
from nczarr.semantics.checked import Checked

MOST = 1 << 20
"""Values of a coordinate that are read at most."""


def find_unsorted(checked: Checked) -> Iterator[Finding]:
    """Find coordinates that neither increase nor decrease throughout. Raises OSError."""
    for path, variable in checked.variables.items():
        shape = checked.shapes[path]
        if variable.dimensions != (path,) or not 1 < shape[0] <= MOST or not is_numeric(checked, path):
            continue
        try:
            values = read_outer(checked, path, [slice(0, shape[0], 1)])
        except CompileError:  # chunks that cannot be decoded are found by other rules, and by `--data`
            continue
        up, down = values[1:] > values[:-1], values[1:] < values[:-1]
        if up.all() or down.all():
            continue
        rises = up.sum() >= down.sum()
        place = int(np.argmin(up if rises else down)) + 1
        text = f"the values of `{path}` do not {'increase' if rises else 'decrease'}: "
        text += f"{values[place]!s} after {values[place - 1]!s}"
        is_ordered = not down.any() or not up.any()
        does = "finds several cells for one value, and refuses to align by it (`reindex`)" if is_ordered else ""
        remedy = f"sort all cells: `nczarr combine SRC DST --along {path[1:]} --sort`"
        if len(np.unique(values)) < len(values):
            remedy += ", with `--duplicates first` or `last` for equal values"
        yield Finding("unsorted-coordinate", "", "", text, does, remedy, variable.span)


UNITS = frozenset(  # cftime's, and xarray's nanoseconds
    "nanosecond nanoseconds microsecond microseconds microsec microsecs millisecond milliseconds millisec millisecs "
    "msec msecs ms "
    "second seconds sec secs s minute minutes min mins hour hours hr hrs h day days d".split()
)
CALENDARS = frozenset(
    "standard gregorian proleptic_gregorian tai noleap julian all_leap 365_day 366_day 360_day".split()
)
_LONG = frozenset({"nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day"})
_USUAL = frozenset({"standard", "gregorian", "proleptic_gregorian"})  # NumPy's times have these alone
_DATE = re.compile(r"\s*([+-]?[0-9]{1,9})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?(?![0-9-])")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def cf_faults(attributes: Mapping[str, Any], *, numeric: bool) -> Iterator[tuple[str, str]]:
    """Yield names and reasons of attributes that prevent decoding. `numeric`: the variable has numeric values."""
    units = attributes.get("units")
    if isinstance(units, str) and "since" in units:  # xarray's test of times
        why = _time_fault(units, attributes.get("calendar", "standard"), numeric=numeric)
        if why:
            yield "units", why
    for name in ("scale_factor", "add_offset"):
        value = attributes.get(name)
        single = value[0] if isinstance(value, list) and len(value) == 1 else value
        if name in attributes and single is not None and not isinstance(single, int | float):
            yield name, f"`{name}` is not a number"
    if not isinstance(attributes.get("coordinates", ""), str):
        yield "coordinates", "`coordinates` is not a string"


def _time_fault(units: str, calendar: Any, *, numeric: bool) -> str | None:
    """Return why times in these units cannot be decoded; None if their syntax is valid."""
    parts = re.match(r"(.+) since (.+)", units)  # xarray's pattern
    if parts is None:
        return "there is no unit before `since`, or no date after it"
    name = str(calendar).lower()
    if not isinstance(calendar, str) or name not in CALENDARS:
        return f"there is no calendar `{calendar}`"
    unit = parts[1].strip().lower()
    # cftime: `months` need months of equal length
    if unit not in UNITS and not (unit in ("month", "months") and name == "360_day"):
        return f"`{unit}` is not a time unit of constant length"
    if not numeric:
        return "the values are not numbers"
    date = _DATE.match(parts[2])
    whole = unit.removesuffix("s") not in _LONG or name not in _USUAL  # pandas does the others, and takes less
    if date is None or (whole and date[3] is None) or not _exists(date, name):
        return f"`{parts[2].strip()}` is not a date"
    return None


def _exists(date: re.Match[str], calendar: str) -> bool:
    """Return whether a calendar has the matched day; month and day may be missing."""
    if date[2] is None:
        return True
    year, month, day = int(date[1]), int(date[2]), int(date[3] or 1)
    # cftime: these three calendars have no year 0
    if not 1 <= month <= 12 or day < 1 or (year == 0 and calendar in ("standard", "gregorian", "julian")):
        return False
    if calendar == "360_day":
        return day <= 30
    if month == 2 and day == 29:
        return calendar in ("all_leap", "366_day") or (
            calendar not in ("noleap", "365_day") and _is_leap(year, calendar)
        )
    return day <= _DAYS[month - 1]


def _is_leap(year: int, calendar: str) -> bool:
    # the mixed calendar is Julian before October 1582
    old = calendar == "julian" or (calendar in ("standard", "gregorian") and year < 1582)
    return year % 4 == 0 and (old or year % 100 != 0 or year % 400 == 0)


SEEN = "2026.9.0 and netCDF4-python 1.7.5.1"
REFUSED = "cannot open its group"

FAULTS = faults(
    SEEN,
    ("hidden-group", "shows only the root", "open each group with `group=`, or all with `open_datatree`"),
    ("skipped-type", "skips it with a warning",
     "write another type; `nczarr convert SRC DST --to zarr3 --allow-loss lost-type` stores them as arrays"),
    ("unread-attribute", REFUSED, "write numbers and strings"),
    ("doubled-dimension", "reads it with a warning, and refuses most operations on it",
     "write a different dimension for each axis"),
    ("clashing-scalar", REFUSED, "write another name for one of them"),
    ("dropped-dimension", "drops it", "nothing is required: no variable has the dimension"),
    ("rounded-integer", "reads doubles, which are not exact beyond 2^53",
     "open it with `mask_and_scale=False`, or write no `_FillValue`"),
    ("undecodable-attribute", REFUSED, "write one number, and a string for `coordinates`"),
    ("undecodable-time", REFUSED,
     "write `days since 2000-01-01` and the like, or open it with `decode_times=False`"),
    ("hidden-attribute", "reads booleans", "write another name for it"),
    ("unsorted-coordinate", "refuses ranges of it (`sel`), and to join files by it",
     "sort all cells: `nczarr combine SRC DST --along NAME --sort`"),
)  # fmt: skip


def _at(fault: str, node: Variable | Attribute | Group | Dimension, what: str, does: str = "") -> Finding:
    return Finding(fault, "", "", what, does, span=node.span)


def find_groups(checked: Checked) -> Iterator[Finding]:
    """Find groups below the root that contain variables."""
    for path, group in checked.groups.items():
        is_top = path != "/" and names.parent(path) == "/"
        if is_top and any(fqn.startswith(path + "/") for fqn in checked.variables):
            yield _at("hidden-group", group, f"there are variables in group `{path}`")


def _is_skipped(type_name: str, checked: Checked) -> bool:
    """Return whether netCDF4-python does not know the type of a variable."""
    match checked.types.get(type_name):
        case OpaqueType():
            return True
        case VlenType(base=base):
            return base == "string" or base in checked.types
        case CompoundType(fields=fields):
            return any(not _is_field(field.type, checked) for field in fields)
        case _:
            return False


def _is_field(type_name: str, checked: Checked) -> bool:
    inner = checked.types.get(type_name)
    if isinstance(inner, CompoundType):
        return not _is_skipped(type_name, checked)
    return inner is None and type_name != "string"


def find_types(checked: Checked) -> Iterator[Finding]:
    """Find variables that are skipped for their type, and attributes whose type stops xarray."""
    skipped = {path for path, variable in checked.variables.items() if _is_skipped(variable.type, checked)}
    kinds = {"opaque": "opaque bytes", "vlen": "lists of non-numeric values"}
    for path, variable in checked.variables.items():
        if path in skipped:
            kind = kinds.get(checked.types[variable.type].kind, "records with a non-numeric field")
            yield _at("skipped-type", variable, f"`{path}` is of the type `{variable.type}`, {kind}")
    owners: list[tuple[str, Group | Variable]] = [*checked.groups.items(), *checked.variables.items()]
    for path, attribute in ((path, attribute) for path, owner in owners for attribute in owner.attributes):
        kind = attribute.value.type
        text = f"attribute `{attribute.name}` of `{path}` is of the type `{kind}`"
        if path in skipped:
            continue
        if isinstance(checked.types.get(kind), VlenType) or _is_skipped(kind, checked):
            yield _at("unread-attribute", attribute, text)
        elif isinstance(checked.types.get(kind), CompoundType) and attribute.name == "_FillValue":
            yield _at("unread-attribute", attribute, text, "cannot read the variable")


def find_dimensions(checked: Checked) -> Iterator[Finding]:
    """Find dimensions that a variable repeats, that no variable has, or that a scalar has the name of."""
    axes = {
        path: [reference for reference in variable.dimensions if isinstance(reference, str)]
        for path, variable in checked.variables.items()
    }
    used = {
        (names.parent(path), names.last(reference)) for path, references in axes.items() for reference in references
    }
    for path, variable in checked.variables.items():
        if len(set(axes[path])) < len(axes[path]):
            yield _at("doubled-dimension", variable, f"two axes of `{path}` have the same name")
        if not variable.dimensions and (names.parent(path), variable.name) in used:
            yield _at("clashing-scalar", variable, f"scalar `{path}` has the name of a dimension")
    with_variables = {reference for references in axes.values() for reference in references}
    for path, dimension in checked.dimensions.items():
        if path not in with_variables:
            yield _at("dropped-dimension", dimension, f"no variable has the dimension `{path}`")


def find_attributes(checked: Checked) -> Iterator[Finding]:
    """Find attributes that change or prevent decoding."""
    for path, variable in checked.variables.items():
        attributes = {attribute.name: attribute for attribute in variable.attributes}
        plain = {name: python_value(attribute.value) for name, attribute in attributes.items()}
        missing = next((node for name, node in attributes.items() if name in MISSING_MARKS), None)
        if variable.type in ("int64", "uint64") and missing is not None:
            yield _at("rounded-integer", missing, f"`{path}` has integers of 64 bits and a missing value")
        numeric = variable.type not in ("char", "string") and variable.type not in checked.types
        for name, why in cf_faults(plain, numeric=numeric):
            fault, text = "undecodable-attribute", f"{why}, at `{path}`"
            if name == "units":
                fault, text = "undecodable-time", f"`{path}` is in `{plain[name]}`, and {why}"
            yield _at(fault, attributes[name], text)
        if plain.get("dtype") == "bool" and variable.type not in checked.types:
            text = f"an attribute of `{path}` is `dtype`, of the value `bool`"
            yield _at("hidden-attribute", attributes["dtype"], text)


FIND = (find_groups, find_types, find_dimensions, find_attributes, find_unsorted)
