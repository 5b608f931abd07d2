"""URLs of targets in a reference document, and recorded properties that detect changes."""

import os
import posixpath
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from nczarr.diagnostics.secrets import show
from nczarr.options import Writing
from nczarr.stores import local_paths
from nczarr.stores.spool import is_from_pipe, origin
from nczarr.stores.url import absolute, is_remote

FILE = "file://"

WEB = ("http://", "https://")
"""Prefixes of URLs with percent-encoded file names."""


class UnnamedTargetError(ValueError):
    """A target that a document cannot name; the text says why, and `helps` what to do."""

    def __init__(self, text: str, help_: str = "give the location of the targets with `--base URL`") -> None:
        super().__init__(text)
        self.helps = (help_,)


class UrlNaming:
    """`document`: path or URL of the document; `source`: path or URL of the converted data, or None."""

    def __init__(self, document: str, source: str | None, writing: Writing) -> None:
        self._document = document
        self._source = source
        self._writing = writing
        self._places: dict[str, str] = {}
        """Targets below the base, by their names there."""
        self._replaced: str | None = None
        """Entry of a folder that the document replaces; empty for none, None if not looked up yet."""

    def check(self, place: str) -> None:
        """Raise UnnamedTargetError for a target that the document will replace, unless `--base` names a copy."""
        if self._writing.base is None and self._would_replace(place):
            text = f"the document would replace `{show(place)}`, whose bytes it refers to"
            raise UnnamedTargetError(text, "choose another name for the document")

    def _would_replace(self, place: str) -> bool:
        """Return whether a target is what stands in the place of the document, or lies in it."""
        if is_remote(place) or is_remote(self._document):
            document = self._document.rstrip("/")
            return place == document or place.startswith(document + "/")
        if self._replaced is None:
            self._replaced = local_paths.entry(self._document) if os.path.lexists(self._document) else ""
        if not self._replaced:
            return False
        entries = local_paths.entry(place), local_paths.real(place)
        return any(entry == self._replaced or entry.startswith(self._replaced + os.sep) for entry in entries)

    def url(self, place: str) -> str:
        """Return the URL of a target in the document. Raises UnnamedTargetError."""
        self.check(place)
        if not is_remote(place) and is_from_pipe(place):
            raise UnnamedTargetError("its bytes came through a pipe or were unpacked, and are not stored")
        fetched = None if is_remote(place) else origin(place)
        place = place if fetched is None else fetched[0]
        if self._writing.base is not None:
            base, below = self._writing.base.rstrip("/"), self._below_home(place)
            if show(base) != base:
                raise UnnamedTargetError(f"the base `{show(base)}` contains a secret, which the document would reveal")
            if base.lower().startswith(WEB) and not place.lower().startswith(WEB):
                below = quote(below, errors="surrogateescape")
            return f"{base}/{below}"
        if is_remote(place):
            if show(place) != place:
                raise UnnamedTargetError(f"`{show(place)}` contains a secret, which the document would reveal")
            return self._relative(place) if self._writing.relative else place
        path = local_paths.absolute(place)
        try:
            path.encode()
        except UnicodeEncodeError:
            raise UnnamedTargetError("its path is not valid UTF-8") from None
        return self._relative(path) if self._writing.relative else FILE + path

    def _below_home(self, place: str) -> str:
        """Return a target's path below the source's folder, or its name. Raises UnnamedTargetError if not unique."""
        home = self._writing.home
        if home is None and self._source is not None:
            home = absolute(self._source).rstrip("/").rpartition("/")[0]
        folder = None if home is None else home.rstrip("/") + "/"
        below = place[len(folder) :] if folder is not None and place.startswith(folder) else place.rpartition("/")[2]
        other = self._places.setdefault(below, place)
        if other != place:
            raise UnnamedTargetError(f"`{show(other)}` and `{show(place)}` would both be `{below}` below the base")
        return below

    def _relative(self, place: str) -> str:
        """Return a target relative to the document's folder; unchanged if there is no relative path."""
        document = self._document
        if is_remote(document) != is_remote(place):
            return place if is_remote(place) else FILE + place
        if not is_remote(place):
            return local_paths.relative(place, local_paths.folder_of(document))
        if document.split("/")[:3] != place.split("/")[:3]:  # another protocol, server or bucket
            return place
        return posixpath.relpath(place, posixpath.dirname(document))


def note_properties(place: str) -> dict[str, Any]:
    """Return the recorded properties of a target: size, and time or tag, if known without a request."""
    if is_remote(place):
        return {}
    fetched = origin(place)
    if fetched is None:
        try:
            status = os.stat(place)
        except OSError:
            return {}
        return {"size": status.st_size, "mtime": _time(status.st_mtime_ns)}
    answer = fetched[1]
    tag = str(answer.get("ETag") or "").strip('"')
    size = answer.get("size")
    return {**({"size": size} if isinstance(size, int) else {}), **({"etag": tag} if tag else {})}


def _time(nanoseconds: int) -> str:
    """Return a time in ISO 8601, UTC, with nanoseconds."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
