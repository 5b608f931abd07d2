"""Conflicts of sources with the first one: those of one cause are one message."""

from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.ast import Variable
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import Report
from nczarr.plugins.combine.join.agreement import OBJECTS, Aspect, CombineSpec, SourceDifference, Way
from nczarr.plugins.combine.join.contribution import Model
from nczarr.plugins.combine.join.packing import PACKING
from nczarr.plugins.combine.join.source_grid import is_index, list_overridden
from nczarr.semantics.checked import Checked

NAMED = 8
"""Maximum objects in a message."""

SAME_UNITS = "count all times in the units of the first source with `--decode-times`, or in others with `--units`"
UNCOUNTED = "these units cannot be counted in one another; months and years, for example, have no fixed length"

UNITS = "convert the values with `--units majority` to the units of most sources, or to others with `--units UNITS`"
UNITS_OF_TARGET = "convert the values of the sources to the units of the target with `--units majority`"

OUTER = "join the variables and coordinates of all sources with `--join outer`"

OVERRIDE = "if they mean the same places, take those of the first source with `--join override`"

REPACK = "give all sources the same packing with `--repack`"

UNPACK = f"{REPACK}, or write the numbers that they stand for with `--unpack`"

CORRECT = "if only the attribute is wrong, correct it with `nczarr edit SRC --set`"

CHOOSE = "select the combined parts with `--var`, `--exclude` and `--group`"

Subject = tuple[str, Aspect, str]
"""FQN of an object, subject of the conflict, and name of the attribute."""


class _Conflict(NamedTuple):
    """A conflict, as the first source with it has it."""

    numbers: list[int]
    """Numbers of all sources with it."""
    first: str = ""
    """Name of a source without the difference."""
    name: str = ""
    """Name of the first source with it."""
    difference: SourceDifference | None = None
    """The difference; None for one that a message describes."""
    message: str = ""

    @property
    def cause(self) -> tuple[object, ...]:
        """Properties that conflicts of one cause share: the same sources differ in the same manner."""
        difference = self.difference
        return (self.message, self.first, tuple(self.numbers), difference and difference._replace(path=""))

    def describe(self, paths: list[str]) -> str:
        """Return the message for this conflict of some objects."""
        if self.difference is None:
            return self.message
        (_, aspect, attribute, one, other, _), several = self.difference, len(paths) > 1
        listed = names.list_first(paths, NAMED)
        if aspect in OBJECTS:
            which = (self.first, self.name) if one else (self.name, self.first)
            kind, verb = (f"{aspect}s", "are") if several else (str(aspect), "is")
            return f"{kind} {listed} {verb} in `{which[0]}` but not in `{which[1]}`"
        subject = f"attribute `{attribute}`" if aspect is Aspect.ATTRIBUTE else aspect
        verb = "differ" if aspect is Aspect.DIMENSIONS else "differs"
        return f"{subject} of {listed} {verb}: {one or 'none'} in `{self.first}`, {other or 'none'} in `{self.name}`"


class Conflicts:
    """Conflicts of all sources so far."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._conflicts: dict[Subject, _Conflict] = {}

    def __bool__(self) -> bool:
        return bool(self._conflicts)

    @property
    def paths(self) -> set[str]:
        """FQNs of all objects with a conflict."""
        return {path for path, _, _ in self._conflicts}

    def add(self, number: int, first: str, name: str, difference: SourceDifference) -> None:
        """Record a difference of a source; of several sources with the same one, the first is named."""
        subject = difference.path, difference.aspect, difference.attribute
        self._conflicts.setdefault(subject, _Conflict([], first, name, difference)).numbers.append(number)

    def add_values(self, number: int, path: str, message: str) -> None:
        """Record values that should be equal, with a message."""
        self._conflicts.setdefault((path, Aspect.VALUES, ""), _Conflict([], message=message)).numbers.append(number)

    def report(self, report: Report) -> None:
        """Report unequal-sources, once for each cause."""
        causes: dict[tuple[object, ...], list[Subject]] = {}
        recoding = self._model.wanted.recoding
        table = {} if recoding is None else dict(recoding.table)
        for subject, conflict in self._conflicts.items():
            causes.setdefault(conflict.cause, []).append(subject)
        for subjects in causes.values():
            conflict, more = self._conflicts[subjects[0]], len(self._conflicts[subjects[0]].numbers) - 1
            notes = [f"the same difference in {more} more source{'s' * (more != 1)}"] if more else []
            if conflict.difference is not None and conflict.difference.attribute in PACKING:
                wanted = [table[path].units for path, _, _ in subjects if path in table]
                notes += [f"these are numbers after the conversion to `{wanted[0]}`"] if wanted else []
            spec, checked, way = self._model.wanted, self._model.checked, self._model.way
            helps = list_helps(subjects, conflict.difference, spec, checked, way, self._conflicts)
            text = conflict.describe([path for path, _, _ in subjects])
            report.error("unequal-sources", text, notes=notes, helps=helps)


def list_helps(
    subjects: Iterable[Subject],
    difference: SourceDifference | None,
    spec: CombineSpec,
    checked: Checked,
    way: Way,
    every: Iterable[Subject],
) -> list[str]:
    """Return what joins sources with a difference; `checked`: the first source; `every`: subject that differs."""
    packed = {path for path, _, attribute in every if attribute in PACKING[:2]}
    helps: dict[str, None] = {}
    if difference is not None and can_convert(difference):
        helps[UNITS_OF_TARGET if spec.in_place else UNITS] = None
    for subject in subjects:
        helps |= dict.fromkeys(_list_options(*subject, spec, checked, way, packed))
    return [*helps, CHOOSE]


def _list_options(
    path: str, aspect: Aspect, attribute: str, spec: CombineSpec, checked: Checked, way: Way, packed: Container[str]
) -> Iterator[str]:
    """Yield the options that join sources with such a difference."""
    is_number_form = aspect is Aspect.ELEMENT_TYPE or attribute in PACKING
    is_time = path in checked.variables and _is_time(checked.variables[path])
    if is_time and not spec.in_place and (attribute == "units" or aspect is Aspect.ELEMENT_TYPE):
        yield SAME_UNITS if spec.recoding is None else UNCOUNTED
    elif aspect is Aspect.ATTRIBUTE and attribute not in PACKING:
        yield CORRECT
    if spec.new_dim is not None:
        return
    is_packed = is_number_form and path in way.axes.keys() - way.dimensions and is_number(checked.variables[path].type)
    if is_packed and not (spec.repack or is_time):
        stays_packed = spec.in_place and any(one.name in PACKING[:2] for one in checked.variables[path].attributes)
        yield REPACK if stays_packed or path not in packed else UNPACK
    has_place = aspect in (Aspect.LENGTH, Aspect.VALUES) and is_index(path, checked)
    if spec.join == "exact" and (has_place or aspect is Aspect.VARIABLE):
        yield OUTER
    if spec.join != "override" and aspect is Aspect.VALUES and path in list_overridden(checked, way):
        yield OVERRIDE


def can_convert(difference: SourceDifference) -> bool:
    """Return whether a difference of units is one of a factor and an offset."""
    if difference.attribute != "units" or difference.one is None or difference.other is None:
        return False
    from nczarr.plugins.cf.udunits import find_conversion

    one, other = (text.partition('"')[2].rpartition('"')[0] for text in (difference.one, difference.other))
    return find_conversion(one, other) is not None


def _is_time(variable: Variable) -> bool:
    from nczarr.plugins.combine.join.recode import units_of

    return units_of(variable) is not None
