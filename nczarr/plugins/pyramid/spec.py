"""Request for a pyramid, its result, and its plan for a dataset: reduced dimensions, lengths of levels, methods."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from nczarr import names
from nczarr.arrays.execution.counts import Step
from nczarr.ast import EnumType
from nczarr.diagnostics.report import Report, hint
from nczarr.options import Options
from nczarr.pipeline.phases import Input
from nczarr.pipeline.select.physical import is_numeric
from nczarr.pipeline.select.sections import list_mentioned
from nczarr.pipeline.select.selection import Subset
from nczarr.plan.plans import Conversion
from nczarr.plugins.cf.coordinates import axis_of
from nczarr.plugins.cf.view import CFDataset
from nczarr.plugins.common.nodes import python_value
from nczarr.plugins.pyramid.reduce import METHODS, Method
from nczarr.semantics.checked import Checked, whole_parts
from nczarr.stores.url import is_remote, real, trim

CODE = "unsuited-pyramid"
"""Code of datasets and requests of which no pyramid is made."""

RECORD = "nczarr_pyramid"
"""Attribute of the group above the levels: JSON of the request, with which levels are computed again."""

SMALLEST = 256
"""Cells along the longer dimension of the last level, if the number of levels is not given."""

MOST_LEVELS = 30

PAIRS = (("y", "x"), ("lat", "lon"), ("latitude", "longitude"), ("rlat", "rlon"), ("nlat", "nlon"), ("j", "i"))
"""Names of dimensions of maps, for those without coordinates that tell their axis."""

Boundary = Literal["pad", "trim"]
"""Cells at the end that are fewer than a factor: they become a cell of their own, or are left out."""

Convention = Literal["geo", "ome"]
"""Metadata of a pyramid: the conventions `multiscales`, `spatial:` and `proj:` of Zarr, or OME-Zarr 0.5."""

CONVENTIONS: tuple[Convention, ...] = get_args(Convention)


class PyramidSpec(NamedTuple):
    """Request for a pyramid."""

    levels: int | None = None
    """Number of levels above level 0; None: until the last one has at most `SMALLEST` cells along each dimension."""
    factor: int = 2
    """Cells along each reduced dimension that become one."""
    along: tuple[str, ...] = ()
    """Names or FQNs of the reduced dimensions; empty: those of maps."""
    methods: Mapping[str, Method] = MappingProxyType({})
    """Method by name or FQN of a variable; the empty name stands for all numbers."""
    boundary: Boundary = "pad"
    """Treatment of the cells at the end."""
    unpack: bool = False
    """Write means of packed numbers and integers as double."""
    conventions: tuple[Convention, ...] = ("geo",)
    """Metadata to write."""

    def problem(self) -> str | None:
        """Return why the numbers and words of the request are invalid; None if they are valid."""
        if isinstance(self.levels, int) and not 1 <= self.levels <= MOST_LEVELS:
            return f"a pyramid has 1 to {MOST_LEVELS} levels above the first, not {self.levels}"
        if not 2 <= self.factor <= 64:
            return f"the factor is 2 to 64, not {self.factor}"
        for word, words in ((self.boundary, get_args(Boundary)), *((each, CONVENTIONS) for each in self.conventions)):
            if word not in words:
                return f"`{word}` is not one of {', '.join(words)}"
        for method in self.methods.values():
            if method not in METHODS:
                return f"`{method}` is not a method: use {', '.join(METHODS)}"
        return None


class PyramidPlan(NamedTuple):
    """Pyramid of a dataset: its levels, reduced dimensions and methods."""

    spec: PyramidSpec
    levels: int
    """Number of levels above level 0."""
    lengths: Mapping[str, int]
    """Lengths of the reduced dimensions at level 0, by FQN."""
    methods: Mapping[str, Method]
    """Method of each reduced variable, those with all reduced dimensions of their map; by FQN."""

    @property
    def reduced(self) -> frozenset[str]:
        """FQNs of the reduced dimensions."""
        return frozenset(self.lengths)

    def record(self) -> str:
        """Return the JSON of the request, with the number of levels, and the lengths and variables of level 0."""
        members = {**self.spec._asdict(), "methods": dict(self.spec.methods), "levels": self.levels}
        return json.dumps({**members, "lengths": dict(sorted(self.lengths.items())), "variables": sorted(self.methods)})

    def length(self, dimension: str, length: int, level: int) -> int:
        """Return the length of a dimension at a level."""
        for _ in range(level if dimension in self.lengths else 0):
            length = -(-length // self.spec.factor) if self.spec.boundary == "pad" else length // self.spec.factor
        return length


def plan_pyramid(
    checked: Checked, spec: PyramidSpec, report: Report, only: Collection[str] | None = None
) -> PyramidPlan | None:
    """Return the plan of a request for a dataset; None after an error. Reports unsuited-pyramid.

    `only`: FQNs of the variables that may be reduced; None: all.
    """
    before = report.errors
    problem = spec.problem()
    if problem is not None:
        report.error(CODE, problem)
        return None
    maps = find_maps(checked, spec.along, report)
    if maps is None:
        return None
    maps = {path: dimensions for path, dimensions in maps.items() if only is None or path in only}
    if not maps:
        report.error(CODE, f"`{min(only or [''])}` can no longer be reduced")
        return None
    lengths = {path: checked.dimensions[path].size for dimensions in maps.values() for path in dimensions}
    plan = PyramidPlan(spec, spec.levels or _count_levels(spec, lengths), lengths, {})
    if not min(plan.length(path, length, plan.levels) for path, length in lengths.items()):
        text = f"level {plan.levels} would have no cells along a dimension of length {min(lengths.values())}"
        helps = ["ask for fewer `--levels`, or for `--boundary pad`"] if min(lengths.values()) else []
        report.error(CODE, text, helps=helps)
        return None
    plan = plan._replace(methods=choose_methods(checked, spec, maps, report))
    return plan if report.errors == before else None


def _count_levels(spec: PyramidSpec, lengths: Mapping[str, int]) -> int:
    """Return the number of levels of a request without one; `lengths`: those of the reduced dimensions."""
    plan = PyramidPlan(spec, 1, lengths, {})

    def measure(level: int) -> list[int]:
        return [plan.length(path, length, level) for path, length in lengths.items()]

    levels = 1
    while max(measure(levels)) > SMALLEST and min(measure(levels + 1)) > 0:
        levels += 1
    return levels


def find_maps(checked: Checked, along: Iterable[str], report: Report) -> dict[str, tuple[str, ...]] | None:
    """Return the variables that are reduced, each with its reduced dimensions; None after unsuited-pyramid."""
    wanted = tuple(names.normal(name) for name in along)
    known = {names.last(path) for path in checked.dimensions} | set(checked.dimensions)
    for name in wanted:
        if name not in known:
            text = f"the dataset has no dimension `{name}`"
            report.error(CODE, text + hint(name, known), helps=["`nczarr dump -h` lists the dimensions"])
            return None
    axes, grids = ({}, []) if wanted else _find_axes(checked)
    maps: dict[str, tuple[str, ...]] = {}
    for path, variable in checked.variables.items():
        if set(whole_parts(checked, path)) != {""}:
            continue  # lists have no cells that could become one
        references = [str(reference) for reference in variable.dimensions if isinstance(reference, str)]
        found = _match(references, wanted, axes, grids)
        if found:
            maps[path] = found
    if not maps:
        asked = f" with the dimensions {', '.join(wanted)}" if wanted else " with dimensions of a map"
        helps = ["name the reduced dimensions with `--along`"]
        report.error(CODE, f"no variable{asked} can be reduced", helps=helps)
        return None
    return maps


def _match(
    references: list[str], wanted: tuple[str, ...], axes: Mapping[str, str], grids: Iterable[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the reduced dimensions of a variable; none if it lacks one of them."""
    if wanted:
        found = [next((one for one in references if name in (one, names.last(one))), "") for name in wanted]
        return tuple(found) if all(found) else ()
    by_axis = {axes[one]: one for one in references if one in axes}
    if by_axis.keys() >= {"Y", "X"}:
        return by_axis["Y"], by_axis["X"]
    by_name = {names.last(one).lower(): one for one in references}
    for pair in PAIRS:
        if by_name.keys() >= set(pair):
            return by_name[pair[0]], by_name[pair[1]]
    return next((grid for grid in grids if set(grid) <= set(references)), ())


def _find_axes(checked: Checked) -> tuple[dict[str, str], list[tuple[str, ...]]]:
    """Return X or Y by FQN of the dimensions whose coordinates tell it, and the dimensions of 2-D latitudes."""
    dataset, axes, grids = CFDataset(checked), dict[str, str](), list[tuple[str, ...]]()
    for path, one in dataset.variables.items():
        axis = axis_of(one)
        references = tuple(map(str, checked.variables[path].dimensions))
        if one.is_coordinate and axis in ("X", "Y"):
            axes[path] = axis
        elif axis == "Y" and len(set(references)) == 2 and checked.dimensions.keys() >= set(references):
            grids.append(references)
    return axes, grids


def choose_methods(checked: Checked, spec: PyramidSpec, maps: Iterable[str], report: Report) -> dict[str, Method]:
    """Return the method of each reduced variable. Reports unsuited-pyramid."""
    maps = list(maps)
    own: dict[str, Method] = {}
    for word, method in spec.methods.items():
        found = [path for path in maps if word in (path, path[1:], names.last(path))]
        if word and not found:
            text = f"`--method {word}={method}`: `{word}` is no variable that is reduced"
            report.error(CODE, text + hint(word, (names.last(path) for path in maps)))
        own.update(dict.fromkeys(found, method) if word else {})
    positions = {other for path in checked.variables for other in list_mentioned(checked, path, {"coordinates"})}
    chosen: dict[str, Method] = {}
    for path in maps:
        usual = _usual_method(checked, path)
        given = own.get(path)
        numbers = is_numeric(checked, path)
        is_measure = usual == "mean" and path not in positions
        method = given or (spec.methods.get("", usual) if is_measure else usual)
        is_enum = isinstance(checked.types.get(checked.variables[path].type), EnumType)
        if method != "nearest" and (not numbers or (is_enum and method != "mode")):
            allowed = "`nearest` or `mode`" if is_enum else "`nearest`"
            text = f"`{path}` is of type `{checked.variables[path].type}`, which has no {method}"
            report.error(CODE, text, checked.variables[path].span, helps=[f"use {allowed}"])
        chosen[path] = method
    return chosen


def _usual_method(checked: Checked, path: str) -> Method:
    """Return the default method of a variable: mean, mode for classes, nearest for other than numbers."""
    variable = checked.variables[path]
    element = variable.storage.element or ""
    if not is_numeric(checked, path) or element.startswith(("datetime64", "timedelta64")):
        return "nearest"
    attributes = {attribute.name for attribute in variable.attributes}
    if "flag_masks" in attributes:
        return "nearest"  # bits have no order, and any mixture of them would be new
    classes = {"flag_values", "flag_meanings"} & attributes or element == "bool"
    return "mode" if classes or variable.type in checked.types else "mean"


def find_record(checked: Checked) -> PyramidPlan | None:
    """Return the plan of a pyramid, by its record, in which all methods are `mean`; None for other datasets."""
    texts = (python_value(one.value) for one in checked.dataset.attributes if one.name == RECORD)
    try:
        members = json.loads(str(next(texts, None)))
        lengths, variables = members.pop("lengths"), members.pop("variables")
        spec = PyramidSpec(**members)
        spec = spec._replace(along=tuple(spec.along), conventions=tuple(spec.conventions))
        is_valid = isinstance(spec.levels, int) and spec.problem() is None
        is_valid = is_valid and all(isinstance(length, int) for length in lengths.values())
        is_valid = is_valid and all(isinstance(path, str) for path in variables)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return PyramidPlan(spec, spec.levels or 1, lengths, dict.fromkeys(variables, "mean")) if is_valid else None


class PyramidRequest(NamedTuple):
    """Request for a pyramid."""

    source: Input
    """The dataset; that of the target, if it is the same store."""
    target: str
    """Path or URL."""
    spec: PyramidSpec
    form: str | None = None
    """Name of the target's format; None: by its suffix."""
    subset: Subset = Subset()
    """Requested part of the source."""
    options: Options = Options()
    update: bool = False
    """Bring the levels of the target up to date."""

    @property
    def in_place(self) -> bool:
        """True if the source is the target."""
        one, other = trim(self.source.name), trim(self.target)
        return one == other or (not is_remote(one) and not is_remote(other) and real(one) == real(other))


class PyramidResult(NamedTuple):
    """Result of a run: the conversion, or the planned work of a rehearsal."""

    conversion: Conversion | None = None
    """None for a rehearsal."""
    steps: tuple[Step, ...] = ()
    """Planned work of a rehearsal."""
    rewritten: int = 0
    """Keys of an existing store that were replaced."""
