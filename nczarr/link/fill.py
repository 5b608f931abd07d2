"""Filling of a store from a plan: data, by local threads or a cluster, then metadata.

Children are put before parents, and last the root document by which readers
recognize a store, so that an interrupted store is not recognized. In a distant
store, documents of one depth are put concurrently, the deepest first. A store
that publishes everything at once may need its documents before the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, cast

from nczarr.arrays.chunks.chunk_references import Referred, referred, some
from nczarr.arrays.chunks.manifest import PlaceColumns
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, Crew, Task
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, grid_of, index_of, number_of
from nczarr.arrays.sources.windows import way
from nczarr.diagnostics.report import Report
from nczarr.link.run import link
from nczarr.link.tasks import WrittenPart, arrays
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from nczarr.link.cluster import Cluster


class ReferringStore(Store, Protocol):
    """An unfinished store that accepts references."""

    def accepts(self, sources: tuple[str, ...]) -> bool:
        """Return whether the store can name all of these paths and URLs; otherwise it gets the chunks."""

    def add(self, referred: Referred) -> None:
        """Add the chunk locations of an array. Raises OSError."""


def refer(
    numbered: Iterable[tuple[int, WrittenPart]], store: ReferringStore, inline: int, counts: Counts
) -> Iterator[tuple[int, WrittenPart]]:
    """Put the references of arrays; yield the arrays, or their keys, that must be made. Raises OSError.

    `inline`: maximum bytes of an embedded chunk; distant chunks are always
    referenced.
    """
    for number, array in numbered:
        columns = referred(array.source, array.target.layout) if array.route == "reference" else None
        if columns is None:
            yield number, array
            continue
        if not store.accepts(columns.sources):
            assert array.source is not None
            yield number, array._replace(route=way(array.source, array.target.layout))
            continue
        grid = grid_of(array.target.layout.shape, array.unit)
        far = array.source is not None and array.source.distant
        long = (columns.length > (-1 if far else inline)) | (columns.length < 0)
        referred_columns = columns if long.all() else some(columns, long)
        if len(referred_columns.chunk):
            store.add(
                Referred(array.chunk_keys, grid, referred_columns, {} if array.source is None else array.source.noted)
            )
            size = int(referred_columns.length.clip(min=0).sum())
            counts.add(
                "reference",
                len(referred_columns.chunk),
                size,
                len(referred_columns.chunk) * array.chunk_size * array.element,
            )
        rest = _rest(array, grid, referred_columns, columns, ~long)
        if rest:
            assert array.source is not None
            yield number, array._replace(route=way(array.source, array.target.layout), only=rest)


def _rest(
    array: WrittenPart,
    grid: tuple[int, ...],
    referred_columns: PlaceColumns,
    columns: PlaceColumns,
    short: NDArray[Any],
) -> tuple[Index, ...]:
    """Return the existing chunks without reference, in C order.

    `short`: bool, shape (rows of `columns`,); True for chunks that are too
    short for a reference.
    """
    if len(columns.chunk) == math.prod(grid):
        return tuple(index_of(number, grid) for number in columns.chunk[short].tolist())
    numbers = set(referred_columns.chunk.tolist())
    return tuple(index for index in array.indices() if number_of(index, grid) not in numbers)


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
