"""Places behind URLs: what is read, written and locked there by a plugin, which is asked for by protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.names.plugin_index import find_place, list_offered, load_part
from nczarr.names.records import NamedTuple
from nczarr.stores.url import MissingProtocolError

if TYPE_CHECKING:
    from nczarr.stores.base import Extensible, Store
    from nczarr.stores.lock import Lock
    from nczarr.stores.remote_file import Connection, RemoteFile
    from nczarr.stores.store_journal import StoreJournal

OTHERS = "*"
"""Name of the places of all protocols that have none of their own."""


class Obstacle(NamedTuple):
    """Existing content at the place of a target."""

    words: str
    """Predicate for messages."""
    replaceable: bool
    """True if `--overwrite` may replace it."""
    unfinished: bool = False
    """True if it is an unfinished store."""


class Unfinished(NamedTuple):
    """An unfinished file."""

    path: str
    discard: Callable[[], None]
    """Prevents its publication."""


class RemotePlaces(Protocol):
    """Reader and writer of the URLs of some protocols. Methods raise OSError, BadURLError, MissingProtocolError."""

    def connect(
        self,
        url: str,
        storage: StorageOptions = NO_OPTIONS,
        make_system: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> Connection:
        """Return a connection. `make_system`: makes a file system of fsspec of its arguments; None: the usual one."""

    def open_path(self, url: str, storage: StorageOptions, is_ranged: Callable[[bytes], bool]) -> Source | Store:
        """Open a folder or archive as store, else one file; `is_ranged` as in `stores.open.open_path`."""

    def reopen(self, path: str, remote: RemoteFile | None, *, tail: bool) -> RemoteFile:
        """Return a file as if it were opened first, to count its requests: a remote one, or a local one by its path.

        `tail`: it begins with its last bytes, not with the first.
        """

    def is_store(self, url: str, storage: StorageOptions) -> bool:
        """Return whether a folder is at a URL; else it is one object."""

    def find_obstacle(self, url: str, storage: StorageOptions, *, store: bool) -> Obstacle | None:
        """Return the existing content at the URL of a new store or file, or None.

        A store may replace a store, a file a file. Folders with other content may be user data.
        """

    def identify(self, url: str, storage: StorageOptions) -> str | None:
        """Return a text that changes with the content, without reading it whole; None if it is not detectable."""

    def lock(self, url: str, storage: StorageOptions, *, checks: bool) -> Lock:
        """Lock a target; `checks`: find out whether the server heeds conditions. Raises BusyTargetError."""

    def write_file(self, url: str, storage: StorageOptions) -> AbstractContextManager[Unfinished]:
        """Provide a temporary file, which is sent at the end of the block if that succeeds."""

    def begin_store(
        self, url: str, storage: StorageOptions, *, journal: StoreJournal, overwrite: bool, resume: bool
    ) -> Store:
        """Begin a store of keys. Raises FileExistsError, CompileError with busy-target."""

    def begin_archive(self, url: str, storage: StorageOptions) -> Store:
        """Begin an archive, which is sent when it is finished."""

    def extend(self, url: str, storage: StorageOptions) -> Extensible:
        """Return an existing store for changes."""

    def remove_objects(self, url: str, storage: StorageOptions) -> None:
        """Remove all objects below a URL, if its protocol has objects that other programs see."""


def look_up_places(url: str) -> RemotePlaces | None:
    """Return the places of the protocol of a URL, the last one of a chain; None without a plugin for them."""
    return _look_up(url.rpartition("::")[2].partition("://")[0].lower())


@lru_cache(64)
def _look_up(protocol: str) -> RemotePlaces | None:
    offered = list_offered("place")
    name = protocol if protocol in offered else OTHERS
    row = find_place("place", name) if name in offered else None
    places: RemotePlaces | None = None if row is None else load_part(row)
    return places


def find_places(url: str) -> RemotePlaces:
    """Return the places of the protocol of a URL. Raises MissingProtocolError without a plugin for them."""
    places = look_up_places(url)
    if places is None:
        text = "URLs need a plugin for remote places, and this installation has none"
        raise MissingProtocolError(text, "install a package of NCZarr with all its plugins")
    return places


def is_page(head: bytes) -> bool:
    """Return whether first bytes are those of a web page, which may list a folder."""
    return b"<html" in (text := head.lower()) or b"<!doctype html" in text
