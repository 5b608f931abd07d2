"""The whole path, from any source to any target: read → check → plan → link → emit.

The only module that sees both ends; the command line and the Python interface are thin over it. Nothing here
raises for bad input: findings go to the report, and what comes back is None. OSError means that a file is out of reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nczarr import names, registry
from nczarr.arrays.counts import Counts, Step, Watcher
from nczarr.ast.walk import building
from nczarr.capabilities import Format
from nczarr.check import check
from nczarr.check.checked import Checked, Observer
from nczarr.diagnostics.report import Report
from nczarr.link import files
from nczarr.options import Options, Subset
from nczarr.plan.conversion import Conversion
from nczarr.plan.planned import Planned
from nczarr.secrets import shown
from nczarr.source import Source
from nczarr.stores.base import JOURNAL, ROOT_KEYS, Store
from nczarr.stores.url import BadURLError, Location, location, trimmed


def read(
    source: Source | Store,
    report: Report,
    options: Options,
    form: Format | None = None,
    observe: Observer | None = None,
) -> Checked | None:
    """The checked dataset behind a file or store of a format, which is detected by content unless it is named."""
    if not isinstance(source, Source) and _is_unfinished(source, report, options):
        return None
    form = form or _detected(source)
    if form is not None and form.opens is not None:
        opened = registry.load(form.opens)(source, report, options)
        if opened is None:
            return None
        source, form = opened, registry.detect_store(opened, opened=True)
    if form is None or form.read is None:
        readable = ", ".join(row.name for row in registry.formats() if row.readable)
        report.error(
            "unknown-format",
            f"`{source.name if isinstance(source, Source) else source.path}` is in no format that can be read",
            helps=[f"formats that can be read: {readable}; CDL starts with `netcdf`"],
        )
        return None
    with building(lasting=not isinstance(source, Source)):
        unchecked = registry.load(form.read)(source, report, options)
        if unchecked is None:
            return None
        return check(
            unchecked,
            report,
            observe,
            options.kind,
            accepted=options.accepts("format-conflict"),
            namesakes=options.accepts("duplicate-name"),
        )


def _is_unfinished(store: Store, report: Report, options: Options) -> bool:
    """Whether a store has a journal, which is reported, unless unfinished ones are wanted."""
    store.expect(ROOT_KEYS)
    if options.unfinished or store.get(JOURNAL) is None:
        return False
    helps = ["`nczarr convert SRC DST --resume`, with the source and options of then, goes on with it"]
    report.error("unfinished-store", f"`{store.path}` is not finished: it has a journal", helps=helps)
    return True


def _detected(source: Source | Store) -> Format | None:
    if isinstance(source, Source):
        return registry.detect(source.name, bytes(source.data[: registry.HEAD]))
    return registry.detect_store(source)


def read_path(
    path: str, report: Report, options: Options, name: str | None = None, observe: Observer | None = None
) -> Checked | None:
    """The checked dataset at a path or `file://` URL, in the format of this name if one is given.

    Raises OSError if it is out of reach.
    """
    source = opened(path, report, options)
    if source is None:
        return None
    if options.survey and not isinstance(source, Source):
        source.survey()
    asked = name or ("zarr2" if "zarr" in location(path).modes else None)
    form = source_format(source, asked, report) if asked else None
    if asked and form is None:
        return None
    return read(source, report, options, form, observe)


def opened(path: str, report: Report, options: Options) -> Source | Store | None:
    """What lies at a path or URL; None, and an error, if that is no place. Raises OSError if it is out of reach."""
    from nczarr.stores.connection import MissingProtocolError
    from nczarr.stores.open import open_path

    if located(path, report) is None:
        return None
    try:
        return open_path(path, options.storage.of("source"))
    except (BadURLError, MissingProtocolError) as error:
        unusable(path, error, report)
        return None


def source_format(source: Source | Store, name: str, report: Report) -> Format | None:
    """The format of a source that was named; None, and an error, if the source cannot be in it."""
    form = registry.named(name)
    if form is None or not form.readable:
        readable = ", ".join(row.name for row in registry.formats() if row.readable)
        text = f"format `{name}` cannot be read" if form else f"there is no format `{name}`"
        report.error("unknown-format", text, helps=[f"formats that can be read: {readable}"])
        return None
    if form.opens is not None or (form.holds is None) == isinstance(source, Source):
        return form
    what, wanted = ("file", "a store of keys") if isinstance(source, Source) else ("store of keys", "one file")
    place = source.name if isinstance(source, Source) else source.path
    report.error("unknown-format", f"`{place}` is a {what}, and format `{name}` is {wanted}")
    return None


def unusable(text: str, error: BadURLError | ImportError, report: Report) -> None:
    """Report why a URL leads nowhere here: bad-url, missing-library."""
    if isinstance(error, BadURLError):
        report.error("bad-url", f"`{shown(text)}`: {error}")
    else:
        report.error("missing-library", f"`{shown(text)}`: {error}", helps=[getattr(error, "remedy", "")])


def located(text: str, report: Report) -> Location | None:
    """The place that a path or URL names; None, and an error, if it is none."""
    try:
        return location(text)
    except BadURLError as error:
        unusable(text, error, report)
        return None


def select(checked: Checked, wanted: Subset, report: Report) -> Checked | None:
    """The part of a dataset that is wanted; None if an error stands in the report."""
    if not wanted:
        return checked
    from nczarr.select.subset import subset

    return subset(checked, wanted, report)


def target(path: str, name: str | None, report: Report) -> Format | None:
    """The format of a target: the one named, else the one that a URL's modes or the suffix tell."""
    place = located(path, report)
    if place is None:
        return None
    name = name or place.format
    form = registry.named(name) if name else registry.for_target(place.path.rstrip("/"))
    if form is None or not form.writable:
        what = f"format `{name}`" if name else f"the suffix of `{shown(place.path)}`"
        writable = ", ".join(row.name for row in registry.formats() if row.writable)
        text = f"{what} names no format that can be written"
        report.error("unknown-target", text, helps=[f"formats that can be written: {writable}; name one with `--to`"])
        return None
    unmet = files.unmet_mode(place, form)
    if unmet is not None:
        report.error("bad-url", f"`{shown(path)}`: {unmet}")
    return form if unmet is None else None


def settle(checked: Checked, form: Format, report: Report, options: Options) -> tuple[Format, Options] | None:
    """The format that writes the dataset, where the one named leaves that to the kind of netCDF file; and the options
    with that kind. For references, the format of the documents between them. None: an error stands in the report.
    """
    if form.inner:
        return files.referring(form, options.writing, report), options
    if not form.kinds:
        return form, options
    from nczarr.check.kinds import choose
    from nczarr.kinds import KIND_NAMES

    stored = bool(options.chunks) or any(chain != "none" for chain in options.codecs.values())
    kind = choose(checked, form.kinds, options.kind, stored=stored)
    if kind is not None:
        settled = registry.named(form.kinds[kind])
        assert settled is not None
        return settled, options._replace(kind=kind)
    wanted = KIND_NAMES[options.kind] if options.kind else ""
    report.error(
        "unknown-target", f"format `{form.name}` makes no {wanted} files", helps=["`--to netcdf` makes every kind"]
    )
    return None


def rehearse(checked: Checked, report: Report, options: Options, form: Format | None = None) -> None:
    """Report what a target of a format would lose or refuse, and make none; without one, a netCDF file of the kind in
    the options.
    """
    form = form or registry.named("netcdf")
    settled = settle(checked, form, report, options) if form is not None else None
    if settled is not None:
        form, options = settled
        files.planned_text(checked, form, report, options)


def write(
    checked: Checked, path: str, form: Format, report: Report, options: Options, watch: Watcher | None = None
) -> Conversion | None:
    """Write a dataset to a new target, whole or not at all, and say what was done.

    With `options.verify` the finished target is read again, and appears only if it holds every value. `watch` is told
    of bytes as they are written. None: an error stands in the report, and no target.
    Raises OSError where the file system refuses.
    """
    if options.resume and not options.overwrite and files.is_finished(path, form, options):
        return _finished_before(checked, path, form, report, options)
    ready = _ready(checked, path, form, report, options)
    if ready is None:
        return None
    path, form, options = ready
    counts = Counts(watch)
    readers: tuple[str, ...] = ()

    def done(planned: Planned) -> Conversion:
        return conversion(path, form, planned, counts)._replace(verified_with=readers)

    def inspect(planned: Planned, place: str) -> None:
        nonlocal readers
        from nczarr.compare.verify import verify

        looked = options._replace(following=files.following(path, planned))
        readers = verify(checked, done(planned), place, read_path, looked, report, planned=planned)

    looking = inspect if options.verify else None
    if form.emit:
        from nczarr.link import store

        planned = store(checked, path, form, report, options, counts, looking)
    elif form.build:
        planned = files.build(checked, path, form, report, options, counts, looking)
    else:
        planned = files.write_text(checked, path, form, report, options, looking)
    return None if planned is None else done(planned)


def _finished_before(checked: Checked, path: str, form: Format, report: Report, options: Options) -> Conversion | None:
    """What an earlier run has made, which `--resume` finds finished: looked at, and left as it is. None: an error
    stands in the report; it is something else. Reports finished-target, unequal-target.
    """
    from nczarr.compare.verify import verify
    from nczarr.plan.planner import plan

    settled = settle(checked, form, report, options)
    if settled is None:
        return None
    form, options = settled
    planned = plan(checked, form, options, report)
    if planned is None or report.errors:
        return None
    done = conversion(path, form, planned, Counts())
    verify(checked, done, path, read_path, options, report, data=options.verify, planned=planned)
    if report.errors:
        return None
    compared = "equal" if options.verify else "of the same variables; their values were not compared (`--verify` does)"
    report.warning("finished-target", f"`{shown(path)}` was there already, {compared}")
    return done


def _ready(
    checked: Checked, path: str, form: Format, report: Report, options: Options
) -> tuple[str, Format, Options] | None:
    """The path, format and options of a target that can be made; None: an error stands in the report."""
    place = located(path, report)
    if place is None:
        return None
    path, storage = trimmed(place.path), options.storage.at("target", place.server)
    options = options._replace(storage=storage, xarray="noxarray" not in place.modes)
    if options.dask is not None:
        from nczarr.link.cluster_limits import is_divisible

        if not is_divisible(path, form, options.dask, report):
            return None
    if not files.is_free(path, form, report, options):
        return None
    options = options._replace(consolidated=options.consolidated or "consolidated" in place.modes)
    settled = settle(checked, form, report, options)
    return None if settled is None else (path, *settled)


def steps(checked: Checked, path: str, form: Format, report: Report, options: Options) -> Iterator[Step] | None:
    """What `write` would do with the data, part by part, after all that it would report; None if an error stands in
    the report. Nothing is written.
    """
    from nczarr.plan.planner import plan

    ready = _ready(checked, path, form, report, options)
    if ready is None:
        return None
    _, form, options = ready
    if form.emit:
        from nczarr import link

        return link.steps(checked, form, report, options)
    if not form.build:
        planned = files.planned_text(checked, form, report, options)
        return None if planned is None else files.encodings(planned)
    planned = plan(checked, form, options, report)
    if planned is None or report.errors:
        return None
    found: Iterator[Step] | None
    found = registry.load(form.steps)(planned, report) if form.steps else files.encodings(planned)
    return found


def conversion(path: str, form: Format, planned: Planned, counts: Counts) -> Conversion:
    """What was done, in numbers."""
    return Conversion(
        path,
        form.name,
        len(planned.checked.variables),
        planned.losses,
        referenced_chunks=counts["reference"].chunks,
        copied_chunks=counts["copy"].chunks,
        gathered_chunks=counts["gather"].chunks,
        transcoded_chunks=counts["transcode"].chunks,
        rechunked_chunks=counts["rechunk"].chunks,
        encoded_chunks=counts["encode"].chunks + counts["fill"].chunks,
        skipped_keys=counts.skipped,
        bytes=counts.total.size,
    )


def text(checked: Checked, form: Format, report: Report, options: Options) -> Iterator[bytes] | None:
    """The bytes of a text or single file, piece by piece; None if an error stands in the report."""
    planned = files.planned_text(checked, form, report, options)
    return None if planned is None or form.write is None else files.pieces(planned, report)


def blocks(checked: Checked, form: Format, report: Report, options: Options) -> Iterator[bytes] | None:
    """What `write` would make, as sorted `== key` blocks; None if an error stands in the report."""
    settled = settle(checked, form, report, options)
    if settled is None:
        return None
    form, options = settled
    if form.build:
        report.error("unknown-target", f"format `{form.name}` is written to files only", helps=["name one with `-o`"])
        return None
    if not form.emit:
        return text(checked, form, report, options)
    if form.begins:
        from nczarr.link import document

        return document(checked, form, report, options)
    from nczarr.link import shown

    return shown(checked, form, report, options)


def keys(checked: Checked, form: Format, report: Report, options: Options) -> Mapping[str, bytes] | None:
    """Every key of a store with its bytes, chunks included, in memory; None if an error stands in the report."""
    if not form.emit or form.begins:
        report.error("unknown-target", f"format `{form.name}` is no store and has no keys")
        return None
    from nczarr.link import content

    return content(checked, form, report, options)


def dump(checked: Checked, form_name: str, report: Report, options: Options) -> Iterator[bytes] | None:
    """A dataset as a text for people: a text format by name, `keys` of its NCZarr store, or `tree`."""
    if not _is_there(checked, options, report):
        return None
    if form_name == "tree":
        from nczarr.check.outline import lines

        return (line.encode("utf-8", "surrogateescape") for line in lines(checked))
    form = target("", "nczarr" if form_name == "keys" else form_name, report)
    return None if form is None else blocks(checked, form, report, options)


def _is_there(checked: Checked, options: Options, report: Report) -> bool:
    """Whether the dataset has every variable and group that the options name; what it has not is reported."""
    from nczarr.select.names import unmatched

    before = report.errors
    for what, asked, known in (
        ("variable", options.variables, checked.variables),
        ("group", options.groups, checked.groups),
    ):
        simple = {names.last(fqn) for fqn in known if fqn != "/"}
        for name in asked:
            if name not in known and name not in simple:
                unmatched(what, name, known, report)
    return report.errors == before
