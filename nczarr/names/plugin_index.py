"""Plugins by what they add: the compiler knows their kinds of things, and none of them by name.

A plugin is a folder with `plugin.py`, whose `PLUGIN` is the row of what it adds.
`nczarr.plugins` lists what the built-in ones offer, so that only the row of the
one that is asked for is loaded; a folder that was removed offers nothing. Other
distributions name their row by an entry point of the group `nczarr.plugins`;
their metadata are read where no other name fits. A plugin that cannot be loaded
is listed with its fault, and the others work.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "nczarr.plugins"
"""Package of the built-in plugins, and group of entry points of the others."""

FORMATS = "nczarr.formats"
"""Group of entry points of distributions that add formats alone."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


class CommandRow(NamedTuple):
    """A command of the command line."""

    parser: str
    """`module:function` that makes the parser; the module has `run` as well."""
    line: str
    """One line about the command."""
    task: str
    """Heading of the overview under which it stands, such as `inspect datasets`; another one is added."""
    after: str = ""
    """Command behind which the overview lists it; empty, and without that command: at the end of its task."""
    other_names: tuple[str, ...] = ()
    """Names of it in other programs: typed instead, they suggest it."""


class FactForm(NamedTuple):
    """A form in which `info` prints the facts about a dataset, by an option `--NAME`."""

    function: str
    """`module:function` that makes its JSON object of `(DatasetFacts, Checked, is_store)`."""
    help: str
    """Line of the help."""
    example: tuple[str, str]
    """Purpose of a command line, and the command line without `nczarr`."""


class DeclarationRow(NamedTuple):
    """A convention that targets declare (`--declare`), and its form in the attributes of Zarr v3 documents."""

    declaration: str
    """`module:attribute` of a `ConventionDeclaration`."""
    declare: str
    """`module:function`, `(attributes, declared, is_group) -> attributes`: those of a node with its declarations."""
    undeclare: str
    """`module:function`, `(attributes) -> attributes`: its inverse; attributes of other writers are unchanged."""


class LocationRow(NamedTuple):
    """A kind of location, whose texts begin with its name and a colon, as in `NAME:PATH`."""

    kind: str
    """`module:attribute` of a `LocationKind`."""
    follows: str = ""
    """Pattern of what follows the colon; other texts are paths."""


class OpenerRow(NamedTuple):
    """Sources that another library opens as references: its objects, and files by parsers that users name."""

    open_object: str
    """`module:function`, `(object, Options) -> Store | None`; None for objects of other libraries."""
    parse: str
    """`module:function`, `(path, parser, Report, Options) -> Store | None`: for `--parser`; None after an error."""


class ProtocolRow(NamedTuple):
    """A protocol of the server: all URLs of datasets below a first segment, which is its name."""

    answer: str
    """`module:function` that answers, `(ProtocolRequest) -> Reply`; both are in `nczarr.sdk`."""
    title: str
    """Its name on the page of a dataset."""
    service: str = ""
    """Type of its service in THREDDS catalogs; empty: they do not list it."""


class EditRow(NamedTuple):
    """Functions that change a format in place. The plugin `edit` alone loads them, so that they may import it."""

    header: str = ""
    """`(HeaderEdit, Report) -> PreparedEdit | None`: changes of the header; None after a reported error."""
    documents: str = ""
    """`(Store, StorePlan, Format, Report) -> {key: bytes | None} | None`: documents that give a store this format.

    The plan is that of the store in place, the format that which it has; None removes a document.
    """
    text: str = ""
    """`(path, DocumentPatch, removed prefixes) -> FilePatch`: the text of a store in one file with other documents."""


class Plugin(NamedTuple):
    """Row of a plugin: its additions."""

    name: str
    """Name of its folder or entry point."""
    line: str
    """One line about it."""
    formats: Mapping[str, str] = NOTHING
    """Rows of formats by name, `module:FORMAT`, in the order of detection."""
    commands: Mapping[str, CommandRow] = NOTHING
    """Commands by name."""
    names: Mapping[str, str] = NOTHING
    """Public names of the package `nczarr`: `module` or `module:attribute`. `refs.NAME` is one of `nczarr.refs`."""
    checks: Mapping[str, str] = NOTHING
    """Checks behind `check --for NAME`: `module:attribute` of a `ReaderCheck`, in the order of messages."""
    conventions: Mapping[str, str] = NOTHING
    """Conventions with versions, which `check --NAME` checks: `module:attribute` of a `Convention`."""
    comparisons: Mapping[str, str] = NOTHING
    """Comparisons of several sources, by the word of `check --NAME`: `module:attribute` of a `SourceComparison`."""
    schema_checks: Mapping[str, str] = NOTHING
    """The check against a schema, by the word of `check --NAME`: `module:attribute` of a `SchemaCheck`."""
    data_checks: Mapping[str, str] = NOTHING
    """The check of all data, by the word of `check --NAME`: a function `(Checked, CheckRequest, Report)`."""
    expansions: Mapping[str, str] = NOTHING
    """Functions `(Checked, Source | Store, Report, Options) -> Checked | None`, by their mark.

    They return the dataset with what marked members stand for, or report why not. A mark is the name of an attribute
    of groups or variables, or of a group of the root.
    """
    changes: Mapping[str, str] = NOTHING
    """Functions `(Checked, Report, *, joined) -> Checked` that change what is read of a source, by their option."""
    declarations: Mapping[str, DeclarationRow] = NOTHING
    """Conventions that targets declare, by the word of `--declare`."""
    demands: Mapping[str, str] = NOTHING
    """Functions `(Checked, Report)` that report what variables lack for a layout, by the word of `--layout`."""
    fact_forms: Mapping[str, FactForm] = NOTHING
    """Forms of the facts that `info` prints."""
    hints: Mapping[str, str] = NOTHING
    """Functions `(bytes) -> str | None`: what may help with a file of unknown format, by its first bytes."""
    judgements: Mapping[str, str] = NOTHING
    """Judgements that `diff --NAME` prints instead of the differences: `module:attribute` of a `DiffJudgement`."""
    codes: str = ""
    """Folder with a page for each code that it alone reports, such as `diagnostics/codes`."""
    differences: str = ""
    """Folder with a page for each kind of difference that its judgements name."""
    losses: tuple[str, ...] = ()
    """Codes of losses of values that its formats report, which `--allow-loss` accepts."""
    codecs: Mapping[str, str] = NOTHING
    """Codecs of stores by their name in numcodecs and in Zarr: `module:attribute` of a `CodecKind`."""
    data_types: Mapping[str, str] = NOTHING
    """Functions `(document of an array) -> members` by data type of Zarr v3, or URI of its draft: known ones for it."""
    chunk_grids: Mapping[str, str] = NOTHING
    """Such functions by chunk grid."""
    locations: Mapping[str, LocationRow] = NOTHING
    """Kinds of locations by the word before the colon, in lower case."""
    places: Mapping[str, str] = NOTHING
    """Places behind URLs by protocol, `*` for all protocols without a row: `module:attribute` of a `RemotePlaces`.

    Only those of built-in plugins are asked.
    """
    folders: Mapping[str, str] = NOTHING
    """Functions `(path) -> Repository | None` that recognize repositories, by an entry that their folders have.

    Only those of built-in plugins are asked, because every folder that is opened is looked at.
    """
    arrays: Mapping[str, str] = NOTHING
    """Functions `(data) -> ArrayData | array` for data of builders, by the package of their class."""
    lazy_arrays: Mapping[str, str] = NOTHING
    """Arrays whose blocks are computed when they are read, by an attribute that they have.

    `module:attribute` of a `LazyArrays`. Only those of built-in plugins are asked, for all data of variables.
    """
    containers: Mapping[str, str] = NOTHING
    """Openers of archives: `file` of (first bytes, path, name), None for others; `member` of a path, `era.nc/a.nc`."""
    executors: Mapping[str, str] = NOTHING
    """Executors of tasks, by the option that names their address: `module:attribute` of an `ExecutorKind`."""
    objects: Mapping[str, str] = NOTHING
    """Objects that `nczarr.write` takes, by the package of their class: `module:attribute` of an `ObjectReader`."""
    verifications: Mapping[str, str] = NOTHING
    """Functions of `--verify`: `verify` asks another library for a target, `share` is the block for several targets."""
    wrappers: Mapping[str, str] = NOTHING
    """Options around the run of a command: a `RunWrapper` by `COMMAND` or `COMMAND:WORD`; `*` is every command."""
    schema_readers: Mapping[str, str] = NOTHING
    """Reader of several schemas as one, for `compile`: `module:attribute` of a `SchemaReader`."""
    representations: Mapping[str, str] = NOTHING
    """Functions `(Checked, path, title) -> str` that make the HTML of a node for notebooks: `group`, `variable`."""
    emissions: Mapping[str, str] = NOTHING
    """Functions `(Emission) -> Iterator[dict]` behind `compile --emit NAME`: records that are printed as JSON Lines."""
    products: Mapping[str, str] = NOTHING
    """Files that `compile --NAME` makes instead of a target: `module:attribute` of a `CompileProduct`."""
    explanations: Mapping[str, str] = NOTHING
    """Functions `(store, key, format | None, Report, Options) -> Iterator[str]` behind `explain STORE KEY`."""
    protocols: Mapping[str, ProtocolRow] = NOTHING
    """Protocols of the server by the first segment of their URLs."""
    edits: Mapping[str, EditRow] = NOTHING
    """Changes in place by the name of the format, of this plugin or another one, for the commands of `edit`."""
    resizes: Mapping[str, str] = NOTHING
    """Functions `(Store, shapes, lengths) -> {key: bytes}` by the name of the format, for `append`.

    They return the documents of a store that change with its lengths.
    """
    dialects: Mapping[str, str] = NOTHING
    """Readers of other forms of NCZarr's metadata in Zarr v3: a `DialectMetadata` by the name of the form."""
    templates: Mapping[str, str] = NOTHING
    """Readers of documents with templates and generators, by the name of the format: `module:function`.

    It returns the references of a parsed document, `(document, Source, Report, Limits) -> References | None`.
    """
    openers: Mapping[str, OpenerRow] = NOTHING
    """Sources that other libraries open, by the name of the library."""
    styles: Mapping[str, str] = NOTHING
    """Styles of texts by the name of the format, for `fmt`: `module:function`, `(Source, Report) -> TextLayout | None`.

    It returns the text in the one style of the format; None after faults of syntax.
    """
    languages: Mapping[str, str] = NOTHING
    """Names and words of texts that people write, for editors, by the name of the format: a `Language`."""
    extras: Mapping[str, str] = NOTHING
    """Extras of the package that install the libraries it imports, by their module."""
    requires: tuple[str, ...] = ()
    """Plugins whose modules it imports; without them it cannot be loaded."""


class Found(NamedTuple):
    """A plugin of this installation."""

    name: str
    """Name of its folder or entry point."""
    version: str
    """Version of its distribution."""
    load: Callable[[], Plugin]
    """Loads its row. It may raise anything."""
    offers: frozenset[str] | None
    """`KIND NAME` of what it adds, such as `format zarr2`, and `codes`; None: its row must be loaded.

    Each kind is a field of `Plugin` without its plural `s`.
    """


def find_command(*names: str) -> tuple[str, CommandRow] | None:
    """Return the first of some names that is a command of a plugin, with its row."""
    return _find("command", names)


def find_place(kind: str, name: str) -> str | None:
    """Return the place of an addition, `module` or `module:attribute`; None without one."""
    place: str | None = find_row(kind, name)
    return place


def find_row(kind: str, name: str) -> Any:
    """Return an addition of a kind: its place or row; None without one."""
    found = _find(kind, (name,))
    return None if found is None else found[1]


@cache
def list_own(kind: str) -> Mapping[str, Any]:
    """Return the additions of built-in plugins of a kind by name."""
    loaded = (load(found)[0] for found in dict.fromkeys(_list_offers().get(kind, {}).values()))
    return {name: row for plugin in loaded for name, row in getattr(plugin, f"{kind}s", NOTHING).items()}


def list_others(kind: str) -> Iterator[tuple[str, Any]]:
    """Yield the additions of other distributions of a kind, with their names."""
    for found in _list_others():
        yield from getattr(load(found)[0], f"{kind}s", NOTHING).items()


def list_folders(what: str) -> Iterator[str]:
    """Yield the folders with pages of `codes` or `differences`, those of built-in plugins first."""
    for list_found in (_list_built_in, _list_others):
        for found in list_found():
            plugin = load(found)[0] if found.offers is None or what in found.offers else None
            folder: str = "" if plugin is None else getattr(plugin, what)
            if folder:
                yield folder


def list_offered(kind: str) -> list[str]:
    """Return the names that built-in plugins offer of a kind, such as `command`, without loading them."""
    return [*_list_offers().get(kind, ())]


def load_all() -> Iterator[Plugin]:
    """Yield the rows of all plugins that can be loaded."""
    yield from (plugin for found in list_plugins() if (plugin := load(found)[0]) is not None)


def list_plugins() -> list[Found]:
    """Return all plugins of this installation, built-in ones first."""
    return [*_list_built_in(), *_list_others()]


class PluginError(ValueError):
    """A part of a plugin that cannot be loaded."""


def load_part(place: str) -> Any:
    """Return the object at `module:attribute`. Raises PluginError, which names it."""
    module, _, attribute = place.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # of another distribution: the message must say whose
        raise PluginError(f"{place} cannot be loaded: {type(error).__name__}: {error}") from error


def list_packages() -> set[str]:
    """Return the names of the packages that have plugins of other distributions."""
    return {entry.module.partition(".")[0] for group in (GROUP, FORMATS) for entry in list_entries(group)}


def list_entries(group: str) -> "Sequence[EntryPoint]":
    """Return the entry points of other distributions in a group of ours, by name."""
    if not _may_have_entries():
        return ()
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def list_faults() -> list[str]:
    """Return a sentence about each plugin that cannot be loaded."""
    loaded = ((found, load(found)[1]) for found in list_plugins())
    return [f"plugin `{found.name}` cannot be loaded: {fault}" for found, fault in loaded if fault]


def load(found: Found, asking: frozenset[str] = frozenset()) -> tuple[Plugin | None, str]:
    """Return the row of a plugin, or None and why it cannot be loaded.

    `asking`: plugins that require it.
    """
    try:
        plugin = found.load()
    except Exception as error:  # of another distribution: it must not end this run
        return None, f"{type(error).__name__}: {error}"
    if not isinstance(plugin, Plugin):
        return None, f"its row is not a `Plugin` but a {type(plugin).__name__}"
    for name in plugin.requires:
        found_plugins = (each for list_found in (_list_built_in, _list_others) for each in list_found())
        required = next((each for each in found_plugins if each.name == name), None)  # metadata are read for others
        if required is None:
            return None, f"it requires `{name}`, which is not installed"
        if name not in asking and load(required, asking | {found.name})[0] is None:
            return None, f"it requires `{name}`, which cannot be loaded"
    return plugin, ""


def _find(kind: str, names: Sequence[str]) -> tuple[str, Any] | None:
    """Return the first name that a plugin adds, and what it stands for."""
    own = _list_offers().get(kind, {})
    offering = ((name, own[name]) for name in names if name in own)
    others = ((name, found) for name in names for found in _list_others())  # read where no other name fits
    for name, found in itertools.chain(offering, others):
        rows = getattr(load(found)[0], f"{kind}s", NOTHING)
        if name in rows:
            return name, rows[name]
    return None


@cache
def _list_offers() -> Mapping[str, Mapping[str, Found]]:
    """Return the built-in plugins by kind and name of what they offer."""
    offers: dict[str, dict[str, Found]] = {}
    for found in _list_built_in():
        for offer in sorted(found.offers or ()):
            kind, _, name = offer.partition(" ")
            offers.setdefault(kind, {}).setdefault(name, found)
    return offers


@cache
def _list_built_in() -> tuple[Found, ...]:
    """Return the plugins in `nczarr/plugins` whose folders exist, with what they offer, without loading them."""
    try:
        package = import_module(GROUP)
    except ModuleNotFoundError:
        return ()
    from nczarr import __version__

    there = {entry.name for entry in os.scandir(os.path.dirname(str(package.__file__)))}
    rows = ((name, offers) for name, offers in package.OFFERS.items() if name in there)
    return tuple(Found(name, __version__, partial(_load_row, name), frozenset(offers)) for name, offers in rows)


def _load_row(name: str) -> Plugin:
    row: Plugin = import_module(f"{GROUP}.{name}.plugin").PLUGIN
    return row


@cache
def _may_have_entries() -> bool:
    """Return whether a distribution may have an entry point of ours.

    Its text is looked for in their files: to import `importlib.metadata` takes longer than all else that `--help` does.
    """
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if finders != [PathFinder] or any(os.path.isfile(folder) for folder in sys.path):
        return True  # distributions may be elsewhere, as in a zip
    for folder in sys.path:
        with suppress(OSError), os.scandir(folder or os.curdir) as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")) and _names_us(f"{entry.path}/entry_points.txt"):
                    return True
    return False


def _names_us(path: str) -> bool:
    """Return whether a file names a group of ours; False for a missing one."""
    try:
        with open(path, "rb") as file:
            return b"[nczarr." in file.read().replace(b" ", b"")
    except OSError:
        return False


@cache
def _list_others() -> tuple[Found, ...]:
    """Return the plugins of other distributions, by name."""
    dated = ((entry, "" if entry.dist is None else entry.dist.version) for entry in list_entries(GROUP))
    return tuple(Found(entry.name, version, cache(entry.load), None) for entry, version in dated)
