"""Context of all routes: the root, open datasets and limits. All of this runs in worker threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple, TypeAlias

from nczarr.plugins.serve.answers import HTML, HttpAnswer, RefusedRequestError, conditional, document
from nczarr.plugins.serve.dataset_cache import CachedDataset, Shelf, refuse_if_replaced
from nczarr.plugins.serve.places import Root, ServedPlace
from nczarr.plugins.serve.request import Request
from nczarr.plugins.serve.resources import Disk, Limits
from nczarr.plugins.serve.search_index import SearchIndex
from nczarr.plugins.serve.value_streams import begin_stream, check_size, limit_size, steady, whole


class DatasetToOpen(NamedTuple):
    """A dataset that must be open before the request can be answered: open it, and ask the route again."""

    place: ServedPlace
    version: str | None = None
    """Version of Zarr to open it in."""


class HeavyWork(NamedTuple):
    """Work that makes the answer when its memory is free."""

    work: Callable[[], HttpAnswer]
    """Function to run."""
    need: int = 0
    """Memory of the work in bytes."""


class StreamedValues(NamedTuple):
    """Requested values, which an answer has as they are made."""

    pieces: Iterator[bytes]
    """Body of the answer; raises RefusedRequestError, CompileError, OSError."""
    size: int
    """Approximate bytes of the body."""
    need: int
    """Approximate memory in bytes."""
    fixed: bool
    """False if the size of a value is unknown: all are made before the answer begins, so that errors precede it."""
    kind: str
    """Content type."""
    headers: tuple[tuple[str, str], ...]
    """Further headers."""
    ended: Callable[[Iterator[bytes]], Iterator[bytes]] = iter
    """Ends a stream that fails as the protocol requires."""


class ServerContext(NamedTuple):
    """Everything that routes share."""

    root: Root
    """Served folder or dataset."""
    shelf: Shelf
    """Open datasets."""
    limits: Limits
    """Resource limits."""
    disk: Disk
    """Account of temporary files."""
    searched: SearchIndex

    def place(self, segments: tuple[str, ...]) -> ServedPlace:
        """Return the place of path segments. Raises RefusedRequestError: 503 if the served folder is lost."""
        place = self.root.find(segments)
        if place is None:
            try:
                os.stat(self.root.real)
            except OSError as error:
                raise RefusedRequestError(503, f"the served folder is lost: {error.strerror}") from None
            raise RefusedRequestError(404, "there is no such dataset")
        return place

    def dataset(self, segments: tuple[str, ...]) -> ServedPlace:
        """Return the dataset of path segments, all of them. Raises RefusedRequestError."""
        place = self.place(trim(segments))
        if place.folder or place.behind:
            raise RefusedRequestError(404, "there is no such dataset")
        return place

    def find_open(self, place: ServedPlace, at_hand: CachedDataset | None) -> CachedDataset | None:
        """Return the dataset at a place if it is open. Raises OSError."""
        return at_hand if at_hand is not None and at_hand.place.key == place.key else self.shelf.find_unchanged(place)

    def load(self, place: ServedPlace, version: str | None, at_hand: CachedDataset | None = None) -> CachedDataset:
        """Open a dataset, with its view in a Zarr version if given.

        Raises RefusedRequestError, CompileError, OSError.
        """
        opened = self.find_open(place, at_hand) or self.shelf.open(place)
        if version is not None:
            opened.view(version, self.limits.memory)
        return opened

    def now_or_later(self, opened: CachedDataset, work: Callable[[], HttpAnswer], need: int) -> Answer:
        """Return the answer of some work on a dataset, or the work if it needs much memory."""

        def steadily() -> HttpAnswer:
            with refuse_if_replaced(opened):
                return work()

        return steadily() if need <= self.limits.immediate else HeavyWork(steadily, need)

    def stream_values(self, opened: CachedDataset, values: StreamedValues) -> Answer:
        """Return the answer with values of a dataset. Raises RefusedRequestError above the limit, errors of pieces."""
        check_size(values.size, self.limits)

        def work() -> HttpAnswer:
            pieces = steady(limit_size(values.pieces, self.limits), opened)
            body = begin_stream(values.ended(pieces)) if values.fixed else whole(pieces, self.disk)
            return HttpAnswer(body, values.kind, headers=values.headers, need=values.need, size=values.size)

        return self.now_or_later(opened, work, values.need)


Answer: TypeAlias = HttpAnswer | DatasetToOpen | HeavyWork
Handler = Callable[[ServerContext, Request, CachedDataset | None], Answer]
"""Returns the answer to a request; the dataset is the one that was opened for it, cached or not.

Raises RefusedRequestError, CompileError, OSError.
"""


class ServerRoute(NamedTuple):
    """One route: all paths with a first segment."""

    name: str
    """First segment."""
    answer: Handler
    """Function that answers."""
    refusal: Callable[[RefusedRequestError], HttpAnswer] | None = None
    """Error document of the protocol, if it has one."""


def of_dataset(answer: Callable[[ServerContext, Request, CachedDataset], Answer]) -> Handler:
    """Return the handler of a route whose paths name datasets, which are open when it is called."""

    @wraps(answer)
    def answer_if_open(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
        place = context.dataset(asked.segments[1:])
        opened = context.find_open(place, at_hand)
        if opened is None:
            return DatasetToOpen(place)
        with refuse_if_replaced(opened):
            return answer(context, asked, opened)

    return answer_if_open


def as_wanted(asked: Request, members: Callable[[], Any], html: Callable[[], bytes]) -> HttpAnswer:
    """Return a page as JSON or HTML, as the client asks."""
    page = document(members()) if asked.wants_json else HttpAnswer(html(), HTML)
    return conditional(page, asked.headers, None)


def trim(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return segments without the empty one of a trailing slash."""
    return segments[:-1] if segments and segments[-1] == "" else segments
