"""The linker: moves the data of a plan into a store, and puts the metadata on top.

`store` makes a target on disk, `content` and `shown` make one in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from nczarr import secrets

if TYPE_CHECKING:
    from nczarr.arrays.counts import Counts, Step
    from nczarr.diagnostics.report import Report
    from nczarr.link.cluster import Cluster
    from nczarr.plan.planned import Planned
    from nczarr.stores.base import Store

    Inspect = Callable[[Planned, str], None]


def store(
    planned: Planned, path: str, report: Report, counts: Counts | None = None, inspect: Inspect | None = None
) -> bool:
    """Write a plan to a new folder, or archive if the path ends in `.zip`, whole or not at all.

    Returns False after an error, and then there is no target. `inspect` may look at the target before anyone else sees
    it, and report an error. With `options.dask` a cluster does the tasks. Reports oversized-chunk.

    Raises OSError if the target cannot be written, FileExistsError if it is there and may not be overwritten.
    """
    if not _fits_memory(planned, report):
        return False
    if planned.options.dask is None:
        return _store(planned, path, report, counts, inspect, None)
    from nczarr.link.cluster import Cluster

    with Cluster(planned.options.dask) as cluster:
        return _store(planned, path, report, counts, inspect, cluster)


def _store(
    planned: Planned,
    path: str,
    report: Report,
    counts: Counts | None,
    inspect: Inspect | None,
    cluster: Cluster | None,
) -> bool:
    """Write what was planned; as `store`."""
    from nczarr.link.fill import fill
    from nczarr.link.target import begun, has_room
    from nczarr.stores.finish import unstopped
    from nczarr.stores.url import is_remote

    if not has_room(path, planned, report):
        return False
    target = None
    try:
        try:
            with nullcontext() if is_remote(path) else unstopped():  # what was begun is known before a signal ends it
                target = begun(path, planned)
        except FileExistsError as error:
            helps = ["with the source and options of then, `--resume` goes on with it; `--overwrite` begins anew"]
            report.error(
                "target-exists",
                f"`{secrets.shown(path)}` {error.strerror or 'exists'}",
                helps=helps if planned.options.resume else [],
            )
            return False
        fill(planned, target.store, report, counts, cluster)
        if inspect is not None and not report.errors:
            target.store.seal()
            inspect(planned, target.place)
        if report.errors:
            return False
        target.store.finish()
    except (OSError, KeyboardInterrupt) as failure:
        if target is None:
            raise
        if isinstance(failure, OSError) and failure.errno and failure.filename is None:
            failure.filename = target.place  # the system says why, not where
        if target.store.suspend():
            failure.add_note(f"`{secrets.shown(path)}` is begun: `--resume` goes on with it")
        raise
    finally:
        if target is not None:
            target.store.abort()
    return True


def steps(planned: Planned, report: Report) -> Iterator[Step] | None:
    """Return what `store` would do, part by part; None after an error."""
    from nczarr.link import run

    return run.steps(planned) if _fits_memory(planned, report) else None


def _fits_memory(planned: Planned, report: Report) -> bool:
    """Check that every chunk that would be decoded fits into the run's memory. Reports oversized-chunk."""
    from nczarr.link.tasks import arrays
    from nczarr.plan.memory_limit import check_chunk

    for array in arrays(planned):
        check_chunk(planned, array.path, array.part, array.decoded, report)
    return not report.errors


def content(planned: Planned, report: Report) -> Mapping[str, bytes] | None:
    """Return every key of a store with its bytes, chunks included, in memory; None after an error."""
    from nczarr.stores.memory import MemoryStore

    target = MemoryStore()
    return target.content if into(planned, target, report) else None


def into(planned: Planned, target: Store, report: Report) -> bool:
    """Put a plan into a store that is open already, whole or not at all; False after an error. Raises OSError."""
    from nczarr.link.fill import fill

    if not _fits_memory(planned, report):
        return False
    try:
        fill(planned, target, report)
        if not report.errors:
            target.finish()
    finally:
        target.abort()
    return not report.errors


def shown(planned: Planned, report: Report) -> Iterator[bytes] | None:
    """Return a store as text, sorted `== key` blocks, chunks by their size; None after an error."""
    from nczarr.link.fill import fill
    from nczarr.stores.blocks import blocks
    from nczarr.stores.memory import MeasuringStore

    if not _fits_memory(planned, report):
        return None
    target = MeasuringStore()
    fill(planned, target, report)
    return blocks(target.content, target.sizes) if not report.errors else None


def document(planned: Planned, report: Report) -> Iterator[bytes] | None:
    """Return a target that holds references, as a text; None after an error. Raises OSError."""
    from nczarr.link.fill import fill
    from nczarr.registry import load

    if not _fits_memory(planned, report):
        return None
    assert planned.form.document is not None
    found: Iterator[bytes] = load(planned.form.document)(planned, lambda store: fill(planned, store, report))
    return found
