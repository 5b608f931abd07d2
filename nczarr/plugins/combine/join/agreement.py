"""Request of a combination, and agreement of a source with the first: in model and values.

Models are groups, types, dimensions, variables and attributes. Attributes that
change computed values or their interpretation must be equal; others may differ.
All attributes of variables named by `grid_mapping` must be equal.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from nczarr import names
from nczarr.arrays.regions import all_of, region_of
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.values.parts import is_fixed
from nczarr.arrays.values.time_units import CALENDARS
from nczarr.ast import Attribute, Constant, Group, Variable
from nczarr.ast.plain_json import get_json
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.selection import at_path, hint, of_name
from nczarr.plugins.combine.join.coordinate_order import Duplicates
from nczarr.semantics.checked import Checked, whole_parts

Join = Literal["exact", "outer", "override"]
"""Treatment of variables and coordinates that differ between sources."""


class WantedUnits(NamedTuple):
    """Units of one variable in all sources."""

    units: str
    """Text of the units, as UDUNITS takes it."""
    type: str | None = None
    """Floating-point type that integers in other units get; None: they stay integers."""
    marks: tuple[Attribute, ...] = ()
    """Attributes that mark missing values of this type."""
    fill: Constant | None = None
    """Value of unwritten cells of this type."""


class Recoding(NamedTuple):
    """Request for times, and other values, in the same units."""

    units: str | None = None
    """The units of times; None: those of the first source."""
    table: tuple[tuple[str, WantedUnits], ...] = ()
    """Units of other variables by FQN."""


class CombineSpec(NamedTuple):
    """Request for a combination."""

    along: tuple[str, ...] = ()
    """Names of dimensions, simple or from the root; with `new_dim`, names of variables to stack."""
    new_dim: str | None = None
    """Name of a new dimension."""
    addressable: int | None = None
    """Maximum bytes of a variable that may be rechunked, where chunks must be those of sources; None: no limit."""
    recoding: Recoding | None = None
    """Units of all times; None: they must be equal."""
    rectilinear: bool = False
    """Chunks of the result may differ in length along a joined dimension."""
    inline: int = -1
    """Maximum bytes of local chunks that become part of the target; their bytes are read with the source."""
    extends: bool = False
    """True if the first source is the target, whose references stay as they are."""
    ordered: bool = True
    """Report a coordinate that does not increase."""
    lenient: bool = False
    """Warn of such a coordinate, where it is an error otherwise."""
    join: Join = "exact"
    """Treatment of variables and coordinates that differ: an error, their union, or those of the first source."""
    sort: bool = False
    """Sort cells by the coordinate of the joined dimension."""
    duplicates: Duplicates | None = None
    """Rule for coordinate values of the joined dimension that occur several times; None: `error`, if it matters."""

    in_place: bool = False
    """True if the first source is a target that keeps its units."""
    repack: bool = False
    """Give all sources the packing of most of them."""

    @property
    def is_ordered(self) -> bool:
        """True if cells along the joined dimension lie in the order of its coordinate."""
        return (self.join == "outer" and self.ordered) or self.sort or self.duplicates is not None

    @property
    def is_placed(self) -> bool:
        """True if chunks of the result may be other ones than those of the sources."""
        return self.join == "outer" or self.is_ordered or self.repack


class Way(NamedTuple):
    """Resolved combination."""

    axes: Mapping[str, int] = MappingProxyType({})
    """Axis of each joined variable by FQN."""
    dimensions: frozenset[str] = frozenset()
    """Dimensions that grow."""
    new_dim: str | None = None
    """Simple name of a new root dimension; the fields above are empty then."""
    rectilinear: bool = False
    """Chunks of the result may differ in length along a joined dimension."""
    always: frozenset[str] = frozenset()
    """Variables that are stacked even if all sources have equal values."""

    @property
    def shown(self) -> str:
        """Displayable dimensions."""
        return f"`/{self.new_dim}`" if self.new_dim else ", ".join(f"`{path}`" for path in sorted(self.dimensions))


def settle(name: str, checked: Checked, spec: CombineSpec, report: Report) -> Way | None:
    """Return the way, based on the first source; None if unmatched-dimension is reported."""
    before = report.errors
    if spec.new_dim is not None and spec.is_placed:
        text = f"cells along the new dimension `{spec.new_dim}` have no coordinate by which they are placed"
        helps = ["`--join outer`, `--sort`, `--duplicates` and `--repack` join along a dimension of the sources"]
        report.error("unmatched-dimension", text, helps=helps)
        return None
    if spec.new_dim is not None:
        way = _stack(name, checked, spec.new_dim, spec.along, report)
    else:
        way = _along(name, checked, spec.along, report)
    return way._replace(rectilinear=spec.rectilinear) if report.errors == before else None


def _stack(name: str, checked: Checked, new_dim: str, along: tuple[str, ...], report: Report) -> Way:
    """Return the way of a combination that stacks along a new dimension; `along`: variables stacked even if equal."""
    simple = names.normal(new_dim.removeprefix("/"))
    problem = names.problem(simple)
    taken = [path for path in checked.dimensions if names.last(path) == simple]
    if problem is not None:
        report.error("unmatched-dimension", f"`{new_dim}` is not a dimension name: {problem}")
    if taken:
        helps = [f"to join the sources along it, give `--along {simple}` without `--new-dim`"]
        report.error("unmatched-dimension", f"`{name}` already has a dimension `{taken[0]}`", helps=helps)
    if f"/{simple}" in checked.groups:
        report.error("unmatched-dimension", f"`{name}` has a group `/{simple}` but no dimension of that name")
    always: set[str] = set()
    for word in along:
        fqns = find_named(word, checked.variables)
        always.update(fqns)
        if not fqns:
            text = f"`{name}` has no variable `{word}` to stack along `{simple}`"
            report.error("unmatched-dimension", text, helps=hint(word, checked.variables))
    return Way(new_dim=simple, always=frozenset(always))


def _along(name: str, checked: Checked, along: tuple[str, ...], report: Report) -> Way:
    """Return the way of a combination that joins along dimensions of the sources; none named: the unlimited ones."""
    along = along or tuple(path for path, dimension in checked.dimensions.items() if dimension.unlimited)
    if not along:
        known = f" ({names.list_first(checked.dimensions, 5)})" if checked.dimensions else ""
        helps = [f"name one of its dimensions{known} with `--along`, or a new one with `--new-dim`"]
        report.error("unmatched-dimension", f"no dimension of `{name}` is unlimited", helps=helps)
    dimensions: set[str] = set()
    for word in along:
        fqns = find_named(word, checked.dimensions)
        dimensions.update(fqns)
        if not fqns:
            helps = hint(word, checked.dimensions)
            if find_named(word, checked.variables):
                helps = [f"it is a variable; to stack it along a new dimension, give `--along {word} --new-dim NAME`"]
            report.error("unmatched-dimension", f"`{name}` has no dimension `{word}`", helps=helps)
    axes: dict[str, int] = {}
    for path, variable in checked.variables.items():
        found_axes = find_axes(variable, dimensions)
        if len(found_axes) > 1:
            text = f"`{path}` has several of the dimensions {_list(variable.dimensions[axis] for axis in found_axes)}"
            helps = ["join along one dimension of each variable; select the combined parts with `--var` and `--group`"]
            report.error("unmatched-dimension", f"{text} but can be joined along only one", helps=helps)
        elif found_axes:
            axes[path] = found_axes[0]
    if dimensions and not axes and report.errors == 0:
        report.error("unmatched-dimension", f"no variable of `{name}` has {_list(sorted(dimensions))}")
    return Way(axes, frozenset(dimensions))


def find_axes(variable: Variable, dimensions: Collection[str]) -> list[int]:
    """Return the axes of a variable that are some dimensions."""
    return [axis for axis, reference in enumerate(variable.dimensions) if reference in dimensions]


def find_named(word: str, nodes: Mapping[str, object]) -> list[str]:
    """Return the FQNs that a word matches: one path, or all of a simple name."""
    return at_path(word, nodes) if "/" in word else of_name(word, nodes)


def _list(paths: Iterable[object]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def is_coordinate(path: str, checked: Checked, *, stacked: bool) -> bool:
    """Return whether a variable is the numeric coordinate of its only dimension, or, if stacked, a numeric scalar."""
    variable = checked.variables[path]
    return is_number(variable.type) and variable.dimensions == (() if stacked else (path,))


DECISIVE = frozenset({
    "_FillValue", "_Unsigned", "missing_value", "scale_factor", "add_offset", "valid_range", "valid_min", "valid_max",
    "units", "calendar", "month_lengths", "leap_year", "leap_month", "positive", "formula_terms", "flag_values",
    "flag_masks", "flag_meanings", "grid_mapping", "_Encoding", "compress", "dtype", "signedness",
})  # fmt: skip
"""Variable attributes that change what a reader computes."""


class Aspect(StrEnum):
    """Subject of a difference, as messages name it. The first four are objects that one source lacks."""

    GROUP = "group"
    TYPE = "type"
    DIMENSION = "dimension"
    VARIABLE = "variable"
    DEFINITION = "the definition"
    LENGTH = "the length"
    ELEMENT_TYPE = "the type"
    DIMENSIONS = "the dimensions"
    ATTRIBUTE = "attribute"
    VALUES = "values"
    CODECS = "the filters"
    CHUNKS = "the chunk lengths"
    ENDIAN = "the byte order"


OBJECTS = (Aspect.GROUP, Aspect.TYPE, Aspect.DIMENSION, Aspect.VARIABLE)
"""Aspects of objects that one source lacks."""

_OWNERS = {
    Aspect.DEFINITION: (Aspect.TYPE,),
    Aspect.LENGTH: (Aspect.DIMENSION,),
    Aspect.ATTRIBUTE: (Aspect.VARIABLE, Aspect.GROUP),
}
"""Kinds of the objects that have a property; variables have the others."""

Trait = tuple[str, Aspect, str]
"""FQN of an object, the property of it, and the name of the attribute if that is the property."""


class SourceDifference(NamedTuple):
    """One difference between two sources."""

    path: str
    """FQN of the object."""
    aspect: Aspect
    """Subject of the difference."""
    attribute: str
    """Name of the attribute, if that is the subject."""
    one: str | None
    """Text of the first side; None: absent."""
    other: str | None
    """Text of the second side; None: absent."""
    decisive: bool = True
    """True if the sources cannot be combined."""


def list_traits(checked: Checked, along: Collection[str]) -> dict[Trait, Any]:
    """Return the properties of a model: texts, and values of attributes. `along`: dimensions of any length."""
    from nczarr.pipeline.compare.diff import definition

    traits: dict[Trait, Any] = {(path, kind, ""): kind for kind in OBJECTS for path in getattr(checked, f"{kind}s")}
    for path, declared in checked.types.items():
        traits[path, Aspect.DEFINITION, ""] = definition(declared, storage=True)
    for path, dimension in checked.dimensions.items():
        if path not in along:
            traits[path, Aspect.LENGTH, ""] = str(dimension.size)
    for path, variable in checked.variables.items():
        traits.update(_list_own_traits(path, variable))
    for path, group in checked.groups.items():
        traits.update(_list_own_traits(path, group))
    return traits


def _list_own_traits(path: str, node: Variable | Group) -> dict[Trait, Any]:
    """Return the properties of a variable or group without its content."""
    traits: dict[Trait, Any] = {}
    if isinstance(node, Variable):
        traits[path, Aspect.ELEMENT_TYPE, ""] = node.type
        traits[path, Aspect.DIMENSIONS, ""] = f"({', '.join(map(str, node.dimensions))})"
    for one in node.attributes:
        json = get_json(one)
        traits[path, Aspect.ATTRIBUTE, one.name] = one.value if json is None else Constant.text(f"JSON {json}".encode())
    return traits


def list_unequal(one: Mapping[Trait, Any], other: Mapping[Trait, Any]) -> Iterator[Trait]:
    """Yield the properties that differ, objects first.

    A missing object stands for its properties, and a missing group for all in it.
    """
    unequal = [trait for trait, value in one.items() if other.get(trait) != value]
    unequal += [trait for trait in other if trait not in one]
    missing = tuple(f"{path}/" for path, aspect, _ in unequal if aspect is Aspect.GROUP)
    unequal = [trait for trait in unequal if not trait[0].startswith(missing)]
    for trait in sorted(unequal, key=lambda trait: (*OBJECTS, trait[1]).index(trait[1])):
        path, aspect, name = trait
        kinds = _OWNERS.get(aspect, (Aspect.VARIABLE,))
        if aspect not in OBJECTS and not all(any((path, kind, "") in side for kind in kinds) for side in (one, other)):
            continue
        if name != "calendar" or unify_calendar(one.get(trait)) != unify_calendar(other.get(trait)):
            yield trait


def is_decisive(trait: Trait, traits: Mapping[Trait, Any], grids: Collection[str]) -> bool:
    """Return whether sources with another value cannot be combined. `grids`: names of grid mappings."""
    path, aspect, name = trait
    is_of_variable = (path, Aspect.VARIABLE, "") in traits
    return aspect is not Aspect.ATTRIBUTE or (is_of_variable and (names.last(path) in grids or name in DECISIVE))


def findings(one: Checked, other: Checked, way: Way) -> Iterator[SourceDifference]:
    """Yield the differences of models; lengths of the way's dimensions may differ."""
    here, there = (list_traits(side, way.dimensions) for side in (one, other))
    grids = list_grid_mappings(one) | list_grid_mappings(other)
    yield from _compare_traits(here, there, grids)


def compare_variable(path: str, one: Variable, other: Variable, grids: set[str]) -> Iterator[SourceDifference]:
    """Yield the differences of two declarations of a variable. `grids`: names of grid mappings."""
    here, there = ({(path, Aspect.VARIABLE, ""): path, **_list_own_traits(path, side)} for side in (one, other))
    yield from _compare_traits(here, there, grids)


def _compare_traits(
    here: Mapping[Trait, Any], there: Mapping[Trait, Any], grids: Collection[str]
) -> Iterator[SourceDifference]:
    """Yield the differences of properties."""
    from nczarr.pipeline.compare.difference import show_constant, show_pair

    for trait in list_unequal(here, there):
        first, second = here.get(trait), there.get(trait)
        if trait[1] is Aspect.ATTRIBUTE and first is not None and second is not None:
            first, second = show_pair(first, second)
        elif trait[1] is Aspect.ATTRIBUTE:
            first, second = (None if value is None else show_constant(value) for value in (first, second))
        yield SourceDifference(*trait, first, second, is_decisive(trait, here, grids))


def unify_calendar(value: Constant | None) -> Constant | None:
    """Return an attribute `calendar` with one name for each calendar; None for the standard one, as without it."""
    if value is None or not value.data or value.type not in ("char", "string"):
        return value
    text = value.data if isinstance(value.data, bytes) else value.data[0]
    if not isinstance(text, bytes) or (value.type == "string" and value.count > 1):
        return value
    name = CALENDARS.get(text.decode("utf-8", "replace").rstrip("\0").lower())
    return value if name is None else None if name == CALENDARS["standard"] else Constant.text(name.encode())


def list_grid_mappings(checked: Checked) -> set[str]:
    """Return simple names in the variables' `grid_mapping` attributes."""
    grid_mappings: set[str] = set()
    for variable in checked.variables.values():
        for attribute in variable.attributes:
            if attribute.name == "grid_mapping":
                data = attribute.value.data
                texts = [data] if isinstance(data, bytes) else [text for text in data if isinstance(text, bytes)]
                for text in texts:
                    grid_mappings.update(text.decode("utf-8", "replace").replace(":", " ").split())
    return grid_mappings


SMALL = 4 << 20
"""Maximum bytes of an array that is read whole."""


def equal(one: Checked, other: Checked, path: str) -> bool:
    """Return whether values are bitwise equal, with all NaNs equal. Expects equal types and shapes.

    Small arrays are read whole. Of larger ones the first block is compared
    first, because differences mostly show there, then all blocks
    (`compare/values.py`).
    """
    variable, shape = one.variables[path], one.shapes[path]
    if path not in one.parts and path not in other.parts and one.fills[path] == other.fills[path]:
        return True
    from nczarr.pipeline.compare.difference import unequal
    from nczarr.pipeline.compare.values import TEXT, block_shape, values

    if 0 in shape or not (variable.type == "string" or is_fixed(variable.type, one.types)):
        return values(one, other, path) is None
    sides = [whole_parts(dataset, path)[""] for dataset in (one, other)]
    size = itemsize(sides[0].layout.dtype) or TEXT
    region = all_of(shape)
    small = math.prod(shape) * size <= SMALL
    if not small:
        block = block_shape(shape, (sides[0].layout.chunks, sides[1].layout.chunks), size)
        region = region_of((0,) * len(shape), block, shape)
    here, there = (side.read(region) for side in sides)
    differ = unequal(here, there, variable.type, one.types, None).any()
    never = any(dataset.variables[path].storage.no_fill and path not in dataset.parts for dataset in (one, other))
    undefined = never or any(side.undefined for side in sides)  # such cells are like anything
    if small and not (differ and undefined):
        return not bool(differ)
    return (not differ or undefined) and values(one, other, path) is None


def check_choices(join: str, duplicates: str | None = None) -> None:
    """Raise ValueError for words that are no choice of `join` or `duplicates`."""
    if join not in get_args(Join):
        raise ValueError(f"{join!r} is no join; use 'exact', 'outer' or 'override'")
    if duplicates is not None and duplicates not in get_args(Duplicates):
        raise ValueError(f"{duplicates!r} is no rule for duplicates; use 'error', 'first' or 'last'")
