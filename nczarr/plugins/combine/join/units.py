"""Units of all sources: those of most of them, or requested ones, into which values are converted.

    sources ─ plan_units ─> units of each variable that has several ─ convert_units ─> each source, when it is read

UDUNITS says which units can be converted. Packed numbers stay as they are: their `scale_factor` and `add_offset`
change. Integers must be integers in the new units, or become floats if another source has them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from nczarr import names
from nczarr.arrays.sources.source import ArraySource, Parts, convert_fill, numpy_dtype
from nczarr.arrays.values.parts import descr
from nczarr.ast import Attribute, Constant, Variable
from nczarr.ast.dataset import MISSING_MARKS, building
from nczarr.ast.types import ATOMIC, is_number
from nczarr.ast.values import shortest
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.plugins.cf.cell_bounds import BOUNDS, find_named, text_of
from nczarr.plugins.cf.udunits import LinearConversion, find_conversion, find_unit_system
from nczarr.plugins.combine.arrays.repack import UnitsConverted
from nczarr.plugins.combine.join.agreement import WantedUnits
from nczarr.plugins.combine.join.packing import LIMITS, numbers_of, packing_of
from nczarr.plugins.combine.join.recode import units_of
from nczarr.plugins.common.nodes import replace_variables
from nczarr.semantics.checked import Checked, remaining

MAJORITY = "majority"
"""Request for the units of most sources."""

SHOWN = 3
"""Maximum sources in a note."""


def _conversion_of(variable: Variable, given: str, wanted: str) -> LinearConversion | None:
    """Return the conversion of a variable's values; differences of temperatures have no offset."""
    found = find_conversion(given, wanted)
    words = f"{text_of(variable, 'units_metadata')} {text_of(variable, 'cell_methods')}"
    is_difference = re.search(r"temperature: difference|: (standard_deviation|range)\b", words)
    return found if found is None or not is_difference else found._replace(offset=Fraction(0))


# ---- plan ------------------------------------------------------------------------------------------------------------
class _Use(NamedTuple):
    """One unit of one variable."""

    variable: Variable
    """The variable as the first source with it has it."""
    fill: Constant | None
    sources: list[str]
    """Names of the sources with it."""


def plan_units(
    units: str, sources: Iterable[tuple[str, Checked]], report: Report, *, extends: bool = False
) -> tuple[dict[str, WantedUnits], Diagnostic | None]:
    """Return the units of variables for which sources have several, and the plan as a note; reports inexact-units.

    `units`: those of all, or `majority`; `extends`: the first source is a target that keeps its own. Raises OSError.
    """
    wanted: dict[str, WantedUnits] = {}
    notes: list[str] = []
    for path, uses in _collect_uses(sources).items():
        chosen = _choose_units(uses, extends=extends) if units == MAJORITY else units
        conversions = {
            text: found
            for text, use in uses.items()
            if text != chosen and (found := _conversion_of(use.variable, text, chosen)) is not None
        }
        if len(uses) < 2 or not conversions:
            continue
        floats = (use for text, use in uses.items() if text in {*conversions, chosen} and _is_plain_float(use.variable))
        first_float = next(floats, None)
        wanted[path] = WantedUnits(chosen) if first_float is None else _want_floats(chosen, first_float)
        for text, conversion in conversions.items():
            found_in = names.list_first(uses[text].sources, SHOWN)
            notes.append(f"`{path}`: {text} becomes {chosen}, {conversion}, in {found_in}")
    if notes:
        text = "values are converted to other units"
        return wanted, Diagnostic("converted-units", Severity.NOTE, text, notes=tuple(notes))
    if units != MAJORITY:
        _report_unused_units(units, report)
    return wanted, None


def _collect_uses(sources: Iterable[tuple[str, Checked]]) -> dict[str, dict[str, _Use]]:
    """Return the units that each variable has in the sources, by FQN and text; those of times are counted elsewhere."""
    uses: dict[str, dict[str, _Use]] = {}
    for name, checked in sources:
        for path, variable in checked.variables.items():
            text = text_of(variable, "units") if is_number(variable.type) else None
            if text is not None and units_of(variable) is None:
                use = uses.setdefault(path, {}).setdefault(text, _Use(variable, checked.fills[path], []))
                use.sources.append(name)
    return uses


def _choose_units(uses: Mapping[str, _Use], *, extends: bool) -> str:
    """Return the units of the first source if it is a target that is extended, else of most sources."""
    return next(iter(uses)) if extends else max(uses, key=lambda text: len(uses[text].sources))


def _report_unused_units(units: str, report: Report) -> None:
    """Report inexact-units, because nothing is converted to them, with the reason."""
    text, helps = f"no variable has units in some sources that convert to `{units}`, and others elsewhere", []
    system = find_unit_system()
    if system is None:
        text, helps = "units are converted by cf-units, which is not installed", ["`pip install 'nczarr[cf]'`"]
    elif not system.is_valid(units):
        text = f"`{units}` are neither units of dates, `hours since 1970-01-01`, nor units that UDUNITS knows"
    report.error("inexact-units", text, helps=helps)


def _is_plain_float(variable: Variable) -> bool:
    packed = any(one.name in ("scale_factor", "add_offset") for one in variable.attributes)
    return ATOMIC[variable.type].is_float and not packed


def _want_floats(units: str, use: _Use) -> WantedUnits:
    """Return these units with the floating-point type that integers of other sources get."""
    marks = tuple(one for one in use.variable.attributes if one.name in MISSING_MARKS)
    return WantedUnits(units, use.variable.type, marks, use.fill)


# ---- sources ---------------------------------------------------------------------------------------------------------
def convert_units(name: str, checked: Checked, table: Mapping[str, WantedUnits], report: Report) -> Checked:
    """Return a source in the planned units, with its cell bounds; reports inexact-units. Raises OSError."""
    declared: dict[str, Variable] = {}
    parts: dict[str, Parts] = {}
    fills: dict[str, Constant | None] = {}
    for path, wanted in table.items():
        variable = checked.variables.get(path)
        given = None if variable is None else text_of(variable, "units")
        conversion = None if variable is None or given is None else _conversion_of(variable, given, wanted.units)
        if variable is None or conversion is None or given == wanted.units:
            continue
        for fqn in (path, *_list_followers(path, checked)):
            made = _convert_variable(name, fqn, checked, wanted, conversion, report)
            if made is not None:
                declared[fqn], parts[fqn], fills[fqn] = made
    if not declared:
        return checked
    with building():
        tree = replace_variables(checked.dataset, declared)
        own = {path: array for path, array in parts.items() if array}
        return remaining(checked._replace(fills={**checked.fills, **fills}), tree)._replace(
            parts={**checked.parts, **own}
        )


def _list_followers(path: str, checked: Checked) -> Iterator[str]:
    """Yield the cell bounds of a coordinate that have no units of their own."""
    for attribute in BOUNDS:
        bounds = find_named(path, text_of(checked.variables[path], attribute), checked)
        if bounds is not None and text_of(checked.variables[bounds], "units") is None:
            yield bounds


def _convert_variable(
    name: str, path: str, checked: Checked, wanted: WantedUnits, conversion: LinearConversion, report: Report
) -> tuple[Variable, Parts, Constant | None] | None:
    """Return a variable in other units, its array if it is another one, and its fill value; None after an error."""
    variable, fill = checked.variables[path], checked.fills[path]
    attributes = {one.name: one for one in variable.attributes}
    if "units" in attributes:
        attributes["units"] = Attribute(name="units", value=Constant.text(wanted.units.encode()))
    where, parts, kind = f"`{path}` in `{name}`", checked.parts.get(path, {}), variable.type
    packed = any(one in attributes for one in ("scale_factor", "add_offset"))
    becomes_float = not packed and not ATOMIC[kind].is_float and wanted.type is not None
    if conversion.is_identity and not becomes_float:
        parts = {}
    elif packed:
        _convert_packing(attributes, variable.type, conversion)
        parts = {}
    else:
        marks = wanted.marks if becomes_float else ()
        if becomes_float and wanted.type is not None:
            kind, fill = wanted.type, wanted.fill
            attributes = {key: one for key, one in attributes.items() if key not in MISSING_MARKS}
            attributes |= {one.name: one for one in marks}
        made = {key: _convert_array(source, variable, kind, marks, fill, conversion) for key, source in parts.items()}
        wrong = next((bad for source in made.values() if (bad := source.find_wrong()) is not None), None)
        parts = dict(made)
        if wrong is not None:
            what = f"no {kind} in `{wanted.units}` ({conversion}), or the mark of missing values"
            text = f"{wrong} of {where} is {what}"
            helps = [
                "give one source a floating-point type first, which the others get too",
                "leave it out with `--exclude`",
            ]
            report.error("inexact-units", text, helps=helps)
            return None
    if not _convert_limits(attributes, kind, packed, conversion):
        report.error("inexact-units", f"the limits of {where} have no equal in `{wanted.units}`")
        return None
    return variable.model_copy(update={"type": kind, "attributes": tuple(attributes.values())}), dict(parts), fill


def _convert_array(
    source: ArraySource,
    variable: Variable,
    kind: str,
    marks: tuple[Attribute, ...],
    fill: Constant | None,
    conversion: LinearConversion,
) -> UnitsConverted:
    """Return an array of plain numbers in other units, as numbers of a type with some marks."""
    old = packing_of(variable, None).numbers
    if kind == variable.type:
        return UnitsConverted(source, conversion, old, old.element, None, source.layout.fill)
    element = str(descr(kind, {}))
    mark = next((number for one in marks for number in numbers_of(one.value)), float("nan"))
    data = fill.data if fill is not None and isinstance(fill.data, bytes) else None
    return UnitsConverted(source, conversion, old, element, mark, convert_fill(data, numpy_dtype(element).str))


def _convert_packing(attributes: dict[str, Attribute], kind: str, conversion: LinearConversion) -> None:
    """Change scale and offset, as decimals (273.15 K is 0 degC, not -2.3e-14), so that stored numbers stay."""
    scale, offset = attributes.get("scale_factor"), attributes.get("add_offset")
    both = {
        "scale_factor": (scale, conversion.factor * (_as_decimal(scale.value) if scale else 1)),
        "add_offset": (offset, conversion.factor * (_as_decimal(offset.value) if offset else 0) + conversion.offset),
    }
    for name, (old, number) in both.items():
        if old is not None or number != (1 if name == "scale_factor" else 0):
            attributes[name] = Attribute(name=name, value=_constant(old.value.type if old else "double", number))


def _constant(kind: str, number: Fraction) -> Constant:
    """Return a number in its type if this is exact, else as a double."""
    value = Constant.numbers(kind, [float(number)]) if ATOMIC[kind].is_float else None
    return value if value and _as_decimal(value) == number else Constant.numbers("double", [float(number)])


def _as_decimal(constant: Constant) -> Fraction:
    """Return the shortest decimal that reads back to a number."""
    number = numbers_of(constant)[0]
    return Fraction(shortest(number, constant.type) if ATOMIC[constant.type].is_float else number)


def _convert_limits(attributes: dict[str, Attribute], kind: str, packed: bool, conversion: LinearConversion) -> bool:
    """Convert attributes with values in the units; return whether all have an equal in their type.

    Limits of packed numbers are stored numbers.
    """
    for name in (*LIMITS, "actual_range"):
        one = attributes.get(name)
        if one is None or not is_number(one.value.type) or (packed and name in LIMITS and one.value.type == kind):
            continue
        numbers = [conversion.apply(number) for number in numbers_of(one.value)]
        is_float = ATOMIC[one.value.type].is_float
        if not is_float and any(number.denominator != 1 for number in numbers):
            return False
        values = [float(number) if is_float else int(number) for number in numbers]
        attributes[name] = Attribute(name=name, value=Constant.numbers(one.value.type, values))
    return True
