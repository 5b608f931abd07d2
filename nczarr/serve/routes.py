"""Table of the routes of the server, and the routes of protocols.

A route has a row in `ROUTES` and a function that answers, in the module of what it serves.
For HEAD, the body is dropped later; `application.py` sends answers and refusals.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from nczarr import __version__
from nczarr.arrays.regions import Index
from nczarr.link.tasks import WrittenPart
from nczarr.serve import files
from nczarr.serve.answers import BYTES, HTML, HttpAnswer, conditional, is_had, tag_of, unchanged
from nczarr.serve.bodies import resolved
from nczarr.serve.context import Answer, DeferredWork, ServerContext, ServerRoute, of_dataset, trimmed
from nczarr.serve.dataset_cache import CachedDataset, RefusedRequestError, while_same
from nczarr.serve.pages import dataset, download, folder, view
from nczarr.serve.pages.markup import BROWSE, CATALOG, CDMREMOTE, DOWNLOAD, FILE, STATIC, VIEW
from nczarr.serve.pages.subset_form import subset_form
from nczarr.serve.places import ServedPlace
from nczarr.serve.protocols import cdmremote, dap2, dap4, zarr
from nczarr.serve.request import Request, url
from nczarr.stores.ranges import Range


def _zarr(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/zarr2/PATH/KEY` or `/zarr3/PATH/KEY` by a document or chunk, without a key by the dataset's page."""
    version, segments = asked.segments[0], asked.segments[1:]
    place = context.place(trimmed(segments))
    if place.folder:
        raise RefusedRequestError(404, "there is no such dataset")
    opened = context.opened(place, at_hand)
    if opened is None or version not in opened.views:
        return DeferredWork(place, version)
    if not place.behind:
        return dataset.dataset_page(context, asked, place, opened)
    with while_same(opened):
        key = "/".join(place.behind) + ("/" if segments[-1] == "" else "")
        known = zarr.view(opened, version, context.limits)
        held = known.documents.get(key)
        if held is not None:
            return conditional(HttpAnswer(held, "application/json"), asked.headers, opened.modified)
        array_and_index = known.place(key)
        if array_and_index is None:
            raise RefusedRequestError(404, "there is no such key")
        array, index = array_and_index
        need = zarr.check(array, context.limits)
        return context.now_or_later(opened, partial(_chunk, context, opened, asked, key, array, index), need)


def _chunk(
    context: ServerContext, opened: CachedDataset, asked: Request, key: str, array: WrittenPart, index: Index
) -> HttpAnswer:
    """Return the answer for a chunk. Raises RefusedRequestError, CompileError, OSError."""
    tag = tag_of(__version__, opened.stamp, asked.segments[0], key) if opened.alone else None
    if tag is not None and is_had(tag, opened.modified, asked.headers):
        return unchanged(tag, opened.modified)
    pieces = zarr.chunk(array, index, context.limits)
    if pieces is None:
        raise RefusedRequestError(404, "the chunk does not exist: all its values are fill values")
    whole = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], bytes) else tuple(pieces)
    modified = opened.modified if opened.alone else None
    if tag is None and isinstance(whole, tuple):
        tag = tag_of(whole, *(_state(each.path) for each in pieces if isinstance(each, Range)))
    state = opened.stamp[0] if opened.alone else None
    states = {} if state is None else {opened.place.path: state}
    return resolved(conditional(HttpAnswer(whole, BYTES, states=states), asked.headers, modified, tag))


def _state(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def _cdmremote(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/cdmremote/PATH?req=…`; without a query, say that the protocol is there."""
    if not asked.query:
        context.dataset(asked.segments[1:])
        return HttpAnswer(b"", headers=cdmremote.NCSTREAM)
    return _cdm_query(context, asked, at_hand)


@of_dataset
def _cdm_query(context: ServerContext, asked: Request, opened: CachedDataset) -> Answer:
    what, location = asked.query.get("req", "").lower(), asked.place + url(CDMREMOTE, *opened.place.segments)
    query = cdmremote.CdmQuery(what, asked.query, location)
    if what == "data":
        sections = cdmremote.sections_of(opened, query, context.limits, context.root.home)
        work = partial(cdmremote.data, opened, sections, context.limits, context.disk)
        return context.now_or_later(opened, work, sections.need)
    return conditional(cdmremote.answer(opened, query, context.limits), asked.headers, opened.modified)


def _dap2(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/dap2/PATH.dds`, `.das`, `.dods …?CONSTRAINT`; `/dap2/PATH` by the form of the dataset."""
    segments = asked.segments[1:]
    if segments and not dap2.has_suffix(segments[-1]):
        place, suffix = context.dataset(segments), ""
    else:
        place, suffix = _stem(context, segments, dap2.split_suffix)
    if suffix in dap2.PAGES:
        return HttpAnswer(b"", status=303, headers=(("Location", url(dap2.DAP2, *place.segments)),))
    opened = context.opened(place, at_hand)
    if opened is None:
        return DeferredWork(place)
    with while_same(opened):
        if not suffix:
            return HttpAnswer(subset_form(opened, dap2.view(opened), asked.query, asked.place), HTML)
        if suffix in dap2.DOCUMENTS:
            return conditional(dap2.document(opened, suffix, asked.constraint), asked.headers, opened.modified)
        values = dap2.values_of(opened, suffix, asked.constraint, context.limits)
        work = partial(dap2.data, opened, values, context.limits, context.disk)
        return context.now_or_later(opened, work, values.need)


def _dap4(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/dap4/PATH.dmr`, `.dap?dap4.ce=CONSTRAINT`."""
    place, kind = _stem(context, asked.segments[1:], dap4.split_suffix)
    opened = context.opened(place, at_hand)
    if opened is None:
        return DeferredWork(place)
    with while_same(opened):
        if kind == "dmr":
            return conditional(dap4.document(opened, asked.query), asked.headers, opened.modified)
        values = dap4.values_of(opened, asked.query, context.limits)
        work = partial(dap4.data, opened, values, context.limits, context.disk)
        return context.now_or_later(opened, work, values.need)


def _stem(
    context: ServerContext, segments: tuple[str, ...], split: Callable[[str], tuple[str, str]]
) -> tuple[ServedPlace, str]:
    """Return the dataset of path segments, and the suffix that `split` takes off the last.

    Raises RefusedRequestError.
    """
    if not segments:
        raise RefusedRequestError(404, "there is no such dataset")
    stem, suffix = split(segments[-1])
    return context.dataset((*segments[:-1], stem)), suffix


ROUTES = (
    ServerRoute(BROWSE, dataset.answer),
    *(ServerRoute(version, _zarr) for version in zarr.VERSIONS),
    ServerRoute(CDMREMOTE, _cdmremote),
    ServerRoute(dap2.DAP2, _dap2, dap2.refusal),
    ServerRoute(dap4.DAP4, _dap4, dap4.refusal),
    ServerRoute(VIEW, view.answer),
    ServerRoute(DOWNLOAD, download.answer),
    ServerRoute(FILE, files.file),
    ServerRoute(CATALOG, folder.catalog_answer),
    ServerRoute(STATIC, files.static),
)
"""All routes but those of `application.py` for those who watch the server. The first also answers `/`."""
