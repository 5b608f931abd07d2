"""Input and output of the passes: `Unchecked` and `Checked`.

Only `check` makes a `Checked`. Plans are made only from it, and back ends
accept only plans. So signatures ensure that no back end gets an invalid tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Constant, Dataset, Dimension, Group, Kind, Storage, UserType, Variable
from nczarr.ast.dataset import groups, map_groups, map_owners
from nczarr.ast.plain_json import plain
from nczarr.diagnostics.report import Label, Report, Span
from nczarr.names.records import NamedTuple, fresh, record

if TYPE_CHECKING:
    from nczarr.arrays.values.value_lists import ListRuns


class Tables(NamedTuple):
    """Declarations of a tree by FQN. Of two equal names the first counts."""

    groups: dict[str, Group]
    types: dict[str, UserType]
    dimensions: dict[str, Dimension]
    variables: dict[str, Variable]


def tables(dataset: Dataset) -> Tables:
    """Return the tables of a tree in definition order, parents before children."""
    collected = Tables({}, {}, {}, {})
    for path, group in groups(dataset):
        collected.groups.setdefault(path, group)
        for declared in group.types:
            collected.types.setdefault(names.join(path, declared.name), declared)
        for dimension in group.dimensions:
            collected.dimensions.setdefault(names.join(path, dimension.name), dimension)
        for variable in group.variables:
            collected.variables.setdefault(names.join(path, variable.name), variable)
    return collected


class Foreign(NamedTuple):
    """Content of a group's or array's document that the model lacks."""

    extensions: tuple[dict[str, Any], ...] = ()
    """Unknown protocol extensions."""
    separator: str | None = None
    """Separator of chunk key indices, if the array's document states it."""


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
    first_place: Label = Label()
    """Place of the other item."""


class Omission(NamedTuple):
    """Content of a source that the tree lacks: a loss of the reader."""

    code: str
    """Reason, as a code: one of `report.OMISSIONS`."""
    path: str
    """FQN of the object, or of the group or variable whose attribute is left out."""
    text: str
    """The item and the reason, as a clause: "dataset `/r` holds references to objects"."""
    source: str = ""
    """Name of the source, which the pipeline fills in."""


@record
class Unchecked:
    """Output of a front end: the tree with names as written, and additional data."""

    dataset: Dataset
    """The tree."""
    forward: bool = True
    """True if names may be used before their declaration, unlike in CDL."""
    lists: dict[str, Span] = fresh(factory=dict)
    """Value lists of a CDL `data:` section by FQN of the variable, for the pass `read_lists`."""
    attribute_lists: dict[tuple[str, str], Span] = fresh(factory=dict)
    """Value lists of attributes with user-defined types, by FQN of the owner and name."""
    parts: dict[str, Parts] = fresh(factory=dict)
    """Arrays that the front end provides, by FQN of the variable."""
    uses: dict[str, tuple[Span, ...]] = fresh(factory=dict)
    """Spans of name uses for diagnostics, by FQN of the owner, in a fixed order.

    A variable has its type, then its dimensions; a compound the types of its
    fields; an enum or vlen its base. `FQN=` is the start of a dimension's size or
    of a type's definition, `FQN:name` the type of an attribute. The default is
    the span of the owner.
    """
    columns: dict[str, ListRuns] = fresh(factory=dict)
    """Results of `read_lists`, by FQN of the variable."""
    read_values: Callable[[Unchecked, Report], Unchecked] | None = None
    """Front end's reader of `lists` and `attribute_lists`, called once types are known."""
    known: tuple[Dataset, Tables] | None = None
    """Cache of `tables_of`."""
    broken: frozenset[str] = frozenset()
    """Names in rejected statements, whose missing declarations are not reported."""
    kind: Kind | None = None
    """Requested or declared kind of netCDF file."""
    foreign: dict[str, Foreign] = fresh(factory=dict)
    """Zarr content beyond the model, by FQN."""
    namesakes: list[Namesake] = fresh(factory=list)
    """Items that the front end renamed or dropped, because their names were taken."""
    omitted: list[Omission] = fresh(factory=list)
    """Content of the source that is not in the tree."""
    noted: frozenset[str] = frozenset()
    """FQNs of the groups and variables whose file states the JSON of their attributes (`restore_json`)."""
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
    """A valid tree, and its properties by FQN. Nothing in it depends on a target."""

    dataset: Dataset
    """The tree. Every dimension reference is a size or a key of `dimensions`."""
    groups: Mapping[str, Group]
    """Groups; the root is `/`."""
    types: Mapping[str, UserType]
    """Declared types. Every type name is atomic or a key of this mapping."""
    dimensions: Mapping[str, Dimension]
    variables: Mapping[str, Variable]
    """Variables in definition order."""
    shapes: Mapping[str, tuple[int, ...]]
    """Current shape of each variable."""
    fills: Mapping[str, Constant | None]
    """Value of unwritten cells: `_FillValue`, else netCDF's default; None for an enum with neither."""
    parts: Mapping[str, Parts]
    """Arrays of each variable with data; all other variables have fill values."""
    foreign: Mapping[str, Foreign] = MappingProxyType({})
    """Zarr content beyond the model, for writing the same format again."""
    omitted: tuple[Omission, ...] = ()
    """Content of the sources that is not in the tree."""
    noted: frozenset[str] = frozenset()
    """FQNs of the groups and variables whose file states the JSON of their attributes, so that a copy loses none."""


def remaining(checked: Checked, dataset: Dataset) -> Checked:
    """Return a part of a checked tree as `Checked`, with the same shapes and values of variables."""
    collected = tables(dataset)
    return Checked(
        dataset=dataset,
        **collected._asdict(),
        shapes={path: checked.shapes[path] for path in collected.variables},
        fills={path: checked.fills[path] for path in collected.variables},
        parts={path: parts for path, parts in checked.parts.items() if path in collected.variables},
        foreign={
            path: foreign
            for path, foreign in checked.foreign.items()
            if path in collected.groups or path in collected.variables
        },
        omitted=checked.omitted,
        noted=checked.noted,
    )


def resize(checked: Checked, dataset: Dataset) -> Checked:
    """Return as `remaining`, with the shapes that the dimensions of `dataset` give."""
    left = remaining(checked, dataset)
    shapes = {
        path: tuple(
            reference if isinstance(reference, int) else left.dimensions[reference].size
            for reference in variable.dimensions
        )
        for path, variable in left.variables.items()
    }
    return left._replace(shapes=shapes)


def whole_parts(checked: Checked, path: str) -> Parts:
    """Return sources of all parts of a variable; missing ones are fill."""
    variable, shape, fill = checked.variables[path], checked.shapes[path], checked.fills[path]
    return all_fill(fill, variable.type, shape, checked.types, checked.parts.get(path))


def without(checked: Checked, gone: frozenset[str]) -> Checked:
    """Return a dataset without these variables; all else remains, even unused dimensions."""

    def rest(path: str, group: Group) -> dict[str, Any]:
        return {
            "variables": tuple(variable for variable in group.variables if names.join(path, variable.name) not in gone)
        }

    return remaining(checked, map_groups(checked.dataset, rest))


def open_fragments(checked: Checked) -> Checked:
    """Return the dataset with the encoded chunks of fragments that are opened on use, for a run that writes all values.

    Raises OSError, CompileError.
    """
    whole = {path: parts[""] for path, parts in checked.parts.items() if "" in parts}
    opened: dict[str, Parts] = {
        path: {"": located} for path, source in whole.items() if (located := source.open_fragments()) is not source
    }
    if not opened:
        return checked
    storage = {
        path: Storage(layout="chunked", chunks=stored.chunks, codecs=stored.codecs)
        for path, parts in opened.items()
        if (stored := parts[""].stored) is not None and stored.chunks
    }
    return with_storage(checked._replace(parts={**checked.parts, **opened}), storage)


def with_storage(checked: Checked, storage: Mapping[str, Storage]) -> Checked:
    """Return the dataset with other storage of some variables, by FQN."""
    tree = map_owners(checked.dataset, lambda path, _: {"storage": storage[path]} if path in storage else {})
    return remaining(checked, tree)


Observer = Callable[[str, Dataset], None]
"""Callback after each pass, with its name and the tree (`--dump-after`)."""


def find_coordinates(checked: Checked) -> dict[str, str | None]:
    """Return the coordinate variables, each with its bounds: those of one dimension, whose name they have."""
    coordinates = {}
    for path, variable in checked.variables.items():
        if variable.dimensions == (path,):
            texts = (plain(one.value).value for one in variable.attributes if one.name == "bounds")
            bounds = next((names.join(names.parent(path), text) for text in texts if isinstance(text, str)), None)
            coordinates[path] = bounds if bounds in checked.variables else None
    return coordinates


def rename_arrays(checked: Checked, dataset: Dataset, variables: Mapping[str, str]) -> Unchecked:
    """Return a changed tree as input of the checks, with the arrays of the variables under their new FQNs."""
    parts = {variables.get(path, path): arrays for path, arrays in checked.parts.items()}
    foreign = {variables.get(path, path): beyond for path, beyond in checked.foreign.items()}
    return Unchecked(dataset, parts=parts, foreign=foreign, kind=dataset.kind)
