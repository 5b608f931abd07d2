"""Options of a run: one frozen value that passes through every phase.

The defaults are those of the command line.
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
    """How references are written."""

    metadata: str = "nczarr"
    """The format of the documents between the references."""
    inline: int = 64
    """Chunks of at most this many bytes are stored in the document itself."""
    embed: int = 4 << 20
    """Bytes of a variable that the document may hold where no reference can lead to its chunks."""
    base: str | None = None
    """The folder or URL in which the targets are named, instead of the place where they were read."""
    relative: bool = False
    """Name targets relative to the document."""
    home: str | None = None
    """The part of a target's place that `base` replaces; None: the folder of the source."""


class Following(NamedTuple):
    """How references are followed."""

    base: str | None = None
    """The prefix of relative URLs, instead of the document's folder."""
    roots: tuple[str, ...] = ()
    """The only folders, URLs and protocols that documents may name; empty: those of the default policy."""
    target: str | None = None
    """The target of references without a URL."""
    jinja: bool = False
    """Render texts beyond the grammar with jinja2."""
    hidden: bool = True
    """Allow names below `roots` that begin with a dot."""


WRITING, FOLLOWING = Writing(), Following()
"""References where nobody asks for anything."""


UNREAD = frozenset(
    {"bad-metadata", "unreadable-array", "ambiguous-node", "draft-layout", "lost-union", "lost-mask", "duplicate-name"}
)
"""What of a store cannot be read; those who only look at one leave it out."""


class Options(NamedTuple):
    """How to read, plan and write."""

    kind: Kind | None = None
    """Check the dataset for this kind of netCDF file."""
    chunks: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    """Chunk lengths by FQN of a variable, or one length by name of a dimension."""
    shards: Mapping[str, str | tuple[int, ...]] = MappingProxyType({})
    """Shard lengths, `auto` or `none`, by FQN of a variable, or for every variable (`""`)."""
    codecs: Mapping[str, str] = MappingProxyType({})
    """Codec specifications (`zlib:5`), by FQN of a variable, or for every variable (`""`)."""
    order: Literal["C", "F"] | None = None
    """The order of elements in chunks; None: that of the source, where the target has it."""
    separator: Literal[".", "/"] | None = None
    """The separator of indices in the keys of chunks; None: that of the source, where the target has it."""
    consolidated: bool = False
    """Write consolidated metadata."""
    char_netcdf: bool = False
    """Write char arrays in the way that only the netCDF library reads."""
    tables: bool = False
    """Write records as tables in Awkward archives."""
    xarray: bool = True
    """Write names of dimensions for other readers, where a format has them twice."""
    overwrite: bool = False
    """Replace a target that is there."""
    allow_loss: frozenset[str] = frozenset()
    """Codes of value losses that are warnings instead of errors; `all` stands for every one."""
    header_only: bool = False
    """Print no data. This and the next five are flags of `ncdump`, for texts."""
    coordinates_only: bool = False
    """Print data of coordinate variables alone."""
    special: bool = False
    """Print special (virtual) attributes."""
    variables: tuple[str, ...] = ()
    """Print data of these variables alone."""
    groups: tuple[str, ...] = ()
    """Print data of these groups alone."""
    name: str | None = None
    """The name of the dataset in the text."""
    max_size: int = DEFAULT_MAX_SIZE
    """Bytes that the variables of a netCDF file or archive may declare in all."""
    verbose: bool = False
    """List every annotation loss instead of one summary."""
    memory: int = DEFAULT_MEMORY
    """Bytes of decoded chunks in flight."""
    workers: int | None = None
    """Threads; None: one a processor."""
    verify: bool = False
    """Read the target again, and let it appear only if it holds every value."""
    resume: bool = False
    """Go on with a target that the same run has begun."""
    unfinished: bool = False
    """Read stores that are not finished."""
    storage: StorageOptions = NO_OPTIONS
    """Options of the libraries that reach remote places."""
    source: str | None = None
    """Path or URL of the source, by which `resume` knows it again; None where it has none."""
    target: str | None = None
    """Path or URL of the target, by which a document names its neighbours; None where it goes to no place."""
    part: str = ""
    """The part of the source that is converted, as a text that is equal for equal parts."""
    nodes: tuple[str, ...] = ()
    """Paths of the nodes of a store that cannot list its keys."""
    dask: str | None = None
    """Address of the scheduler of a cluster that does the tasks."""
    survey: bool = False
    """All of the source is going to be read: list its keys at once."""
    writing: Writing = WRITING
    """How references are written."""
    following: Following = FOLLOWING
    """How references are followed."""

    def accepts(self, loss: str) -> bool:
        """Return whether this loss is a warning in the run."""
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
