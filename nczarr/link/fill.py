"""Filling of a store from a plan: data, by local threads or a cluster, then metadata.

Children are put before parents, and last the root document by which readers
recognize a store, so that an interrupted store is not recognized. In a distant
store, documents of one depth are put concurrently, the deepest first. A store
that publishes everything at once may need its documents before the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, cast

from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, Crew, Task
from nczarr.diagnostics.report import Report
from nczarr.link.run import link
from nczarr.link.tasks import WrittenPart, arrays
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from nczarr.link.cluster import Cluster


def fill(
    plan: StorePlan, store: Store, report: Report, counts: Counts | None = None, cluster: Cluster | None = None
) -> Counts:
    """Write the whole plan, on a cluster if one is given; return counts. Raises OSError if the store fails."""
    counts = Counts() if counts is None else counts
    if store.documents_first:
        put_metadata(plan, store, report, plan.options.workers or DISTANT_WORKERS)
        if report.errors:
            return counts
    numbered: Iterator[tuple[int, WrittenPart]] = iter(enumerate(arrays(plan)))
    capabilities = plan.form.capabilities
    if capabilities.arrays is not None and capabilities.arrays.by_reference:
        from nczarr.link.references import ReferringStore, refer

        numbered = refer(numbered, cast("ReferringStore", store), plan.options.writing.inline, counts)
    if cluster is None:
        link(numbered, store, plan.options, counts)
    else:
        cluster.link(numbered, store, plan.options, counts)
    if not store.documents_first:
        put_metadata(plan, store, report, plan.options.workers or DISTANT_WORKERS)
    return counts


ENTRANCES = ("zarr.json", ".zgroup", "root.group.json")
"""Root documents by which readers recognize a store."""


def emit(plan: StorePlan, report: Report) -> Iterator[tuple[str, bytes]]:
    """Return the format's metadata from its back end."""
    from nczarr.registry import load

    assert plan.form.emit is not None
    entries: Iterator[tuple[str, bytes]] = load(plan.form.emit)(plan, report)
    return entries


def put_metadata(plan: StorePlan, store: Store, report: Report, workers: int) -> None:
    """Put every document; a distant store gets none after an error. Raises OSError if the store fails."""
    entries = emit(plan, report)
    if not store.distant or store.documents_first:
        for key, document in entries:
            store.put(key, document)
        return
    documents = list(entries)
    if report.errors:
        return
    with Crew(workers, plan.options.memory) as crew:
        for _ in crew.results(_works(documents, store)):
            pass


def _works(documents: Iterable[tuple[str, bytes]], store: Store) -> Iterator[Task]:
    for _, level in groupby(sorted(documents, key=_turn), _turn):
        for number, (key, document) in enumerate(level):
            yield Task(partial(store.put, key, document), len(document), after_all=number == 0)


def _turn(entry: tuple[str, bytes]) -> tuple[int, bool]:
    """Return the sort key of a document: by depth, the deepest first; root entrances last."""
    return -entry[0].count("/"), entry[0] in ENTRANCES
