"""Where a source or target is: a path, a URL, or a netCDF URL, `file:///p/x.zarr#mode=nczarr,file`.

The modes are those of the netCDF library: `nczarr` or `zarr` is the format, `file` or `zip` the kind of store,
`consolidated` asks for all metadata in one key, `noxarray` for no `_ARRAY_DIMENSIONS`; with `s3` the URL of a web
server is that of a bucket there. URLs that lead to no file of this machine are for `stores.remote`, chained ones too
(`zip::s3://b/x.zip`). `cdmremote:` in front of a web server's URL, or instead of `http:`, is a dataset of CDM Remote.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MODES = ("nczarr", "zarr", "file", "zip", "s3", "consolidated", "noxarray")
"""The modes of a netCDF URL."""

_SERVICE = re.compile(r"cdmremote:(?:(?=https?://)|(?=//))", re.IGNORECASE)
_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*::)*[A-Za-z][A-Za-z0-9+.-]+://")
_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_EXCLUSIVE = (("file", "zip", "s3"),)
_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "tos"})
"""Protocols whose URLs begin with the name of a bucket or container."""

_AMAZON = re.compile(r"(?:(?P<bucket>[a-z0-9.-]+)\.)?s3[.-](?:[a-z0-9-]+\.)*amazonaws\.com")


class BadURLError(ValueError):
    """A URL that names no place; the text says why."""


class Location(NamedTuple):
    """A path, or a URL that leads to no file of this machine, and the modes that stood behind it.

    `server`: the web server that a bucket is on, for URLs that name it so; None: the usual one. `service`: whether the
    URL is that of a dataset which a CDM Remote server gives by sections, not of bytes.
    """

    path: str
    modes: frozenset[str] = frozenset()
    remote: bool = False
    server: str | None = None
    service: bool = False


def is_remote(text: str) -> bool:
    """Whether a text is a URL that leads to no file of this machine."""
    found = _SCHEME.match(text)
    return _SERVICE.match(text) is not None or (found is not None and found[0].lower() != "file://")


def location(text: str) -> Location:
    """The place that a text names. A path with `#` in it is a path. Raises BadURLError."""
    service = _SERVICE.match(text)
    if service is not None:
        return _service(text[service.end() :])
    found = _SCHEME.match(text)
    if found is None:
        return Location(text)
    if found[0].lower() != "file://":
        return _remote(text)
    from urllib.parse import unquote

    rest, _, fragment = text[found.end() :].partition("#")
    path = unquote(rest.removeprefix("localhost") if rest.startswith("localhost/") else rest, errors="surrogateescape")
    if not path or "\0" in path:
        raise BadURLError("the URL has no path")
    return Location(path, _modes_of(fragment))


def _service(text: str) -> Location:
    """The place of a dataset on a server of CDM Remote."""
    url = "http:" + text if text.startswith("//") else _lowered(text)
    if not url.partition("://")[2].partition("/")[0]:
        raise BadURLError("the URL names no server")
    return Location(url, remote=True, service=True)


def _remote(text: str) -> Location:
    """The place of a URL; keys may have `#`, so only one with `mode=` behind it begins modes."""
    url, mark, fragment = text.rpartition("#mode=")
    modes = _modes_of(f"mode={fragment}") if mark else frozenset()
    if "s3" in modes and url.lower().startswith(("http://", "https://")):
        return _bucket(url, modes)
    url = _lowered(url if mark else text)
    protocol, _, path = url.rpartition("::")[2].partition("://")
    if protocol in _BUCKETS and not path.partition("/")[0]:
        raise BadURLError("the URL names no bucket")
    return Location(url, modes, remote=True)


def _lowered(url: str) -> str:
    """A URL with its protocols in small letters, as libraries know them."""
    parts = [part.partition("://") for part in url.split("::")]
    if not (parts[-1][1] and all(_PROTOCOL.fullmatch(protocol) for protocol, _, _ in parts)):
        return url  # `::` in a key
    return "::".join(protocol.lower() + mark + rest for protocol, mark, rest in parts)


def trimmed(path: str) -> str:
    """A path or URL without slashes at its end, but for those that it would be another one without."""
    found = path.rstrip("/")
    return path if not found or (found.endswith(":") and is_remote(path)) else found


def untidy(url: str) -> str | None:
    """Why no target is made at a URL whose keys servers do not take, or do not take alike; None if they do."""
    path = url.rpartition("::")[2].partition("://")[2].strip("/")
    for segment, word in (("", "an empty segment, `//`"), (".", "the segment `.`"), ("..", "the segment `..`")):
        if path and segment in path.split("/"):
            return f"the URL has {word}, of which stores make different keys"
    return None


def _bucket(url: str, modes: frozenset[str]) -> Location:
    """A bucket that is named by the web server it is on: `https://server/bucket/key`, or Amazon's own form."""
    from urllib.parse import unquote, urlsplit

    split = urlsplit(url)
    path = unquote(split.path).lstrip("/")
    amazon = _AMAZON.fullmatch(split.hostname or "")
    if amazon is not None and amazon["bucket"]:
        path = f"{amazon['bucket']}/{path}"
    if not path:
        raise BadURLError("the URL names no bucket")
    server = None if amazon is not None else f"{split.scheme}://{split.netloc}"
    return Location(f"s3://{path}", modes, remote=True, server=server)


def _modes_of(fragment: str) -> frozenset[str]:
    """All modes of a fragment. Raises BadURLError."""
    modes = [mode for item in filter(None, fragment.split("&")) for mode in _modes(item)]
    for group in _EXCLUSIVE:
        given = [mode for mode in group if mode in modes]
        if len(given) > 1:
            raise BadURLError(f"the modes `{given[0]}` and `{given[1]}` exclude each other")
    return frozenset(modes)


def _modes(item: str) -> list[str]:
    """The modes of one part of a fragment."""
    key, _, value = item.partition("=")
    if key != "mode":
        raise BadURLError(f"`{key}` stands behind `#`, where `mode=…` is known")
    modes = value.lower().split(",")
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise BadURLError(f"there is no mode `{unknown[0]}`; there are: {', '.join(MODES)}")
    return modes
