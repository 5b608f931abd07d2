"""Files that a repository refers to: their URLs, and the containers that it must have for these.

Icechunk percent-decodes the URL of a chunk, and compares the result with the
prefixes of containers, which are plain text.

A repository is untrusted, as a reference document is, so the same policy
decides which containers a reader may follow (`stores/reference_policy.py`).
Without roots the policy depends on the protocol alone, so each container is
allowed or refused as a whole; a chunk of a refused one is an error when it is
read. With roots, every file is checked when the repository is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.plugins.icechunk.library import load_library, result
from nczarr.plugins.icechunk.repositories import GOOGLE, S3, WEB, store_and_credentials
from nczarr.stores.base import Reference
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy
from nczarr.stores.spool import origin
from nczarr.stores.target_urls import FILE
from nczarr.stores.url import is_remote

MOST_FAULTS = 20
"""Maximum reported files."""

NAMED = "vcc://"
"""Beginning of a location that names its container instead of a prefix."""


class Access(NamedTuple):
    """Containers of a repository that the reader may follow."""

    credentials: dict[str, Any]
    """Credentials by prefix of the allowed containers."""
    refused: dict[str, str]
    """Reasons by prefix of the other containers."""


def allow(config: Any, policy: Policy, options: StorageOptions) -> Access:
    """Decide about the containers in a configuration, and replace the stores of the allowed ones by ours.

    So neither a path nor a server comes from the repository, unless it is read
    without credentials.
    """
    access = Access({}, {})
    for container in dict(config.virtual_chunk_containers or {}).values():
        prefix = container.url_prefix  # the key is a name in configurations of icechunk 0.1 and 0.2
        try:
            if not policy.given.roots:
                policy.follow(prefix)
            store, credentials = store_and_credentials(prefix, options, container.store)
            config.set_virtual_chunk_container(make_container(prefix, store, container.name))
        except ValueError as error:  # of the policy, of a URL, or of icechunk for a damaged prefix
            access.refused[prefix] = str(error)
            continue
        access.credentials[prefix] = credentials
    return access


def make_container(prefix: str, store: Any, name: str | None) -> Any:
    """Return a container of icechunk. Raises ValueError for a prefix that the library refuses."""
    from nczarr.plugins.icechunk.library import load_library

    ice = load_library()
    if name is not None:
        with suppress(TypeError):  # icechunk 1 takes no name, which configurations of 0.1 and 0.2 have
            return ice.VirtualChunkContainer(prefix, store, name=name)
    return ice.VirtualChunkContainer(prefix, store)


def check_locations(locations: Iterable[str], config: Any, policy: Policy, path: str, report: Report) -> None:
    """Report every file of a repository that the policy refuses: forbidden-target."""
    label, faults = Label(key=path), 0
    named = {
        container.name: prefix
        for prefix, container in dict(config.virtual_chunk_containers or {}).items()
        if container.name
    }
    for location in sorted(set(locations)):
        url = _prefix_location(location, named)
        try:
            for reading in {url, unquote(url, errors="surrogateescape")}:
                policy.follow(reading)
        except ForbiddenTargetError as error:
            report.add(Diagnostic("forbidden-target", Severity.ERROR, f"`{show(location)}`: {error}", label))
            faults += 1
            if faults == MOST_FAULTS:
                return


def _prefix_location(location: str, named: dict[str, str]) -> str:
    """Return a location with the prefix of the container that it names."""
    if not location.startswith(NAMED):
        return location
    name, _, rest = location[len(NAMED) :].partition("/")
    return named.get(name, f"{NAMED}{name}/") + rest


PORTS_SINCE = 2
"""Major version of icechunk that keeps the port of a web server; older ones ask the server at its usual port."""

MOST = 16
"""Folders above which one container holds them all."""

_HELD = re.compile(r"file:///[^/]+/|(?!file:)[a-z0-9]+://[^/]+/", re.IGNORECASE)
"""Begin of a prefix that a container can have: icechunk has none for the root of the file system."""


class File(NamedTuple):
    """A file with chunks."""

    url: str
    """URL as icechunk reads it: percent-encoded."""
    folder: str
    """Smallest prefix of a container for it: plain text with a slash at the end."""


def file_at(url: str) -> File | None:
    """Return the file at a URL of ours; None if icechunk reads no such URL."""
    protocol, _, rest = url.partition("://")
    protocol = protocol.lower()
    if protocol not in ("file", *S3, *GOOGLE, *WEB) or "::" in url:
        return None
    if any(segment in ("", ".", "..") for segment in rest.removeprefix("/").split("/")):
        return None
    if (
        protocol in WEB
        and ":" in rest.partition("/")[0]
        and int(load_library().__version__.partition(".")[0]) < PORTS_SINCE
    ):
        return None
    # icechunk's name of Google's protocol is `gcs`
    protocol = "s3" if protocol in S3 else "gcs" if protocol in GOOGLE else protocol
    if protocol in WEB:
        file = File(f"{protocol}://{rest}", f"{protocol}://{rest.partition('/')[0]}/")
    else:
        # paths and keys are plain text; a web URL has its escapes already
        file = File(f"{protocol}://{quote(rest, safe='/')}", f"{protocol}://{rest.rpartition('/')[0]}/")
    return file if _HELD.match(file.folder) else None


def prefixes_of(folders: Iterable[str]) -> list[str]:
    """Return prefixes of containers for some folders, sorted, none below another; common ones if they are many."""
    prefixes = _topmost(sorted(set(folders)))
    if len(prefixes) <= MOST:
        return prefixes
    places: dict[str, list[str]] = {}
    for folder in prefixes:
        protocol, _, rest = folder.partition("://")
        places.setdefault(f"{protocol}://{rest.partition('/')[0]}", []).append(folder)
    merged = []
    for some in places.values():
        common = os.path.commonprefix(some).rpartition("/")[0] + "/"  # noqa: RUF071 (URLs are no paths)
        merged += [common] if _HELD.match(common) else some
    return _topmost(sorted(merged))


def _topmost(folders: list[str]) -> list[str]:
    """Return the folders that are below no other one, of sorted ones."""
    topmost: list[str] = []
    for folder in folders:
        if not topmost or not folder.startswith(topmost[-1]):
            topmost.append(folder)
    return topmost


class Container(NamedTuple):
    """A container of a repository."""

    prefix: str
    """Beginning of the decoded URLs in it, with a slash at the end."""
    name: str | None
    """Name that may replace the prefix; None: the library has no names."""

    def reference(self, file: File) -> str:
        """Return the text that refers to a file: a name instead of the prefix takes less time and space."""
        if self.name is None or not file.url.startswith(self.prefix) or "%" in self.prefix:
            return file.url
        return f"{NAMED}{self.name}/{file.url[len(self.prefix) :]}"


def containers_for(files: Iterable[File], config: Any, *, named: bool) -> dict[str, Container]:
    """Return a container for each folder: one of the configuration, else a new one. `named`: new ones have names."""
    folders = sorted({file.folder for file in files})
    registered = {
        prefix: Container(prefix, container.name if named else None)
        for prefix, container in _read_known(config).items()
    }
    holders = {folder: holder for folder in folders if (holder := _holder(folder, registered)) is not None}
    rest = [folder for folder in folders if folder not in holders]
    new = {prefix: Container(prefix, _name(prefix) if named else None) for prefix in prefixes_of(rest)}
    for folder in rest:
        holder = _holder(folder, new)
        assert holder is not None
        holders[folder] = holder
    return holders


def _read_known(config: Any) -> Mapping[str, Any]:
    return dict(config.virtual_chunk_containers or {})


def _holder(folder: str, containers: Mapping[str, Container]) -> Container | None:
    """Return the container with the longest prefix of a folder; None without any."""
    while "://" in folder:
        if folder in containers:
            return containers[folder]
        folder = folder.rstrip("/").rpartition("/")[0] + "/"
        if folder.endswith((":///", "://")):
            return None
    return None


def _name(prefix: str) -> str:
    return f"files-{sha256(prefix.encode()).hexdigest()[:8]}"


def register(config: Any, containers: Iterable[Container], options: StorageOptions) -> bool:
    """Add containers to a configuration, without credentials; return whether any was missing. Raises BadURLError."""
    prefixes = _read_known(config)
    missing = [container for container in dict.fromkeys(containers) if container.prefix not in prefixes]
    for container in missing:
        store, _ = store_and_credentials(container.prefix, options, None)
        config.set_virtual_chunk_container(make_container(container.prefix, store, container.name))
    return bool(missing)


def find_unchanged_since(places: Iterable[str], begin: datetime) -> datetime:
    """Return the time, in whole seconds, after which no file may have changed for its chunks to be read.

    `places`: paths, URLs, and paths of fetched files. The time is the newest modification of local files; for others,
    whose times take a request each, the begin of the run. Raises OSError.
    """
    newest = datetime.fromtimestamp(0, UTC)
    for place in places:
        if is_remote(place) or origin(place) is not None:
            return begin.replace(microsecond=0) + timedelta(seconds=1)  # Last-Modified has whole seconds
        changed = os.stat(place.removeprefix(FILE)).st_mtime_ns
        newest = max(newest, datetime.fromtimestamp(-(-changed // 10**9), UTC))  # icechunk keeps whole seconds
    return newest


VIRTUAL = 2
"""Kind of a virtual chunk in icechunk's listings."""


def list_virtual_references(store: Any, array: str, refused: Iterable[str]) -> dict[str, Reference]:
    """Return the places of the virtual chunks of an array by key, without those in refused containers.

    Empty with icechunk 1, which does not tell them. Raises what icechunk raises.
    """
    if not hasattr(store, "array_chunk_iterator"):
        return {}
    return result(_places(store, array, tuple(refused)))


async def _places(store: Any, array: str, refused: tuple[str, ...]) -> dict[str, Reference]:
    """Return the chunks of an array that lie in other files, by key; `refused`: prefixes of private URLs."""
    head = f"{array}/c" if array else "c"
    references: dict[str, Reference] = {}
    urls: dict[str, str | None] = {}
    async for indices, kinds, locations, offsets, lengths, _ in store.array_chunk_iterator(f"/{array}"):
        columns = (indices.tolist(), kinds.tolist(), locations, offsets.tolist(), lengths.tolist())
        for index, kind, location, offset, length in zip(*columns, strict=True):
            if kind != VIRTUAL:
                continue
            if location not in urls:
                urls[location] = _public(location, refused)
            url = urls[location]
            if url is not None:
                references["/".join((head, *map(str, index)))] = Reference(url, offset, length)
    return references


def _public(location: str, refused: tuple[str, ...]) -> str | None:
    """Return a path or URL of ours for one of icechunk; None in a refused container."""
    protocol, _, rest = location.partition("://")
    plain = unquote(location)
    if plain.startswith(refused) or protocol not in ("file", "s3", "gcs", *WEB):
        return None
    if protocol in WEB:
        return location
    name = unquote(rest)
    return name if protocol == "file" else f"{'gs' if protocol == 'gcs' else protocol}://{name}"
