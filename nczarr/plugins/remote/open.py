"""Opening of a URL: a folder, an archive, or a file that is read by ranges; and a first look at what is there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nczarr.diagnostics.report import HEAD, Source
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.range_request import UnrangedError, describe_object
from nczarr.plugins.remote.ranged_file import RangedFile
from nczarr.plugins.remote.remote_store import RemoteStore
from nczarr.plugins.remote.transfer import fetch_file, send
from nczarr.stores.base import JOURNAL, ROOT_KEYS, Store
from nczarr.stores.commitment import note_commit
from nczarr.stores.open import ZIP, open_container, open_file, open_ranged
from nczarr.stores.places import Obstacle, Unfinished, is_page
from nczarr.stores.stat import digest
from nczarr.stores.url import WEB


def is_folder(store: RemoteStore) -> bool:
    """Return whether keys are below a URL; else it is one object. Raises OSError if it is missing.

    Web servers have no folders: if they answer "not found" or with a page, the
    documents of a store decide.
    """
    connection = store.connection
    if connection.place.path.endswith("/"):
        return True
    try:
        info = connection.call("info", "")
    except FileNotFoundError:
        if connection.protocol in WEB and _has_root(store):
            return True
        raise
    except PermissionError:  # a question without an answer's body; a listing has the server's reason
        connection.call("ls", "")
        raise
    if info.get("type") == "directory":  # in an archive also on a web server
        return True
    return connection.protocol in WEB and "html" in str(info.get("mimetype", "")) and _has_root(store)


def _has_root(store: RemoteStore) -> bool:
    store.expect(ROOT_KEYS)
    documents = (store.get(key) for key in ROOT_KEYS)  # some servers answer every request with a page
    return any(document is not None and not document.lstrip().startswith(b"<") for document in documents)


def obstacle(url: str, storage: StorageOptions, *, store: bool) -> Obstacle | None:
    """Return the existing content at the URL of a new store or file, or None. Raises OSError.

    A store may replace a store, a file a file. Folders with other content may
    be user data.
    """
    place = RemoteStore(url, storage)
    try:
        folder = is_folder(place)
    except FileNotFoundError:
        return None
    names = place.children("") if folder else []
    if not folder:
        return Obstacle("is one object, not a folder" if store else "exists", replaceable=not store)
    if not names:
        return None
    if not store:
        return Obstacle("is a folder", replaceable=False)
    if JOURNAL in names:
        return Obstacle("is incomplete", replaceable=True, unfinished=True)
    if not set(ROOT_KEYS).intersection(names):
        return Obstacle("is a folder that is not a store", replaceable=False)
    return Obstacle("exists", replaceable=True)


def identify(url: str, storage: StorageOptions) -> str | None:
    """Return a text that changes with the content at a URL; None if changes are not detectable. Raises OSError."""
    store = RemoteStore(url, storage)
    if not is_folder(store):
        return digest([describe_object(store.connection.call("info", ""))])
    if not store.listed:
        return None
    return digest(sorted(f"{info['name']} {describe_object(info)}" for info in store.connection.listing("")))


SERVICES = {"dap2": "dap2", "dodsC": "dap2", "griddap": "dap2", "opendap": "dap2", "dap4": "dap4"}
"""Segments of URLs of OPeNDAP servers, and the prefixes that read datasets there."""


def open_path(url: str, storage: StorageOptions, is_ranged: Callable[[bytes], bool]) -> Source | Store:
    """Open a URL. What has the name of a file is asked for its first bytes before it is taken for a folder.

    Raises OSError, BadURLError.
    """
    try:
        return _open_at(RemoteStore(url, storage), is_ranged)
    except FileNotFoundError as error:
        _raise_for_service(url, error)
        raise


def _open_at(store: RemoteStore, is_ranged: Callable[[bytes], bool]) -> Source | Store:
    """Return the file or store at a place. Raises OSError."""
    connection = store.connection
    file: RangedFile | None
    archive = _open_archive(connection) if connection.looks_like_file and connection.root.endswith(".zip") else None
    if archive is not None:
        return archive
    if connection.looks_like_file:
        file = _open_by_ranges(connection, missing=True)
    elif is_folder(store):
        return store
    else:
        file = _open_by_ranges(connection)
    if file is not None and (file[:4].startswith(ZIP) or is_ranged(file[:HEAD])):
        return open_ranged(file)
    if connection.looks_like_file and (file is None or not file.size or is_page(file[:HEAD])) and is_folder(store):
        return store
    opened = open_file(fetch_file(connection, file), store.path)
    if isinstance(opened, Source) and is_page(bytes(opened.data[:HEAD])):
        _raise_for_service(store.path)
    return opened


def _raise_for_service(url: str, cause: OSError | None = None) -> None:
    """Raise FileNotFoundError for the URL of a service of OPeNDAP, which is not that of a file."""
    path = show(url).split("?")[0]
    found = next((form for part, form in SERVICES.items() if f"/{part}/" in path), None)
    if found is not None:
        text = f"No such file; before the URL of a dataset of an OPeNDAP server stands `{found}:`"
        raise FileNotFoundError(errno.ENOENT, text, path) from cause


def _open_archive(connection: FileConnection) -> Source | Store | None:
    """Return an archive from its last bytes; None for other files, and if the server does not send them."""
    try:
        file = RangedFile.of(connection, tail=True)
    except OSError:  # which the first bytes tell better
        return None
    return open_container(ZIP[0], file.path, file.name) if _ends_as_archive(file) else None


def _ends_as_archive(file: RangedFile) -> bool:
    """Return whether the last bytes are the end of an archive: its record, and a comment. Raises OSError."""
    from nczarr.stores.zip import END, read_tail

    _, tail = read_tail(file)
    at = tail.rfind(b"PK\x05\x06", 0, len(tail) - END.size + 4)  # a comment may follow the record
    return at >= 0 and at + END.size + END.unpack_from(tail, at)[-1] == len(tail)


def _open_by_ranges(connection: FileConnection, *, missing: bool = False) -> RangedFile | None:
    """Return a file from its first bytes; None if the server sends no ranges, or if it is `missing`. Raises OSError."""
    try:
        return RangedFile.of(connection)
    except UnrangedError:
        return None
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        if not missing:
            raise
        return None


@contextmanager
def write_file(url: str, storage: StorageOptions) -> Iterator[Unfinished]:
    """Provide a file in a temporary folder; it is sent if the block succeeds. Raises OSError."""
    import tempfile

    from nczarr.stores import finish

    connection = FileConnection(url, storage)
    discarded: list[bool] = []
    with tempfile.TemporaryDirectory(prefix="nczarr-") as folder:
        finish.unfinished.add(folder)
        path = os.path.join(folder, os.path.basename(connection.root) or "data")
        yield Unfinished(path, lambda: discarded.append(True))
        if not discarded:
            send(connection, path)
            note_commit(url)
    finish.unfinished.discard(folder)
