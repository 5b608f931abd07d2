"""Options of a run: one frozen value for all phases. The defaults are those of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions

if TYPE_CHECKING:
    from nczarr.ast.dataset import Kind


DEFAULT_MAX_SIZE = 16 << 30
"""Default limit for the declared bytes of a netCDF file's or archive's variables."""


DEFAULT_MEMORY = 1 << 30
"""Default limit for pending decoded chunks, in bytes."""


WHOLE = -1
"""Chunk length for the whole length of a dimension."""


class Writing(NamedTuple):
    """Options for writing references."""

    metadata: str | None = None
    """Format of the documents between references; None: the first that the target's format has."""
    inline: int = 64
    """Maximum bytes of a chunk stored in the document itself."""
    embed: int = 4 << 20
    """Maximum bytes of a variable embedded in the document if its chunks cannot be referenced."""
    base: str | None = None
    """Folder or URL for target names, instead of the place where they were read."""
    relative: bool = False
    """Name targets relative to the document."""
    home: str | None = None
    """Part of a target's place that `base` replaces; None: the folder of the source."""
    keep_names: bool = False
    """Leave the URLs of targets as a document among the sources spells them."""


class Following(NamedTuple):
    """Options for following references."""

    base: str | None = None
    """Prefix of relative URLs, instead of the document's folder."""
    roots: tuple[str, ...] = ()
    """The only folders, URLs and protocols that documents may name; empty: the default policy."""
    target: str | None = None
    """Target of references without a URL."""
    jinja: bool = False
    """Render texts beyond the grammar with jinja2."""
    hidden: bool = True
    """Allow names below `roots` that begin with a dot."""


WRITING, FOLLOWING = Writing(), Following()
"""Default handling of references."""


UNREAD = frozenset(
    {"bad-metadata", "unreadable-array", "ambiguous-node", "draft-layout", "lost-union", "lost-mask", "duplicate-name"}
)
"""Codes of unreadable store content; read-only uses skip it."""


class Options(NamedTuple):
    """Options for reading, planning and writing."""

    kind: Kind | None = None
    """Check the dataset for this kind of netCDF file."""
    chunks: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    """Chunk lengths by FQN of a variable, or one length by name of a dimension."""
    grid: Literal["regular", "rectilinear"] = "regular"
    """Grid of chunks. `rectilinear`: chunk lengths may differ along a dimension, where the target supports it."""
    shards: Mapping[str, str | tuple[int, ...]] = MappingProxyType({})
    """Shard lengths, `auto` or `none`, by FQN of a variable, or for every variable (`""`)."""
    codecs: Mapping[str, str] = MappingProxyType({})
    """Codec specifications (`zlib:5`), by FQN of a variable, or for every variable (`""`)."""
    order: Literal["C", "F"] | None = None
    """Element order in chunks; None: the source's, if the target supports it."""
    separator: Literal[".", "/"] | None = None
    """Separator of chunk key indices; None: the source's, if the target supports it."""
    zarr_names: Literal["common", "registered"] = "common"
    """Names in Zarr v3: those that all supported readers know, or those of the registry of extensions."""
    consolidated: bool | None = None
    """Write consolidated metadata; None: in Zarr stores, but not in references and repositories."""
    declare: str | None = None
    """Convention that the target declares; None: none."""
    char_netcdf: bool = False
    """Write char arrays in the form that only the netCDF library reads."""
    tables: bool = False
    """Write records as tables in Awkward archives."""
    xarray: bool = True
    """Write dimension names for other readers, if a format stores them twice."""
    overwrite: bool = False
    """Replace an existing target."""
    allow_loss: frozenset[str] = frozenset()
    """Codes of value losses that are warnings instead of errors; `all` includes every code."""
    header_only: bool = False
    """Print no data. This and the next five are flags of `ncdump`, for texts."""
    coordinates_only: bool = False
    """Print data of coordinate variables only."""
    special: bool = False
    """Print special (virtual) attributes."""
    variables: tuple[str, ...] = ()
    """Print data of these variables only."""
    groups: tuple[str, ...] = ()
    """Print data of these groups only."""
    name: str | None = None
    """Name of the dataset in the text."""
    max_size: int = DEFAULT_MAX_SIZE
    """Maximum declared bytes of a netCDF file's or archive's variables."""
    verbose: bool = False
    """List every annotation loss instead of one summary."""
    memory: int = DEFAULT_MEMORY
    """Maximum bytes of pending decoded chunks."""
    workers: int | None = None
    """Threads; None: one per processor."""
    verify: bool = False
    """Read the target again, and publish it only if it holds every value."""
    resume: bool = False
    """Resume a target that the same run has begun."""
    unfinished: bool = False
    """Read unfinished stores."""
    storage: StorageOptions = NO_OPTIONS
    """Options of libraries for remote places."""
    source: str | None = None
    """Path or URL of the source, for `resume`; None without one."""
    target: str | None = None
    """Path or URL of the target, for relative names in documents; None without one."""
    part: str = ""
    """Converted part of the source, as a text that is equal for equal parts."""
    nodes: tuple[str, ...] = ()
    """Paths of the nodes of a store that cannot list its keys."""
    dask: str | None = None
    """Scheduler address of a cluster for the tasks."""
    masking_fill: bool = False
    """Read fill values of Zarr v2 as `_FillValue`, as xarray does, unless they are netCDF's defaults."""
    survey: bool = False
    """List all keys of the source at once, because all of it will be read."""
    message: str | None = None
    """Message of a commit; None: one that names the source."""
    author: str | None = None
    """Author of a commit, as its metadata name it."""
    virtual: bool = False
    """In a repository, refer to chunks in the files of the source instead of copying them."""
    writing: Writing = WRITING
    """Options for writing references."""
    following: Following = FOLLOWING
    """Options for following references."""

    @property
    def fingerprint(self) -> str:
        """Text of all options that may change a byte of the target, equal for equal ones."""
        return repr([(name, _plain(getattr(self, name))) for name in self._fields if name not in RUN_ONLY])

    def accepts(self, loss: str) -> bool:
        """Return whether this loss is a warning in the run."""
        return loss in self.allow_loss or "all" in self.allow_loss


RUN_ONLY = frozenset(
    {"overwrite", "max_size", "verbose", "memory", "workers", "verify", "resume", "unfinished", "storage", "source"}
    | {"target", "nodes", "dask", "survey", "message", "author"}
)
"""Options that change no byte of the target."""


def _plain(value: object) -> object:
    """Return a value whose text does not depend on the order of a mapping or set."""
    if isinstance(value, Mapping):
        return sorted(value.items())
    return sorted(value) if isinstance(value, frozenset) else value
