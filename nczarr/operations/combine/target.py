"""Combination of datasets, written to a target.

request ─ prepare: read, combine, select ─> ReadyCombination: the dataset, and its ReadyConversion
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nczarr.arrays.execution.counts import Watcher
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.operations import endpoints, pipeline
from nczarr.operations.combine import Combined, CombineSpec, combined, journal_of
from nczarr.operations.combine.sources import home_of
from nczarr.operations.convert import ReadyConversion
from nczarr.operations.pipeline import Input
from nczarr.options import Options
from nczarr.plan.plans import Conversion
from nczarr.registry import REFERENCE, Format
from nczarr.select.selection import Subset, part_in_words
from nczarr.stores.url import is_remote


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
    """Options of the run."""
    source_form: str | None = None
    """Name of the sources' format; None: found by their content."""
    rehearsal: bool = False
    """Write nothing, no journal either."""


class ReadyCombination(NamedTuple):
    """A combination whose sources were read."""

    combined: Combined
    """The combined dataset."""
    conversion: ReadyConversion | None
    """Its conversion to the target; None if it is not written."""

    def write(self, report: Report, watch: Watcher | None = None) -> Conversion | None:
        """Write the target, whole or not at all; None after an error. Raises OSError."""
        assert self.conversion is not None
        done = self.conversion.write(report, watch)
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
    if options.dask is not None and not is_divisible(request.inputs, options.dask, report):
        return None
    if target is not None and form is not None and not _is_open(target, form, options, report):
        return None
    spec = request.spec._replace(rectilinear=options.grid == "rectilinear")
    if form is not None and form.name == REFERENCE:
        spec = spec._replace(addressable=options.writing.embed, inline=options.writing.inline)
    journal = None
    if not request.rehearsal:
        journal = journal_of(target, spec, len(request.inputs), resume=options.resume)
    if options.resume and journal is None:
        text = "only a combination to a reference document in a local file or folder is resumed"
        report.error("unknown-target", text, helps=["name one as the target, such as `all.json`"])
        return None
    try:
        combination = combined(
            request.inputs,
            request.subset.choice,
            spec,
            report,
            storage=options.storage.of("source"),
            workers=options.workers,
            dask=options.dask,
            journal=journal,
            asked=repr((request.source_form, options.following, sorted(options.allow_loss))),
            step=step,
        )
    except OSError as failure:
        if journal is not None:
            failure.add_note("continue with `--resume`: the sources that were read are in a journal")
        raise
    if combination is None or report.errors:
        return None
    checked = pipeline.select(combination.checked, request.subset.cuts, report)
    if checked is None or report.errors:
        return None
    options = _for_writing(request, addressable=spec.addressable)
    conversion = None if form is None else ReadyConversion(checked, target or "", form, options)
    return ReadyCombination(combination._replace(checked=checked), conversion)


def _is_open(target: str, form: Format, options: Options, report: Report) -> bool:
    """Return whether a target is to be made and can be. Reports finished-target, target-exists. Raises OSError."""
    if options.resume and not options.overwrite:
        from nczarr.operations.combine.journal import is_finished

        if is_finished(target):
            report.warning("finished-target", f"`{shown(target)}` already exists, made by an earlier run")
            return False
    if is_remote(target):
        return True
    place = endpoints.located(target, report)
    return place is not None and endpoints.is_free(place, form, report, options)


def _for_writing(request: CombineRequest, *, addressable: int | None) -> Options:
    """Return the options of the target: one process writes a document, and its journal alone resumes it."""
    options, paths = request.options, [source.name for source in request.inputs if source.portable]
    writing = options.writing
    if paths and writing.home is None:
        writing = writing._replace(home=home_of(paths))
    options = options._replace(writing=writing, resume=False, part=part_in_words(request.subset, fixed=False))
    return options._replace(dask=None) if addressable is not None else options


def is_divisible(inputs: Sequence[Input], dask: str, report: Report) -> bool:
    """Return whether a cluster can read all sources. Reports indivisible-run, bad-url, missing-library."""
    from nczarr.link.target import indivisible, is_scheduler

    for source in inputs:
        if not source.portable:
            what = "standard input" if source.name == "-" else "an open dataset"
            indivisible(f"{what} belongs to one process", report)
            return False
    return is_scheduler(dask, report)
