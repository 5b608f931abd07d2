"""The URLs of targets as a document names them, and what it notes of each so that a changed one is noticed."""

from __future__ import annotations

import os
import posixpath
from datetime import UTC, datetime
from typing import Any

from nczarr.options import Writing
from nczarr.secrets import shown
from nczarr.stores.spool import origin
from nczarr.stores.url import is_remote

FILE = "file://"


class UnnamedTargetError(ValueError):
    """A target that a document cannot name; the text says why."""


class Naming:
    """`document`: path or URL of the document; `source`: of what is converted, None where it has none."""

    def __init__(self, document: str, source: str | None, writing: Writing) -> None:
        self._document = document
        self._source = source
        self._writing = writing

    def url(self, place: str) -> str:
        """What a document calls a target, a path or URL. Raises UnnamedTargetError."""
        fetched = None if is_remote(place) else origin(place)
        place = place if fetched is None else fetched[0]
        if self._writing.base is not None:
            return f"{self._writing.base.rstrip('/')}/{self._below_source(place)}"
        if is_remote(place):
            if shown(place) != place:
                raise UnnamedTargetError(f"`{shown(place)}` has a secret in it, which a document would tell")
            return self._relative(place) if self._writing.relative else place
        path = os.path.abspath(place)
        try:
            path.encode()
        except UnicodeEncodeError:
            raise UnnamedTargetError("its path is no UTF-8") from None
        return self._relative(path) if self._writing.relative else FILE + path

    def _below_source(self, place: str) -> str:
        """Where a target lies below the folder of the source; its name alone if it does not."""
        join = posixpath if is_remote(place) else os.path
        home = self._source or ""
        if not is_remote(home):
            home = os.path.abspath(home)
        folder = home.rstrip("/").rpartition("/")[0] + "/"
        return place[len(folder) :] if place.startswith(folder) else join.basename(place)

    def _relative(self, place: str) -> str:
        """A target from the folder of the document; as it is, where none leads from there to it."""
        document = self._document
        if is_remote(document) != is_remote(place):
            return place if is_remote(place) else FILE + place
        if not is_remote(place):
            return os.path.relpath(place, os.path.dirname(os.path.abspath(document)))
        begin = posixpath.commonpath([document, place])
        if begin.count("/") < 2:
            return place
        return posixpath.relpath(place, posixpath.dirname(document))


def noted(place: str) -> dict[str, Any]:
    """What a document notes of a target: size, and time or tag, as far as they are known without a request."""
    if is_remote(place):
        return {}
    fetched = origin(place)
    if fetched is None:
        try:
            status = os.stat(place)
        except OSError:
            return {}
        return {"size": status.st_size, "mtime": _time(status.st_mtime_ns)}
    told = fetched[1]
    tag = str(told.get("ETag") or "").strip('"')
    size = told.get("size")
    return {**({"size": size} if isinstance(size, int) else {}), **({"etag": tag} if tag else {})}


def _time(nanoseconds: int) -> str:
    """A time as ISO 8601 writes it, in UTC and to the nanosecond."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
