"""What a format can hold, and how it joins the registry: both as data.

`Capabilities` answers the planner's questions about a target; each "no" is a loss with a code of its own.
`Format` is one row of the table of formats; its functions are lazy strings, so that listing formats imports none.
"""

from __future__ import annotations

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


class Arrays(NamedTuple):
    """How a chunked store lays down the arrays that `data.parts` makes of a variable.

    `codecs`: HDF5 filter numbers that the store has a name for; `fixed_strings`: short strings lie as `|Sn` where that
    holds them exactly, instead of as texts of any length; `separator`: between the indices of a chunk's key;
    `lead`: what stands before the first index; `fill_needed`: every array declares a fill value, and readers do not
    take it for missing data; `shards`: several chunks may lie in one key; `documents`: names of the store's own
    keys, which no variable or group can have; `reserved`: how names begin that the specification keeps for itself;
    `netcdf_char`: chars may lie as only the netCDF library reads them; `nested_records`: a field of a record may be
    a record itself, instead of raw bytes; `by_reference`: chunks are not held, only where they lie, so that arrays
    are laid out as their sources are; `elements`: booleans, halves and complex numbers are types there; `data`:
    what keys of chunks begin with, before the path of their array; `portable_names`: segments of keys are names as
    `arrays/key_segments.py` makes them portable; `orders`: chunks may lie in F order; `separators`: each array says its
    own; `undefined_fill`: an array may say that its fill value is undefined, even if it needs one.
    """

    codecs: frozenset[int] = frozenset()
    fixed_strings: bool = False
    separator: str = "."
    lead: str = ""
    fill_needed: bool = False
    shards: bool = False
    documents: frozenset[str] = frozenset()
    reserved: str = ""
    netcdf_char: bool = False
    nested_records: bool = False
    by_reference: bool = False
    elements: bool = False
    data: str = ""
    portable_names: bool = False
    orders: bool = False
    separators: bool = False
    undefined_fill: bool = False


class Capabilities(NamedTuple):
    """What a target keeps. The defaults hold the whole model; a format says where it holds less.

    `typed_attributes`: width and kind of an attribute's numbers, char or string, NUL bytes, NIL;
    `storage`: layout, filters, byte order and the like are kept even where the format stores otherwise;
    `names`: the dataset's own name and the homes of dimensions; `extensions`: protocol extensions of Zarr that a source
    has, and nobody here knows; `codecs`: HDF5 filter numbers of codecs that a single file has for numbers, one at a
    time;
    `arrays`: for chunked stores, how arrays lie there; None for texts and single files.
    """

    atomic: frozenset[str] = ALL_ATOMIC
    user_types: frozenset[str] = USER_TYPES
    attribute_user_types: bool = True
    groups: bool = True
    unlimited: Literal["any", "first", "none"] = "any"
    anonymous_dimensions: bool = True
    shared_dimensions: bool = True
    unused_dimensions: bool = True
    typed_attributes: bool = True
    definition_order: bool = True
    storage: bool = True
    kind: bool = True
    data: bool = True
    names: bool = True
    extensions: bool = False
    codecs: frozenset[int] = frozenset()
    arrays: Arrays | None = None


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
"""What each kind of netCDF file holds (cdl-language §7.5). nc7 is the classic model inside an HDF5 file."""


class Format(NamedTuple):
    """One row of the table of formats.

    `read`: `module:function` of `(Source, Report, Options) -> Unchecked | None`; None: cannot be read. `emit`: of
    `(Planned, Report) -> Iterator[(key, bytes)]`, metadata of a store; `write`: of `(Planned, Report, Options) ->
    Iterator[bytes]`, a text or single file, from front to back; `build`: of `(Planned, str, Report, Counts) -> bool`, a
    single file at a path, made by a library, which counts what it moves; and `steps`: of `(Planned, Report) ->
    Iterator[Step] | None`, what it is going to do. One of the three, or none. `kinds`: for netCDF files, by kind the
    name of the format that writes it (a format that is not among the names only chooses). `binary`: not to be shown on
    a terminal. `losses`: of `(Checked, Options) -> Iterator[Loss]`, what `capabilities` cannot tell because it lies in
    single names and values; only for texts and single files. `opens`: of `(Source | Store, Report, Options) -> Store |
    None`, the store that a source of this format stands for, which is read as one of another format; then there is no
    `read`. `inner`: the formats whose documents such a store may have, the usual one first; `begins`: of `(str,
    Planned) -> (Store, str)`, a new one and where it can be read. `holds`: of `(Store) -> bool`, whether a store of
    keys is of this format; None for texts and single files. Such a format's `read` takes a `Store` for the `Source`.
    `detects`: a regular expression that the first bytes of a source of this format match; "": none tells.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    spec: str
    capabilities: Capabilities = Capabilities()
    detects: str = ""
    holds: str | None = None
    read: str | None = None
    emit: str | None = None
    write: str | None = None
    build: str | None = None
    steps: str | None = None
    kinds: Mapping[Kind, str] = MappingProxyType({})
    binary: bool = False
    losses: str | None = None
    opens: str | None = None
    begins: str | None = None
    inner: tuple[str, ...] = ()
    second_reader: Literal["libnetcdf", "zarr"] | None = None
    """The library of others with which `--verify` reads a finished target; None: there is none."""

    @property
    def readable(self) -> bool:
        """Whether datasets of this format can be read."""
        return bool(self.read or self.opens)

    @property
    def writable(self) -> bool:
        """Whether a dataset can be written in this format, or in one that it chooses."""
        return bool(self.emit or self.write or self.build or self.kinds or self.inner)
