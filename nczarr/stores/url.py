"""Location of a source or target: a path, a URL, or a netCDF URL, `file:///p/x.zarr#mode=nczarr,file`.

The modes are those of the netCDF library: `nczarr` or `zarr` is the format,
`file` or `zip` the kind of store, `consolidated` puts all metadata in one key,
`noxarray` omits `_ARRAY_DIMENSIONS`, `s3` makes a web URL a bucket there. Other
URLs than of local files are for `stores.remote`, chained ones too
(`zip::s3://b/x.zip`). `cdmremote:`, `dap2:` or `dap4:` before a web URL, or instead
of `http:`, is a dataset of a CDM Remote or OPeNDAP server. `icechunk:` before a path or URL is a repository of
stores, `#branch=…`, `#tag=…` or `#snapshot=…` behind it one of them.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from nczarr.diagnostics.secrets import show
from nczarr.stores import local_paths

MODES = ("nczarr", "zarr", "file", "zip", "s3", "consolidated", "noxarray")
"""Modes of a netCDF URL."""

_SERVICE = re.compile(r"(cdmremote|dap2|dap4):(?:(?=https?://)|(?=//))", re.IGNORECASE)
_REPOSITORY = re.compile(r"icechunk:", re.IGNORECASE)
_REVISION = r"(?s)(branch|tag|snapshot)=(.+)"
_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*::)*[A-Za-z][A-Za-z0-9+.-]+://")
_PROTOCOL = r"[A-Za-z][A-Za-z0-9+.-]*"
_EXCLUSIVE = (("file", "zip", "s3"),)
_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "tos"})
"""Protocols whose URLs begin with a bucket or container."""

_AMAZON = r"(?:(?P<bucket>[a-z0-9.-]+)\.)?s3[.-](?:[a-z0-9-]+\.)*amazonaws\.com"


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
    service: str = ""
    """Protocol of a dataset on a server, which has no bytes of its own: `cdmremote`, `dap2` or `dap4`; or empty."""
    repository: Repository | None = None
    """The repository and revision, if the text names one."""

    @property
    def shown(self) -> str:
        """Path as the user wrote it, or URL without secrets."""
        return show(self.path)


class Repository(NamedTuple):
    """One revision of a versioned store."""

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
        return f"icechunk:{self.place}#{self.kind}={self.revision}"


def is_remote(text: str) -> bool:
    """Return whether a text is a URL of no local file."""
    if _SERVICE.match(text) or _REPOSITORY.match(text):
        return True
    scheme = _SCHEME.match(text)
    return scheme is not None and scheme[0].lower() != "file://"


def location(text: str) -> Location:
    """Return the location of a text; a path may contain `#`. Raises BadURLError."""
    service = _SERVICE.match(text)
    if service is not None:
        return _service(service[1].lower(), text[service.end() :])
    mark = _REPOSITORY.match(text)
    if mark is not None:
        return Location(text, remote=True, repository=_repository(text[mark.end() :]))
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


def _service(protocol: str, text: str) -> Location:
    """Return the location of a dataset on a server."""
    url = "http:" + text if text.startswith("//") else _lower(text)
    if not url.partition("://")[2].partition("/")[0]:
        raise BadURLError("the URL names no server")
    return Location(url, remote=True, service=protocol)


def _repository(text: str) -> Repository:
    """Return the repository and revision that a text without its prefix names. Raises BadURLError."""
    path, mark, fragment = text.rpartition("#")
    revision = re.fullmatch(_REVISION, fragment) if mark else None
    if mark and revision is None:
        raise BadURLError(f"`{fragment}` follows `#`, where `branch=…`, `tag=…` or `snapshot=…` is expected")
    place = location(path if mark else text)
    if place.service or place.repository or place.modes or "::" in place.path:
        raise BadURLError("a repository is in a folder or below the URL of an object store")
    if not place.path or "\0" in place.path:
        raise BadURLError("the URL names no repository")
    where = trim(place.path)
    return Repository(where) if revision is None else Repository(where, revision[1], revision[2])  # type: ignore[arg-type]


def _remote(text: str) -> Location:
    """Return the location of a URL; keys may contain `#`, so only `#mode=` begins modes."""
    url, mark, fragment = text.rpartition("#mode=")
    modes = _modes_of(f"mode={fragment}") if mark else frozenset()
    if "s3" in modes and url.lower().startswith(("http://", "https://")):
        return _bucket(url, modes)
    url = _lower(url if mark else text)
    protocol, _, path = url.rpartition("::")[2].partition("://")
    if protocol in _BUCKETS and not path.partition("/")[0]:
        raise BadURLError("the URL names no bucket")
    return Location(url, modes, remote=True)


def _lower(url: str) -> str:
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
    if amazon is not None and amazon["bucket"]:
        path = f"{amazon['bucket']}/{path}"
    if not path:
        raise BadURLError("the URL names no bucket")
    server = None if amazon is not None else f"{split.scheme}://{split.netloc}"
    return Location(f"s3://{path}", modes, remote=True, server=server)


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
