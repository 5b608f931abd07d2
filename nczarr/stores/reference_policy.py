"""Policy for URLs of references: their places, and which ones are allowed.

A document is untrusted, but its URLs are opened with the reader's rights. So a
remote document may not name local files, a relative URL must stay below its
base, and only protocols of data storage are allowed. The reader may give roots
instead; then nothing else is allowed.
"""

import os
import posixpath
import re
from typing import NamedTuple
from urllib.parse import unquote

from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.options import Following
from nczarr.stores import local_paths
from nczarr.stores.base import Store
from nczarr.stores.url import WEB, is_remote, server_of

PROTOCOLS = frozenset(
    {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "tos", "r2", "http", "https", "memory"}
)
"""Allowed protocols other than files."""

_QUERY = re.compile(r"[?#]")

FILES = ("file://", "local://")
"""Prefixes of local file URLs."""


class ForbiddenTargetError(ValueError):
    """A URL that may not be followed; the text says why."""


class Followed(NamedTuple):
    """Resolved place of a URL."""

    url: str
    path: str | None = None
    """Path of a local file."""


class Policy(NamedTuple):
    """Rules about the targets that a document may name."""

    home: str
    """Folder or URL of the document."""
    given: Following = Following()
    """Options of the reader."""

    def follow(self, url: str | None) -> Followed:
        """Return the place of a URL; None: the target given by the reader. Raises ForbiddenTargetError."""
        if url is None:  # `[null, offset, length]`: the reader's default target
            if self.given.target is None:
                raise ForbiddenTargetError("it names no target, and no default target is given")
            return _find_place(self.given.target)
        if not url:
            raise ForbiddenTargetError("its URL is empty")
        try:
            os.fsencode(url)
        except UnicodeEncodeError:
            raise ForbiddenTargetError("its URL contains a lone surrogate") from None
        relative = "://" not in url and not os.path.isabs(url)
        place = self._below_base(url) if relative else _find_place(url)
        if "\0" in (place.path or place.url):
            raise ForbiddenTargetError("its URL has a NUL byte")
        self._check(url, place, relative=relative)
        return place

    def limit_token(self, storage: StorageOptions) -> StorageOptions:
        """Return storage options whose secrets go to the server of a remote document alone, unless roots are given."""
        return storage if self.given.roots or not is_remote(self.home) else storage.limit_token(server_of(self.home))

    def _below_base(self, url: str) -> Followed:
        """Return the place of a relative URL."""
        base = self.given.base or self.home
        if not is_remote(base):
            base = _find_place(base).path or base
            path = local_paths.absolute(os.path.join(base, url))
            if "%" in url and not os.path.lexists(path):  # as in `_find_place`
                path = local_paths.absolute(os.path.join(base, unquote(url, errors="surrogateescape")))
            return Followed(url, path)
        protocol, _, rest = base.partition("://")
        return Followed(f"{protocol}://{posixpath.normpath(posixpath.join(rest, url))}")

    def _check(self, url: str, place: Followed, *, relative: bool) -> None:
        """Raise ForbiddenTargetError for forbidden places."""
        helps = "allow it with `--source-root`"
        if self.given.roots:
            if not any(_is_below(place, root, hidden=self.given.hidden) for root in self.given.roots):
                raise ForbiddenTargetError(f"`{show(url)}` is outside all allowed roots")
            return
        if relative:
            if not _is_below(place, self.given.base or self.home):
                raise ForbiddenTargetError(f"`{show(url)}` is outside the folder of the document; {helps}")
        elif place.path is not None:
            if is_remote(self.home):
                raise ForbiddenTargetError(f"`{show(url)}` is a local file, but the document is not local; {helps}")
        elif "::" in url:
            raise ForbiddenTargetError(f"`{show(url)}` is a chain of protocols; {helps}")
        elif (protocol := place.url.partition("://")[0].lower()) not in PROTOCOLS:
            raise ForbiddenTargetError(f"`{show(url)}` uses the protocol `{protocol}`; {helps}")


def home_of(source: Source | Store) -> str:
    """Return the folder or URL of a document; the current folder for a pipe."""
    if not isinstance(source, Source):
        return source.home
    if source.path is None:
        return os.getcwd()
    from nczarr.stores.places import find_remote_file
    from nczarr.stores.spool import origin

    ranged = find_remote_file(source.path)
    if ranged is not None:
        return str(ranged.connection.url).partition("?")[0].rpartition("/")[0]
    fetched = origin(source.path)
    if fetched is None:
        return local_paths.folder_of(source.path)
    url = fetched[0].partition("?")[0] if fetched[0].lower().startswith(("http://", "https://")) else fetched[0]
    return url.rpartition("/")[0]


def _find_place(url: str) -> Followed:
    """Return the place of a URL or absolute path."""
    for begin in FILES:
        if url.lower().startswith(begin):
            path = url[len(begin) :]
            path = path.removeprefix("localhost") if path.startswith("localhost/") else path
            if "%" in path and not os.path.lexists(path):  # some write them as URLs, most do not
                path = unquote(path, errors="surrogateescape")
            return Followed(url, local_paths.absolute(path))
    return Followed(url) if "://" in url else Followed(url, local_paths.absolute(url))


def _is_below(place: Followed, root: str, *, hidden: bool = True) -> bool:
    """Return whether a place is in a folder or below a URL; a root may also be only a protocol.

    Without `hidden` no segment between a folder and the place may begin with a
    dot.
    """
    if place.path is not None:
        if is_remote(root):
            return False
        folder = (_find_place(root).path or root) if root not in FILES else os.sep
        segments = local_paths.segments_below(place.path, folder)
        return bool(segments) and (hidden or not any(name.startswith(".") for name in segments or ()))
    protocol, _, rest = root.partition("://")
    own_protocol, _, path = place.url.partition("://")
    if protocol.lower() != own_protocol.lower() or "://" not in root:
        return False
    if not rest.rstrip("/"):
        return True
    web = own_protocol.lower() in WEB  # such URLs have queries and percent-encoded paths
    return all(
        below == folder or below.startswith(folder.rstrip("/") + "/")
        for below, folder in zip(_readings(path, web=web), _readings(rest, web=web), strict=True)
    )


def _readings(rest: str, *, web: bool) -> tuple[str, ...]:
    """Return the interpretations of a URL without protocol: raw, normalized by a client, decoded by a server.

    None of them may leave the server or bucket.
    """
    if web:
        rest = _QUERY.split(rest, maxsplit=1)[0].replace("\\", "/")  # WHATWG: `\` is read as `/`
    host, _, path = rest.partition("/")
    decoded = unquote(path, errors="surrogateescape").replace("\\", "/") if web else path
    resolved = (posixpath.normpath(f"/{reading.lstrip('/')}") for reading in (path, decoded))
    return (f"{host}/{path}".rstrip("/"), *((host + reading).rstrip("/") for reading in resolved))
