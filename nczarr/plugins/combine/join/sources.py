"""Sources of a combination: each is read, compared with the first one and closed, here or in other processes.

    sources ─ batches ─┬─ this process, remote ones by threads ─┬─> results in order
                       ├─ processes of this machine             │
                       └─ a dask cluster                        ┘

Values of sources stay where they are: a result has places of chunks. A source
whose arrays need the opened file is read again in this process.
"""

import itertools
import pickle
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from typing import NamedTuple, TypeVar

from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, Crew, Task, processors
from nczarr.diagnostics.report import CompileError, Diagnostic, Report
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions, show
from nczarr.pipeline.phases import Input
from nczarr.pipeline.select.selection import Subset
from nczarr.plugins.combine.join.agreement import CombineSpec
from nczarr.plugins.combine.join.contribution import Contribution, Model, contribution_of, in_model_units, model_of
from nczarr.semantics.checked import Checked, open_fragments
from nczarr.stores import local_paths
from nczarr.stores.spool import is_from_pipe, remove_fetched_files
from nczarr.stores.url import is_remote

T = TypeVar("T")

AT_ONCE = 8
"""Remote sources that a process reads concurrently."""

BATCH = 16
"""Sources of one request to a process."""

WORTH = 64
"""Least sources for which processes are started without being asked for."""


class Job(NamedTuple):
    """The work on each source, as a description that can be pickled."""

    run: str
    """Identifier of the run."""
    first: Input
    """The first source."""
    subset: Subset
    """Selected part of each source."""
    wanted: CombineSpec
    """The requested combination."""
    strict: bool
    """True if warnings are errors."""
    storage: StorageOptions
    """Options of remote sources."""
    identified: bool = False
    """True if results tell the identities of the sources."""


class SourceResult(NamedTuple):
    """A source as it was read."""

    found: Contribution | None
    """Its contribution; None after an error, or if it must be read in the process of the run."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Findings of its reader."""
    failure: OSError | CompileError | None = None
    """The error that ended the reading."""
    identity: str | None = None
    """Text that changes with the source; None if it is unknown."""

    @property
    def is_final(self) -> bool:
        """True unless the source must be read in the process of the run."""
        return self.found is not None or bool(self.diagnostics) or self.failure is not None


def identity_of(name: str, storage: StorageOptions) -> str | None:
    """Return a text that changes with a source, without reading it; None if it is unknown."""
    from nczarr.stores.stat import facts, identity

    try:
        if not is_remote(name):
            return identity(name, storage)
        known_facts = facts(name, storage)
    except (OSError, ValueError):
        return None
    is_known = known_facts.tag is not None or known_facts.modified is not None
    return " ".join(map(str, known_facts)) if is_known else None


def identities_of(names: Collection[str], inputs: Sequence[Input], storage: StorageOptions) -> dict[str, str | None]:
    """Return the identities of the inputs with these names; remote ones are asked for concurrently."""
    asked = [source.name for source in inputs if source.name in names]
    works = (Task(partial(identity_of, name, storage), here=not is_remote(name)) for name in asked)
    with Crew(DISTANT_WORKERS, 1 << 20) as crew:
        return dict(zip(asked, crew.results(works), strict=True))


def open_source(source: Input, job: Job) -> tuple[Checked | None, Report]:
    """Return the selected part of a source; a note in each finding names the source. Raises OSError, CompileError."""
    from nczarr.pipeline import phases

    source_report = Report(strict=job.strict)
    checked = phases.read_part(source, Subset() if source.whole else job.subset, source_report, joined=True)
    if checked is not None:
        checked = open_fragments(checked)
    source_report.annotate(f"of `{show(source.name)}`")
    return (None if source_report.errors else checked), source_report


def every_opened(inputs: Sequence[Input], subset: Subset, report: Report) -> Iterator[tuple[str, Checked]]:
    """Yield the selected part of each source with its name for messages; stop at the first reported error.

    Remote sources are read concurrently. Raises OSError, CompileError.
    """
    job = Job("", inputs[0], subset, CombineSpec(()), report.strict, NO_OPTIONS)
    with closing(_in_order(partial(open_source, job=job), inputs)) as opened:
        for source, (checked, source_report) in zip(inputs, opened, strict=True):
            for diagnostic in source_report.list_sorted():
                report.add(diagnostic)
            if checked is None:
                return
            yield show(source.name), checked


def read_each(inputs: Sequence[Input], job: Job) -> Iterator[tuple[Checked | None, Report]]:
    """Yield each source in order, None after an error, with its findings. Remote sources are read concurrently."""
    yield from _in_order(partial(_try_source, job=job), inputs)


def _in_order(call: Callable[[Input], T], inputs: Sequence[Input]) -> Generator[T, None, None]:
    """Yield what a function makes of each source, in order; it is called for remote ones concurrently."""
    works = (Task(partial(call, source), here=not is_remote(source.name)) for source in inputs)
    with Crew(AT_ONCE if any(is_remote(source.name) for source in inputs) else 1, 1) as crew:
        yield from crew.results(works)


def _try_source(source: Input, job: Job) -> tuple[Checked | None, Report]:
    """Return a source as `open_source` does; what makes it unreachable is reported."""
    try:
        return open_source(source, job)
    except (OSError, CompileError) as failure:
        failed = Report(strict=job.strict)
        for diagnostic in failure.diagnostics if isinstance(failure, CompileError) else ():
            failed.add(diagnostic)
        if isinstance(failure, OSError):
            failed.error("unreachable-file", f"`{show(source.name)}`: {failure.strerror or failure}")
        return None, failed


def examine_source(source: Input, job: Job, model: Model, *, here: bool) -> SourceResult:
    """Return the contribution of a source. `here`: the process of the run, which may keep the source open."""
    fetched = is_remote(source.name) and not here
    source_identity = identity_of(source.name, job.storage) if job.identified and source.portable else None
    try:
        with nullcontext() if here else remove_fetched_files() as folders:
            checked, source_report = open_source(source, job)
            contribution = None
            if checked is not None:
                checked = in_model_units(show(source.name), checked, model, source_report)
                contribution = None if source_report.errors else contribution_of(show(source.name), checked, model)
            if any(is_from_pipe(f"{folder}/") for folder in folders or ()):  # unpacked, and gone with the block
                return SourceResult(None)
    except (OSError, CompileError) as failure:
        return SourceResult(None, (), failure.with_traceback(None))
    if not here and _needs_source(contribution, source_report, fetched=fetched):
        return SourceResult(None)
    return SourceResult(contribution, tuple(source_report.list_sorted()), None, source_identity)


def _needs_source(contribution: Contribution | None, source_report: Report, *, fetched: bool) -> bool:
    """Return whether a result cannot leave the process that has opened the source."""
    if any(diagnostic.primary.span.source is not None for diagnostic in source_report.list_sorted()):
        return True
    if contribution is None or contribution.is_located:
        return False
    try:
        return fetched or not pickle.dumps(contribution)
    except Exception:  # whatever an array may contain
        return True


_models: dict[str, tuple[Model | None]] = {}
"""The first source of the last run, in a process that works for another one."""


def examine(job: Job, batch: Sequence[Input]) -> list[SourceResult]:
    """Return the results of some sources, in a process that works for the one of the run."""
    cached = _models.get(job.run)
    if cached is None:
        checked, source_report = open_source(job.first, job)
        model_of_run = None if checked is None else model_of(show(job.first.name), checked, job.wanted, source_report)
        _models.clear()
        cached = _models[job.run] = (model_of_run,)
    (model,) = cached
    if model is None:  # the process of the run reads it as well, and says why
        return [SourceResult(None) for _ in batch]
    return list(_in_order(partial(examine_source, job=job, model=model, here=False), batch))


def results(
    rest: Sequence[Input], job: Job, model: Model, workers: int | None = 1, dask: str | None = None
) -> Generator[SourceResult, None, None]:
    """Yield the results of all sources but the first, in order. Raises OSError, CompileError.

    `workers`: processes; None: one per processor, if there are many sources.
    `dask`: scheduler of a cluster that reads them instead.
    """
    located = job.wanted.addressable is not None  # other targets read values of the sources later, from here
    portable = located and job.first.portable and all(source.portable for source in rest)
    count = workers or (min(8, processors()) if len(rest) >= WORTH else 1)
    batches = [rest[start : start + BATCH] for start in range(0, len(rest), BATCH)]
    calls = ((job, batch) for batch in batches)
    with ExitStack() as stack:
        batches_of_results: Iterator[Iterable[SourceResult]]
        if portable and dask is not None:
            from nczarr.link.executor import connect

            cluster = stack.enter_context(connect(dask))
            batches_of_results = stack.enter_context(closing(cluster.results(examine, calls)))
        elif portable and count > 1 and len(rest) > 1:
            from nczarr.plugins.combine.process_pool import Processes

            processes = stack.enter_context(Processes(count))
            batches_of_results = stack.enter_context(closing(processes.results(examine, calls)))
        else:
            batches_of_results = iter(
                [_in_order(partial(examine_source, job=job, model=model, here=not located), rest)]
            )
        for source, result in zip(rest, itertools.chain.from_iterable(batches_of_results), strict=True):
            yield result if result.is_final else examine_source(source, job, model, here=True)


def home_of(paths: Sequence[str]) -> str | None:
    """Return the common folder or URL of all sources, or None."""
    if not any(map(is_remote, paths)):
        return local_paths.common_folder(paths)
    folders = [path.rstrip("/").split("/")[:-1] for path in paths]
    common = [
        names[0] for names in itertools.takewhile(lambda names: len(set(names)) == 1, zip(*folders, strict=False))
    ]
    return "/".join(common) if len(common) > 2 and all(map(is_remote, paths)) else None
