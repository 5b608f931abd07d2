"""Files as they are: those of datasets, and the styles, scripts and icon of pages."""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path

from nczarr.serve.answers import BYTES, HttpAnswer, attachment, conditional, tag_of
from nczarr.serve.context import Answer, DeferredWork, ServerContext
from nczarr.serve.dataset_cache import RECENT, CachedDataset, RefusedRequestError, check_same
from nczarr.serve.pages.folder import entry_of
from nczarr.serve.pages.markup import STATIC_FILES
from nczarr.serve.request import Request
from nczarr.stores.local_file import identity_of
from nczarr.stores.ranges import Range

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Content types by suffix."""

TREE = Path(__file__).parent.parent / "api" / "html.css"
"""The style of the tree, which notebooks use too."""


def file(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/file/PATH` by the file of a dataset, as it is. One that was changed a moment ago must be whole."""
    segments = asked.segments[1:]
    place = context.place(segments)
    if place.folder or place.store or place.behind:
        raise RefusedRequestError(404, "there is no such file")
    state = identity_of(os.stat(place.path))
    if time.time_ns() - state[-1] < RECENT:  # a copy that is under way has the size that it has reached
        opened = context.opened(place, at_hand)
        if opened is None:
            return DeferredWork(place)
        check_same(opened)
        state = opened.stamp[0]
    if entry_of(context, context.place(segments[:-1]), place.segments[-1]) is None:
        raise RefusedRequestError(404, f"`{place.name}` is not in a format that can be read")
    body = (Range(place.path, 0, state[2]),)
    answer = HttpAnswer(body, BYTES, headers=(attachment(place.segments[-1]),), states={place.path: state})
    return conditional(answer, asked.headers, state[-1] / 1e9, tag_of(*state))


def static(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> HttpAnswer:
    """Answer `/static/NAME`. Files stay in memory, so that the answer is whole, tagged and compressed."""
    name = asked.segments[1] if len(asked.segments) == 2 else ""
    if name not in _static_files():
        raise RefusedRequestError(404, "there is no such file")
    return conditional(HttpAnswer(*_static_files()[name]), asked.headers, None)


@cache
def _static_files() -> dict[str, tuple[bytes, str]]:
    """Return the bytes and content type of every static file by name."""
    files = {path.name: path for path in sorted(STATIC_FILES.iterdir()) if path.suffix in KINDS} | {"tree.css": TREE}
    return {name: (path.read_bytes(), KINDS[path.suffix]) for name, path in files.items()}
