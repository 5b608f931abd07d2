"""Protocols that other plugins add: their answers within the limits of the server."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nczarr.names.plugin_index import ProtocolRow
from nczarr.plugins.serve.answers import HttpAnswer, RefusedRequestError
from nczarr.plugins.serve.context import Answer, Handler, ServerContext, ServerRoute, of_dataset
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.pages.markup import list_protocols
from nczarr.plugins.serve.request import Request, url
from nczarr.plugins.serve.value_streams import limit_size, memory_for, size_of, whole
from nczarr.registry import load
from nczarr.sdk import DatasetHandle, ProtocolRequest, Reply, RequestError

MEMORY = "memory of values"
"""View of a dataset: the memory of an answer that may have all values."""


def list_routes(taken: Collection[str]) -> Iterator[ServerRoute]:
    """Yield the routes of protocols that plugins add. `taken`: first segments of the server's own."""
    for name, row in list_protocols().items():
        if name not in taken:
            yield ServerRoute(name, _handler(name, row))


def _handler(name: str, row: ProtocolRow) -> Handler:
    """Return the function that answers by a protocol."""

    @of_dataset
    def answer(context: ServerContext, asked: Request, opened: CachedDataset) -> Answer:
        checked, place = opened.checked, opened.place
        address = asked.place + url(name, *place.segments)
        handle = DatasetHandle(checked)
        given = ProtocolRequest(handle, place.segments[-1], address, asked.query, context.limits.response)

        def work() -> HttpAnswer:
            try:
                reply: Reply = load(row.answer)(given)
                pieces = iter((reply.body,) if isinstance(reply.body, bytes) else reply.body)
                body = whole(limit_size(pieces, context.limits), context.disk)
            except RequestError as error:
                raise RefusedRequestError(error.status, error.text) from None
            return HttpAnswer(body, reply.media_type, headers=reply.headers)

        return context.now_or_later(opened, work, _measure(opened))

    return answer


def _measure(opened: CachedDataset) -> int:
    """Return the approximate memory in bytes of an answer that may have all values; cached."""
    checked = opened.checked
    with opened.lock:
        need: int | None = opened.views.get(MEMORY)
        if need is None:
            sizes = (size_of(checked, path, tuple(map(range, shape))) for path, shape in checked.shapes.items())
            need = opened.views[MEMORY] = memory_for(checked, checked.variables, sum(sizes))
    return need
