"""Zarr views of open datasets (link/store_view.py), cached and within the limits of the server.

At most one chunk of a dataset is made at a time per request.
"""

from __future__ import annotations

from nczarr.arrays.regions import Index
from nczarr.diagnostics.report import CompileError, Report
from nczarr.link import store_view
from nczarr.link.chunk_pieces import Piece
from nczarr.link.store_view import StoreView
from nczarr.link.tasks import WrittenPart
from nczarr.options import Options
from nczarr.registry import having
from nczarr.serve.dataset_cache import CachedDataset, RefusedRequestError
from nczarr.serve.limits import Limits
from nczarr.stores.ranges import length_of

VERSIONS = having("served")
"""Names of the formats that are served; the first URL segments."""

TIMES = 3
"""Copies of a chunk in memory while it is made."""


def view(opened: CachedDataset, version: str, limits: Limits) -> StoreView:
    """Return a dataset in one version; cached. Raises CompileError if it cannot be represented, OSError."""
    with opened.lock:
        cached: StoreView | None = opened.views.get(version)
        if cached is None:
            cached = opened.views[version] = _planned_view(opened, version, limits)
        return cached


def _planned_view(opened: CachedDataset, version: str, limits: Limits) -> StoreView:
    from nczarr import registry
    from nczarr.operations import pipeline

    form = registry.named(version)
    assert form is not None
    report = Report(limit=100)
    options = Options(allow_loss=frozenset({"all"}), consolidated=True, memory=limits.memory)
    planned = pipeline.plan_store(opened.checked, form, report, options)
    store = None if planned is None else store_view.store_view(store_view.without_default_fills(planned), report)
    if store is None or report.errors:
        raise CompileError(report.sorted())
    return store


def check(array: WrittenPart, limits: Limits) -> int:
    """Return the memory in bytes to make a chunk. Raises RefusedRequestError above the limit."""
    size = array.decoded or (0 if array.route == "copy" else array.chunk_size * array.element)
    if size > limits.response:
        text = f"a chunk of `{array.path}` has {size} bytes; the limit of an answer is {limits.response}"
        raise RefusedRequestError(413, text)
    return size * TIMES


def chunk(array: WrittenPart, index: Index, limits: Limits) -> list[Piece] | None:
    """Return the pieces of a chunk; None if it contains only fill values.

    Raises CompileError if it is unreadable, OSError, RefusedRequestError.
    """
    pieces = store_view.chunk(array, index)
    size = sum(map(length_of, pieces or ()))
    if size > limits.response:
        raise RefusedRequestError(413, f"the chunk has {size} bytes; the limit of an answer is {limits.response}")
    return pieces
