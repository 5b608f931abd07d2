"""The linker: makes the target of a plan. Writes the data of a store first, then the metadata.

`write` makes a target on disk, `content` and `show_store` make a store in memory,
`write_into_store` fills an open store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from nczarr.diagnostics import secrets
from nczarr.plan.plans import Plan, StorePlan

if TYPE_CHECKING:
    from nczarr.arrays.execution.counts import Counts, Step
    from nczarr.diagnostics.report import Report
    from nczarr.link.executor import Executor
    from nczarr.link.files import Inspect
    from nczarr.stores.base import Store
    from nczarr.stores.lock import Lock


def write(
    plan: Plan,
    path: str,
    report: Report,
    counts: Counts | None = None,
    inspect: Inspect | None = None,
    lock: Lock | None = None,
) -> bool:
    """Make a target, whole or not at all; return False after an error.

    `inspect` may examine the finished target before it is published, and report
    errors. Without its `lock`, if it has one, nothing is published. Raises OSError
    if the target cannot be written, FileExistsError if it exists and may not be
    overwritten.
    """
    if plan.options.run.scratch is not None:
        from nczarr.link.stages import plan_stages

        plan = plan_stages(plan, path)
    if isinstance(plan, StorePlan):
        if not _fits_memory(plan, report):
            return False
        if plan.options.run.dask is None:
            return _write_store(plan, path, report, counts, inspect, lock, None)
        from nczarr.link.executor import connect

        with connect(plan.options.run.dask) as cluster:
            return _write_store(plan, path, report, counts, inspect, lock, cluster)
    from nczarr.link import files

    return files.write(plan, path, report, counts, inspect, lock)


def pieces(plan: Plan, report: Report) -> Iterator[bytes]:
    """Return the bytes of a text or single file in pieces."""
    from nczarr.link import files

    return files.pieces(plan, report)


def _write_store(
    plan: StorePlan,
    path: str,
    report: Report,
    counts: Counts | None,
    inspect: Inspect | None,
    lock: Lock | None,
    cluster: Executor | None,
) -> bool:
    """Make a new folder, or an archive if the path ends in `.zip`; as `write`."""
    from nczarr.link.target import begin_store, fill, has_room, warn_of_files
    from nczarr.stores.commitment import CommittedError
    from nczarr.stores.finish import delay_signals
    from nczarr.stores.lock import assure
    from nczarr.stores.url import is_remote

    if not has_room(path, plan, report):
        return False
    warn_of_files(path, plan, report)
    if report.errors:  # a strict run ends before the work
        return False
    target = None
    try:
        try:
            with nullcontext() if is_remote(path) else delay_signals():  # `target` is known before a signal ends it
                target = begin_store(path, plan)
        except FileExistsError as error:
            helps = ["continue with `--resume` and the same source and options, or start again with `--overwrite`"]
            report.error(
                "target-exists",
                f"`{secrets.show(path)}` {error.strerror or 'exists'}",
                helps=helps if plan.options.run.resume else [],
            )
            return False
        fill(plan, target.store, report, counts, cluster)
        if inspect is not None and not report.errors:
            target.store.seal()
            inspect(target.store.sealed or target.place)
        if report.errors or (lock is not None and not assure(lock, path, report)):
            return False
        target.store.finish()
    except (OSError, KeyboardInterrupt) as failure:
        if target is None or isinstance(failure, CommittedError):
            raise
        if isinstance(failure, OSError) and failure.errno and failure.filename is None:
            failure.filename = target.place  # the system says why, not where
        if target.store.suspend():
            failure.add_note(f"`{secrets.show(path)}` is incomplete: continue with `--resume`")
        else:
            target.store.abort()
            _note_removed(failure, path, plan, target.store, counts)
        raise
    finally:
        if target is not None:
            target.store.abort()
    return True


def _note_removed(failure: BaseException, path: str, plan: StorePlan, removed: Store, counts: Counts | None) -> None:
    """Add to a failure what is removed of a target, and how it would stay."""
    chunks = 0 if counts is None or plan.form.store.begins is not None else counts.finished + counts.skipped
    if not chunks and removed.remains is None:
        return
    done = "were removed" if removed.remains is None else f"are removed in the background, from `{removed.remains}`"
    failure.add_note(f"`{secrets.show(path)}` is incomplete; its finished chunks ({chunks}) {done}")
    if plan.options.reading.source is not None and not path.lower().endswith(".zip") and plan.form.store.begins is None:
        failure.add_note("with `--resume`, finished chunks are kept and the same command continues")


def steps(plan: Plan, report: Report) -> Iterator[Step] | None:
    """Return the steps of `write` for the data, one per part; None after an error."""
    if not isinstance(plan, StorePlan):
        from nczarr.link import files

        return files.steps(plan, report)
    from nczarr.link import run

    return run.steps(plan) if _fits_memory(plan, report) else None


def _fits_memory(plan: StorePlan, report: Report) -> bool:
    """Check that every chunk to decode fits into the run's memory. Reports oversized-chunk."""
    from nczarr.link.tasks import arrays
    from nczarr.plan.chunk_lengths import check_chunk

    for array in arrays(plan):
        check_chunk(plan, array.path, array.part, array.decoded, report)
    return not report.errors


def content(plan: StorePlan, report: Report) -> Mapping[str, bytes] | None:
    """Return every key of a store with its bytes, in memory; None after an error."""
    from nczarr.stores.memory import MemoryStore

    target = MemoryStore()
    return target.content if write_into_store(plan, target, report) else None


def write_into_store(plan: StorePlan, target: Store, report: Report) -> bool:
    """Put a plan into an open store, whole or not at all; return False after an error. Raises OSError."""
    from nczarr.link.target import fill

    if not _fits_memory(plan, report):
        return False
    try:
        fill(plan, target, report)
        if not report.errors:
            target.finish()
    finally:
        target.abort()
    return not report.errors


def show_store(plan: StorePlan, report: Report) -> Iterator[bytes] | None:
    """Return a store as text, sorted `== key` blocks with sizes for chunks; None after an error."""
    from nczarr.link.target import fill
    from nczarr.stores.memory import MeasuringStore, blocks

    if not _fits_memory(plan, report):
        return None
    target = MeasuringStore()
    fill(plan, target, report)
    return blocks(target.content, target.sizes) if not report.errors else None


def document(plan: StorePlan, report: Report) -> Iterator[bytes] | None:
    """Return a target of references as text; None after an error. Raises OSError."""
    from nczarr.link.target import fill
    from nczarr.registry import load

    if not _fits_memory(plan, report):
        return None
    assert plan.form.store.document is not None
    pieces: Iterator[bytes] = load(plan.form.store.document)(plan, lambda store: fill(plan, store, report))
    return pieces
