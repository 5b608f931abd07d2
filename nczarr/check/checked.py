"""Input and output of the passes: `Unchecked` and `Checked`.

Only `check` makes a `Checked`. Plans are made only from it, and back ends
accept only plans. So signatures ensure that no back end gets an invalid tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr import names
from nczarr.arrays.source import Parts
from nczarr.ast import Constant, Dataset, Dimension, Group, Kind, UserType, Variable
from nczarr.ast.walk import groups
from nczarr.diagnostics.report import Label

if TYPE_CHECKING:
    from nczarr.arrays.value_lists import Columns
    from nczarr.diagnostics.report import Report
    from nczarr.source import Span


class Tables(NamedTuple):
    """Declarations of a tree by FQN. For equal names the first counts (the second was reported)."""

    groups: dict[str, Group]
    types: dict[str, UserType]
    dimensions: dict[str, Dimension]
    variables: dict[str, Variable]


def tables(dataset: Dataset) -> Tables:
    """Return the tables of a tree in definition order, parents before children."""
    found = Tables({}, {}, {}, {})
    for path, group in groups(dataset):
        found.groups.setdefault(path, group)
        for declared in group.types:
            found.types.setdefault(names.join(path, declared.name), declared)
        for dimension in group.dimensions:
            found.dimensions.setdefault(names.join(path, dimension.name), dimension)
        for variable in group.variables:
            found.variables.setdefault(names.join(path, variable.name), variable)
    return found


class Foreign(NamedTuple):
    """Content of a group's or array's document that the model lacks.

    `extensions`: unknown protocol extensions. `attributes`: those whose JSON
    the tree changes or rounds. `separator`: of chunk key indices, if the
    array's document states it.
    """

    extensions: tuple[dict[str, Any], ...] = ()
    attributes: Mapping[str, Any] = MappingProxyType({})
    separator: str | None = None


class Namesake(NamedTuple):
    """An item whose name another one in its scope already has."""

    kind: str
    """`variable`, `dimension`, and so on."""
    name: str
    """Name as spelled in the source."""
    first_kind: str
    """Kind of the other item."""
    first: str
    """Name of the other item as spelled in the source."""
    scope: str
    """FQN of the common group, variable or type."""
    shown: str | None
    """New name; None: dropped."""
    place: Label = Label()
    """Place of the item."""
    first_place: Label = Label()
    """Place of the other item."""


@dataclass(slots=True)
class Unchecked:
    """Output of a front end: the tree with names as written, and additional data.

    `forward`: names may be used before their declaration (the notation,
    stores), unlike in CDL. `lists`: value lists of a CDL `data:` section by
    variable FQN, for the pass `read_lists`; `attribute_lists`: those of
    attributes with user-defined types, by (FQN of group or variable, name).
    `parts`: arrays that the front end provides, by variable FQN. `uses`: spans
    of name uses for diagnostics, by owner FQN in a fixed order (a variable: its
    type, then its dimensions; a compound: its fields' types; an enum or vlen:
    its base). `FQN=` is the start of a dimension's size or a type's definition,
    `FQN:name` the type of an attribute. The default is the owner's span.
    `columns`: results of `read_lists`, by variable FQN. `known`: cache of
    `tables_of`. `broken`: names in statements that the front end rejected,
    whose missing declarations are not reported. `kind`: the requested or
    declared kind of netCDF file. `foreign`: Zarr content beyond the model, by
    FQN.
    """

    dataset: Dataset
    forward: bool = True
    lists: dict[str, Span] = field(default_factory=dict)
    attribute_lists: dict[tuple[str, str], Span] = field(default_factory=dict)
    parts: dict[str, Parts] = field(default_factory=dict)
    uses: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    columns: dict[str, Columns] = field(default_factory=dict)
    read_values: Callable[[Unchecked, Report], Unchecked] | None = None
    """Front end's reader of `lists` and `attribute_lists`, called once types are known."""
    known: tuple[Dataset, Tables] | None = None
    broken: frozenset[str] = frozenset()
    kind: Kind | None = None
    foreign: dict[str, Foreign] = field(default_factory=dict)
    namesakes: list[Namesake] = field(default_factory=list)
    """Items that the front end renamed or dropped, because their names were taken."""
    namesakes_accepted: bool = False
    """True if the run allows equal names (`duplicate-name`)."""

    def use(self, owner: str, index: int, otherwise: Span) -> Span:
        """Return the span of the owner's name use `index`, or `otherwise` if unknown."""
        spans = self.uses.get(owner, ())
        return spans[index] if index < len(spans) else otherwise


def tables_of(work: Unchecked) -> Tables:
    """Return the tables of the current tree, cached per tree."""
    if work.known is None or work.known[0] is not work.dataset:
        work.known = (work.dataset, tables(work.dataset))
    return work.known[1]


class Checked(NamedTuple):
    """A valid tree, and its properties by FQN, independent of any target.

    Every type name is atomic or a key of `types`; every dimension reference is
    a size or a key of `dimensions`. `shapes` has the current shape of every
    variable. `fills` has one value of its type for unwritten cells
    (`_FillValue`, else the netCDF default; None for an enum with neither).
    `parts` has the arrays of each variable with data; a variable without entry
    is all fill. `foreign` has Zarr content beyond the model, for writing the
    same format again.
    """

    dataset: Dataset
    groups: Mapping[str, Group]
    types: Mapping[str, UserType]
    dimensions: Mapping[str, Dimension]
    variables: Mapping[str, Variable]
    shapes: Mapping[str, tuple[int, ...]]
    fills: Mapping[str, Constant | None]
    parts: Mapping[str, Parts]
    foreign: Mapping[str, Foreign] = MappingProxyType({})


def remaining(checked: Checked, dataset: Dataset) -> Checked:
    """Return a part of a checked tree as `Checked`, with the same shapes and values of variables."""
    found = tables(dataset)
    return Checked(
        dataset=dataset,
        **found._asdict(),
        shapes={path: checked.shapes[path] for path in found.variables},
        fills={path: checked.fills[path] for path in found.variables},
        parts={path: parts for path, parts in checked.parts.items() if path in found.variables},
        foreign={
            path: each for path, each in checked.foreign.items() if path in found.groups or path in found.variables
        },
    )


def resized(checked: Checked, dataset: Dataset) -> Checked:
    """Return as `remaining`, with the shapes that the dimensions of `dataset` give."""
    left = remaining(checked, dataset)
    shapes = {
        path: tuple(each if isinstance(each, int) else left.dimensions[each].size for each in variable.dimensions)
        for path, variable in left.variables.items()
    }
    return left._replace(shapes=shapes)


Observer = Callable[[str, Dataset], None]
"""Callback after each pass, with its name and the tree (`--dump-after`)."""
