"""Zarr view of a dataset: documents, made once, and chunks, made on request.

Losses are listed in `View.losses`. A chunk takes the linker's route: copied
where the source's encoding fits, else decoded and encoded. At most one chunk of
a dataset is made at a time per request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nczarr.arrays.blocks import Index, grid_of
from nczarr.diagnostics.report import CompileError, Report
from nczarr.link.chunk_pieces import Piece
from nczarr.link.tasks import Array
from nczarr.options import Options
from nczarr.plan.plans import Loss
from nczarr.registry import having
from nczarr.serve.answers import length_of
from nczarr.serve.dataset_cache import Opened, RefusedError
from nczarr.serve.limits import Limits

VERSIONS = having("served")
"""Names of the formats that are served; the first URL segments."""

TIMES = 3
"""Copies of a chunk in memory while it is made."""


class View(NamedTuple):
    """A dataset in one version of Zarr."""

    documents: Mapping[str, bytes]
    """Documents by key."""
    arrays: Mapping[str, Array]
    """Arrays by key prefix."""
    losses: tuple[Loss, ...]
    """Content that this version cannot hold."""

    def place(self, key: str) -> tuple[Array, Index] | None:
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


def view(opened: Opened, version: str, limits: Limits) -> View:
    """Return a dataset in one version; cached. Raises CompileError if it cannot be represented, OSError."""
    with opened.lock:
        known = opened.views.get(version)
        if known is None:
            known = opened.views[version] = _made(opened, version, limits)
        found: View = known
        return found


def _made(opened: Opened, version: str, limits: Limits) -> View:
    from nczarr import pipeline, registry
    from nczarr.link.fill import emit
    from nczarr.link.tasks import arrays

    form = registry.named(version)
    assert form is not None
    report = Report(limit=100)
    options = Options(allow_loss=frozenset({"all"}), consolidated=True, memory=limits.memory)
    planned = pipeline.plan_store(opened.checked, form, report, options)
    if planned is None:
        raise CompileError(report.sorted())
    found = {array.chunk_keys.prefix: array for array in arrays(planned)}
    documents = dict(emit(planned, report))
    if report.errors:
        raise CompileError(report.sorted())
    return View(documents, found, planned.losses)


def check(array: Array, limits: Limits) -> int:
    """Return the memory in bytes to make a chunk. Raises RefusedError above the limit."""
    size = array.decoded or (0 if array.route == "copy" else array.chunk_size * array.element)
    if size > limits.response:
        text = f"a chunk of `{array.path}` has {size} bytes; the limit of an answer is {limits.response}"
        raise RefusedError(413, text)
    return size * TIMES


def chunk(array: Array, index: Index, limits: Limits) -> list[Piece] | None:
    """Return the pieces of a chunk; None if it contains only fill values.

    Raises CompileError if it is unreadable, OSError, RefusedError.
    """
    from nczarr.link.do_task import keys_of, pieces

    (made,) = keys_of(array, (index,))
    found = list(pieces(made, sharded=array.target.layout.shards is not None))
    size = sum(map(length_of, found))
    if size > limits.response:
        raise RefusedError(413, f"the chunk has {size} bytes; the limit of an answer is {limits.response}")
    return found or None
