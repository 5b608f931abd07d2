"""Store of a plan that is never written: documents, made once, and chunks, made on request.

A chunk takes the linker's route: copied where the source's encoding fits, else
decoded and encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr.arrays.regions import Index, grid_of, region_of
from nczarr.ast import Constant
from nczarr.diagnostics.report import Report
from nczarr.link.chunk_pieces import Piece, exists
from nczarr.link.run import keys_of, pieces
from nczarr.link.target import emit
from nczarr.link.tasks import WrittenPart, arrays
from nczarr.plan.plans import Loss, PartTarget, StorePlan


class StoreView(NamedTuple):
    """Keys of a store."""

    documents: Mapping[str, bytes]
    """Documents by key."""
    arrays: Mapping[str, WrittenPart]
    """Arrays by key prefix."""
    losses: tuple[Loss, ...]
    """Content that the store's format cannot hold."""

    def place(self, key: str) -> tuple[WrittenPart, Index] | None:
        """Return the array and chunk index of a key, None if it is no chunk key."""
        end = len(key)
        while True:
            end = key.rfind("/", 0, end)
            array = self.arrays.get(key[: end + 1])
            if array is not None:
                index = array.chunk_keys.index_of(key, grid_of(array.target.layout.shape, array.unit))
                if index is not None:
                    return array, index
            if end < 0:
                return None

    def pieces(self, key: str) -> list[Piece] | None:
        """Return the content of a key in pieces; None if it does not exist. For the errors see `chunk`."""
        if key in self.documents:
            return [self.documents[key]]
        array_and_index = self.place(key)
        return None if array_and_index is None else chunk(*array_and_index)

    def chunk_keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys of existing chunks that begin with a prefix. For the errors see `chunk`.

        A chunk that is not stored as it is needs its values: it does not exist if all
        of them are fill.
        """
        for prefix_of_array, array in self.arrays.items():
            if prefix_of_array.startswith(prefix) or prefix.startswith(prefix_of_array):
                keys = ((array.key(index), index) for index in array.indices())
                yield from (key for key, index in keys if key.startswith(prefix) and _exists(array, index))


def without_default_fills(plan: StorePlan) -> StorePlan:
    """Return a plan whose arrays declare no fill values but those of `_FillValue`.

    xarray takes every fill value of Zarr v2 for missing data, which makes integers
    floats, and puts it before `_FillValue`. Chunks of fill values alone then exist.
    A format whose arrays need fill values keeps them.
    """
    arrays = plan.form.capabilities.arrays
    if arrays is None or arrays.fill_needed:
        return plan
    targets = {}
    for path, parts in plan.targets.items():
        variable = plan.checked.variables[path]
        fill = next((attribute.value for attribute in variable.attributes if attribute.name == "_FillValue"), None)
        targets[path] = {part: _with_own_fill(target, fill if part == "" else None) for part, target in parts.items()}
    return plan._replace(targets=targets)


def _with_own_fill(target: PartTarget, fill: Constant | None) -> PartTarget:
    """Return a target whose fill value, if it has one, is that of the attribute."""
    layout = target.layout
    if layout.fill is None or (fill is not None and fill.data in (layout.fill, (layout.fill,))):
        return target
    return target._replace(layout=layout._replace(fill=None), sparse=False)


def store_view(plan: StorePlan, report: Report) -> StoreView:
    """Return the keys of a planned store. Errors are reported."""
    parts_by_prefix = {array.chunk_keys.prefix: array for array in arrays(plan)}
    return StoreView(dict(emit(plan, report)), parts_by_prefix, plan.losses)


def chunk(array: WrittenPart, index: Index) -> list[Piece] | None:
    """Return the pieces of a chunk; None if it contains only fill values.

    Raises CompileError if it is unreadable, OSError.
    """
    if array.target.sparse and not is_occupied(array, index):
        return None
    (batches,) = keys_of(array, (index,))
    return list(pieces(batches, sharded=array.target.layout.shards is not None)) or None


def is_occupied(array: WrittenPart, index: Index) -> bool:
    """Return whether a key may have more than fill, as its source knows without its values. Raises OSError."""
    if array.source is None:
        return False
    region = tuple(range(part.start, part.stop) for part in region_of(index, array.unit, array.target.layout.shape))
    return next(iter(array.source.list_occupied(array.unit, region)), None) is not None


def measure_made(array: WrittenPart, index: Index) -> int:
    """Return the bytes of the largest chunk that is in memory while a key is made: 0 if none is. Raises OSError."""
    if not is_occupied(array, index):
        return 0 if array.target.sparse else array.chunk_size * array.element
    return array.decoded or (0 if array.route == "copy" else array.chunk_size * array.element)


def _exists(array: WrittenPart, index: Index) -> bool:
    """Return whether a key exists. Raises CompileError, OSError."""
    if array.target.layout.shards is None:
        return exists(array, index)
    return not array.target.sparse or chunk(array, index) is not None
