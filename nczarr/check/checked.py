"""What goes into the passes and what comes out: `Unchecked` and `Checked`.

Only `check` makes a `Checked`; plans are made from nothing else, and back ends take only plans. So no back end
ever sees a tree that breaks a rule of the data model: the signature forbids it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.source import Parts
from nczarr.ast import Constant, Dataset, Dimension, Group, Kind, UserType, Variable
from nczarr.check.tables import Tables, tables
from nczarr.diagnostics.report import Label

if TYPE_CHECKING:
    from nczarr.arrays.value_lists import Columns
    from nczarr.diagnostics.report import Report
    from nczarr.source import Span


class Foreign(NamedTuple):
    """What the document of a group or array says that the model has no place for: protocol `extensions` that nobody
    here knows, and `attributes` whose JSON the tree has in another form, or not to the last digit. `separator`:
    between the indices of a chunk's key, where the document of an array names it.
    """

    extensions: tuple[dict[str, Any], ...] = ()
    attributes: Mapping[str, Any] = MappingProxyType({})
    separator: str | None = None


class Namesake(NamedTuple):
    """A thing whose name another one of its scope has already."""

    kind: str
    """Its kind: `variable`, `dimension`, and so on."""
    name: str
    """Its name as the source spells it."""
    first_kind: str
    """Kind of the other thing."""
    first: str
    """The name of the other thing as the source spells it."""
    scope: str
    """FQN of the group, variable or type that has both."""
    shown: str | None
    """The name it is read under; None: it is left out."""
    place: Label = Label()
    """Where it stands."""
    first_place: Label = Label()
    """Where the other stands."""


@dataclass(slots=True)
class Unchecked:
    """What a front end read: the tree with names as they were written, and what lies beside it.

    `forward`: names may be used before their declaration (the notation, stores). In CDL they may not.
    `lists`: value lists of a CDL `data:` section by the FQN of their variable, read by the pass `read_lists`;
    `attribute_lists`: those of attributes whose type is user-defined, by (FQN of group or variable, name).
    `parts`: the arrays of variables whose front end has them already, by the FQN of the variable.
    `uses`: where names are used, for diagnostics: by the FQN of the owner, spans in a fixed order (a variable: its
    type, then its dimensions; a compound: its fields' types; an enum or vlen: its base). `FQN=` is where the
    size of a dimension or the definition of a type begins, `FQN:name` the type of an attribute. What is missing falls
    back to the owner's span. `columns`: what `read_lists` read, by the FQN of the variable.
    `known`: the tables of the tree, kept by `tables_of`. `broken`: names in statements that the front end refused; that
    nothing declares them is no news. `kind`: the kind of netCDF file that was asked for, or that the tree names.
    `foreign`: by FQN, what a document of Zarr says beyond the model.
    """

    dataset: Dataset
    forward: bool = True
    lists: dict[str, Span] = field(default_factory=dict)
    attribute_lists: dict[tuple[str, str], Span] = field(default_factory=dict)
    parts: dict[str, Parts] = field(default_factory=dict)
    uses: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    columns: dict[str, Columns] = field(default_factory=dict)
    read_values: Callable[[Unchecked, Report], Unchecked] | None = None
    """The front end's reader of `lists` and `attribute_lists`, called once types are known."""
    known: tuple[Dataset, Tables] | None = None
    broken: frozenset[str] = frozenset()
    kind: Kind | None = None
    foreign: dict[str, Foreign] = field(default_factory=dict)
    namesakes: list[Namesake] = field(default_factory=list)
    """Things that the front end read under other names, or left out, because theirs was taken."""
    namesakes_accepted: bool = False
    """Whether the run allows equal names (`duplicate-name`)."""

    def use(self, owner: str, index: int, otherwise: Span) -> Span:
        """Where the owner uses its name number `index`, or `otherwise` if the front end did not say."""
        spans = self.uses.get(owner, ())
        return spans[index] if index < len(spans) else otherwise


def tables_of(work: Unchecked) -> Tables:
    """The tables of the tree as it stands between two passes; made once a tree."""
    if work.known is None or work.known[0] is not work.dataset:
        work.known = (work.dataset, tables(work.dataset))
    return work.known[1]


class Checked(NamedTuple):
    """A tree that keeps every rule, and the facts about it, by FQN. Nothing here depends on a target.

    Every type name in the tree is atomic or a key of `types`; every dimension reference is a size or a key of
    `dimensions`; `shapes` has the current shape of every variable, `fills` one value of its type that stands
    where nothing was written (`_FillValue`, else the netCDF default; None where an enum has neither).
    `parts` has the arrays of each variable that has data; a variable without an entry is all fill. `foreign` has
    what documents of Zarr say beyond the model, for whoever writes the same format again.
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
    """The facts about a tree that is a part of a checked one: variables have the shapes and values that they had."""
    found = tables(dataset)
    return Checked(
        dataset=dataset,
        groups=found.groups,
        types=found.types,
        dimensions=found.dimensions,
        variables=found.variables,
        shapes={path: checked.shapes[path] for path in found.variables},
        fills={path: checked.fills[path] for path in found.variables},
        parts={path: parts for path, parts in checked.parts.items() if path in found.variables},
        foreign={
            path: each for path, each in checked.foreign.items() if path in found.groups or path in found.variables
        },
    )


Observer = Callable[[str, Dataset], None]
"""Called after each pass with its name and the tree, for those who want to look (`--dump-after`)."""
