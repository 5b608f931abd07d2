"""Python objects as sources: open binary files, bytes, mappings of keys, and stores of zarr-python."""

import io
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.diagnostics.report import HEAD, Source
from nczarr.stores.base import Store, safe_key, with_prefix

EXPECTED = (
    "a path, a URL, bytes, an open binary file, a mapping of keys to bytes, a store of zarr-python, or manifests of "
    "VirtualiZarr"
)
"""Objects that `nczarr.open` takes, in words."""


def open_object(data: Any) -> Source | Store:
    """Return an object as a file or a store. Raises OSError, and TypeError for any other object.

    A file is read from its first byte, whatever its position, and may be closed
    afterwards.
    """
    if type(data).__module__.partition(".")[0] == "xarray":
        text = f"the {type(data).__name__} of xarray has no manifests of VirtualiZarr in its own variables"
        raise TypeError(f"{text}; `nczarr.from_xarray` takes loaded data, and nodes of a tree are opened one by one")
    if isinstance(data, bytes | bytearray | memoryview):
        return _file(bytes(data), "bytes")
    if isinstance(data, Mapping):
        return MappingStore(data)
    if _is_zarr_store(data):
        return ObjectStore(data)
    if callable(getattr(data, "read", None)):
        return _open_file(data)
    raise TypeError(f"a dataset is opened from {EXPECTED}, not from {type(data).__name__}")


def _file(data: bytes, name: str) -> Source | Store:
    """Return the content of a file as a source, or as a store if it is an archive.

    Binary content goes to a temporary file: libraries of HDF5 and archives read
    files alone.
    """
    if b"\0" not in data[:HEAD]:
        return Source(name, data)
    from nczarr.stores.open import open_file
    from nczarr.stores.spool import keep_stream

    return open_file(keep_stream(data, io.BytesIO()), name)


def _open_file(file: Any) -> Source | Store:
    """Return an open file by its path if it is a file of this system, else its content."""
    from nczarr.stores.open import open_file

    name = getattr(file, "name", None)
    if isinstance(file, io.IOBase) and isinstance(name, str) and _is_same_file(file, name):
        if isinstance(file, io.TextIOBase):
            raise TypeError("the file is open as text; open it with mode 'rb'")
        return open_file(name, name)
    if file.seekable():
        file.seek(0)
    data = file.read()
    if not isinstance(data, bytes):
        raise TypeError("the file is open as text; open it with mode 'rb'")
    return _file(data, name if isinstance(name, str) else type(file).__name__)


def _is_same_file(file: io.IOBase, path: str) -> bool:
    """Return whether a path still names the regular file that is open."""
    try:
        return os.path.isfile(path) and os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


class MappingStore(Store):
    """Keys of a mapping, such as a dict or a mapper of fsspec."""

    def __init__(self, mapping: Mapping[str, Any]) -> None:
        self.mapping = mapping
        self.path = type(mapping).__name__

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None."""
        try:
            return bytes(self.mapping[safe_key(key)])
        except KeyError:
            return None

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        return iter(with_prefix(sorted(self.mapping), prefix))


class ObjectStore(Store):
    """Keys of a store of zarr-python, whose event loop answers.

    Stores of other kinds than folders and memory may have credentials and a network.
    """

    def __init__(self, store: Any) -> None:
        """Take a store of zarr-python; it is distant unless it is local or in memory."""
        from zarr.core.sync import sync
        from zarr.storage import LocalStore, MemoryStore, StorePath

        sync(StorePath.open(store, ""))  # opens a store that is not open yet
        self.store = store
        self.distant = not isinstance(store, LocalStore | MemoryStore)
        self.path = str(store)

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None."""
        from zarr.core.buffer import default_buffer_prototype
        from zarr.core.sync import sync

        try:
            buffer = sync(self.store.get(safe_key(key), default_buffer_prototype()))
        except Exception as error:
            if "invalid zarr key" in str(error):  # icechunk, which has no class of its own for this
                return None
            raise
        return None if buffer is None else bytes(buffer.to_bytes())

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        from zarr.core.sync import sync

        async def listed() -> list[str]:
            return [key async for key in self.store.list()]

        return iter(with_prefix(sorted(sync(listed())), prefix))


def _is_zarr_store(candidate: Any) -> bool:
    """Return whether an object is a store of zarr-python, which is imported if there is one."""
    module = sys.modules.get("zarr.abc.store")  # a store of zarr-python exists only where that is loaded
    return module is not None and isinstance(candidate, module.Store)
