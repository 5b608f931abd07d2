"""What a format can hold, and how it joins the registry: both as data.

`Capabilities` answers the planner's questions about a target; each "no" is a loss with a code of its own.
`Format` is one row of the table of formats; its functions are lazy strings, so that listing formats imports none.
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
    """How the keys of an array's chunks, or shards, are made of their indices: `0.1`, or `c/0/1`."""

    prefix: str = ""
    """Prefix of all keys of the array; in `Arrays`, what stands before the path of every array."""
    separator: str = "."
    """Separator of the indices."""
    lead: str = ""
    """Segment before the indices: `c` in `c/0/1`."""

    def below(self, prefix: str, separator: str | None = None) -> ChunkKeys:
        """Return the keys of one array, of those of all: at its path, perhaps with a separator of its own."""
        return ChunkKeys(self.prefix + prefix, separator or self.separator, self.lead)

    def key(self, index: tuple[int, ...]) -> str:
        """Return the key of a chunk; that of a scalar is the lead, or `0`."""
        numbers = map(str, index)
        return self.prefix + (self.separator.join((self.lead, *numbers) if self.lead else numbers) or "0")

    def index_of(self, key: str, counts: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the index of a key that begins with the prefix; None if none of a grid with so many chunks has it."""
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
    """How a chunked store holds the arrays that a variable is made of (`arrays/parts.py`)."""

    codecs: frozenset[int] = frozenset()
    """HDF5 filter numbers that the store has a name for."""
    fixed_strings: bool = False
    """Short strings are stored as `|Sn` where that holds them exactly, instead of as texts of any length."""
    chunk_keys: ChunkKeys = ChunkKeys()
    """How the keys of chunks are made."""
    fill_needed: bool = False
    """Every array declares a fill value, and readers do not take it for missing data."""
    shards: bool = False
    """Several chunks may lie in one key."""
    documents: frozenset[str] = frozenset()
    """Names of the store's own keys, which no variable or group can have."""
    reserved: str = ""
    """The prefix of names that the specification reserves."""
    netcdf_char: bool = False
    """Chars may be stored in the way that only the netCDF library reads."""
    nested_records: bool = False
    """A field of a record may be a record itself, instead of raw bytes."""
    by_reference: bool = False
    """The store holds where chunks lie instead of chunks, so that arrays are laid out as their sources are."""
    elements: bool = False
    """Booleans, halves and complex numbers are types."""
    portable_names: bool = False
    """Segments of keys are names made portable by `arrays/key_segments.py`."""
    orders: bool = False
    """Chunks may be stored in F order."""
    separators: bool = False
    """Each array declares its own separator."""
    undefined_fill: bool = False
    """An array may declare that its fill value is undefined, even if it needs one."""


class Capabilities(NamedTuple):
    """Features of the model that a target keeps. By default it keeps all of them."""

    atomic: frozenset[str] = ALL_ATOMIC
    """Atomic types."""
    user_types: frozenset[str] = USER_TYPES
    """Kinds of user-defined types."""
    attribute_user_types: bool = True
    """Attributes may have user-defined types."""
    groups: bool = True
    """There are groups below the root."""
    unlimited: Literal["any", "first", "none"] = "any"
    """Where a variable may have an unlimited dimension."""
    anonymous_dimensions: bool = True
    """A dimension of a variable may have a length and no name."""
    shared_dimensions: bool = True
    """Variables may share a dimension."""
    unused_dimensions: bool = True
    """Dimensions that no variable uses are kept."""
    typed_attributes: bool = True
    """Attributes keep the width and kind of numbers, char or string, NUL bytes, NIL."""
    definition_order: bool = True
    """The order of definitions is kept."""
    storage: bool = True
    """Layout, filters, byte order and the like are kept, even where the format stores otherwise."""
    kind: bool = True
    """The kind of netCDF file is kept."""
    data: bool = True
    """Values are kept."""
    names: bool = True
    """The dataset's own name and the groups that define dimensions are kept."""
    extensions: bool = False
    """Unknown protocol extensions of a Zarr source are kept."""
    codecs: frozenset[int] = frozenset()
    """HDF5 filter numbers of codecs that a single file has for numbers, one at a time."""
    arrays: Arrays | None = None
    """How arrays are stored in chunked stores; None for texts and single files."""


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
"""What a Zarr store holds of the model without an extension."""

NETCDF_KINDS: dict[Kind, Capabilities] = {
    "nc3": _CLASSIC,
    "nc6": _CLASSIC,
    "nc5": _CLASSIC._replace(atomic=CDF5_ATOMIC),
    "nc4": Capabilities(anonymous_dimensions=False),
    "nc7": _CLASSIC._replace(storage=True),
}
"""Capabilities of each kind of netCDF file. nc7 is the classic model inside an HDF5 file."""


class Format(NamedTuple):
    """One row of the table of formats. Functions are lazy strings `module:function`."""

    name: str
    """The name in `--to`, in documentation and in messages."""
    title: str
    """One line for `nczarr formats`."""
    suffixes: tuple[str, ...]
    """Suffixes of files and folders, with their dot."""
    spec: str
    """The specification."""
    capabilities: Capabilities = Capabilities()
    """Features of the model that a target of this format keeps."""
    detects: str = ""
    """A regular expression that the first bytes of a source match; empty: nothing identifies one."""
    holds: str | None = None
    """`(Store) -> bool`: whether a store of keys is of this format. None for texts and single files."""
    read: str | None = None
    """`(Source, Report, Options) -> Unchecked | None`; with `holds`, a `Store` takes the place of the source."""
    emit: str | None = None
    """`(StorePlan, Report) -> Iterator[(key, bytes)]`: the metadata of a store."""
    write: str | None = None
    """`(StreamPlan, Report, Options) -> Iterator[bytes]`: a text or single file, from front to back."""
    build: str | None = None
    """`(FilePlan, str, Report, Counts) -> bool`: a single file at a path, made by a library."""
    steps: str | None = None
    """`(FilePlan, Report) -> Iterator[Step] | None`: what `build` is going to do."""
    kinds: Mapping[Kind, str] = MappingProxyType({})
    """For netCDF files, the format that writes each kind. A format that is not among them only chooses."""
    binary: bool = False
    """Whether it must not be shown on a terminal."""
    losses: str | None = None
    """`(Checked, Options) -> Iterator[Loss]`: losses in single names and values. For texts and single files."""
    opens: str | None = None
    """`(Source | Store, Report, Options) -> Store | None`: the store that a source stands for; it has no `read`."""
    begins: str | None = None
    """`(str, StorePlan) -> (Store, str)`: a new store that `opens` would return, and where it can be read."""
    document: str | None = None
    """`(StorePlan, (Store) -> None) -> Iterator[bytes]`: the text of such a store, which the second argument fills."""
    inner: tuple[str, ...] = ()
    """Formats whose documents such a store may have, the usual one first."""
    second_reader: Literal["libnetcdf", "zarr"] | None = None
    """The library of others with which `--verify` reads a finished target; None: there is none."""
    dumped: bool = False
    """Whether `nczarr dump --as` prints it."""
    served: bool = False
    """Whether `nczarr serve` gives datasets in this format."""
    resident: bool = False
    """Whether the source of a dataset stays in memory as long as the dataset does."""
    leads_to: str | None = None
    """`(path) -> Iterator[str]`: names of other files that a file of this format makes its library open."""
    warms: str | None = None
    """`() -> Any`: load the libraries that `read` needs; with `isolates`."""
    isolates: str | None = None
    """`(way | None) -> None`: make the calls of its libraries in another process from now on."""

    @property
    def readable(self) -> bool:
        """Whether datasets of this format can be read."""
        return bool(self.read or self.opens)

    @property
    def writable(self) -> bool:
        """Whether a dataset can be written in this format, or in one that it chooses."""
        return bool(self.emit or self.write or self.build or self.kinds or self.inner)
