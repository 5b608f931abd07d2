"""Capabilities of formats, and their registry rows, as data.

The planner asks `Capabilities` about a target; each "no" is a loss with its own
code. `Format` is one row of the table of formats; its functions are lazy
strings, so that listing formats imports none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from nczarr.ast.dataset import Kind

ALL_ATOMIC = frozenset(
    ("byte", "ubyte", "char", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double", "string"),
)
CLASSIC_ATOMIC = frozenset(("byte", "char", "short", "int", "float", "double"))
CDF5_ATOMIC = ALL_ATOMIC - {"string"}
USER_TYPES = frozenset({"enum", "vlen", "opaque", "compound"})

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class ChunkKeys(NamedTuple):
    """Scheme of chunk or shard keys by index: `0.1`, or `c/0/1`."""

    prefix: str = ""
    """Prefix of all keys of the array; in `Arrays`, prefix of every array's path."""
    separator: str = "."
    """Separator of the indices."""
    lead: str = ""
    """Segment before the indices: `c` in `c/0/1`."""

    def below(self, prefix: str, separator: str | None = None) -> ChunkKeys:
        """Return the scheme of one array: at its path, optionally with its own separator."""
        return ChunkKeys(self.prefix + prefix, separator or self.separator, self.lead)

    def key(self, index: tuple[int, ...]) -> str:
        """Return the key of a chunk; for a scalar the lead, or `0`."""
        numbers = map(str, index)
        return self.prefix + (self.separator.join((self.lead, *numbers) if self.lead else numbers) or "0")

    def index_of(self, key: str, counts: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the index of a key with the prefix; None if it is outside of this grid."""
        words = key[len(self.prefix) :].split(self.separator)
        if self.lead:
            if words[0] != self.lead:
                return None
            words = words[1:]
        elif not counts:
            return () if words == ["0"] else None
        if len(words) != len(counts) or not all(map(_NUMBER.fullmatch, words)):
            return None
        index = tuple(map(int, words))
        return index if all(number < end for number, end in zip(index, counts, strict=True)) else None


class Arrays(NamedTuple):
    """Storage of a variable's arrays (`arrays/parts.py`) in a chunked store."""

    codecs: frozenset[int] = frozenset()
    """HDF5 filter numbers that the store can name."""
    fixed_strings: bool = False
    """Short strings are stored as `|Sn` if that is exact, instead of as variable-length texts."""
    chunk_keys: ChunkKeys = ChunkKeys()
    """Scheme of chunk keys."""
    fill_needed: bool = False
    """Every array declares a fill value, which does not mean missing data."""
    shards: bool = False
    """One key may hold several chunks."""
    documents: frozenset[str] = frozenset()
    """Names of the store's own keys, forbidden for variables and groups."""
    reserved: str = ""
    """Prefix of reserved names."""
    netcdf_char: bool = False
    """Chars may be stored in the form that only the netCDF library reads."""
    nested_records: bool = False
    """A record field may be a record, instead of raw bytes."""
    by_reference: bool = False
    """The store holds chunk locations instead of chunks, so that layouts follow the sources."""
    elements: bool = False
    """Booleans, halves and complex numbers are types."""
    numpy_types: bool = False
    """Times, UTF-32 texts, and records of any of NumPy's types are types."""
    portable_names: bool = False
    """Key segments are names escaped by `arrays/key_segments.py`."""
    registry: bool = False
    """Types and codecs have names in a registry, which a run may request."""
    rectilinear: bool = False
    """Chunks may differ in length along a dimension."""
    orders: bool = False
    """Chunks may be stored in F order."""
    separators: bool = False
    """Each array declares its own separator."""
    sidecars: bool = True
    """Keys other than those of Zarr are possible, such as the schemas of lists for readers of Awkward documents."""
    undefined_fill: bool = False
    """An array may declare an undefined fill value, even if it needs one."""


class Capabilities(NamedTuple):
    """Features of the model that a target preserves; by default all."""

    atomic: frozenset[str] = ALL_ATOMIC
    """Atomic types."""
    user_types: frozenset[str] = USER_TYPES
    """Kinds of user-defined types."""
    attribute_user_types: bool = True
    """Attributes may have user-defined types."""
    groups: bool = True
    """Groups below the root."""
    unlimited: Literal["any", "first", "none"] = "any"
    """Position of unlimited dimensions in a variable."""
    anonymous_dimensions: bool = True
    """Dimensions without names."""
    shared_dimensions: bool = True
    """Variables may share a dimension."""
    unused_dimensions: bool = True
    """Dimensions that no variable uses."""
    typed_attributes: bool = True
    """Width and kind of attribute numbers, char or string, NUL bytes, NIL."""
    definition_order: bool = True
    """Order of definitions."""
    storage: bool = True
    """Layout, filters, byte order and the like, even if the format stores otherwise."""
    kind: bool = True
    """Kind of netCDF file."""
    data: bool = True
    """Values."""
    names: bool = True
    """Name of the dataset, and groups that define dimensions."""
    extensions: bool = False
    """Unknown protocol extensions of a Zarr source."""
    codecs: frozenset[int] = frozenset()
    """HDF5 filter numbers that a single file supports for numbers, one at a time."""
    arrays: Arrays | None = None
    """Array storage in chunked stores; None for texts and single files."""


_CLASSIC = Capabilities(
    atomic=CLASSIC_ATOMIC,
    user_types=frozenset(),
    attribute_user_types=False,
    groups=False,
    unlimited="first",
    anonymous_dimensions=False,
    storage=False,
)

PURE_ZARR = Capabilities(
    user_types=frozenset(),
    attribute_user_types=False,
    unlimited="none",
    anonymous_dimensions=False,
    unused_dimensions=False,
    typed_attributes=False,
    definition_order=False,
    storage=False,
    kind=False,
    names=False,
)
"""Capabilities of a Zarr store without extension."""

NETCDF_KINDS: dict[Kind, Capabilities] = {
    "nc3": _CLASSIC,
    "nc6": _CLASSIC,
    "nc5": _CLASSIC._replace(atomic=CDF5_ATOMIC),
    "nc4": Capabilities(anonymous_dimensions=False),
    "nc7": _CLASSIC._replace(storage=True),
}
"""Capabilities of each kind of netCDF file. nc7 is the classic model in an HDF5 file."""


class Format(NamedTuple):
    """One row of the table of formats. Functions are lazy strings `module:function`."""

    name: str
    """Name in `--to`, documentation and messages."""
    title: str
    """One line for `nczarr formats`."""
    suffixes: tuple[str, ...]
    """Suffixes of files and folders, with their dot."""
    spec: str
    """Specification."""
    capabilities: Capabilities = Capabilities()
    """Features of the model that a target of this format preserves."""
    detects: str = ""
    """Regular expression for the first bytes of a source; empty: none."""
    holds: str | None = None
    """`(Store) -> bool`: whether a store has this format. None for texts and single files."""
    read: str | None = None
    """`(Source, Report, Options) -> Unchecked | None`; with `holds`, a `Store` takes the place of the source."""
    emit: str | None = None
    """`(StorePlan, Report) -> Iterator[(key, bytes)]`: the metadata of a store."""
    write: str | None = None
    """`(StreamPlan, Report, Options) -> Iterator[bytes]`: a text or single file, sequentially."""
    build: str | None = None
    """`(FilePlan, str, Report, Counts) -> bool`: a single file at a path, made by a library."""
    steps: str | None = None
    """`(FilePlan, Report) -> Iterator[Step] | None`: the planned work of `build`."""
    kinds: Mapping[Kind, str] = MappingProxyType({})
    """For netCDF files, the format that writes each kind. A format without its own entry only selects."""
    binary: bool = False
    """True if terminals must not display it."""
    losses: str | None = None
    """`(Checked, Options) -> Iterator[Loss]`: losses in single names and values. For texts and single files."""
    opens: str | None = None
    """`(Source | Store, Report, Options) -> Store | None`: the store that a source represents; excludes `read`."""
    begins: str | None = None
    """`(str, StorePlan) -> (Store, str)`: a new store that `opens` would return, and its readable place."""
    document: str | None = None
    """`(StorePlan, (Store) -> None) -> Iterator[bytes]`: the text of such a store, filled by the second argument."""
    inner: tuple[str, ...] = ()
    """Possible document formats of such a store, the default first."""
    second_reader: Literal["libnetcdf", "zarr"] | None = None
    """Foreign library that verifies a finished target (`--verify`), or None."""
    dumped: bool = False
    """True if `nczarr dump --as` prints it."""
    served: bool = False
    """True if `nczarr serve` offers this format."""
    only_reader: bool = False
    """True if no other xarray engine reads the format, so that xarray takes ours by itself."""
    ranged: bool = False
    """True if remote files of this format are read by ranges: `read` slices the source's data, and nothing else."""
    resident: bool = False
    """True if a dataset's source stays in memory with the dataset."""
    declares: tuple[str, ...] = ()
    """Conventions that a target can declare (`--declare`)."""
    leads_to: str | None = None
    """`(path) -> Iterator[str]`: other files that the library opens for a file of this format."""
    warms: str | None = None
    """`() -> Any`: load the libraries that `read` needs; with `isolates`."""
    commits: str | None = None
    """`(str, Report, Options) -> bool`: whether a commit can be made at a place; None: targets are files or folders."""
    resizes: str | None = None
    """`(Store, shapes, lengths) -> {key: bytes}`: the documents of a store that change with its lengths."""
    extends: str | None = None
    """`(str, Options, Store) -> Store`: a commit on an opened revision, in which keys are replaced and removed."""
    isolates: str | None = None
    """`(way | None) -> None`: make library calls in another process from now on."""

    @property
    def readable(self) -> bool:
        """True if datasets of this format can be read."""
        return bool(self.read or self.opens)

    @property
    def writable(self) -> bool:
        """True if this format, or one that it selects, can be written."""
        return bool(self.emit or self.write or self.build or self.kinds or self.inner)
