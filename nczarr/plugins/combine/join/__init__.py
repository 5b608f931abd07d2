"""Combination of datasets: joined along an existing dimension, or stacked along a new one, and written to a target.

    request ─ prepare ─> sources ─ agreement (models, values) ─> Combination ─ finish ─> Checked ─> ReadyCombination

Sources are processed one by one and compared with the first; only descriptions
of their arrays are stored. No chunk is copied: the result is an ordinary
dataset with concatenated arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from hashlib import sha256
from secrets import token_hex
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from nczarr import __version__, names, registry
from nczarr.arrays.execution.counts import Watcher
from nczarr.arrays.values import time_units
from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.diagnostics.secrets import show
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.phases import Input, ReadyConversion
from nczarr.pipeline.select.selection import Subset, part_in_words
from nczarr.plan.plans import Conversion
from nczarr.plugins.combine.join.agreement import CombineSpec, Recoding
from nczarr.plugins.combine.join.combination import Combination
from nczarr.plugins.combine.join.contribution import Model, contribution_of, in_model_units, model_of
from nczarr.plugins.combine.join.coordinate_order import OrderFault
from nczarr.plugins.combine.join.sources import (
    WORTH,
    Job,
    SourceResult,
    home_of,
    identities_of,
    identity_of,
    open_source,
    read_each,
    results,
)
from nczarr.plugins.combine.join.target import is_open, is_source, report_shards
from nczarr.registry import REFERENCE
from nczarr.semantics.checked import Checked
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.plugins.combine.join.journal import FileJournal


__all__ = ["CombineSpec", "Recoding", "combine", "combined"]

AGGREGATION = "cfa"
"""Format that names the sources instead of holding their values."""


def combine(sources: Iterable[tuple[str, Checked]], spec: CombineSpec, report: Report) -> Checked | None:
    """Combine datasets, each with a name for messages; return None after a reported error.

    Expects checked datasets. Ensures: a checked dataset with the first source's
    model. Along an existing dimension, variables that use it are joined in the
    given order, and all others must be equal. A new dimension becomes the first
    of variables whose values differ somewhere, and of those named. With
    `wanted.recoding`, times get the same units first.

    Reports inexact-times, unmatched-dimension, unequal-sources, unaligned-chunks,
    differing-attributes, unordered-coordinate. Raises OSError if compared
    values cannot be read.
    """
    before = report.errors
    combination: Combination | None = None
    for name, dataset in sources:
        if combination is None:
            model = model_of(name, dataset, spec, report)
            if model is None:
                return None
            combination = Combination(model)
            combination.add(contribution_of(name, model.checked, model))
            continue
        checked = in_model_units(name, dataset, combination.model, report)
        if report.errors > before:
            return None
        combination.add(contribution_of(name, checked, combination.model))
    return None if combination is None or report.errors > before else combination.finish(report)


class Combined(NamedTuple):
    """Sources as one dataset."""

    checked: Checked
    names: Sequence[str]
    """Names of the sources in order."""
    lengths: Mapping[str, Sequence[int]]
    """Length of each joined dimension in every source; empty for a new dimension."""
    totals: Mapping[str, int]
    """Length of each joined dimension in the result."""
    is_placed: bool = False
    """True if cells lie where their coordinates say, and not in the order of the sources."""
    sequences: Mapping[str, Sequence[int]] | None = MappingProxyType({})
    """Numbers of the sources in the order of the result by joined dimension; None if it has parts of sources."""
    unordered: Mapping[str, OrderFault] = MappingProxyType({})
    """Coordinates whose values do not increase, with the places."""
    repeated: Sequence[str] = ()
    """Names of sources without a coordinate that the extended document has already."""
    forget: Callable[[], None] = lambda: None
    """Removes the journal, once the target is complete. Raises OSError."""


def combine_sources(
    request: CombineRequest,
    report: Report,
    *,
    journal: Callable[[str], FileJournal] | None = None,
    step: Callable[[int], None] | None = None,
    read: Checked | None = None,
) -> Combined | None:
    """Read and combine sources; return None after a reported error. The result does not depend on who reads them.

    `journal` opens the journal of a request, if sources are to be remembered.
    `step` is called after each source. `read`: the first source, if it was read
    already. Raises OSError, CompileError.
    """
    plan: Diagnostic | None = None
    units, before = request.spec.recoding and request.spec.recoding.units, report.errors
    if units is not None and time_units.dates(units, "standard") is None:
        request, plan = _plan_units(units, request, read, report)
        if report.errors > before:
            return None
    first, storage = request.inputs[0], request.options.run.storage.of("source")
    job = Job(token_hex(8), first, request.subset, request.spec, report.strict, storage, journal is not None)
    first_identity = identity_of(first.name, storage) if journal is not None else None
    checked = read
    if checked is None:
        checked, source_report = open_source(first, job)
        for finding in source_report.list_sorted():
            report.add(finding)
    model = None if checked is None else model_of(show(first.name), checked, request.spec, report)
    if model is None:
        return None
    combination = Combination(model, storage)
    combination.add(contribution_of(model.name, model.checked, model))
    if step is not None:
        step(1)
    with ExitStack() as stack:
        book = None
        if journal is not None and first_identity is not None:
            book = stack.enter_context(journal(_fingerprint(job, first_identity, request)))
        every = stack.enter_context(closing(_results(request, job, model, book)))
        for result in every:
            for diagnostic in result.diagnostics:
                report.add(diagnostic)
            if result.failure is not None:
                raise result.failure
            if result.found is None:
                return None
            combination.add(result.found)
            if step is not None:
                step(1)
        if book is not None:
            book.note_end()
    complete = combination.finish(report)
    if complete is None:
        if book is not None:
            book.remove()
        return None
    if plan is not None:
        report.add(plan)
    forget = (lambda: None) if book is None else book.remove
    totals = {path: complete.dimensions[path].size for path in combination.lengths}
    sequences = {} if combination.grid is None else combination.grid.list_sequences()
    rows = combination.unordered, combination.repeated, forget
    return Combined(complete, combination.names, combination.lengths, totals, request.spec.is_placed, sequences, *rows)


def _plan_units(
    units: str, request: CombineRequest, read: Checked | None, report: Report
) -> tuple[CombineRequest, Diagnostic | None]:
    """Return a request with the units of each variable that has several, and the plan; all headers are read for it.

    Times are counted in the units of the first source. `read`: as that of `combine_sources`.
    """
    from nczarr.plugins.combine.join.units import plan_units

    storage = request.options.run.storage.of("source")
    job = Job("", request.inputs[0], request.subset, request.spec, report.strict, storage)
    rest = request.inputs if read is None else request.inputs[1:]
    opened = zip((show(source.name) for source in rest), read_each(rest, job), strict=True)
    every = ((name, checked) for name, (checked, _) in opened if checked is not None)  # faults are reported afterwards
    target = () if read is None else ((show(request.inputs[0].name), read),)
    table, plan = plan_units(units, (*target, *every), report, extends=request.spec.extends)
    return request._replace(spec=request.spec._replace(recoding=Recoding(table=tuple(table.items())))), plan


def _journal_of(request: CombineRequest) -> Callable[[str], FileJournal] | None:
    """Return what opens the journal of a target; None without one.

    A document in a local file or folder has a journal if many sources are read,
    or with `resume`.
    """
    target, resume = request.target, request.options.run.resume
    if target is None or is_remote(target) or request.spec.addressable is None or request.rehearsal:
        return None
    if request.spec.is_placed:  # the journal has no coordinates
        return None
    if not (resume or len(request.inputs) >= WORTH):
        return None
    from nczarr.plugins.combine.join.journal import FileJournal

    return partial(FileJournal, target, resume=resume)


def _fingerprint(job: Job, identity: str, request: CombineRequest) -> str:
    """Return a text that is equal for equal requests with the same first source."""
    asked = repr((request.source_form, request.options.reading.following, sorted(request.options.run.allow_loss)))
    described = __version__, job.first.name, identity, job.subset, job.wanted, job.strict, asked
    return sha256(repr(described).encode("utf-8", "surrogateescape")).hexdigest()


def _results(
    request: CombineRequest, job: Job, model: Model, journal: FileJournal | None
) -> Generator[SourceResult, None, None]:
    """Yield the results of all sources but the first; the journal has those that are not read.

    Raises OSError, CompileError.
    """
    rest, options = request.inputs[1:], request.options
    if journal is None:
        with closing(results(rest, job, model, options.run.workers, options.run.dask)) as fresh:
            yield from fresh
        return
    identities = identities_of(journal.names(), rest, job.storage)
    unchanged = {name for name, identity in identities.items() if journal.has(name, identity)}
    unread = [source for source in rest if source.name not in unchanged]
    with closing(results(unread, job, model, options.run.workers, options.run.dask)) as fresh:
        for source in rest:
            if source.name in unchanged:
                yield journal.result(source.name)
                continue
            result = next(fresh)
            journal.put(source.name, result)
            yield result


class CombineRequest(NamedTuple):
    """Request for a combination. Without `target` and `form` the combined dataset is not written."""

    inputs: Sequence[Input]
    """The sources in order."""
    spec: CombineSpec
    """Dimensions and recoding."""
    target: str | None = None
    """Path or URL of the target; None for standard output."""
    form: str | None = None
    """Name of the target's format; None: that of its place."""
    subset: Subset = Subset()
    """Requested part of each source, and cuts of the result."""
    options: Options = Options()
    source_form: str | None = None
    """Name of the sources' format; None: found by their content."""
    rehearsal: bool = False
    """Write nothing, no journal either."""
    unnamed: bool = False
    """True if the target has no option or name of its own, and may be a source instead."""


class ReadyCombination(NamedTuple):
    """A combination whose sources were read."""

    combined: Combined
    conversion: ReadyConversion | None
    """Its conversion to the target; None if it is not written."""

    def write(self, report: Report, watch: Watcher | None = None) -> Conversion | None:
        """Write the target, whole or not at all; None after an error. Raises OSError."""
        assert self.conversion is not None
        done = self.conversion.write(report, watch, lambda plan: report_shards(plan, self.combined.lengths, report))
        if done is not None:
            self.combined.forget()
        return done


def prepare(
    request: CombineRequest, report: Report, step: Callable[[int], None] | None = None
) -> ReadyCombination | None:
    """Read and combine the sources; None after an error, or if a resumed run has nothing left to do.

    `step` is called after each source. Raises OSError, CompileError.
    """
    target, form, options = request.target, None, request.options
    if target is not None or request.form is not None:
        form = endpoints.target_format(target or "", request.form, report)
        if form is None:
            return None
    if options.run.dask is not None and not is_divisible(request.inputs, options.run.dask, report):
        return None
    sources = [source.name for source in request.inputs if source.portable]
    if (
        target is not None
        and form is not None
        and not is_open(target, form, options, report, sources, unnamed=request.unnamed)
    ):
        return None
    spec = request.spec._replace(rectilinear=options.layout.grid == "rectilinear")
    if form is not None and form.name == REFERENCE:
        spec = spec._replace(addressable=options.target.writing.embed, inline=options.target.writing.inline)
    journal = _journal_of(request._replace(spec=spec))
    if options.run.resume and journal is None:
        text = "only a combination to a reference document in a local file or folder is resumed"
        text += ", and not with `--join outer`, `--sort`, `--duplicates` or `--repack`" * spec.is_placed
        report.error("unknown-target", text, helps=["name one as the target, such as `all.json`"])
        return None
    try:
        chosen = request._replace(spec=spec, subset=request.subset.choice)
        combination = combine_sources(chosen, report, journal=journal, step=step)
    except OSError as failure:
        if journal is not None:
            failure.add_note("continue with `--resume`: the sources that were read are in a journal")
        raise
    if combination is None or report.errors:
        return None
    if target is not None and request.unnamed and options.target.overwrite:
        parts = combination.checked.variables, combination.lengths, spec.new_dim
        if is_source(target, options, *parts, report):
            return None
    checked = phases.select(combination.checked, request.subset.cuts, report)
    if checked is None or report.errors:
        return None
    options, whole = _for_writing(request, addressable=spec.addressable), None
    if form is not None and form.name == AGGREGATION:
        file = _aggregate(checked, combination, request._replace(options=options), report)
        form = registry.find_format(registry.FILE)
        if file is None or form is None:
            return None
        checked, whole = file
    conversion = None if form is None else ReadyConversion(checked, target or "", form, options, whole)
    return ReadyCombination(combination._replace(checked=checked), conversion)


def _aggregate(
    checked: Checked, combination: Combined, request: CombineRequest, report: Report
) -> tuple[Checked, Checked] | None:
    """Return what an aggregation file stores of a combination, and the whole; None after a reported error."""
    from nczarr.plugins.combine.aggregation.writer import aggregate

    wrong = next((source.name for source in request.inputs if not source.portable), None)
    if wrong is not None or request.target is None or request.subset.cuts:
        text = "an aggregation file is written to a path or URL, of whole sources that are paths or URLs"
        report.error("unknown-target", text, helps=["cut the sources before, or what is read of the file"])
        return None
    if combination.sequences is None:
        text = "an aggregation file has whole sources one after the other, and cannot cut, pad or interleave them"
        report.error("unknown-target", text, helps=["write a reference document, such as `all.json`, or a store"])
        return None
    places, new = [source.name for source in request.inputs], request.spec.new_dim
    lengths = combination.lengths if new is None else {names.join("/", new): [1] * len(places)}
    return aggregate(checked, places, lengths, combination.sequences, request.target, request.options.target, report)


def _for_writing(request: CombineRequest, *, addressable: int | None) -> Options:
    """Return the options of the target: one process writes a document, and its journal alone resumes it."""
    options, paths = request.options, [source.name for source in request.inputs if source.portable]
    writing = options.target.writing
    if paths and writing.home is None:
        writing = writing._replace(home=home_of(paths))
    options = options.change(writing=writing, resume=False, part=part_in_words(request.subset))
    return options.change(dask=None) if addressable is not None else options


def is_divisible(inputs: Sequence[Input], dask: str, report: Report) -> bool:
    """Return whether a cluster can read all sources. Reports indivisible-run, bad-url, missing-library."""
    from nczarr.link.executor import accepts_address
    from nczarr.link.target import indivisible

    for source in inputs:
        if not source.portable:
            what = "standard input" if source.name == "-" else "an open dataset"
            indivisible(f"{what} belongs to one process", report)
            return False
    return accepts_address(dask, report)
