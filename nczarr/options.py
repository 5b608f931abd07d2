"""Options of a run: one frozen value with a part for each phase, and the table of their forms on the command line.

A new option is a field of a part of `Options`, a row of `TABLE`, and a key of
`nczarr.api.options` if Python callers have it.
"""

import re
from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from nczarr.diagnostics.report import OMISSIONS, OMITTED, UNREAD
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from nczarr.ast.dataset import Kind


DEFAULT_MAX_SIZE = 16 << 30
"""Default limit for the declared bytes of a netCDF file's or archive's variables."""

DEFAULT_MEMORY = 1 << 30
"""Default limit for pending decoded chunks, in bytes."""

WHOLE = -1
"""Chunk length for the whole length of a dimension."""

AUTO = 0
"""Chunk size in bytes that the planner chooses."""

Aggregation = Literal["expand", "keep"]
"""Reading of aggregation variables (CF 2.8): as the arrays that they stand for, or as they are stored."""

Access = Literal["map", "series", "balanced"]
"""Way in which values will be read: steps of the leading dimension, series at points, or both."""


def parse_size(text: str) -> int:
    """Return a number of bytes: `4096`, `64MiB`, `2TB`. Raises ValueError for other texts."""
    parts = re.fullmatch(r"([0-9]+)(?:([KMGTPE])(i?)B?|B)?", text, re.ASCII | re.IGNORECASE)
    if parts is None:
        raise ValueError(f"{text!r} is not a size; write a number of bytes, 64MiB, 2TB …")
    number, prefix, binary = parts.groups()
    power = " KMGTPE".index(prefix.upper()) if prefix else 0
    return int(number) * int((1024 if binary else 1000) ** power)


def chunk_request(word: str) -> int:
    """Return the chunk size that a word names: `AUTO`, or bytes with a unit. Raises ValueError for others."""
    if word == "auto":
        return AUTO
    try:
        size = 0 if word.isdigit() else parse_size(word)
    except ValueError:
        size = 0
    if not size:
        raise ValueError(f"{word!r} is not a chunk size; write auto, or a size such as 10MB")
    return size


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
    documents: tuple[str, ...] = ()
    """Documents that lead to the one that is read, which none of them may be."""


WRITING, FOLLOWING = Writing(), Following()
"""Default handling of references."""


class ReadOptions(NamedTuple):
    """Options for opening and reading sources."""

    parser: str | None = None
    """Parser of VirtualiZarr that reads the sources, `module:Class` with named literal arguments."""
    source: str | None = None
    """Path or URL of the source, for `resume`; None without one."""
    aggregation: Aggregation = "keep"
    """Reading of aggregation variables; commands and functions that read values expand them by default."""
    aggregated: int = 0
    """Number of aggregation files that lead to the source."""
    unpack: bool = False
    """Give packed variables of sources the numbers that they stand for."""
    masking_fill: bool = False
    """Read fill values of Zarr v2 as `_FillValue`, as xarray does, unless they are netCDF's defaults."""
    survey: bool = False
    """List all keys of the source at once, because all of it will be read."""
    unfinished: bool = False
    """Read unfinished stores."""
    inspect: bool = False
    """Decode every message of a stream when it is opened, to find all faults."""
    nodes: tuple[str, ...] = ()
    """Paths of the nodes of a store that cannot list its keys."""
    following: Following = FOLLOWING
    """Options for following references."""


class LayoutOptions(NamedTuple):
    """Options for the arrangement of arrays: chunks, shards and codecs."""

    chunks: Mapping[str, int | tuple[int, ...]] = MappingProxyType({})
    """Chunk lengths by FQN of a variable, or one length by name of a dimension.

    An integer is a size in bytes, or `AUTO`, of one variable or of all (`""`).
    """
    access: Access = "map"
    """Way of reading for which chunk lengths are chosen."""
    arrangement: Literal["cloud", "cmip7"] | None = None
    """Arrangement of a target; None: as its library or the source arranges it.

    `cloud`: for reading by ranges; `cmip7`: as CMIP7 demands it.
    """
    grid: Literal["regular", "rectilinear"] = "regular"
    """Grid of chunks. `rectilinear`: chunk lengths may differ along a dimension, where the target supports it."""
    shards: Mapping[str, str | tuple[int, ...]] = MappingProxyType({})
    """Shard lengths, `auto`, `append` or `none`, by FQN of a variable, or for every variable (`""`)."""
    codecs: Mapping[str, str] = MappingProxyType({})
    """Codec specifications (`zlib:5`), by FQN of a variable, or for every variable (`""`)."""
    order: Literal["C", "F"] | None = None
    """Element order in chunks; None: the source's, if the target supports it."""
    separator: Literal[".", "/"] | None = None
    """Separator of chunk key indices; None: the source's, if the target supports it."""


class TargetOptions(NamedTuple):
    """Options for what a target is and holds."""

    path: str | None = None
    """Path or URL of the target, for relative names in documents; None without one."""
    kind: "Kind | None" = None
    """Check the dataset for this kind of netCDF file."""
    zarr_names: Literal["common", "registered"] = "common"
    """Names in Zarr v3: those that all supported readers know, or those of the registry of extensions."""
    consolidated: bool | None = None
    """Write consolidated metadata; None: in Zarr stores, but not in references and repositories."""
    declare: Literal["nz", "geo"] | None = None
    """Conventions that the target declares; None: none."""
    declarations: Mapping[str, Mapping[str, Any]] | None = None
    """Attributes that each node declares by `geo`, by FQN."""
    char_netcdf: bool = False
    """Write char arrays in the form that only the netCDF library reads."""
    tables: bool = False
    """Write records as tables in Awkward archives."""
    xarray: bool = True
    """Write dimension names for other readers, if a format stores them twice."""
    rename_illegal: bool = False
    """Give items legal names in netCDF files, and keep their own in an attribute."""
    narrow: bool = False
    """Write types of netCDF-4 as classic ones in classic kinds of file, exactly or not at all."""
    overwrite: bool = False
    """Replace an existing target."""
    max_size: int = DEFAULT_MAX_SIZE
    """Maximum declared bytes of a netCDF file's or archive's variables."""
    header_pad: int = 0
    """Bytes after the header of a classic netCDF file, which later edits of the header may use."""
    message: str | None = None
    """Message of a commit; None: one that names the source."""
    author: str | None = None
    """Author of a commit, as its metadata name it."""
    virtual: bool = False
    """In a repository, refer to chunks in the files of the source instead of copying them."""
    part: str = ""
    """Converted part of the source, as a text that is equal for equal parts."""
    passes: tuple[Any, ...] = ()
    """Passes of users over the tree: functions, or `module:function`; once they were run, their names."""
    writing: Writing = WRITING
    """Options for writing references."""


class TextOptions(NamedTuple):
    """Options for texts; all of them are flags of `ncdump`."""

    header_only: bool = False
    """Print no data."""
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


class RunOptions(NamedTuple):
    """Options for the run: its limits, threads and losses."""

    allow_loss: frozenset[str] = frozenset()
    """Codes of value losses that are warnings instead of errors; `all` includes every code."""
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
    scratch: str | None = None
    """Folder for arrays between two passes (`rechunk`); empty: beside the target; None: always one pass."""
    dask: str | None = None
    """Scheduler address of a cluster for the tasks."""
    storage: StorageOptions = NO_OPTIONS
    """Options of libraries for remote places."""

    def accepts(self, loss: str) -> bool:
        """Return whether this loss is a warning in the run. `unread` accepts every loss of a reader."""
        if not self.allow_loss.isdisjoint((loss, "all")):
            return True
        return OMITTED in self.allow_loss and loss in UNREAD | OMISSIONS


class Options(NamedTuple):
    """Options for reading, planning and writing, by phase; no two parts have a field of the same name."""

    reading: ReadOptions = ReadOptions()
    """Those of front ends and stores of sources."""
    layout: LayoutOptions = LayoutOptions()
    """Those of the planner."""
    target: TargetOptions = TargetOptions()
    """Those of planner and back ends."""
    text: TextOptions = TextOptions()
    """Those of back ends for texts."""
    run: RunOptions = RunOptions()
    """Those of every phase."""

    @classmethod
    def of(cls, **fields: Any) -> "Options":
        """Return options from fields of their parts.

        Raises TypeError for a name that no part has.

        Examples
        --------
        >>> Options.of(memory=4096, order="F").run.memory
        4096
        """
        return cls().change(**fields)

    def change(self, **fields: Any) -> "Options":
        """Return options with other values of some fields of their parts. Raises TypeError as `of` does."""
        parts = self._asdict()
        for name, value in fields.items():
            if name not in PARTS:
                raise TypeError(f"{name!r} is not an option")
            parts[PARTS[name]] = parts[PARTS[name]]._replace(**{name: value})
        return Options(**parts)

    def find(self, name: str) -> Any:
        """Return the value of a row of the table, `memory` or `writing.base`. Raises KeyError if it has no field."""
        return attrgetter(name)(getattr(self, PARTS[name.partition(".")[0]]))

    @property
    def fingerprint(self) -> str:
        """Text of all options that may change a byte of the target, equal for equal ones."""
        return repr([(name, _plain(self.find(name))) for name in PARTS if name not in RUN_ONLY])


PARTS = {name: part for part, default in Options._field_defaults.items() for name in default._fields}
"""Part of `Options` that has a field."""


def _plain(value: object) -> object:
    """Return a value whose text does not depend on the order of a mapping or set."""
    if isinstance(value, Mapping):
        return sorted(value.items())
    return sorted(value) if isinstance(value, frozenset) else value


class Option(NamedTuple):
    """Row of the table of options: one option in its forms, and what it concerns."""

    name: str
    """Field of a part of `Options`; with a prefix, of `Writing` or `Following`. Other names are of commands alone."""
    commands: tuple[str, ...] = ()
    """Commands that have it."""
    section: str = ""
    """Section of their help."""
    flags: str = ""
    """Its spellings, separated by blanks."""
    takes: str = "flag"
    """Kind of its value, which `nczarr.cli` parses; `flag` and `switch` (`--x`, `--no-x`) take none."""
    metavar: str | None = None
    """Name of its value in the help."""
    help: str = ""
    """Line of the help."""
    choices: tuple[str, ...] | None = None
    """Values that it takes, if these are few."""
    default: object = None
    """Value without it, of an option that is no field."""
    bytes: bool = True
    """True if it may change a byte of the target."""
    common: bool = False
    """True if `--help` shows it; `--help all` shows every option."""


_WRITE = ("convert", "compile", "rechunk")
_LINK = ("convert", "rechunk")
_COMPARE = ("diff", "digest")
_READ = ("dump", "info", "check", *_COMPARE, "refs verify", "refs expand", "refs compact", "refs ls", "refs cat")
_OPEN = (*_WRITE, *_READ)
_FOLLOW = tuple(command for command in _OPEN if command not in ("refs expand", "refs compact"))
_REPORT = (*_OPEN, "fmt", "explain", "formats", "plugins", "completion")
_SELECT = (*_LINK, *_COMPARE, "check", "dump")
_REFER = ("convert", "compile")

SECTIONS = (
    ARGUMENTS, SOURCE, SELECTION, COMBINATION, COMPARISON, TARGET, CHUNKS, REFERENCES, NETWORK,
    RUN, LIMITS, TEXT, OUTPUT,
) = (
    "arguments", "source", "selection", "combination", "comparison", "target", "chunks and codecs",
    "reference documents", "network", "run", "limits", "text", "output"
)  # fmt: skip
"""Sections of a help text in order; empty ones are not shown."""

TABLE: tuple[Option, ...] = (
    # no options of commands
    *map(Option, ("following.hidden", "masking_fill", "part", "declarations", "xarray", "writing.home",
                  "writing.keep_names")),
    *(Option(name, bytes=False) for name in (
        "aggregated", "following.documents", "survey", "unfinished", "inspect", "nodes", "source", "path")),
    # sources
    Option("form", ("convert", "rechunk", "info", "check", "digest"), SOURCE, "--from", "text", "FORMAT",
           "format of the sources (default: by content)"),
    Option("parser", ("convert", "rechunk", "dump", "info", "check"), SOURCE, "--parser", "text", "MODULE:CLASS",
           "read the sources by a parser of VirtualiZarr, such as `virtualizarr.parsers:HDF4Parser` or "
           "`virtual_tiff:VirtualTIFF(ifd=0)`"),
    Option("storage", _OPEN, SOURCE, "--storage-option", "storage options", "NAME=VALUE",
           "option for the library that opens a URL; a prefix `source.` or `target.` limits it to one side; "
           "retries=N sets the number of retries, ncstream.byte_order=flag reads numbers of ncstream in the order that "
           "messages state; repeatable", bytes=False),
    Option("following.base", _FOLLOW, SOURCE, "--source-base", "text", "URL",
           "base of the relative URLs in a reference document (default: the folder of the document)"),
    Option("following.roots", _FOLLOW, SOURCE, "--source-root", "texts", "ROOT",
           "allow references to this folder, URL or protocol (s3://) and refuse all others; repeatable "
           "(default: see `nczarr help references`)"),
    Option("following.target", _FOLLOW, SOURCE, "--source-target", "text", "URL",
           "target of references that name no URL"),
    Option("following.jinja", _FOLLOW, SOURCE, "--source-jinja",
           help="read templates beyond the built-in grammar by jinja2"),
    Option("aggregation", (*_LINK, *_COMPARE, "dump", "info"), SOURCE, "--aggregation", "text", None,
           "expand: read aggregation variables (CF 2.8) as the arrays that they stand for, from their fragments; "
           "keep: as they are stored (default: expand)", ("expand", "keep"), "expand"),
    # selection
    Option("subset.variables", _SELECT, SELECTION, "--var", "texts", "NAME,…",
           "select variables, with the dimensions and types that they use; repeatable", common=True),
    Option("subset.exact", (*_LINK, "dump"), SELECTION, "--no-coordinates",
           help="select exactly the variables of `--var`, without their coordinates and other related variables"),
    Option("subset.excluded", _SELECT, SELECTION, "--exclude", "texts", "NAME,…",
           "leave out variables, and the dimensions that they alone use; repeatable"),
    Option("subset.groups", _SELECT, SELECTION, "--group", "texts", "NAME,…",
           "select groups with their content; repeatable"),
    Option("subset.dimensions", _SELECT, SELECTION, "--dim", "texts", "NAME=FIRST:LAST",
           "select indices of a dimension in all variables, such as `time=0:11`, `time=-12:` or `x=0:99:2`; the last "
           "one is included; negative ones count from the end; repeatable", common=True),
    Option("subset.labels", _SELECT, SELECTION, "--sel", "texts", "NAME=LOW:HIGH",
           "select by values of a coordinate, such as `time=2000-01:2000-12`, `lat=-30:30`, `lev=500`, or "
           "`lat~45.3` for the nearest value; bounds are included; repeatable", common=True),
    Option("subset.sections", ("convert", *_COMPARE, "check", "dump"), SELECTION, "--section", "texts", "SECTION",
           "select a part of one variable, such as `temp(0:9:2,:,5)`; indices start at 0, the last one is "
           "included; repeatable"),
    Option("subset.unlimited", ("convert",), SELECTION, "--unlimited", "texts", "NAME,…",
           "make dimensions unlimited; repeatable"),
    Option("subset.fixed", ("convert",), SELECTION, "--fixed", "texts", "NAME,…",
           "make unlimited dimensions fixed; repeatable"),
    Option("fixed", ("convert",), SELECTION, "-u", help="make all unlimited dimensions fixed (nccopy)"),
    # target
    Option("passes", ("compile", "convert"), TARGET, "--pass", "texts", "MODULE:FUNCTION",
           "run a function over the tree before it is written, (Dataset, Report) -> Dataset; repeatable"),
    Option("kind", _WRITE, TARGET, "-k --kind", "kind", "KIND",
           "kind of netCDF file: nc3, nc6, nc5, nc4, nc7, or 1 to 5 (default: that of the source, else the smallest "
           "that holds the dataset)", common=True),
    Option("rename_illegal", _WRITE, TARGET, "--rename-illegal",
           help="give items whose names netCDF does not allow other names in netCDF files; their own names are kept in "
           "an attribute, and come back when the file is read"),
    Option("narrow", _WRITE, TARGET, "--narrow",
           help="in classic kinds of netCDF file (nc3, nc6, nc5, nc7), write integers as int or short, and strings as "
           "chars with a dimension NAME_strlen; values that do not fit are an error that names the variable"),
    Option("unpack", _LINK, TARGET, "--unpack",
           help="write packed variables as the floats or doubles that they stand for, as xarray decodes them"),
    Option("overwrite", (*_WRITE, "refs expand", "refs compact"), TARGET, "--overwrite",
           help="replace an existing target", bytes=False, common=True),
    Option("allow_loss", (*_WRITE, *_COMPARE, "dump"), TARGET, "--allow-loss", "losses", "CODE",
           "accept losses with this diagnostic code, or `all`; repeatable", common=True),
    Option("consolidated", _WRITE, TARGET, "--consolidated", "switch",
           help="write the metadata of all nodes in one key of the root as well (default: in Zarr stores, but not in "
           "references and repositories)"),
    Option("declare", _WRITE, TARGET, "--declare", "text", None,
           "declare conventions in the target, Zarr v3 only: nz (NZ-1.0), or geo (CF, proj: and spatial:) "
           "(default: none)", ("nz", "geo")),
    Option("char_netcdf", _WRITE, TARGET, "--char", "char", None,
           "Zarr type of char variables: one that all Zarr readers know, or netCDF-C's own (default: bytes)",
           ("bytes", "netcdf"), "bytes"),
    Option("tables", _WRITE, TARGET, "--tables", help="write records as Awkward tables, in archives and in lists"),
    Option("virtual", _REFER, TARGET, "--virtual",
           help="in a repository, refer to chunks in the files of the source instead of copying them"),
    Option("message", _WRITE, TARGET, "--message", "text", "TEXT",
           "message of a commit (default: one that names the source)", bytes=False),
    Option("author", _WRITE, TARGET, "--author", "text", "NAME", "author of a commit (default: none)", bytes=False),
    Option("header_pad", _WRITE, TARGET, "--header-pad", "size", "SIZE",
           "room after the header of a classic netCDF file, for later edits of the header (default: 0)"),
    # chunks and codecs
    Option("chunks", _WRITE, CHUNKS, "--chunks", "chunks", "SPEC",
           "chunk lengths by dimension (time=1,lat=100) or of one variable (/g1/temp=1,12), their size (10MB), or "
           "auto: at least 4 MiB; repeatable (default: those of the source)", common=True),
    Option("access", _WRITE, CHUNKS, "--access", "text", None,
           "way of reading for which --chunks auto or SIZE chooses lengths: maps of one time, series at one point, or "
           "both (default: map)", ("map", "series", "balanced")),
    Option("arrangement", _WRITE, CHUNKS, "--layout", "text", None,
           "cloud: for reading by ranges; automatic chunks, in netCDF-4 all headers and indexes in front, in Zarr v3 "
           "shards; cmip7: the same in netCDF-4, with warnings for what CMIP7 does not accept (default: that of the "
           "source)", ("cloud", "cmip7")),
    Option("grid", _WRITE, CHUNKS, "--grid", "text", None,
           "regular: chunks of one length along a dimension; rectilinear: chunks of the source's lengths, in Zarr v3 "
           "only, where few readers know them (default: regular)", ("regular", "rectilinear")),
    Option("shards", _WRITE, CHUNKS, "--shards", "shards", "SPEC",
           "auto, append (one chunk along the first dimension), none, or shard lengths as for --chunks; Zarr v3 only; "
           "repeatable (default: none)"),
    Option("codecs", _WRITE, CHUNKS, "--codec", "codecs", "SPEC",
           "codecs of all variables (zlib:5, zstd:3, none) or of one (/g1/temp=zlib:5); numbers are shuffled first, "
           "not in Zarr v3, or with noshuffle+zlib:5; repeatable (default: those of the source)", common=True),
    Option("separator", _WRITE, CHUNKS, "--separator", "text", None,
           "separator of indices in chunk keys, where the format has a choice (default: that of the format)",
           (".", "/")),
    Option("zarr_names", _WRITE, CHUNKS, "--zarr-names", "text", None,
           "names of types and codecs in Zarr v3: those that zarr-python and xarray know, or registered ones without "
           "those of numcodecs, for which chunks are encoded again (default: common)", ("common", "registered")),
    Option("order", _WRITE, CHUNKS, "--order", "text", None,
           "order of elements in chunks, where the format has a choice (default: that of the source)", ("C", "F")),
    Option("level", ("convert",), CHUNKS, "-d", "level", "N", "deflate at level 1 to 9, or 0 for no codecs (nccopy)"),
    Option("shuffle", ("convert",), CHUNKS, "-s", help="shuffle bytes before deflating, with -d (nccopy)"),
    Option("chunkspecs", ("convert",), CHUNKS, "-c", "texts", "SPEC",
           "chunk lengths by dimension (time/10,lat/20; lon/ for all of it) or of one variable (/g1/temp:1,12) "
           "(nccopy); repeatable"),
    # reference documents
    Option("writing.metadata", _REFER, REFERENCES, "--metadata", "documents", None,
           "format of the Zarr metadata in a reference document (default: {}) or repository (default: nczarr3)"),
    Option("writing.inline", _REFER, REFERENCES, "--inline", "size", "SIZE",
           "largest chunk to store in the document itself (default: 64)"),
    Option("writing.embed", _REFER, REFERENCES, "--embed", "size", "SIZE",
           "largest variable to store in the document if its chunks cannot be referenced (default: 4MiB)"),
    Option("writing.base", _REFER, REFERENCES, "--base", "text", "URL",
           "folder or URL where readers find the referenced files (default: where they are now)"),
    Option("writing.relative", _REFER, REFERENCES, "--relative", help="name referenced files relative to the document"),
    # the run
    Option("verify", _LINK, RUN, "--verify",
           help="read the target again; publish it only if every value is there", bytes=False, common=True),
    Option("progress", (*_LINK, "check"), RUN, "--progress", "switch",
           help="show progress (default: on a terminal, for long runs)"),
    Option("resume", _LINK, RUN, "--resume", help="resume a target that the same command has begun", bytes=False),
    Option("dask", ("convert",), RUN, "--dask", "text", "URL",
           "use a dask cluster with the scheduler at this address", bytes=False),
    Option("scratch", ("rechunk",), RUN, "--scratch", "text", "DIR",
           "folder for the values between two passes (default: that of the target)", bytes=False),
    Option("dry_run", _WRITE, RUN, "--dry-run", help="show what would be written; write nothing", common=True),
    Option("max_size", _WRITE, LIMITS, "--max-size", "size", "SIZE",
           "refuse a netCDF file or archive whose variables are larger (default: 16GiB)", bytes=False),
    Option("memory", (*_WRITE, "digest", "check", "refs verify"), LIMITS, "--memory", "size", "SIZE",
           "memory for values and chunks in flight (default: 1GiB)", bytes=False),
    Option("workers", (*_WRITE, "digest", "check"), LIMITS, "--workers", "workers", "N",
           "number of threads, and of processes that read sources (default: one per processor)", bytes=False),
    # texts; short options are those of ncdump
    Option("header_only", ("dump",), SELECTION, "-h", help="print the header only, without data", common=True),
    Option("coordinates_only", ("dump",), SELECTION, "-c", help="print data of coordinate variables only", common=True),
    Option("variables", ("dump",), SELECTION, "-v", "names", "NAME,…",
           "print the data of these variables only; repeatable", common=True),
    Option("groups", ("dump",), SELECTION, "-g", "names", "NAME,…", "print the data of these groups only; repeatable"),
    Option("special", ("dump",), TEXT, "-s", help="print special (virtual) attributes as well"),
    Option("name", ("dump",), TEXT, "-n", "text", "NAME",
           "name of the dataset in the text (default: its own, else SRC)"),
    # messages
    Option("strict", _REPORT, OUTPUT, "--strict", help="treat warnings as errors"),
    Option("levels", _REPORT, OUTPUT, "-W", "levels", "CODE=LEVEL",
           "treat the warnings of a code as error, warning or ignore; repeatable", bytes=False),
    Option("message_format", _REPORT, OUTPUT, "--message-format", "text", None,
           "form of the diagnostics on standard error (default: human); gcc is for lists of errors in editors",
           ("human", "json", "sarif", "gcc"), "human"),
    Option("quiet", _REPORT, OUTPUT, "-q --quiet", help="print errors only"),
    Option("verbose", _REPORT, OUTPUT, "--verbose",
           help="list every loss; print the traceback of an internal error", bytes=False),
)  # fmt: skip
"""Every option of a run, in the order of the help."""

READING = frozenset(row.name for row in TABLE if row.commands in (_OPEN, _FOLLOW))
"""Options that tell how sources are opened: for commands of plugins."""

REPORTING = frozenset(row.name for row in TABLE if row.commands == _REPORT)
"""Options that tell how diagnostics are shown: for commands of plugins."""

SELECTING = frozenset(("subset.variables", "subset.exact", "subset.excluded", "subset.groups"))
"""Options that select whole variables and groups: for commands of plugins."""

CONVERTING = frozenset(row.name for row in TABLE if "convert" in row.commands) - {
    *("subset.sections", "fixed", "subset.fixed", "subset.unlimited", "level", "shuffle", "chunkspecs")
}
"""Options of a run that reads sources and writes a new target, all of them: for commands of plugins."""

RUN_ONLY = frozenset(option.name for option in TABLE if not option.bytes)
"""Options that change no byte of the target."""
