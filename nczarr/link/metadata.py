"""Putting the metadata of a plan: after all data, children before parents, the root last.

Where every put travels, documents of the same depth travel at once, the deepest first; those of the root follow, and
last of all the one that makes readers see a store there. So a store whose writing was cut short is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

from nczarr.arrays.thread_pool import Crew, Task
from nczarr.diagnostics.report import Report
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import Store

ENTRANCES = ("zarr.json", ".zgroup", "root.group.json")
"""Documents of the root by which readers see that a store is there."""


def emit(plan: StorePlan, report: Report) -> Iterator[tuple[str, bytes]]:
    """The metadata of the plan's format, by the format's own back end."""
    from nczarr.registry import load

    assert plan.form.emit is not None
    entries: Iterator[tuple[str, bytes]] = load(plan.form.emit)(plan, report)
    return entries


def put_metadata(plan: StorePlan, store: Store, report: Report, workers: int) -> None:
    """Put every document. Raises OSError where the store fails. A distant store gets none if there is an error."""
    entries = emit(plan, report)
    if not store.distant:
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
    """When a document is put: by its depth, the deepest first; an entrance of the root last."""
    return -entry[0].count("/"), entry[0] in ENTRANCES
