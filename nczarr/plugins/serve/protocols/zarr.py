"""Zarr: documents and chunks of one dataset, as a view (`plugins/common/store_view.py`) has them.

At most one chunk of a dataset is made at a time per request.
"""

from __future__ import annotations

import os
import re
from functools import partial

from nczarr import __version__
from nczarr.arrays.regions import Index
from nczarr.link.tasks import WrittenPart
from nczarr.plugins.common import store_view
from nczarr.plugins.common.pieces import length_of
from nczarr.plugins.serve.answers import (
    BYTES,
    JSON,
    HttpAnswer,
    RefusedRequestError,
    answer_unchanged,
    conditional,
    is_had,
    tag_of,
)
from nczarr.plugins.serve.context import Answer, DatasetToOpen, ServerContext, trim
from nczarr.plugins.serve.dataset_cache import CachedDataset, refuse_if_replaced
from nczarr.plugins.serve.delivery import resolve
from nczarr.plugins.serve.pages.dataset import dataset_page
from nczarr.plugins.serve.places import ServedPlace
from nczarr.plugins.serve.request import Request
from nczarr.plugins.serve.resources import Limits
from nczarr.stores.ranges import Range

_CHUNK = re.compile(r"c|[0-9]+(?:\.[0-9]+)*", re.ASCII)
"""Last segment of the key of a chunk."""

TIMES = 3
"""Copies of a chunk in memory while it is made."""


def answer(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/zarr2/PATH/KEY` or `/zarr3/PATH/KEY` by a document or chunk, without a key by the dataset's page."""
    version, segments = asked.segments[0], asked.segments[1:]
    place = _find_place(context, segments)
    opened = context.find_open(place, at_hand)
    if opened is None or version not in opened.views:
        return DatasetToOpen(place, version)
    if not place.behind:
        return dataset_page(context, asked, place, opened)
    with refuse_if_replaced(opened):
        key = "/".join(place.behind) + ("/" if segments[-1] == "" else "")
        view = opened.view(version, context.limits.memory)
        document = view.documents.get(key)
        if document is not None:
            return conditional(HttpAnswer(document, JSON), asked.headers, opened.modified)
        array_and_index = view.place(key)
        if array_and_index is None:
            raise RefusedRequestError(404, "there is no such key")
        array, index = array_and_index
        size = store_view.measure_made(array, index)
        _check_size(f"a chunk of `{array.path}`", size, context.limits)
        work = partial(_chunk, context, opened, asked, key, array, index)
        return context.now_or_later(opened, work, size * TIMES)


def _find_place(context: ServerContext, segments: tuple[str, ...]) -> ServedPlace:
    """Return the dataset of path segments. Raises RefusedRequestError.

    Clients take 404 for a chunk that was never written, and read fill values: chunks of a lost dataset are 410.
    """
    try:
        place = context.place(trim(segments))
        if place.folder:
            raise RefusedRequestError(404, "there is no such dataset")
    except RefusedRequestError as error:
        if error.status == 404 and segments and _CHUNK.fullmatch(segments[-1]):
            raise RefusedRequestError(410, "the dataset of this chunk is not there any more") from None
        raise
    return place


def _chunk(
    context: ServerContext, opened: CachedDataset, asked: Request, key: str, array: WrittenPart, index: Index
) -> HttpAnswer:
    """Return the answer for a chunk. Raises RefusedRequestError, CompileError, OSError."""
    tag = tag_of(__version__, opened.stamp, asked.segments[0], key) if opened.alone else None
    if tag is not None and is_had(tag, opened.modified, asked.headers):
        return answer_unchanged(tag, opened.modified)
    pieces = store_view.chunk(array, index)
    if pieces is None:
        raise RefusedRequestError(404, "the chunk does not exist: all its values are fill values")
    _check_size("the chunk", sum(map(length_of, pieces)), context.limits)
    whole = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], bytes) else tuple(pieces)
    if tag is None and isinstance(whole, tuple):
        states = (os.stat(piece.path) for piece in pieces if isinstance(piece, Range))
        tag = tag_of(whole, *((state.st_ino, state.st_size, state.st_mtime_ns) for state in states))
    state = opened.stamp[0] if opened.alone else None
    made = HttpAnswer(whole, BYTES, states={} if state is None else {opened.place.path: state})
    return resolve(conditional(made, asked.headers, opened.modified if opened.alone else None, tag))


def _check_size(what: str, size: int, limits: Limits) -> None:
    if size > limits.response:
        raise RefusedRequestError(413, f"{what} has {size} bytes; the limit of an answer is {limits.response}")
