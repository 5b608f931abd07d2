"""Ends of a run: the source or target at a path or URL, its format, the options that it settles, and its lock."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from nczarr import registry
from nczarr.diagnostics.report import HEAD, Diagnostic, Report, Severity, Source, suggest
from nczarr.diagnostics.secrets import show, word
from nczarr.names import plugin_index
from nczarr.options import AUTO, Following, Options, ReadOptions, RunOptions, TargetOptions
from nczarr.registry import Format
from nczarr.semantics.checked import Checked
from nczarr.stores import local_paths
from nczarr.stores.base import JOURNAL, ROOT_KEYS, Store
from nczarr.stores.finish import is_edit_unfinished, lock_target, obstacle
from nczarr.stores.url import (
    BadURLError,
    Location,
    MissingProtocolError,
    Repository,
    find_kind,
    is_remote,
    location,
    trim,
    untidy,
)

if TYPE_CHECKING:
    from nczarr.plan.plans import Plan
    from nczarr.stores.lock import Lock
    from nczarr.stores.places import Obstacle


def open_source(path: str, report: Report, options: Options) -> Source | Store | None:
    """Return the file or store at a path or URL; None after an error. Raises OSError if it is unreachable."""
    from nczarr.stores.open import open_path

    report.subject = report.subject or show(path)
    if options.reading.parser is not None:
        return _parse(path, options.reading.parser, report, options)
    place = locate(path, report)
    if place is None:
        return None
    try:
        source = open_path(path, options.run.storage.of("source"), _is_ranged)
    except (BadURLError, MissingProtocolError) as error:
        report_unusable_url(path, error, report)
        return None
    is_file = isinstance(source, Source) or source.archive
    if is_file and not place.remote and not options.reading.unfinished and is_edit_unfinished(place.path):
        text = f"an edit of `{show(path)}` is not finished"
        report.error("unfinished-edit", text, helps=[f"`nczarr edit {word(path)} --recover` restores the file"])
        return None
    if place.remote and _is_fetched(source):
        text = f"`{show(path)}` was fetched whole: its server sends no ranges of files"
        helps = ("keep a local copy if you read it again",)
        report.add(Diagnostic("unranged-server", Severity.NOTE, text, helps=helps))
    return source


def _parse(path: str, parser: str, report: Report, options: Options) -> Store | None:
    """Return the references that a parser of another library finds in a file; None after an error. Raises OSError."""
    row = next(iter(plugin_index.list_own("opener").values()), None)
    if row is None:
        report.error("unusable-parser", f"`{show(path)}`: no plugin of this installation runs parsers")
        return None
    store: Store | None = registry.load(row.parse)(path, parser, report, options)
    return store


def _is_fetched(source: Source | Store) -> bool:
    """Return whether a file from a URL is local, though files of its format are read by ranges."""
    from nczarr.stores.ranges import remote
    from nczarr.stores.spool import origin

    if isinstance(source, Source):
        return remote(source.path) is None and bool(origin(source.path)) and _is_ranged(bytes(source.data[:HEAD]))
    return source.ranged and not source.distant


def _is_ranged(head: bytes) -> bool:
    """Return whether remote files with these first bytes are read by ranges."""
    form = registry.detect("", head)
    return form is not None and form.reading.ranged


def revision(source: Source | Store, report: Report, options: Options) -> Source | Store | None:
    """Return the store of the revision that a repository's text names; any other source unchanged.

    None after an error. Raises OSError.
    """
    if isinstance(source, Source) or not source.versioned:
        return source
    form = registry.detect_store(source)
    assert form is not None
    assert form.store.opens is not None
    store: Store | None = registry.load(form.store.opens)(source, report, options)
    return store


def require_format(source: Source | Store, name: str, report: Report) -> Format | None:
    """Return the format with a name; None (reported) if the source cannot have it."""
    form = registry.find_format(name)
    if form is None or not form.readable:
        readable = ", ".join(row.name for row in registry.formats() if row.readable)
        text = f"format `{name}` cannot be read" if form else f"unknown format `{name}`"
        report.error("unknown-format", text, helps=[f"formats that can be read: {readable}"])
        return None
    is_file, reads_files = isinstance(source, Source), form.holds is None
    if form.store.opens is not None or is_file == reads_files:
        return form
    what, expected = ("file", "a store of keys") if is_file else ("store of keys", "one file")
    place = source.name if isinstance(source, Source) else source.path
    report.error("unknown-format", f"`{place}` is a {what}, and format `{name}` is {expected}")
    return None


def report_unusable_url(text: str, error: BadURLError | ImportError, report: Report) -> None:
    """Report why a URL cannot be used: bad-url, missing-library."""
    if isinstance(error, BadURLError):
        report.error("bad-url", f"`{show(text)}`: {error}")
    else:
        report.error("missing-library", f"`{show(text)}`: {error}", helps=[getattr(error, "remedy", "")])


def locate(text: str, report: Report) -> Location | None:
    """Return the place of a path or URL; None after an error."""
    try:
        return location(text)
    except BadURLError as error:
        report_unusable_url(text, error, report)
        return None


def open_readable(store: Store, report: Report, reading: ReadOptions) -> Store | None:
    """Return the state of a store that can be read; None (reported) for an unfinished one that is not allowed.

    A store that is being extended has one at any time: with a warning.
    """
    store.expect(ROOT_KEYS)
    journal = store.get(JOURNAL)
    if journal is None:
        return store
    from nczarr.stores import extension

    append = extension.parse(journal)
    if append is not None:
        state = "before" if append.state == "writing" else "after"
        helps = [f"to complete it, run the same `nczarr {append.verb}` again"]
        text = f"`{store.path}` is being changed, or `nczarr {append.verb}` was interrupted; it is read as {state} that"
        report.warning("unfinished-append", text, helps=helps)
        return extension.view(store, append)
    if reading.unfinished:
        return store
    helps = ["to continue, run `nczarr convert SRC DST --resume` with the same source and options"]
    report.error("unfinished-store", f"`{store.path}` is incomplete: it has a journal", helps=helps)
    return None


def detect_format(source: Source | Store) -> Format | None:
    """Return the format of a source by its content; None if it is unknown."""
    if isinstance(source, Source):
        return registry.detect(source.name, bytes(source.data[:HEAD]))
    return registry.detect_store(source)


def target_format(path: str, name: str | None, report: Report) -> Format | None:
    """Return the format of a target: the named one, else that of the URL's modes or of the suffix."""
    place = locate(path, report)
    if place is None:
        return None
    name = name or (place.repository.format if place.repository else registry.of_modes(place.modes))
    form = registry.find_format(name) if name else registry.for_target(place.path.rstrip("/"))
    if form is None or not form.writable:
        suffix = f"the suffix of `{place.shown}`" if place.path else "standard output"
        what = f"format `{name}`" if name else suffix
        titles = {row.name: row.title.lower() for row in registry.formats() if row.writable}
        writable = list(titles)
        helps = [f"formats that can be written: {', '.join(writable)}; name one with `--to`"]
        begun = [f"`{other}`" for other in writable if name and other.startswith(name)]
        begun = begun or [f"`{other}`" for other in writable if name and name.lower() in titles[other]]
        if begun:
            helps.insert(0, f"did you mean {' or '.join(begun)}?")
        elif name:
            helps[:0] = suggest(name, writable)
        elif not place.remote and os.path.isdir(place.path):
            helps.insert(0, f"name a file in it, such as `{place.path.rstrip('/')}/NAME.nc`")
        report.error("unknown-target", f"{what} does not name a format that can be written", helps=helps)
        return None
    unmet = unmet_mode(place, form)
    if unmet is not None:
        report.error("bad-url", f"`{show(path)}`: {unmet}")
    return form if unmet is None else None


def settle(
    checked: Checked, form: Format, report: Report, options: Options, place: Location | None = None
) -> tuple[Format, Options] | None:
    """Return the format that writes the dataset, and the options of its plan; None after an error.

    `netcdf` stands for the format of the kind. References and repositories hold
    documents of another format. Later phases change neither.
    """
    target = options.target
    if not form.store.commits and (target.message, target.author, target.virtual) != (None, None, False):
        text = f"format `{form.name}` has no commits, and so no message, no author and no virtual chunks"
        report.error("unknown-target", text)
        return None
    if (command := form.target.written_by) is not None:
        text = f"format `{form.name}` names the files of its values, and `nczarr {command}` alone writes it"
        report.error("unknown-target", text)
        return None
    changes: dict[str, Any] = {}
    if place is not None:
        storage, modes = options.run.storage.at("target", place.server), place.modes
        changes = {"path": trim(place.path), "storage": storage, "xarray": "noxarray" not in modes}
        if "consolidated" in modes:
            changes["consolidated"] = True
    settled: Format | None = form
    if form.store.inner:
        settled = _documents(form, options.target, report)
        if form.store.commits and settled is not None:  # icechunk refuses documents with the words NaN and Infinity
            settled = settled._replace(capabilities=settled.capabilities._replace(json_attributes="strict"))
            changes["writing"] = target.writing._replace(embed=sys.maxsize, relative=False)
    elif form.target.kinds:
        from nczarr.semantics.kinds import choose

        stored = bool(options.layout.chunks) or any(chain != "none" for chain in options.layout.codecs.values())
        kind = changes["kind"] = choose(checked, form.target.kinds, target.kind, stored=stored)
        settled = None if kind is None else registry.find_format(form.target.kinds[kind])
        if settled is None:
            from nczarr.ast.dataset import KIND_NAMES

            text = f"format `{form.name}` cannot write {KIND_NAMES[target.kind] if target.kind else ''} files"
            report.error("unknown-target", text, helps=["`--to netcdf` writes every kind"])
    if settled is None:
        return None
    if options.layout.arrangement:
        changes.update(_arrange(checked, settled, options, report))
    return settled, options.change(**changes)


def _arrange(checked: Checked, form: Format, options: Options, report: Report) -> dict[str, Any]:
    """Return the options of a layout for reading by ranges, except those that the run states.

    Reports unmatched-chunks for formats that have no such layout, and what plugins demand of variables
    for a layout.
    """
    arrays = form.capabilities.arrays
    if options.layout.arrangement == "cmip7" and form.target.build is None:
        text = f"format `{form.name}` is not netCDF-4, which CMIP7 demands"
        report.error("unmatched-chunks", text, helps=["write netCDF-4 (`--kind nc4`), or use `--layout cloud`"])
        return {}
    if not has_layouts(form):
        text = f"format `{form.name}` cannot be arranged for reading by ranges"
        report.error("unmatched-chunks", text, helps=["write netCDF-4 (`--kind nc4`) or a Zarr store"])
        return {}
    demands = plugin_index.list_own("demand").get(str(options.layout.arrangement))
    if demands is not None:
        registry.load(demands)(checked, report)
    changes: dict[str, Any] = {"chunks": {"": AUTO, **options.layout.chunks}}
    if arrays is not None and arrays.shards and not options.layout.shards:
        changes["shards"] = {"": "cloud"}
    if arrays is not None and options.target.consolidated is None:
        changes["consolidated"] = True
    return changes


def has_layouts(form: Format) -> bool:
    """Return whether targets of a format can be arranged for reading by ranges."""
    arrays = form.capabilities.arrays
    return form.target.build is not None if arrays is None else not arrays.by_reference


def _documents(form: Format, target: TargetOptions, report: Report) -> Format | None:
    """Return the format of the documents in references or a repository; None after an error."""
    name = target.writing.metadata or form.store.inner[0]
    if name in form.store.inner:
        return registry.documents_in(form, name, refer=target.virtual or not form.store.commits)
    helps = [f"name one of: {', '.join(form.store.inner)}"]
    report.error("unknown-target", f"format `{form.name}` has no documents of `{name}`", helps=helps)
    return None


def unmet_mode(place: Location, form: Format) -> str | None:
    """Return why a target cannot have its URL or the URL's modes; None if it can."""
    if server := find_kind(place.kind).server if place.kind else "":
        return f"{server} is read-only"
    if place.repository or form.store.commits:
        return _unmet_commit(place.repository, form)
    if place.remote and (fault := untidy(place.path)):
        return fault
    if place.modes and not form.emit:
        return f"modes are for stores, but format `{form.name}` is a file"
    if "s3" in place.modes and not place.path.lower().startswith("s3://"):
        return "the mode `s3` is for buckets, but this is a path"
    if "file" in place.modes and place.remote:
        return "the mode `file` is for folders, but this is not a path"
    if "noxarray" in place.modes and form.name != registry.STORE:
        return f"with the mode `noxarray`, format `{form.name}` has no dimension names; use `nczarr`"
    archive = place.path.lower().endswith(".zip")
    if "zip" in place.modes and not archive:
        return "with the mode `zip`, the name must end in `.zip`"
    return "with the mode `file`, the name must not end in `.zip`" if "file" in place.modes and archive else None


def _unmet_commit(repository: Repository | None, form: Format) -> str | None:
    """Return why a commit of a format cannot be made at a place; None if it can."""
    if repository is None:
        return f"format `{form.name}` needs `{form.name}:` before the path or URL of a repository"
    if not form.store.commits:
        return f"a repository has the format `{repository.format}`, not `{form.name}`"
    return None if repository.kind == "branch" else f"a commit needs a branch, and this is a {repository.kind}"


def following(path: str, plan: Plan) -> Following:
    """Return a policy that follows every reference of a finished target, because the run itself wrote them."""
    from nczarr.stores.reference_policy import PROTOCOLS

    base = path.rpartition("/")[0] if is_remote(path) else local_paths.folder_of(path)
    every_root = ("file://", *(f"{protocol}://" for protocol in sorted(PROTOCOLS)))
    return Following(base=base, roots=(*every_root, *plan.options.reading.following.roots))


@contextmanager
def lock_place(
    path: str, report: Report, run: RunOptions, *, replaces: bool, patience: float = 0
) -> Iterator[Lock | None]:
    """Hold the lock of the target at a path or URL; None after a reported error.

    All branches of a local repository share a lock: icechunk replaces files of a
    folder without a condition. In a bucket its commits are conditional, and need
    none. `patience`: seconds to wait for another run. Reports bad-url,
    missing-library, busy-target, unlocked-target. Raises OSError.
    """
    from nczarr.stores.lock import NoLock

    place = locate(path, report)
    if place is None:
        yield None
        return
    repository = place.repository
    if repository is not None and not repository.local:
        yield NoLock(None)
        return
    target = trim(place.path) if repository is None else repository.place
    with ExitStack() as stack:
        try:
            storage = run.storage.at("target", place.server)
            lock = stack.enter_context(lock_target(target, report, storage, replaces=replaces, patience=patience))
        except (BadURLError, MissingProtocolError) as failure:
            report_unusable_url(path, failure, report)
            lock = None
        yield lock


def _is_store(path: str, form: Format | None) -> bool:
    """Return whether a target is a store of keys, not one file."""
    if form is None:
        return False
    return path.rstrip("/").lower().endswith(form.suffixes[1:]) if form.store.inner else bool(form.emit)


def is_free(
    place: Location, form: Format | None, report: Report, options: Options, sources: Sequence[str] = ()
) -> bool:
    """Return whether a target of a format, or a file, can be made at a place; reports obstacles. Raises OSError.

    `sources`: paths and URLs of what is read, besides that of the options.
    """
    path = trim(place.path)
    try:
        if form is not None and form.store.commits:
            return bool(registry.load(form.store.commits)(path, report, options))
        if place.remote:
            return _is_free_there(place, form, report, options)
    except (BadURLError, MissingProtocolError) as failure:
        report_unusable_url(path, failure, report)
        return False
    every_source = sources if options.reading.source is None else (*sources, options.reading.source)
    outer = _find_enclosing(path, every_source) if _is_store(path, form) else None
    if outer is not None:
        report.error("nested-target", f"`{path}` is inside `{outer}`, which is read", helps=["name a place beside it"])
        return False
    if os.path.lexists(path):
        problem = obstacle(path, store=_is_store(path, form)) if options.target.overwrite else "exists"
        if problem is not None:
            remedy = "choose another name, or remove the target yourself"
            helps = [remedy if options.target.overwrite else "replace it with `--overwrite`"]
            report.error("target-exists", f"`{path}` {problem}", helps=helps)
        return problem is None
    folder = local_paths.folder_of(path)
    if not os.path.isdir(folder):  # said here, because below the name would be that of the unfinished target
        error = errno.ENOTDIR if os.path.lexists(folder) else errno.ENOENT
        raise OSError(error, os.strerror(error), folder)
    return True


def _find_enclosing(path: str, sources: Iterable[str]) -> str | None:
    """Return the folder among the sources in which a path is; None without one."""
    for source in sources:
        with suppress(BadURLError):  # reported when it is read
            place = location(source)
            if not place.remote and os.path.isdir(place.path) and local_paths.segments_below(path, place.path):
                return trim(place.path)
    return None


def is_finished(path: str, form: Format, run: RunOptions) -> bool:
    """Return whether the place of a target holds something other than an unfinished store.

    Raises OSError, BadURLError.
    """
    place = location(path)
    if place.repository:  # a commit is not resumed
        return False
    if not place.remote:
        return os.path.lexists(place.path)
    obstacle = _obstacle(place, form, run)
    return obstacle is not None and not obstacle.unfinished


def _obstacle(place: Location, form: Format | None, run: RunOptions) -> Obstacle | None:
    """Return the store or file at the URL of a target. Raises OSError."""
    from nczarr.stores.places import find_places

    url, storage = trim(place.path), run.storage.at("target", place.server)
    store = _is_store(url, form) and not url.lower().endswith(".zip")
    return find_places(url).find_obstacle(url, storage.of("target"), store=store)


def _is_free_there(place: Location, form: Format | None, report: Report, options: Options) -> bool:
    """Return whether a target can be made at a URL. Raises OSError."""
    obstacle = _obstacle(place, form, options.run)
    if obstacle is None:
        return True
    allowed = (options.target.overwrite and obstacle.replaceable) or (options.run.resume and obstacle.unfinished)
    if not allowed:
        helps = ["choose another place, or remove the target yourself"]
        if obstacle.unfinished:
            helps = ["continue with `--resume`, or start again with `--overwrite`"]
        elif obstacle.replaceable:
            helps = ["replace it with `--overwrite`"]
        report.error("target-exists", f"`{show(trim(place.path))}` {obstacle.words}", helps=helps)
    return allowed
