"""A dataset as a Zarr store that nobody writes: its documents, made once, and its chunks, made when they are asked for.

Comes in: an open dataset and a version. Goes out: the bytes of a key, or the ranges of files in which they lie. What
the version cannot hold is lost, and said (`View.losses`). A chunk goes the linker's way: as it lies in the source where
that will do, else decoded and encoded. Never more of a dataset is made than one chunk.
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
from nczarr.serve.dataset_cache import Opened, RefusedError
from nczarr.serve.limits import Limits
from nczarr.stores.ranges import Range

VERSIONS = having("served")
"""Names of the formats, which are the first segments of URLs."""

TIMES = 3
"""How often the bytes of a chunk are in memory while it is made."""


class View(NamedTuple):
    """A dataset in one version: documents by key, arrays by what their keys begin with."""

    documents: Mapping[str, bytes]
    arrays: Mapping[str, Array]
    losses: tuple[Loss, ...]

    def place(self, key: str) -> tuple[Array, Index] | None:
        """The array and chunk of a key; None if it is that of no chunk."""
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
    """A dataset in one version; made once. Raises CompileError if it can be none, OSError."""
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
    """Bytes of memory that a chunk needs while it is made. Raises RefusedError where that is over the limit."""
    size = array.decoded or (0 if array.route == "copy" else array.chunk_size * array.element)
    if size > limits.response:
        text = f"a chunk of `{array.path}` has {size} bytes, and answers have at most {limits.response}"
        raise RefusedError(413, text)
    return size * TIMES


def chunk(array: Array, index: Index, limits: Limits) -> list[Piece] | None:
    """What a chunk consists of; None if there is none, because it would hold nothing but fill.

    Raises CompileError for one that cannot be read, OSError, RefusedError.
    """
    from nczarr.link.do_task import chunks_of, make, pieces

    found = list(pieces(array, make(array, chunks_of(array, index))))
    size = sum(each.length if isinstance(each, Range) else len(each) for each in found)
    if size > limits.response:
        raise RefusedError(413, f"the chunk has {size} bytes, and answers have at most {limits.response}")
    return found or None
