"""What a caller may ask of a run: one frozen value that passes through every phase.

A phase reads the members that concern it and no others; the defaults are what the command line gives when
no option is named. Contract: DESIGN §4 (options) and §5 (`write`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from nczarr.secrets import NO_OPTIONS, StorageOptions
from nczarr.source import NOWHERE, Span

if TYPE_CHECKING:
    from nczarr.ast.dataset import Kind


DEFAULT_MAX_SIZE = 16 << 30
"""Bytes that the variables of a netCDF file or archive may declare in all, unless the run allows more."""


DEFAULT_MEMORY = 1 << 30
"""Bytes of decoded chunks under way."""


class Writing(NamedTuple):
    """How references are written: `metadata`, the format of the documents between them; chunks of at most `inline`
    bytes stand in the document itself; what no reference leads to may be in it with at most `embed` bytes a variable;
    `base`: the folder or URL that targets lie in, instead of where they were read; `relative`: to the document. `home`:
    what of the places that they were read from `base` stands for; None: the folder of the source.
    """

    metadata: str = "nczarr"
    inline: int = 64
    embed: int = 4 << 20
    base: str | None = None
    relative: bool = False
    home: str | None = None


class Following(NamedTuple):
    """How references are followed: `base`, what relative URLs begin with, instead of the document's folder; `roots`:
    the only folders, URLs and protocols that may be named, if there are any; `target`: what references without URL lead
    to; `jinja`: texts beyond our grammar are rendered by jinja2; `hidden`: names below `roots` may begin with a dot.
    """

    base: str | None = None
    roots: tuple[str, ...] = ()
    target: str | None = None
    jinja: bool = False
    hidden: bool = True


WRITING, FOLLOWING = Writing(), Following()
"""References where nobody asks for anything."""


UNREAD = frozenset(
    {"bad-metadata", "unreadable-array", "ambiguous-node", "draft-layout", "lost-union", "lost-mask", "duplicate-name"}
)
"""What of a store cannot be read; those who only look at one leave it out."""


class Options(NamedTuple):
    """How to read, plan and write.

    `kind`: check as if for this kind of netCDF file. `chunks`: chunk lengths by FQN of a variable, or by name of a
    dimension. `shards`: likewise shard lengths, or `auto` or `none`, by FQN or for every variable (`""`). `codecs`:
    a codec specification (`zlib:5`) by FQN, `""` for every variable. `order`: in which chunks hold their elements;
    `separator`: between indices in keys; None: as in the source, where the target can say so. `allow_loss`: kinds
    of value loss that are warnings instead of errors; `all` names every one. `tables`: records become tables in
    Awkward archives. `char_netcdf`: char arrays as only the netCDF library reads them; `xarray`: dimensions are
    named for other readers too, where a format says them twice.

    `memory`: bytes that decoded chunks under way may take; `workers`: threads, None: one a processor. `verify`:
    read the target again, and let it appear only if it holds every value. `resume`: go on with a target that the
    same run has begun; `unfinished`: read stores that are not finished. `storage`: what remote places are reached
    with. `source`: path or URL of what is converted, None where it has none; it tells whether it is still the same.
    `part`: what of it is converted, in any words. `nodes`: paths of nodes of a store that cannot list its keys.
    `survey`: all of the source is going to be read. `dask`: address of the scheduler of a cluster that does the
    tasks. `writing` and `following` concern references.
    `max_size`: bytes that the variables of a netCDF file or archive may declare in all. The next members concern texts:
    `header_only`, `coordinates_only`, `special` (virtual attributes too), data of certain `variables` and `groups`
    only, and the `name` that the dataset gets: the flags of `ncdump`. `verbose`: list every
    annotation loss instead of one summary.
    """

    kind: Kind | None = None
    chunks: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    shards: Mapping[str, str | tuple[int, ...]] = MappingProxyType({})
    codecs: Mapping[str, str] = MappingProxyType({})
    order: Literal["C", "F"] | None = None
    separator: Literal[".", "/"] | None = None
    consolidated: bool = False
    char_netcdf: bool = False
    tables: bool = False
    xarray: bool = True
    overwrite: bool = False
    allow_loss: frozenset[str] = frozenset()
    header_only: bool = False
    coordinates_only: bool = False
    special: bool = False
    variables: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    name: str | None = None
    max_size: int = DEFAULT_MAX_SIZE
    verbose: bool = False
    memory: int = DEFAULT_MEMORY
    workers: int | None = None
    verify: bool = False
    resume: bool = False
    unfinished: bool = False
    storage: StorageOptions = NO_OPTIONS
    source: str | None = None
    part: str = ""
    nodes: tuple[str, ...] = ()
    dask: str | None = None
    survey: bool = False
    writing: Writing = WRITING
    following: Following = FOLLOWING

    def accepts(self, loss: str) -> bool:
        """Whether the run takes this loss for a warning."""
        return loss in self.allow_loss or "all" in self.allow_loss


class Extent(NamedTuple):
    """What a section takes along one dimension: indices from `first` to `last`, which is one of them if the stride
    meets it.
    """

    first: int
    last: int
    stride: int = 1
    span: Span = NOWHERE


Extents = tuple[Extent | None, ...] | None
"""What a section takes: one extent a dimension, None for the whole of it; None for the whole of all."""


class Section(NamedTuple):
    """A part of one variable.

    `path`: the names that lead to it, as they are meant; `absolute`: from the root. `members`: the way on to a member
    of its records, and of theirs, each with what is taken of it.
    """

    path: tuple[str, ...]
    absolute: bool = False
    extents: Extents = None
    span: Span = NOWHERE
    members: tuple[tuple[str, Extents], ...] = ()


def part_in_words(variables: Iterable[str], groups: Iterable[str], sections: Iterable[str], *, fixed: bool) -> str:
    """What of a source is asked for: equal texts, equal parts."""
    return repr((sorted(variables), sorted(groups), list(sections), fixed))


class Subset(NamedTuple):
    """Which part of a dataset is wanted: names of variables and groups, simple or from the root, and sections.

    With neither variables nor groups everything is wanted.
    """

    variables: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is asked for at all."""
        return bool(self.variables or self.groups or self.sections)
