"""Location of a source or target: a path, a URL, or a netCDF URL, `file:///p/x.zarr#mode=nczarr,file`.

The modes are those of the netCDF library: `nczarr` or `zarr` is the format,
`file` or `zip` the kind of store, `consolidated` puts all metadata in one key,
`noxarray` omits `_ARRAY_DIMENSIONS`, `s3` makes a web URL a bucket there. Other
URLs than of local files are for `stores.remote`, chained ones too
(`zip::s3://b/x.zip`). Plugins add further kinds: a word and a colon before a path or
URL is a repository of stores, or a dataset on a server.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.names.plugin_index import LocationRow, find_row, list_offered, load_part
from nczarr.names.records import NamedTuple
from nczarr.stores import local_paths

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Source
    from nczarr.stores.base import Store

MODES = ("nczarr", "zarr", "file", "zip", "s3", "consolidated", "noxarray")
"""Modes of a netCDF URL."""

_WORD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*::)*[A-Za-z][A-Za-z0-9+.-]+://")
_PROTOCOL = r"[A-Za-z][A-Za-z0-9+.-]*"
_EXCLUSIVE = (("file", "zip", "s3"),)
_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "tos"})
"""Protocols whose URLs begin with a bucket or container."""

_AMAZON = r"(?:(?P<bucket>[a-z0-9.-]+)\.)?s3[.-](?:[a-z0-9-]+\.)*amazonaws\.com"

WEB = frozenset({"http", "https"})
"""Protocols without reliable listings."""


class BadURLError(ValueError):
    """An invalid URL; the text says why."""


class MissingProtocolError(ImportError):
    """A missing library for a place; the text names it."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy
        """Words that say how to install it."""


def absolute(path: str) -> str:
    """Return the absolute path of a local file, links kept; a URL as it is."""
    return path if is_remote(path) else local_paths.absolute(path)


def real(path: str) -> str:
    """Return the path of a local file without links, its identity; a URL as it is."""
    return path if is_remote(path) else local_paths.real(path)


class Location(NamedTuple):
    """The place of a source or target, made where a text enters the compiler.

    `path` is what the user wrote and what is opened, `shown` what messages say.
    `absolute` gives its path for other processes and documents, `real` the one
    that is compared.
    """

    path: str
    """Path, or URL without modes."""
    modes: frozenset[str] = frozenset()
    """Words behind `#mode=`."""
    remote: bool = False
    """True for a URL that is not a local file."""
    server: str | None = None
    """Web server of a bucket, if named in the URL; None: the default."""
    kind: str = ""
    """Name of the kind that a plugin adds, such as a protocol of datasets on servers; empty: a file or store."""
    repository: Repository | None = None
    """The repository and revision, if the text names one."""

    @property
    def shown(self) -> str:
        """Path as the user wrote it, or URL without secrets."""
        return show(self.path)


class Repository(NamedTuple):
    """One revision of a versioned store."""

    format: str
    """Format of the repository, and kind of its location."""
    place: str
    """Path or URL of the repository."""
    kind: Literal["branch", "tag", "snapshot"] = "branch"
    """Kind of the revision."""
    revision: str = "main"
    """Name of the branch or tag, or identifier of the snapshot."""

    @property
    def local(self) -> bool:
        """True if `place` is a local path."""
        return not is_remote(self.place)

    @property
    def absolute(self) -> Repository:
        """The same revision by an absolute path, if it is local."""
        return self._replace(place=local_paths.absolute(self.place)) if self.local else self

    @property
    def text(self) -> str:
        """Text that names the revision."""
        return f"{self.format}:{self.place}#{self.kind}={self.revision}"


class LocationKind(NamedTuple):
    """Kind of location that a plugin adds. Its functions raise BadURLError, MissingProtocolError, OSError."""

    locate: Callable[[str, str], Location]
    """Returns the location of a text, and of its part behind the colon."""
    open: Callable[[str, Location, StorageOptions], Source | Store]
    """Opens what is at a text or path, with its location."""
    identify: Callable[[Location, StorageOptions], str | None]
    """Returns a text that changes with the content; None if changes are not detectable."""
    server: str = ""
    """Server in messages, such as `an OPeNDAP server`, if it holds no targets."""


def find_kind(name: str) -> LocationKind:
    """Return the kind of a location by its name."""
    row = _find_row(name, is_url=False)
    assert row is not None
    kind: LocationKind = load_part(row.kind)
    return kind


@lru_cache(64)
def _find_row(name: str, *, is_url: bool) -> LocationRow | None:
    """Return the row of a kind of location.

    `is_url`: the text is `NAME://…`, which no other distribution adds: to look for
    these reads the metadata of all packages, and most such texts are plain URLs.
    """
    row: LocationRow | None = None
    if not is_url or name in list_offered("location"):
        row = find_row("location", name)
    return row


def _split_kind(text: str) -> tuple[LocationRow, str, str] | None:
    """Return the row of a text's kind, its name, and the text behind the colon; None for paths and plain URLs."""
    word = _WORD.match(text)
    if word is None:
        return None
    name, rest = word[1].lower(), text[word.end() :]
    row = _find_row(name, is_url=rest.startswith("//"))
    return None if row is None or not re.match(row.follows, rest, re.IGNORECASE) else (row, name, rest)


def is_remote(text: str) -> bool:
    """Return whether a text is a URL of no local file."""
    if _split_kind(text) is not None:
        return True
    scheme = _SCHEME.match(text)
    return scheme is not None and scheme[0].lower() != "file://"


def location(text: str) -> Location:
    """Return the location of a text; a path may contain `#`. Raises BadURLError."""
    of_plugin = _split_kind(text)
    if of_plugin is not None:
        row, name, rest = of_plugin
        kind: LocationKind = load_part(row.kind)
        return kind.locate(text, rest)._replace(kind=name)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Location(text)
    if scheme[0].lower() != "file://":
        return _remote(text)
    from urllib.parse import unquote

    rest, _, fragment = text[scheme.end() :].partition("#")
    path = unquote(rest.removeprefix("localhost") if rest.startswith("localhost/") else rest, errors="surrogateescape")
    if not path or "\0" in path:
        raise BadURLError("the URL has no path")
    return Location(path, _modes_of(fragment))


def _remote(text: str) -> Location:
    """Return the location of a URL; keys may contain `#`, so only `#mode=` begins modes."""
    url, mark, fragment = text.rpartition("#mode=")
    modes = _modes_of(f"mode={fragment}") if mark else frozenset()
    if "s3" in modes and url.lower().startswith(("http://", "https://")):
        return _bucket(url, modes)
    url = lower_protocols(url if mark else text)
    protocol, _, path = url.rpartition("::")[2].partition("://")
    if protocol in _BUCKETS and not path.partition("/")[0]:
        raise BadURLError("the URL names no bucket")
    return Location(url, modes, remote=True)


def lower_protocols(url: str) -> str:
    """Return a URL with lower-case protocols, as libraries require."""
    parts = [part.partition("://") for part in url.split("::")]
    if not (parts[-1][1] and all(re.fullmatch(_PROTOCOL, protocol) for protocol, _, _ in parts)):
        return url  # `::` in a key
    return "::".join(protocol.lower() + mark + rest for protocol, mark, rest in parts)


def trim(path: str) -> str:
    """Return a path or URL without trailing slashes, unless they change its meaning."""
    stripped = path.rstrip("/")
    return path if not stripped or (stripped.endswith(":") and is_remote(path)) else stripped


def untidy(url: str) -> str | None:
    """Return why servers would refuse or alter the keys of a target URL, or None."""
    path = url.rpartition("::")[2].partition("://")[2].strip("/")
    for segment, word in (("", "an empty segment, `//`"), (".", "the segment `.`"), ("..", "the segment `..`")):
        if path and segment in path.split("/"):
            return f"the URL has {word}, which stores map to different keys"
    return None


def _bucket(url: str, modes: frozenset[str]) -> Location:
    """Return a bucket on a web server: `https://server/bucket/key`, or Amazon's form."""
    from urllib.parse import unquote, urlsplit

    split = urlsplit(url)
    path = unquote(split.path).lstrip("/")
    amazon = re.fullmatch(_AMAZON, split.hostname or "")
    if amazon is not None and amazon["bucket"]:  # virtual-hosted style: the host has the bucket
        path = f"{amazon['bucket']}/{path}"
    if not path:
        raise BadURLError("the URL names no bucket")
    server = None if amazon is not None else f"{split.scheme}://{split.netloc}"
    return Location(f"s3://{path}", modes, remote=True, server=server)


def server_of(url: str) -> str:
    """Return protocol, host and port of a URL as a text; empty for a URL without a valid host."""
    from urllib.parse import urlsplit

    protocols, _, rest = url.partition("://")
    try:
        split = urlsplit(f"{protocols.rpartition('::')[2]}://{rest}")
        port = split.port or {"http": 80, "https": 443}.get(split.scheme, 0)
    except ValueError:
        return ""
    return f"{split.scheme}://{split.hostname}:{port}" if split.hostname else ""


def _modes_of(fragment: str) -> frozenset[str]:
    """Return all modes of a fragment. Raises BadURLError."""
    modes = [mode for item in filter(None, fragment.split("&")) for mode in _modes(item)]
    for group in _EXCLUSIVE:
        present = [mode for mode in group if mode in modes]
        if len(present) > 1:
            raise BadURLError(f"the modes `{present[0]}` and `{present[1]}` exclude each other")
    return frozenset(modes)


def _modes(item: str) -> list[str]:
    """Return the modes of one part of a fragment."""
    key, _, value = item.partition("=")
    if key != "mode":
        raise BadURLError(f"`{key}` follows `#`, where only `mode=…` is known")
    modes = value.lower().split(",")
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise BadURLError(f"unknown mode `{unknown[0]}`; known modes: {', '.join(MODES)}")
    return modes
