"""Table of formats, what a row may say, and detection of the format of a source or target.

The planner asks `Capabilities` about a target; each "no" is a loss with its own
code.

Rows are lazy strings: naming a format imports only its few lines of `FORMAT`,
and reading or writing loads only the used one. Other packages join by the
entry-point group `nczarr.formats`, whose entries name a `Format`. One with a name
that is taken is not used, and named by `nczarr plugins`.
"""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from nczarr.diagnostics.report import HEAD
from nczarr.names import plugin_index
from nczarr.names.records import NamedTuple
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from nczarr.ast.dataset import Kind

ALL_ATOMIC = frozenset(
    ("byte", "ubyte", "char", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double", "string")
)
"""Names of all atomic types."""

CLASSIC_ATOMIC = frozenset(("byte", "char", "short", "int", "float", "double"))
"""Names of the atomic types of classic netCDF files."""

CDF5_ATOMIC = ALL_ATOMIC - {"string"}
USER_TYPES = frozenset({"enum", "vlen", "opaque", "compound"})


@cache
def _number() -> re.Pattern[str]:
    """Return the pattern of an index in a key, compiled on first use: every command loads this module."""
    return re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class ChunkKeys(NamedTuple):
    """Scheme of chunk or shard keys by index: `0.1`, or `c/0/1`."""

    prefix: str = ""
    """Prefix of all keys of the array; in `Arrays`, prefix of every array's path."""
    separator: str = "."
    """Separator of the indices."""
    lead: str = ""
    """Segment before the indices: `c` in `c/0/1`."""

    def below(self, prefix: str, separator: str | None = None) -> Self:
        """Return the scheme of one array: at its path, optionally with its own separator."""
        return type(self)(self.prefix + prefix, separator or self.separator, self.lead)

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
        if len(words) != len(counts) or not all(map(_number().fullmatch, words)):
            return None
        index = tuple(map(int, words))
        return index if all(number < end for number, end in zip(index, counts, strict=True)) else None


class Arrays(NamedTuple):
    """Storage of a variable's arrays (`arrays/values/parts.py`) in a chunked store."""

    codecs: Literal["none", "hdf5", "all"] = "none"
    """Codecs that the store can name: those with a filter number of HDF5, or all (`arrays/codecs/table.py`)."""
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
    """Key segments are names escaped by `arrays/chunks/key_segments.py`."""
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
    axis_names: bool = True
    """Names that axes of a Zarr store have without a dimension."""
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
    json_attributes: Literal["none", "strict", "any"] = "none"
    """JSON that attributes may be: `strict` has no NaN and infinities, which stores write as words."""
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
    axis_names=False,
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
    json_attributes="any",
)
"""Capabilities of a Zarr store without extension."""

NETCDF_KINDS: dict["Kind", Capabilities] = {
    "nc3": _CLASSIC,
    "nc6": _CLASSIC,
    "nc5": _CLASSIC._replace(atomic=CDF5_ATOMIC),
    "nc4": Capabilities(anonymous_dimensions=False, axis_names=False),
    "nc7": _CLASSIC._replace(storage=True),
}
"""Capabilities of each kind of netCDF file. nc7 is the classic model in an HDF5 file."""


class RepresentedStore(NamedTuple):
    """Store of keys that a document or repository stands for, such as a document of references."""

    opens: str | None = None
    """`(Source | Store, Report, Options) -> Store | None`: the store that a source represents; excludes `read`."""
    inner: tuple[str, ...] = ()
    """Possible document formats of such a store, the default first."""
    begins: str | None = None
    """`(str, StorePlan, () -> Store) -> (Store, str)`: a new store for `opens`, and its readable place."""
    document: str | None = None
    """`(StorePlan, (Store) -> None) -> Iterator[bytes]`: the text of such a store, filled by the second argument."""
    commits: str | None = None
    """`(str, Report, Options) -> bool`: whether a commit can be made at a place; None: targets are files or folders."""
    extends: str | None = None
    """`(str, Options, Store) -> Store`: a commit on an opened revision, in which keys are replaced and removed."""

    @property
    def is_read_only(self) -> bool:
        """True if such a store is opened and never written."""
        return self.opens is not None and self.begins is None and self.document is None


class ReadingTraits(NamedTuple):
    """Needs of a reader: memory, ranges, other files and libraries."""

    resident: int = 0
    """Times of a file's size that it takes in memory, as long as its dataset; 0: it does not stay in memory."""
    ranged: bool = False
    """True if remote files of this format are read by ranges: `read` slices the source's data, and nothing else."""
    only_reader: bool = False
    """True if no other xarray engine reads the format, so that xarray takes ours by itself."""
    watches: str | None = None
    """`(path, Following) -> Iterator[str]`: local files and folders whose changes change the dataset of a document."""
    isolates: str | None = None
    """`(way | None) -> None`: make library calls in another process from now on."""
    warms: str | None = None
    """`() -> Any`: load the libraries that `read` needs; with `isolates`."""


class TargetTraits(NamedTuple):
    """Makers of a target besides `emit` and `write`, its declarations, and the library that verifies it."""

    build: str | None = None
    """`(FilePlan, str, Report, Counts) -> bool`: a single file at a path, made by a library."""
    steps: str | None = None
    """`(FilePlan, Report) -> Iterator[Step] | None`: the planned work of `build`."""
    kinds: Mapping["Kind", str] = MappingProxyType({})
    """For netCDF files, the format that writes each kind. A format without its own entry only selects."""
    declares: tuple[str, ...] = ()
    """Conventions that a target can declare (`--declare`)."""
    written_by: str | None = None
    """Command that alone writes this format, whose files name their values in others; None: every one that writes."""
    second_reader: Literal["libnetcdf", "zarr", "references"] | None = None
    """Foreign library that verifies a finished target (`--verify`), or None."""


class Display(NamedTuple):
    """Name and place of a format in lists, and how terminals print it."""

    label: str = ""
    """Name in the results of commands, which states the version of Zarr; empty: the format's `name`."""
    after: str = ""
    """Format behind which lists have it; empty, and without that format: at the end."""
    dumped: bool = False
    """True if `nczarr dump --as` prints it."""
    served: bool = False
    """True if a server offers this format."""
    binary: bool = False
    """True if terminals must not display it."""
    string_escapes: Literal["octal", "hex", "unicode"] | None = None
    """Spelling of a byte or character in a string of a text, for terminals; None: no strings."""


class Format(NamedTuple):
    """One row of the table of formats. Functions are lazy strings `module:function`.

    Most formats need no more than the fields up to `losses`. The last four are parts, for what few have.
    """

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
    losses: str | None = None
    """`(Checked, Options) -> Iterator[Loss]`: losses in single names and values. For texts and single files."""
    store: RepresentedStore = RepresentedStore()
    """Store that a document or repository stands for; it takes the place of `read` and `emit`."""
    reading: ReadingTraits = ReadingTraits()
    """Memory, ranges, other files and libraries of the reader."""
    target: TargetTraits = TargetTraits()
    """Library or formats that make targets, and what these can declare."""
    display: Display = Display()
    """Name and place in lists, and form on terminals."""

    @property
    def readable(self) -> bool:
        """True if datasets of this format can be read."""
        return bool(self.read or self.store.opens)

    @property
    def writable(self) -> bool:
        """True if this format, or one that it selects, can be written."""
        return bool(self.emit or self.write or self.target.build or self.target.kinds or self.store.inner)


ROWS: dict[str, str] = {
    "cdl": "nczarr.formats.cdl:FORMAT",
    "notation": "nczarr.formats.notation:FORMAT",
    "ast": "nczarr.formats.ast_json:FORMAT",
    "netcdf": "nczarr.formats.netcdf:FORMAT",
    "netcdf4": "nczarr.formats.netcdf4:FORMAT",
    "netcdf3": "nczarr.formats.netcdf3:FORMAT",
    "reference": "nczarr.formats.reference:FORMAT",
    "nczarr": "nczarr.formats.zarr.nczarr:FORMAT",
    "zarr2": "nczarr.formats.zarr.v2:FORMAT",
    "zarr3": "nczarr.formats.zarr.v3:FORMAT",
    "nczarr3": "nczarr.formats.zarr.nczarr:FORMAT3",
}
"""Formats of the compiler by name, in the order of documentation and detection; those of plugins follow."""

STORE, FILE, REFERENCE = "nczarr", "netcdf", "reference"
"""Formats of a store, a netCDF file and references by default."""

PLAIN_STORE = "zarr3"
"""Format of stores that other libraries write by default."""

MODES = {"zarr": "zarr2", "nczarr": "nczarr"}
"""Formats by mode of a netCDF URL; the first mode decides."""


def load(row: str) -> Any:
    """Return the object of a lazy string `module:name`. Raises PluginError for one of another distribution."""
    module, _, name = row.partition(":")
    return getattr(import_module(module), name) if module.startswith("nczarr.") else plugin_index.load_part(row)


def load_addition(kind: str, name: str) -> Any:
    """Return what a plugin adds: a convention, comparison or other check. Raises ValueError if no plugin has it."""
    place = plugin_index.find_place(kind, name)
    if place is None:
        raise ValueError(f"no plugin of this installation has the {kind.replace('_', ' ')} `{name}`")
    return load(place)


def own_rows() -> dict[str, str]:
    """Return the rows of the compiler and of built-in plugins."""
    return {**ROWS, **plugin_index.list_own("format")}


def rows() -> dict[str, str]:
    """Return our rows and those of other distributions."""
    return _join_all()[0]


def list_faults() -> tuple[str, ...]:
    """Return a sentence about each format of other distributions that cannot be used."""
    return _join_all()[1]


@cache
def _join_all() -> tuple[dict[str, str], tuple[str, ...]]:
    entries = plugin_index.list_entries(plugin_index.FORMATS)
    others = ((entry.name, entry.value) for entry in entries)
    return join(own_rows(), itertools.chain(plugin_index.list_others("format"), others))


def join(built_in: dict[str, str], others: Iterable[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return both tables as one, ours first, and a sentence about each row of others that is not used.

    A row is not used if its name is taken, or if it is no format.
    """
    table, faults = dict(built_in), []
    for name, row in sorted(others):
        fault = f"the name is taken by {table[name]}" if name in table else _find_fault(name, row)
        if fault is None:
            table[name] = row
        else:
            faults.append(f"format `{name}` of {row} is not used: {fault}")
    return table, tuple(faults)


def _find_fault(name: str, row: str) -> str | None:
    """Return what is wrong with a row of another distribution; None for a format."""
    try:
        form = load(row)
        if not isinstance(form, Format) or form.name != name:
            return f"it is no `Format` with the name `{name}`"
        for part, default in Format._field_defaults.items():
            if isinstance(default, tuple) and not isinstance(getattr(form, part), type(default)):
                return f"its `{part}` is no `{type(default).__name__}`"
        re.compile(form.detects.encode())
    except plugin_index.PluginError as error:
        return str(error)
    except (re.error, AttributeError) as error:
        return f"its pattern `detects` is invalid: {error}"
    return None


def documents_in(outer: Format, name: str, *, refer: bool) -> Format:
    """Return the format of a name as that of the documents in `outer`: references or a repository.

    `refer`: its chunks are references. A repository has no keys but those of Zarr.
    """
    inner = find_format(name)
    assert inner is not None
    arrays = inner.capabilities.arrays
    assert arrays is not None
    if outer.store.commits:
        arrays = arrays._replace(sidecars=False)
    if refer:
        arrays = arrays._replace(by_reference=True, shards=False)
    return inner._replace(
        name=outer.name,
        capabilities=inner.capabilities._replace(arrays=arrays),
        store=RepresentedStore(begins=outer.store.begins, document=outer.store.document),
        target=inner.target._replace(second_reader=outer.target.second_reader),
    )


def find_format(name: str) -> Format | None:
    """Return the format of this name, or None."""
    row = ROWS.get(name) or own_rows().get(name) or rows().get(name)
    form: Format | None = None if row is None else load(row)
    return form


def label_format(name: str, target: str = "", to: str | None = "") -> str:
    """Return the name of a format for people; with the way to Zarr v3, if `target` chose v2 by its suffix, not `to`."""
    label = (form.display.label if (form := find_format(name)) else "") or name
    is_default = to is None and name == STORE and target.lower().endswith(".zarr")
    return f"{label} (`--to {PLAIN_STORE}` writes v3)" if is_default else label


def list_names_with(field: str) -> tuple[str, ...]:
    """Return the names of our formats whose row has a field, such as `display.dumped`."""
    return tuple(name for name, row in own_rows().items() if attrgetter(field)(load(row)))


def of_modes(modes: Collection[str]) -> str | None:
    """Return the name of the format for a URL's modes, or None."""
    return next((name for mode, name in MODES.items() if mode in modes), None)


def formats() -> Iterator[Format]:
    """Yield every format, ours first."""
    found: list[Format] = []
    for row in rows().values():
        form: Format = load(row)
        listed = [each.name for each in found]
        found.insert(listed.index(form.display.after) + 1 if form.display.after in listed else len(found), form)
    yield from found


def for_target(path: str) -> Format | None:
    """Return the format of a target by its longest matching suffix, or None."""
    return next((form for table in _tables() if (form := _find_by_suffix(path, table, writing=True))), None)


def detect(name: str, head: bytes) -> Format | None:
    """Return the format of a source by its first bytes, else by the suffix of its name."""
    for table in _tables():
        for candidate in _lazily(table):
            pattern = candidate.detects if candidate.readable else ""
            if pattern and re.match(pattern.encode(), head[:HEAD], re.DOTALL):
                return candidate
        if (form := _find_by_suffix(name, table, writing=False)) is not None:
            return form
    return None


def detect_store(store: Store, *, opened: bool = False) -> Format | None:
    """Return a store's format by keys and root documents; `opened`: without representing formats. Raises OSError."""
    for table in _tables():
        for candidate in _lazily(table):
            if candidate.store.opens if opened else not candidate.readable:
                continue
            if candidate.holds and load(candidate.holds)(store):
                return candidate
    return None


Table = Callable[[], dict[str, str]]


def _tables() -> Iterator[Table]:
    """Yield the table of our rows, then that of others; each is made on demand."""
    yield own_rows
    yield lambda: {name: row for name, row in rows().items() if name not in own_rows()}


def _lazily(table: Table) -> Iterator[Format]:
    """Yield the formats of a table, those of the compiler before others are looked for."""
    if table is own_rows:
        yield from map(load, ROWS.values())
    yield from (load(row) for name, row in table().items() if name not in ROWS)


def _find_by_suffix(path: str, table: Table, *, writing: bool) -> Format | None:
    """Return the format with the longest suffix that a path ends with."""
    best: tuple[int, Format] | None = None
    for candidate in _lazily(table):
        if not (candidate.writable if writing else candidate.store.opens or (candidate.read and not candidate.holds)):
            continue  # a file is no store, whatever its suffix
        length = max((len(suffix) for suffix in candidate.suffixes if path.lower().endswith(suffix)), default=0)
        if length and (best is None or length > best[0]):
            best = length, candidate
    return best[1] if best else None
