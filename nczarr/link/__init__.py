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
    from nczarr.capabilities import Format
    from nczarr.check.checked import Checked
    from nczarr.diagnostics.report import Report
    from nczarr.link.cluster import Cluster
    from nczarr.options import Options
    from nczarr.plan.planned import Planned
    from nczarr.stores.base import Store

    Inspect = Callable[[Planned, str], None]


def store(
    checked: Checked,
    path: str,
    form: Format,
    report: Report,
    options: Options,
    counts: Counts | None = None,
    inspect: Inspect | None = None,
) -> Planned | None:
    """Write a dataset to a new folder, or archive if the path ends in `.zip`, whole or not at all; returns the plan.

    None: an error stands in the report, and no target. `inspect` may look at the target before anyone else sees it,
    and report an error.

    With `options.dask` a cluster does the tasks. Raises OSError if the target cannot be written, FileExistsError if it
    is there and may not be overwritten.
    """
    planned = _planned(checked, form, report, options)
    if planned is None:
        return None
    if options.dask is None:
        return _store(planned, path, report, counts, inspect, None)
    from nczarr.link.cluster import Cluster

    with Cluster(options.dask) as cluster:
        return _store(planned, path, report, counts, inspect, cluster)


def _store(
    planned: Planned,
    path: str,
    report: Report,
    counts: Counts | None,
    inspect: Inspect | None,
    cluster: Cluster | None,
) -> Planned | None:
    """Write what was planned; as `store`."""
    from nczarr.link.fill import fill
    from nczarr.link.target import begun, has_room
    from nczarr.stores.finish import unstopped
    from nczarr.stores.url import is_remote

    if not has_room(path, planned, report):
        return None
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
            return None
        fill(planned, target.store, report, counts, cluster)
        if inspect is not None and not report.errors:
            target.store.seal()
            inspect(planned, target.place)
        if report.errors:
            return None
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
    return planned


def steps(checked: Checked, form: Format, report: Report, options: Options) -> Iterator[Step] | None:
    """What `store` would do, part by part; None if an error stands in the report."""
    from nczarr.link import run

    planned = _planned(checked, form, report, options)
    return None if planned is None else run.steps(planned)


def _planned(checked: Checked, form: Format, report: Report, options: Options) -> Planned | None:
    """The plan for a store; None if an error stands in the report. Reports oversized-chunk."""
    from nczarr.link.tasks import arrays
    from nczarr.plan.memory_limit import check_chunk
    from nczarr.plan.planner import plan

    planned = plan(checked, form, options, report)
    if planned is None or report.errors:
        return None
    for array in arrays(planned):
        check_chunk(planned, array.path, array.part, array.decoded, report)
    return None if report.errors else planned


def content(checked: Checked, form: Format, report: Report, options: Options) -> Mapping[str, bytes] | None:
    """Every key of a store with its bytes, chunks included, in memory; None if an error stands in the report."""
    from nczarr.stores.memory import MemoryStore

    target = MemoryStore()
    return target.content if into(checked, target, form, report, options) else None


def into(checked: Checked, target: Store, form: Format, report: Report, options: Options) -> bool:
    """Put a dataset into a store that is open already, whole or not at all; False: an error stands in the report.
    Raises OSError.
    """
    from nczarr.link.fill import fill

    planned = _planned(checked, form, report, options)
    if planned is None:
        return False
    try:
        fill(planned, target, report)
        if not report.errors:
            target.finish()
    finally:
        target.abort()
    return not report.errors


def shown(checked: Checked, form: Format, report: Report, options: Options) -> Iterator[bytes] | None:
    """A store as text, sorted `== key` blocks, chunks by their size; None if an error stands in the report."""
    from nczarr.link.fill import fill
    from nczarr.stores.blocks import blocks
    from nczarr.stores.memory import MeasuringStore

    planned = _planned(checked, form, report, options)
    if planned is None:
        return None
    target = MeasuringStore()
    fill(planned, target, report)
    return blocks(target.content, target.sizes) if not report.errors else None


def document(checked: Checked, form: Format, report: Report, options: Options) -> Iterator[bytes] | None:
    """A target that holds references, as a text; None if an error stands in the report. Raises OSError."""
    from nczarr.link.fill import fill
    from nczarr.registry import load

    planned = _planned(checked, form, report, options)
    if planned is None:
        return None
    found: Iterator[bytes] = load("nczarr.formats.reference.target:text")(
        planned, lambda store: fill(planned, store, report)
    )
    return found
