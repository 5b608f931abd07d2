"""Static files of pages: styles, scripts and the icon, from the package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from nczarr.serve.answers import HttpAnswer, conditional
from nczarr.serve.dataset_cache import RefusedRequestError

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Content types by suffix."""

FOLDER = Path(__file__).parent.parent / "static"
"""The files of the server."""

TREE = Path(__file__).parent.parent.parent / "api" / "html.css"
"""The style of the tree, which notebooks use too."""


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Return the bytes and content type of every static file by name."""
    found = {path.name: path for path in sorted(FOLDER.iterdir()) if path.suffix in KINDS} | {"tree.css": TREE}
    return {name: (path.read_bytes(), KINDS[path.suffix]) for name, path in found.items()}


def static_file(segments: tuple[str, ...], headers: Mapping[str, str]) -> HttpAnswer:
    """Return a static file by the path segments below `/static/`. Raises RefusedRequestError."""
    found = _files().get(segments[0]) if len(segments) == 1 else None
    if found is None:
        raise RefusedRequestError(404, "there is no such file")
    return conditional(HttpAnswer(*found), headers, None)
