"""Combination of datasets: joined along an existing dimension, or stacked along a new one.

    sources ─ agreement (models, values) ─> Combination ─ finish ─> Checked

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
from typing import TYPE_CHECKING, NamedTuple

from nczarr import __version__
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions, shown
from nczarr.operations.combine.combination import Combination
from nczarr.operations.combine.contribution import Model, contribution_of, in_model_units, model_of
from nczarr.operations.combine.sources import (
    WORTH,
    Job,
    SourceResult,
    identities_of,
    identity_of,
    opened,
    results,
)
from nczarr.operations.combine.spec import CombineSpec, Recoding
from nczarr.operations.pipeline import Input
from nczarr.select.selection import Subset
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.operations.combine.journal import FileJournal

__all__ = ["CombineSpec", "Recoding", "combine", "combined"]


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
    if combination is None or report.errors > before:
        return None
    return combination.finish(report)


class Combined(NamedTuple):
    """Sources as one dataset."""

    checked: Checked
    """The dataset."""
    names: Sequence[str]
    """Names of the sources in order."""
    lengths: Mapping[str, Sequence[int]]
    """Length of each joined dimension in every source; empty for a new dimension."""
    unordered: Sequence[str] = ()
    """Coordinates whose values do not increase."""
    repeated: Sequence[str] = ()
    """Names of sources without a coordinate that the extended document has already."""
    forget: Callable[[], None] = lambda: None
    """Removes the journal, once the target is complete. Raises OSError."""


def combined(
    sources: Sequence[Input],
    subset: Subset,
    spec: CombineSpec,
    report: Report,
    *,
    storage: StorageOptions = NO_OPTIONS,
    workers: int | None = None,
    dask: str | None = None,
    journal: Callable[[str], FileJournal] | None = None,
    asked: str = "",
    step: Callable[[int], None] | None = None,
    read: Checked | None = None,
) -> Combined | None:
    """Read and combine sources; return None after a reported error. The result does not depend on who reads them.

    `workers` and `dask` are those of `results`. `journal` opens the journal of a
    request, if sources are to be remembered; `asked` is a text for the options of
    their readers. `step` is called after each source. `read`: the first source, if
    it was read already. Raises OSError, CompileError.
    """
    job = Job(token_hex(8), sources[0], subset, spec, report.strict, storage, journal is not None)
    first_identity = identity_of(sources[0].name, storage) if journal is not None else None
    checked = read
    if checked is None:
        checked, source_report = opened(sources[0], job)
        for finding in source_report.sorted():
            report.add(finding)
    model = None if checked is None else model_of(shown(sources[0].name), checked, spec, report)
    if model is None:
        return None
    combination = Combination(model, storage)
    combination.add(contribution_of(model.name, model.checked, model))
    if step is not None:
        step(1)
    with ExitStack() as stack:
        book = None
        if journal is not None and first_identity is not None:
            book = stack.enter_context(journal(_fingerprint(job, first_identity, asked)))
        every = stack.enter_context(closing(_remembered(sources[1:], job, model, workers, dask, book)))
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
            book.done()
    complete = combination.finish(report)
    if complete is None:
        if book is not None:
            book.remove()
        return None
    forget = (lambda: None) if book is None else book.remove
    return Combined(
        complete, combination.names, combination.lengths, combination.unordered, combination.repeated, forget
    )


def journal_of(
    target: str | None, spec: CombineSpec, sources: int, *, resume: bool
) -> Callable[[str], FileJournal] | None:
    """Return what opens the journal of a target; None without one.

    A document in a local file or folder has a journal if many sources are read,
    or with `resume`.
    """
    if target is None or is_remote(target) or spec.addressable is None or not (resume or sources >= WORTH):
        return None
    from nczarr.operations.combine.journal import FileJournal

    return partial(FileJournal, target, resume=resume)


def _fingerprint(job: Job, identity: str, asked: str) -> str:
    """Return a text that is equal for equal requests with the same first source."""
    described = __version__, job.first.name, identity, job.subset, job.wanted, job.strict, asked
    return sha256(repr(described).encode("utf-8", "surrogateescape")).hexdigest()


def _remembered(
    rest: Sequence[Input],
    job: Job,
    model: Model,
    workers: int | None,
    dask: str | None,
    journal: FileJournal | None,
) -> Generator[SourceResult, None, None]:
    """Yield the results of sources in order; those in the journal are not read. Raises OSError, CompileError."""
    names = frozenset[str]() if journal is None else journal.names()
    identities = identities_of(names, rest, job.storage)
    unchanged = {name for name, identity in identities.items() if journal is not None and journal.has(name, identity)}
    with closing(
        results([source for source in rest if source.name not in unchanged], job, model, workers, dask)
    ) as fresh:
        for source in rest:
            if journal is not None and source.name in unchanged:
                yield journal.result(source.name)
                continue
            result = next(fresh)
            if journal is not None:
                journal.put(source.name, result)
            yield result
