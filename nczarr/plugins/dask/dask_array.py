"""Arrays of dask: values that a graph of tasks computes, block by block.

The tasks of one block run when a region of the block is read. Results that
several tasks use, and blocks of which a part was read, stay in a `Results`
of bounded size, and are computed again when they were dropped. So the memory
depends on the blocks in use, not on the array. dask is imported only here and
where arrays of it are given.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Mapping
from functools import partial
from secrets import token_hex
from threading import RLock
from typing import Any, NamedTuple, cast

from nczarr.api.builder.pieces import block_error
from nczarr.arrays.execution.thread_pool import run_each
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, lengths_of
from nczarr.arrays.sources.source import ArraySource, Layout, itemsize, numpy_dtype
from nczarr.names.records import frozen
from nczarr.stores.ranges import BoundedCache

RESULTS = 64 << 20
"""Bytes of results that are kept for further reads."""

WIDE = 256
"""Tasks behind one block above which several threads run them, once."""

OBJECT = 64
"""Estimated bytes of an element in memory if its length is unknown."""


class Results:
    """Results of tasks by key, up to a number of bytes; the oldest ones are dropped."""

    def __init__(self, most: int = RESULTS) -> None:
        self._most = most
        self._values: BoundedCache[Hashable, Any] = BoundedCache(most, _size_of)

    def get(self, key: Hashable) -> Any:
        """Return a result, or None."""
        return self._values.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a result, unless it is too large."""
        if value is not None and _size_of(value) <= self._most // 2 and key not in self._values:
            self._values.put(key, value)


def _size_of(value: Any) -> int:
    return int(getattr(value, "nbytes", OBJECT))


class _Tasks(NamedTuple):
    """A graph of tasks."""

    graph: Mapping[Hashable, Any]
    """Tasks by key."""
    inputs: Mapping[Hashable, frozenset[Hashable]]
    """Keys of the tasks whose results a task uses."""
    shared: frozenset[Hashable]
    """Keys that several tasks use."""
    name: str
    """First part of the keys of the blocks."""


def _inputs(graph: Mapping[Hashable, Any], key: Hashable) -> frozenset[Hashable]:
    """Return the keys of the results that a task uses."""
    from dask.core import get_dependencies

    task, find = graph[key], cast("Any", get_dependencies)
    return frozenset(task.dependencies if hasattr(task, "dependencies") else find(graph, key))


class Graph:
    """The blocks of one dask array, which can be computed in any thread, or on a cluster."""

    def __init__(self, array: Any, results: Results) -> None:
        self.array = array
        self._results = results
        self._lock = RLock()
        self._tasks: _Tasks | None = None

    def block(self, index: tuple[int, ...]) -> NDArray[Any]:
        """Return a block. It may be kept and must not be modified."""
        tasks = self._prepare()
        key = (tasks.name, *index)
        block = self._results.get(key)
        if block is not None:
            return self._plain(block, index)
        needed = self._find_needed(tasks, key)
        if len(needed) <= WIDE:
            return self._plain(self._compute(tasks, key, needed), index)
        with self._lock:  # another thread may have computed what both need
            return self._plain(self._compute(tasks, key, self._find_needed(tasks, key)), index)

    @property
    def scheduler(self) -> str | None:
        """Address of the scheduler that computes the array; None if threads of this process do."""
        client = client_of(self.array)
        return None if client is None else str(client.scheduler.address)

    def region(self, selection: Selection, client: Any) -> Any:
        """Return the future of the values of a region, which the cluster of this client computes."""
        tasks = self._prepare()
        pieces = _cut_blocks(self.array.chunks, selection)
        blocks = [(tasks.name, *piece.block) for piece in pieces]
        graph: dict[Hashable, Any] = {}
        for key in blocks:
            graph |= self._find_needed(tasks, key)
        places = [(piece.inside, piece.outside) for piece in pieces]
        shape = lengths_of(selection)
        whole = f"nczarr-region-{token_hex(8)}"
        graph[whole] = (partial(_assemble, places, shape, self.array.dtype), blocks)
        return client.get(graph, whole, sync=False)

    def keep(self, index: tuple[int, ...], values: NDArray[Any]) -> None:
        """Keep a block for further reads."""
        if self._tasks is not None:
            self._results.put((self._tasks.name, *index), values)

    def _prepare(self) -> _Tasks:
        """Return the optimized graph of tasks, made at the first call; results that lie on a cluster are kept in it."""
        with self._lock:
            if self._tasks is None:
                from dask.base import optimize
                from dask.core import flatten

                (array,) = cast("Any", optimize)(self.array)
                graph = dict(array.__dask_graph__())
                inputs = {key: _inputs(graph, key) for key in graph}
                blocks = cast("Any", flatten)(array.__dask_keys__())
                stored = {*blocks, *itertools.chain.from_iterable(inputs.values())} - graph.keys()
                if stored:  # results on a cluster, which optimization leaves out
                    before = dict(self.array.__dask_graph__())
                    graph |= {key: before[key] for key in stored}
                    inputs |= dict.fromkeys(stored, frozenset())
                used = Counter(itertools.chain.from_iterable(inputs.values()))
                shared = frozenset(key for key, count in used.items() if count > 1)
                self._tasks = _Tasks(graph, inputs, shared, array.name)
            return self._tasks

    def _find_needed(self, tasks: _Tasks, key: Hashable) -> dict[Hashable, Any]:
        """Return the part of the graph behind a block; kept results stand in place of their tasks."""
        needed: dict[Hashable, Any] = {}
        pending = [key]
        while pending:
            one = pending.pop()
            if one in needed:
                continue
            result = self._results.get(one) if one in tasks.shared else None
            if result is not None:
                needed[one] = (partial(_same, result),)
                continue
            needed[one] = tasks.graph[one]
            pending.extend(tasks.inputs[one])
        return needed

    def _compute(self, tasks: _Tasks, key: Hashable, needed: dict[Hashable, Any]) -> Any:
        """Run the needed tasks and return the result of `key`; results that several tasks use are cached."""
        from dask import local, threaded

        def keep(done: Hashable, value: Any, *_: Any) -> None:
            if done in tasks.shared:
                self._results.put(done, value)

        get: Any = threaded.get if len(needed) > WIDE else local.get_sync
        return get(needed, key, callbacks=[(None, None, None, keep, None)])

    def _plain(self, value: Any, index: tuple[int, ...]) -> NDArray[Any]:
        shape = tuple(lengths[number] for number, lengths in zip(index, self.array.chunks, strict=True))
        return as_declared(value, self.array.dtype, shape, f"block {index}")


def as_declared(value: Any, dtype: Any, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """Return a result as an array of the shape that dask declares. Raises CompileError if it is something else."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise block_error("type-mismatch", f"{what} has masked items, which the dask array does not declare")
    values = np.asarray(value)
    if values.shape != shape:
        raise block_error("shape-mismatch", f"{what} has the shape {values.shape}, and dask declares {shape}")
    if not np.can_cast(values.dtype, dtype, "equiv" if values.dtype.hasobject else "safe"):
        if values.dtype.kind in "iu" and dtype.kind in "iu":  # xarray declares encoded times like that
            narrow = values.astype(dtype)
            if (narrow == values).all():
                return narrow
        raise block_error("type-mismatch", f"{what} has the dtype {values.dtype}, and dask declares {dtype}")
    return values


def _same(value: Any) -> Any:
    return value


def _assemble(
    places: list[tuple[Selection, Selection]], shape: tuple[int, ...], dtype: Any, blocks: list[Any]
) -> NDArray[Any]:
    """Return the values of a region from its blocks, in its shape and the dask array's dtype. Raises CompileError.

    `places`: the part of each block, and its place in the region.
    """
    out = np.empty(shape, dtype)
    for (inside, outside), block in zip(places, blocks, strict=True):
        part = np.ma.asanyarray(block)[inside] if isinstance(block, np.ma.MaskedArray) else np.asarray(block)[inside]
        lengths = lengths_of(outside)
        out[outside] = as_declared(part, dtype, lengths, f"the part {outside} of a region")
    return out


def client_of(array: Any) -> Any:
    """Return the client of the distributed scheduler that computes an array; None if threads of this process do."""
    from dask.base import get_scheduler

    client = getattr(cast("Any", get_scheduler)(collections=[array]), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


@frozen
class DaskArray(ArraySource):
    """One dask array, of the layout's shape and dtype in either byte order."""

    layout: Layout
    """Layout of the array; its chunks are the largest blocks."""
    graph: Graph
    """Blocks of the array."""

    @property
    def given(self) -> bool:
        """True: the values are computed by a graph of the caller."""
        return True

    @property
    def viewed(self) -> bool:
        """False: a read computes whole blocks."""
        return False

    @property
    def deferred(self) -> Graph:
        """Blocks of the array."""
        return self.graph

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype."""
        client = client_of(self.graph.array)
        if client is not None:
            values: NDArray[Any] = self.graph.region(selection, client).result()
            return values.astype(numpy_dtype(self.layout.dtype), copy=False)
        pieces = _cut_blocks(self.graph.array.chunks, selection)
        if len(pieces) == 1:
            return self._part(pieces[0]).astype(numpy_dtype(self.layout.dtype), copy=False)
        out = np.empty(lengths_of(selection), numpy_dtype(self.layout.dtype))
        self.read_into(selection, out)
        return out

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, block by block, in several threads if there are several blocks."""
        if client_of(self.graph.array) is not None:
            out[...] = self.read(selection)
            return
        pieces = _cut_blocks(self.graph.array.chunks, selection)

        def put(piece: _BlockPiece) -> None:
            out[piece.outside] = self._part(piece)

        element = itemsize(self.layout.dtype) or OBJECT
        run_each(put, pieces, 2 * element * math.prod(self.layout.chunks) if len(pieces) > 1 else None)

    def _part(self, piece: _BlockPiece) -> NDArray[Any]:
        values = self.graph.block(piece.block)
        if not piece.whole:
            self.graph.keep(piece.block, values)
        part: NDArray[Any] = values[piece.inside]
        return part


class _BlockPiece(NamedTuple):
    """Part of a block in a region."""

    block: tuple[int, ...]
    """Index of the block."""
    inside: Selection
    """The part in coordinates of the block."""
    outside: Selection
    """The part in coordinates of the region."""
    whole: bool
    """True if the part is the block."""


def _cut_blocks(chunks: tuple[tuple[int, ...], ...], selection: Selection) -> list[_BlockPiece]:
    """Return the parts of a region in C order. `chunks`: lengths of the blocks along each dimension."""
    axes = [list(_along(lengths, part)) for lengths, part in zip(chunks, selection, strict=True)]
    return [
        _BlockPiece(
            tuple(number for number, _, _, _ in along),
            tuple(inside for _, inside, _, _ in along),
            tuple(outside for _, _, outside, _ in along),
            all(whole for _, _, _, whole in along),
        )
        for along in itertools.product(*axes)
    ]


def _along(lengths: tuple[int, ...], part: slice) -> list[tuple[int, slice, slice, bool]]:
    """Return the blocks that a part of one dimension meets, each with its places in the block and in the part."""
    ends = list(itertools.accumulate(lengths))
    pieces = []
    number, start = bisect_right(ends, part.start), part.start
    while start < part.stop:
        first = ends[number] - lengths[number]
        stop = min(part.stop, ends[number])
        inside, outside = slice(start - first, stop - first), slice(start - part.start, stop - part.start)
        pieces.append((number, inside, outside, stop - start == lengths[number]))
        number, start = number + 1, stop
        while number < len(lengths) and not lengths[number]:
            number += 1
    return pieces


def lazy(array: Any, dtype: Any, fill: bytes | None, results: Results) -> DaskArray:
    """Return a dask array as the source of values of this dtype. `fill`: value of the target's unwritten cells."""
    chunks = tuple(max(1, *lengths) for lengths in array.chunks)
    return DaskArray(Layout(dtype, tuple(map(int, array.shape)), chunks, fill=fill), Graph(array, results))
