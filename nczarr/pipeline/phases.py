"""Pipeline from any source to any target: read → check → select → plan → write.

The only caller of the planner, used by the command line, the Python API,
`combine` and the server. Bad input is reported and returns None; OSError means
that a file or server is unreachable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from nczarr import registry
from nczarr.arrays.execution.thread_pool import in_limits, limit
from nczarr.ast.dataset import ORIGINAL_NAMES, Group, Variable, building
from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show
from nczarr.names import plugin_index
from nczarr.options import Options
from nczarr.pipeline import endpoints, omissions
from nczarr.registry import Format
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Observer, open_fragments
from nczarr.stores import local_paths
from nczarr.stores.base import Store
from nczarr.stores.url import Location, is_remote, location, trim

if TYPE_CHECKING:
    from nczarr.arrays.execution.counts import Step, Watcher
    from nczarr.link.stages import PartPasses
    from nczarr.pipeline.select.selection import Subset
    from nczarr.plan.plans import Conversion, Plan, StorePlan
    from nczarr.stores.lock import Lock


Reader = Callable[[Report], Checked | None]
"""Reader of a dataset; None after a reported error. Raises OSError. One for another process can be pickled."""

AGGREGATED = "aggregated_data"
"""Attribute of aggregation variables."""


class Input(NamedTuple):
    """One source of an operation."""

    name: str
    """Path or URL, or a name for messages."""
    read: Reader
    portable: bool = False
    """True if any process can read it."""
    whole: bool = False
    """True if nothing is selected from it."""
    unpack: bool = False
    """True if packed variables of its requested part get the numbers that they stand for."""


def for_reading(options: Options, *, values: bool = True) -> Options:
    """Return the options of a run for the readers of its sources, which can be pickled.

    `values`: the run reads the values of all variables.
    """
    return options.change(kind=None, survey=values, chunks={}, shards={}, codecs={}, declarations=None)


def input_at(path: str, reading: Options, form: str | None = None) -> Input:
    """Return the source at a path or URL, in a named or detected format.

    `reading`: result of `for_reading`, which all sources share. Workers of a cluster
    (`reading.dask`) read local files by absolute paths.
    """
    is_shared = reading.run.dask is not None and not is_remote(path) and os.path.lexists(path)
    place = local_paths.absolute(path) if is_shared else path
    return Input(
        path, partial(read_path, place, options=reading, name=form), portable=True, unpack=reading.reading.unpack
    )


def read(
    source: Source | Store,
    report: Report,
    options: Options,
    form: Format | None = None,
    observe: Observer | None = None,
) -> Checked | None:
    """Return the checked dataset of a file or store; the format is detected by content unless given."""
    if not isinstance(source, Source):
        settled = endpoints.open_readable(source, report, options.reading)
        if settled is None:
            return None
        source = settled
    form = form or endpoints.detect_format(source)
    if form is not None and form.store.opens is not None:
        if (opened := registry.load(form.store.opens)(source, report, options)) is None:
            return None
        source, form = opened, registry.detect_store(opened, opened=True)
        options = options.change(masking_fill=False)
    if form is None or form.read is None:
        from nczarr.pipeline.unknown_format import report_unknown_format

        report_unknown_format(source, report)
        return None
    with building(lasting=not isinstance(source, Source)):
        unchecked = registry.load(form.read)(source, report, options)
        checked = unchecked and check(
            unchecked,
            report,
            observe,
            None if options.target.narrow else options.target.kind,
            accepted=options.run.accepts("format-conflict"),
            namesakes=options.run.accepts("duplicate-name"),
        )
    if checked is None:
        return None
    if not form.read.startswith("nczarr."):
        from nczarr.pipeline.plugin_parts import check_arrays  # few readers are of other distributions

        check_arrays(checked, form.read)
    if any(attribute.name == ORIGINAL_NAMES for attribute in checked.dataset.attributes):
        from nczarr.pipeline.legal_names import restore_names

        checked = restore_names(checked)
    expanded = checked if options.reading.aggregation == "keep" else _expand(checked, source, report, options)
    if expanded is not None and expanded.omitted:
        expanded = omissions.name_source(expanded, source.name if isinstance(source, Source) else source.path)
        omissions.announce(expanded, report)
    return expanded


def _expand(checked: Checked, source: Source | Store, report: Report, options: Options) -> Checked | None:
    """Return a dataset with what its marked members stand for; None after an error. Reports kept-aggregation."""
    nodes: tuple[Group | Variable, ...] = (*checked.groups.values(), *checked.variables.values())
    marks = {group.name for group in checked.dataset.groups} | {one.name for node in nodes for one in node.attributes}
    expanded: Checked | None = checked
    for mark in dict.fromkeys((AGGREGATED, *plugin_index.list_offered("expansion"))):
        if mark in marks and expanded is not None:
            if (place := plugin_index.find_place("expansion", mark)) is None:
                text = "no plugin of this installation reads aggregation variables as the arrays that they stand for: "
                report.warning("kept-aggregation", text + "they are kept as they are stored")
            else:
                expanded = registry.load(place)(expanded, source, report, options)
    return expanded


def read_path(
    path: str, report: Report, options: Options, name: str | None = None, observe: Observer | None = None
) -> Checked | None:
    """Return the checked dataset at a path or URL, in a named or detected format. Raises OSError."""
    source = endpoints.open_source(path, report, options)
    if source is None:
        return None
    if options.reading.survey and not isinstance(source, Source):
        source.survey()
    asked = name or (registry.MODES["zarr"] if "zarr" in location(path).modes else None)
    form = endpoints.require_format(source, asked, report) if asked else None
    if asked and form is None:
        return None
    return read(source, report, options, form, observe)


def select(checked: Checked, choice: Subset, report: Report) -> Checked | None:
    """Return the requested part of a dataset; None after an error."""
    if not choice:
        return checked
    from nczarr.pipeline.select.subset import subset

    part = subset(checked, choice, report)
    if part is not None:
        omissions.restrict(checked, part, report)
    return part


def read_part(source: Input, subset: Subset, report: Report, *, joined: bool = False) -> Checked | None:
    """Return the requested part of a source; None after an error. What is lost elsewhere is no loss. Raises OSError.

    `joined`: it becomes a part of a larger dataset.
    """
    if is_partial := bool(subset.variables or subset.groups):
        report.defer_losses()
    checked = source.read(report)
    part = None if checked is None or report.errors else select(checked, subset, report)
    if is_partial:
        report.settle_losses(omissions.concerning(part, subset))
    if part is not None and source.unpack:
        if (place := plugin_index.find_place("change", "unpack")) is None:
            report.error("missing-library", "`--unpack` needs a plugin, which is not installed")
        else:
            part = registry.load(place)(part, report, joined=joined)
    return None if report.errors else part


def plan(
    checked: Checked, form: Format, report: Report, options: Options, place: Location | None = None
) -> Plan | None:
    """Return the plan of a target and report its losses; None after an error.

    `netcdf` becomes the format of the fitting kind of file, `reference` that of
    its documents. `place`: that of the target, if it has one.
    """
    from nczarr.plan import planner

    settled = endpoints.settle(checked, form, report, options, place)
    if settled is None:
        return None
    form, options = settled
    if options.target.rename_illegal or options.target.narrow:
        from nczarr.pipeline.narrow import fit

        if (fitted := fit(checked, form, options, report)) is None:
            return None
        checked = fitted
    declaration = None
    if options.target.declare is not None:
        from nczarr.pipeline.plugin_parts import find_declaration

        declaration = find_declaration(options.target.declare, form, report)
    if declaration is not None and declaration.list_declarations is not None:
        options = options.change(declarations=declaration.list_declarations(checked, report))
    lost = registry.load(form.losses)(checked, options) if form.losses else ()
    planned = planner.plan_target(checked, form, options, report, lost)
    if planned is not None and declaration is not None and declaration.report_obstacles is not None:
        declaration.report_obstacles(planned, report)
    return None if report.errors else planned


def plan_store(checked: Checked, form: Format, report: Report, options: Options) -> StorePlan | None:
    """Return the plan of a store; None after an error. Reports unknown-target for any other format."""
    from nczarr.plan.plans import StorePlan

    if not form.emit or form.store.begins:
        report.error("unknown-target", f"format `{form.name}` is not a store and has no keys")
        return None
    planned = plan(checked, form, report, options)
    return planned if isinstance(planned, StorePlan) else None


def write(
    checked: Checked,
    path: str,
    form: Format,
    report: Report,
    options: Options,
    watch: Watcher | None = None,
    lock: Lock | None = None,
    announce: Callable[[Plan], None] | None = None,
    whole: Checked | None = None,
) -> Conversion | None:
    """Write a dataset to a new target, whole or not at all; return the result, None after an error.

    With `options.run.verify` the finished target is read again, and published only
    if it holds every value. `watch` is called with the bytes written. `lock`: that
    of the target, if the caller has it. `announce` is called with the plan before the
    work. `whole`: the dataset that the target stands for, if it names values in other files.
    Raises OSError if the file system refuses.
    """
    if lock is None:
        replaces = options.target.overwrite or options.run.resume
        with endpoints.lock_place(path, report, options.run, replaces=replaces) as own_lock:
            if own_lock is None:
                return None
            return write(checked, path, form, report, options, watch, own_lock, announce, whole)
    from nczarr import link
    from nczarr.arrays.execution.counts import Counts
    from nczarr.plan.plans import conversion_of

    if options.run.resume and not options.target.overwrite and endpoints.is_finished(path, form, options.run):
        return _find_finished(checked, path, form, report, options)
    planned = _plan_free_target(checked, path, form, report, options)
    if planned is None or planned.options.target.path is None:
        return None
    path = planned.options.target.path
    if announce is not None:
        announce(planned)
    counts = Counts(watch)
    readers: tuple[str, ...] = ()

    def inspect(place: str) -> None:
        """Read the written target again, and compare it with what was planned."""
        nonlocal readers
        from nczarr.pipeline.compare.verify import verify

        reading = planned.options.change(following=endpoints.following(path, planned))
        reading = reading.change(aggregation="keep" if whole is None else "expand")
        expected = planned.checked if options.target.narrow else whole or checked
        readers = verify(
            expected, conversion_of(path, planned, counts), place, read_path, reading, report, plan=planned
        )

    with limit(options.run.workers, options.run.memory):
        written = link.write(planned, path, report, counts, inspect if options.run.verify else None, lock)
    if not written:
        return None
    done = conversion_of(path, planned, counts)
    return done._replace(verified_with=readers, losses=(*omissions.losses_of(checked), *done.losses))


def _find_finished(checked: Checked, path: str, form: Format, report: Report, options: Options) -> Conversion | None:
    """Check a finished target for `--resume`; None if it differs. Reports finished-target, unequal-target."""
    from nczarr.arrays.execution.counts import Counts
    from nczarr.pipeline.compare.verify import verify
    from nczarr.plan.plans import conversion_of

    planned = plan(checked, form, report, options)
    if planned is None:
        return None
    done = conversion_of(path, planned, Counts())
    verify(checked, done, path, read_path, planned.options, report, data=options.run.verify, plan=planned)
    if report.errors:
        return None
    unread = "with the same variables; values were not compared (compare them with `--verify`)"
    found = "equal" if options.run.verify else unread
    report.warning("finished-target", f"`{show(path)}` already exists, {found}")
    return done


def _plan_free_target(checked: Checked, path: str, form: Format, report: Report, options: Options) -> Plan | None:
    """Return the plan of a target whose place is free, or may be overwritten; None after an error."""
    omissions.refuse(checked, options.run, report)
    place = None if report.errors else endpoints.locate(path, report)
    if place is None:
        return None
    if options.run.dask is not None:
        from nczarr.link.target import is_divisible

        if not is_divisible(trim(place.path), form, options.run.dask, report):
            return None
    return plan(checked, form, report, options, place) if endpoints.is_free(place, form, report, options) else None


def steps(checked: Checked, path: str, form: Format, report: Report, options: Options) -> Iterator[Step] | None:
    """Return the data steps of `write` by part, with its reports; None after an error. Nothing is written."""
    from nczarr import link

    planned = _plan_free_target(checked, path, form, report, options)
    return None if planned is None else link.steps(planned, report)


def text(checked: Checked, form: Format, report: Report, options: Options) -> Iterator[bytes] | None:
    """Return the bytes of a text or single file in pieces; None after an error."""
    planned = plan(checked, form, report, options)
    return None if planned is None or not planned.form.write else _make_pieces(planned, report)


def blocks(checked: Checked, form: Format, report: Report, options: Options) -> Iterator[bytes] | None:
    """Return the output of `write`, a store as sorted `== key` blocks; None after an error.

    Metadata are shown once: consolidated ones repeat them, and are shown on request alone.
    """
    from nczarr import link
    from nczarr.plan.plans import StorePlan

    planned = plan(checked, form, report, options.change(consolidated=options.target.consolidated or False))
    if planned is None:
        return None
    if isinstance(planned, StorePlan):
        return link.document(planned, report) if planned.form.store.begins else link.show_store(planned, report)
    if planned.form.target.build:
        name = planned.form.name
        report.error("unknown-target", f"format `{name}` is written to files only", helps=["name a file as the target"])
        return None
    return _make_pieces(planned, report)


def _make_pieces(planned: Plan, report: Report) -> Iterator[bytes]:
    """Return the bytes of a text or single file, made within the limits of the run."""
    from nczarr import link

    return in_limits(link.pieces(planned, report), planned.options.run.workers, planned.options.run.memory)


def keys(checked: Checked, form: Format, report: Report, options: Options) -> Mapping[str, bytes] | None:
    """Return every key of a store with its bytes, in memory; None after an error."""
    from nczarr import link

    planned = plan_store(checked, form, report, options)
    return None if planned is None else link.content(planned, report)


def dump(checked: Checked, form_name: str, report: Report, options: Options) -> Iterator[bytes] | None:
    """Return a dataset as text: in a text format by name, `keys` of its NCZarr store, or `tree`."""
    from nczarr.pipeline.select.selection import are_named

    if not are_named(checked, options.text, report):
        return None
    if not options.text.header_only and form_name != "tree":
        omissions.refuse(checked, options.run, report, omissions.DAMAGE)
    if report.errors:
        return None
    if form_name == "tree":
        from nczarr.semantics.outline import lines

        return (line.encode("utf-8", "surrogateescape") for line in lines(checked))
    form = endpoints.target_format("", registry.STORE if form_name == "keys" else form_name, report)
    return None if form is None else blocks(checked, form, report, options)


class ReadyConversion(NamedTuple):
    """A conversion whose source was read."""

    checked: Checked
    """The requested part of the source."""
    target: str
    """Path or URL of the target."""
    form: Format
    """Format of the target."""
    options: Options
    whole: Checked | None = None
    """Dataset that the target stands for, if it names values in other files."""

    def write(
        self, report: Report, watch: Watcher | None = None, announce: Callable[[Plan], None] | None = None
    ) -> Conversion | None:
        """Write the target, whole or not at all; None after an error. Raises OSError."""
        return write(self.checked, self.target, self.form, report, self.options, watch, None, announce, self.whole)

    def passes(self, report: Report) -> list[PartPasses] | None:
        """Return the passes of `write` by part; None after an error. Nothing is written."""
        from nczarr.link.stages import list_passes

        planned = _plan_free_target(self.checked, self.target, self.form, report, self.options)
        return None if planned is None else list_passes(planned, report)

    def steps(self, report: Report) -> Iterator[Step] | None:
        """Return the data steps of `write` by part; None after an error. Nothing is written."""
        return steps(self.checked, self.target, self.form, report, self.options)

    def blocks(self, report: Report) -> Iterator[bytes] | None:
        """Return the output of `write` for a terminal; None after an error."""
        omissions.refuse(self.checked, self.options.run, report)
        return blocks(self.checked, self.form, report, self.options)


def prepare(
    source: Input, subset: Subset, target: str, name: str | None, report: Report, options: Options
) -> ReadyConversion | None:
    """Read the source of a conversion and select the requested part; None after an error. Raises OSError.

    `target`: path or URL, empty for standard output. `name`: that of its
    format; None: the one of its place.
    """
    from nczarr.pipeline.select.selection import part_in_words
    from nczarr.plan.chunk_lengths import fill_whole

    form = endpoints.target_format(target, name, report)
    if form is None or report.errors:
        return None
    checked = read_part(source, subset, report)
    if checked is None or report.errors:
        return None
    omissions.refuse(checked, options.run, report)
    own, kind = checked.dataset.kind, options.target.kind or checked.dataset.kind
    if form.capabilities.kind and not form.target.kinds and kind and (subset.unlimited or kind != own):
        from nczarr.semantics.kinds import check_target  # few runs change the kind that a store states

        check_target(checked, kind, report)
        checked = checked._replace(dataset=checked.dataset.model_copy(update={"kind": kind}))
    if report.errors:
        return None
    checked = open_fragments(checked)
    if options.target.passes:
        from nczarr.pipeline.passes import name_of, run_passes

        if (changed := run_passes(checked, options.target.passes, report)) is None:
            return None
        checked, options = changed, options.change(passes=tuple(map(name_of, options.target.passes)))
    layout, source_name = options.layout, source.name if source.portable else None
    options = options.change(part=part_in_words(subset), source=source_name)
    options = options.change(chunks=fill_whole(layout.chunks, checked), shards=fill_whole(layout.shards, checked))
    return ReadyConversion(checked, target, form, options)
