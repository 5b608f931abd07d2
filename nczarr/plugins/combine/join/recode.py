"""Times of all sources in the same units and type: exact numbers, or an error.

A source that counts its hours from its own first day has other `units` than the
next. Its times are read, and become numbers of one unit since one date. Cell
bounds have the units of their coordinate. Writers such as xarray store whole
numbers as integers, and others as floats: the type is that of the first source.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout, Parts, convert_fill, numpy_dtype
from nczarr.arrays.values import time_units
from nczarr.arrays.values.parts import descr
from nczarr.arrays.values.time_units import CALENDARS, Units
from nczarr.ast import Attribute, Constant, Group, Variable
from nczarr.ast.dataset import MISSING_MARKS, building, map_groups
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import Report
from nczarr.plugins.cf.cell_bounds import BOUNDS, find_named, text_of
from nczarr.plugins.combine.join.agreement import Recoding
from nczarr.plugins.combine.join.packing import numbers_of
from nczarr.semantics.checked import Checked, remaining, whole_parts

IN_UNITS = ("valid_min", "valid_max", "valid_range", "actual_range", "scale_factor", "add_offset")
"""Attributes with numbers in the units of their variable."""


STANDARD = "standard"
"""The calendar of times without the attribute `calendar`."""

MODERN = {STANDARD, time_units.GREGORIAN}
"""Calendars that differ only before 1582-10-15."""

SWITCH = time_units.date("1582-10-15", time_units.GREGORIAN)
"""The first second in which they agree, in seconds since 1970-01-01."""

APART = "join the sources of each calendar apart"


class _Times(NamedTuple):
    """Times of one variable."""

    given: Units
    wanted: Units
    """The requested ones."""
    type: str
    """Type of the first source."""
    fill: Constant | None
    """Value of unwritten cells in this type."""
    marks: tuple[Attribute, ...]
    """Attributes of the first source that mark missing values."""
    follower: bool
    """True for cell bounds without units of their own."""
    calendar: tuple[Attribute, ...]
    """Attribute `calendar` of the first source, if it has one."""

    def has_form_of(self, variable: Variable) -> bool:
        """Return whether a variable has this type and these marks."""
        return self.type == variable.type and self.marks == _list_named(variable, MISSING_MARKS)


def is_valid(recoding: Recoding, report: Report) -> bool:
    """Return whether the request names units of dates; reports inexact-times otherwise."""
    if recoding.units is None or time_units.dates(recoding.units, STANDARD) is not None:
        return True
    helps = ["write them as in `hours since 1970-01-01`"]
    report.error("inexact-times", f"`{recoding.units}` are no units of dates", helps=helps)
    return False


def recode(name: str, checked: Checked, first: Checked | None, recoding: Recoding, report: Report) -> Checked:
    """Return a source whose times have the requested units.

    `first`: the first source, recoded; None if this is it. Reports
    inexact-times for times that are no such numbers. Raises OSError.
    """
    changes = dict(_changes(checked, first, recoding, report, name))
    if not changes:
        return checked
    parts: dict[str, Parts] = {}
    for path in filter(checked.parts.__contains__, changes):
        recoded_parts = _recode_parts(name, path, checked, changes[path], report)
        if recoded_parts is not None:
            parts[path] = recoded_parts
    with building():

        def change(path: str, group: Group) -> dict[str, Any]:
            """Return the variables with their new units."""
            return {
                "variables": tuple(
                    _declare(variable, changes.get(names.join(path, variable.name))) for variable in group.variables
                )
            }

        tree = map_groups(checked.dataset, change)
        fills = dict(checked.fills)
        fills.update({path: one.fill for path, one in changes.items() if not one.has_form_of(checked.variables[path])})
        return remaining(checked._replace(fills=fills), tree)._replace(parts={**checked.parts, **parts})


def _changes(
    checked: Checked, first: Checked | None, recoding: Recoding, report: Report, name: str
) -> Iterator[tuple[str, _Times]]:
    """Yield the variables with other units or another type than the requested ones, and their cell bounds."""

    def describe(path: str, units: Units, target: Units, *, follower: bool) -> _Times:
        """Return the times of a variable, in the type and with the marks of the first source."""
        model = checked if first is None or not _is_number_in(first, path) else first
        variable = model.variables[path]
        attributes = _list_named(variable, MISSING_MARKS), follower, _list_named(variable, ("calendar",))
        return _Times(units, target, variable.type, model.fills[path], *attributes)

    calendars = dict(_list_calendars(checked))
    for path, variable in checked.variables.items():
        units = units_of(variable, calendars.get(path))
        target = units if units is None else _target(path, units, variable, first, recoding)
        if units is None or target is None:
            continue
        times = describe(path, units, target, follower=False)
        followers = {}
        for attribute in BOUNDS:
            bounds = find_named(path, text_of(variable, attribute), checked)
            if bounds is not None and units_of(checked.variables[bounds]) is None:
                followers[bounds] = describe(bounds, units, target, follower=True)
        every = {path: times, **followers}
        both = {CALENDARS[(one.calendar or STANDARD).lower()] for one in (units, target)}
        modern = (_is_modern(checked, each, units) for each in checked.parts.keys() & every)
        if len(both) > 1 and not (both == MODERN and all(modern)):
            text = f"`{path}` has dates of the calendar `{units.calendar}` in `{name}`, `{target.calendar}` before"
            report.error("inexact-times", text, helps=[APART])
            continue
        if target.text == units.text and target.start == units.start:
            for each, one in every.items():
                own = checked.variables[each]
                if not one.has_form_of(own) or one.calendar != _list_named(own, ("calendar",)):
                    yield each, one
            continue
        odd = next((attribute.name for attribute in variable.attributes if attribute.name in IN_UNITS), None)
        if odd is not None:
            report.error("inexact-times", f"`{path}` has the attribute `{odd}` in `{name}`, which is not recoded")
            continue
        yield from every.items()


def _is_modern(checked: Checked, path: str, units: Units) -> bool:
    """Return whether all times of a variable are dates that the calendars of `MODERN` count alike. Raises OSError."""
    values, _, missing = _read(checked, path)
    finite = values[~missing & np.isfinite(values)]
    return not finite.size or Fraction(finite.min().item()) * units.unit + units.start >= SWITCH


def _list_named(variable: Variable, wanted: Container[str]) -> tuple[Attribute, ...]:
    """Return the attributes of these names, sorted by name."""
    return tuple(sorted((one for one in variable.attributes if one.name in wanted), key=lambda one: one.name))


def _is_number_in(checked: Checked, path: str) -> bool:
    return path in checked.variables and is_number(checked.variables[path].type)


def _target(path: str, units: Units, variable: Variable, first: Checked | None, recoding: Recoding) -> Units | None:
    """Return the requested units of a variable; None if it keeps its own."""
    if recoding.units is not None:
        return time_units.dates(recoding.units, units.calendar or STANDARD) if variable.dimensions else None
    other = None if first is None else first.variables.get(path)
    return None if other is None or first is None else units_of(other, dict(_list_calendars(first)).get(path))


def units_of(variable: Variable, calendar: str | None = None) -> Units | None:
    """Return the units of a variable of dates; None for others. `calendar`: the one of a variable without its own."""
    text = text_of(variable, "units")
    if text is None or not is_number(variable.type):
        return None
    return time_units.dates(text, text_of(variable, "calendar") or calendar or STANDARD)


def _list_calendars(checked: Checked) -> Iterator[tuple[str, str]]:
    """Yield the variables of cell bounds with the calendar of their coordinate."""
    for path, variable in checked.variables.items():
        calendar = text_of(variable, "calendar")
        for attribute in BOUNDS if calendar is not None else ():
            bounds = find_named(path, text_of(variable, attribute), checked)
            if bounds is not None and calendar is not None:
                yield bounds, calendar


def _declare(variable: Variable, times: _Times | None) -> Variable:
    """Return a variable with its new units and type."""
    if times is None:
        return variable
    if not times.has_form_of(variable):
        rest = tuple(attribute for attribute in variable.attributes if attribute.name not in MISSING_MARKS)
        variable = variable.model_copy(update={"type": times.type, "attributes": (*rest, *times.marks)})
    if times.follower:
        return variable
    attributes = [
        Attribute(name=attribute.name, value=Constant.text(times.wanted.text.encode()))
        if attribute.name == "units"
        else attribute
        for attribute in variable.attributes
        if attribute.name != "calendar" or attribute in times.calendar
    ]
    attributes += [attribute for attribute in times.calendar if attribute not in attributes]
    return variable.model_copy(update={"attributes": tuple(attributes)})


def _read(checked: Checked, path: str) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the values of a variable in native byte order, which are NaN, and which are missing. Raises OSError."""
    source = whole_parts(checked, path)[""]
    dtype = numpy_dtype(source.layout.dtype).newbyteorder("=")
    values = source.read(all_of(source.layout.shape)).astype(dtype)
    nan = np.isnan(values) if dtype.kind == "f" else np.zeros(values.shape, bool)
    missing = nan.copy()
    for mark in _marks(path, checked):
        missing |= values == mark
    return values, nan, missing


def _recode_parts(name: str, path: str, checked: Checked, times: _Times, report: Report) -> Parts | None:
    """Return the times of a variable in the requested units; None after an error."""
    source = whole_parts(checked, path)[""]
    values, nan, missing = _read(checked, path)
    element, target = source.layout.dtype, values.dtype
    has_form = times.has_form_of(checked.variables[path])
    if times.type != checked.variables[path].type:
        element, target = descr(times.type, {}), numpy_dtype(descr(times.type, {})).newbyteorder("=")
        recoded_values, fault = _in_type(values, missing, times, target)
    else:
        recoded_values, fault = in_units(values, missing, times.given, times.wanted)
    marks = [numbers_of(mark.value) for mark in times.marks]
    if not has_form and ((missing & ~nan).any() or any(np.isin(recoded_values, numbers).any() for numbers in marks)):
        text = f"`{path}` has missing values in `{name}`, which are marked in another way than before"
        report.error("inexact-times", text, helps=["leave the source out"])
        return None
    if fault is not None:
        text = f"`{path}`: {fault} in `{name}` is no exact {target} in `{times.wanted.text}`"
        report.error("inexact-times", text, helps=[_advise(values, missing, times.given)])
        return None
    fill = source.layout.fill
    if not has_form:
        data = None if times.fill is None else times.fill.data
        fill = convert_fill(data if isinstance(data, bytes) else None, element)
    layout = Layout(element, values.shape, values.shape, fill=fill)
    return {"": ArrayInMemory(layout, recoded_values.astype(numpy_dtype(element)))}


FINER_UNITS = "give finer units with `--units`; an extended target keeps its own: combine both into a new one"


def _advise(values: NDArray[Any], missing: NDArray[np.bool_], units: Units) -> str:
    """Return what to do about times that are not exact in other units: arguments as those of `in_units`."""
    seconds = values[~missing].astype("f8") * float(units.unit)
    if not missing.any() and (seconds == np.floor(seconds)).all() and (np.abs(seconds) < 2**53).all():
        return FINER_UNITS
    return "store these times as whole numbers of seconds, minutes or hours first: fractions are exact in few units"


def _in_type(
    values: NDArray[Any], missing: NDArray[np.bool_], times: _Times, dtype: np.dtype[Any]
) -> tuple[NDArray[Any], str | None]:
    """Return times in other units and another type, and the first that is not exact as text.

    Arguments as those of `in_units`; `dtype`: the new type, in native byte order.
    A missing value has no equal in another type, except NaN in floats.
    """
    wide = values.astype(np.promote_types(values.dtype, dtype))
    numbers = ~(np.isnan(values) if "f" == values.dtype.kind == dtype.kind else np.zeros(values.shape, bool))
    wrong = numbers & (missing | (wide.astype(values.dtype) != values))
    recoded, fault = in_units(wide, missing, times.given, times.wanted)
    if fault is not None and not wrong.any():
        return recoded, fault
    with np.errstate(invalid="ignore", over="ignore"):
        narrow = recoded.astype(dtype)
        wrong |= numbers & (narrow.astype(wide.dtype) != recoded)
    return narrow, f"{values[wrong][0].item()} {times.given.text}" if wrong.any() else None


def _marks(path: str, checked: Checked) -> Iterator[Any]:
    """Yield the numbers that mark missing values of a variable."""
    variable = checked.variables[path]
    attributes = [attribute.value for attribute in variable.attributes if attribute.name == "missing_value"]
    for constant in (checked.fills[path], *attributes):
        yield from numbers_of(constant)


def in_units(
    values: NDArray[Any], missing: NDArray[np.bool_], units: Units, target: Units
) -> tuple[NDArray[Any], str | None]:
    """Return times in other units, and the first that is not exact as text.

    `values`: integers or floats in native byte order, any shape; the result has
    the same dtype and shape. `missing`: the values that stay as they are.
    """
    scale, shift = units.unit / target.unit, (units.start - target.start) / target.unit
    out, skipped = values.copy(), missing | (np.isinf(values) if values.dtype.kind == "f" else False)
    quick = _whole(values[~skipped], scale, shift)
    if quick is not None:
        out[~skipped] = quick
        return out, None
    flat = out.reshape(-1)
    for place in np.flatnonzero(~skipped).tolist():
        value = flat[place].item()
        exact = _exact(Fraction(value) * scale + shift, values.dtype)
        if exact is None:
            return out, f"{value} {units.text}"
        flat[place] = exact
    return out, None


def _whole(values: NDArray[Any], scale: Fraction, shift: Fraction) -> NDArray[Any] | None:
    """Return whole numbers times `scale` plus `shift`, computed as 64-bit integers; None unless all are exact."""
    if values.dtype.kind == "f" and not (np.abs(values) < 2**53).all():
        return None
    if values.dtype == np.uint64 and values.size and int(values.max()) >= 2**63:
        return None
    counts = values.astype("i8")
    if (counts != values).any():
        return None
    whole = scale.denominator * shift.denominator
    slope, offset = scale.numerator * shift.denominator, shift.numerator * scale.denominator
    most = max((abs(int(bound)) for bound in (counts.min(initial=0), counts.max(initial=0))), default=0)
    if most * abs(slope) + abs(offset) >= 2**63 or whole >= 2**63:
        return None
    scaled = counts * slope + offset
    if (scaled % whole).any():
        return None
    scaled //= whole
    if values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        fits = not scaled.size or (int(scaled.min()) >= int(limits.min) and int(scaled.max()) <= int(limits.max))
        return scaled.astype(values.dtype) if fits else None
    cast = scaled.astype(values.dtype)
    is_exact = np.isfinite(cast).all() and (np.abs(scaled) <= 2**53).all() and (cast.astype("i8") == scaled).all()
    return cast if is_exact else None


def _exact(value: Fraction, dtype: np.dtype[Any]) -> Any:
    """Return a number of this dtype that equals `value`; None without one."""
    if dtype.kind == "f":
        try:
            number = dtype.type(float(value))
        except OverflowError:
            return None
        return number if np.isfinite(number) and Fraction(float(number)) == value else None
    limits = np.iinfo(dtype)
    whole = value.denominator == 1 and int(limits.min) <= value.numerator <= int(limits.max)
    return value.numerator if whole else None
