"""Blobs by name, and bounded decompression.

A storage has `__getitem__`, or `get` that returns None; its values are bytes,
buffers or NumPy arrays. Each blob is requested once. At most one byte more than
needed is inflated.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.names.records import frozen
from nczarr.plugins.awkward0.wire.limits import Limits, UnreadableDocumentError, show
from nczarr.stores.base import UnsafeKeyError


@frozen
class StoredBlob:
    """Stored bytes."""

    key: str
    data: memoryview
    """The bytes."""
    absolute: bool = False
    """True if the key is read without prefix."""
    array: NDArray[Any] | None = None
    """The array, if the storage had one."""


@frozen
class PackedBlob:
    """Compressed bytes, which are inflated only once the required size is known."""

    function: str
    """Name of the decompressor."""
    inner: Raw
    """The compressed bytes."""


Raw: TypeAlias = StoredBlob | PackedBlob
"""Bytes, or a way to get them."""


def origin(raw: Raw) -> StoredBlob:
    """Return the blob below all decompressors."""
    while isinstance(raw, PackedBlob):
        raw = raw.inner
    return raw


class Blobs:
    """Blobs of a storage for one document."""

    def __init__(self, storage: Any, limits: Limits) -> None:
        self._storage = storage
        self._limits = limits
        self._known: dict[str, StoredBlob] = {}
        self._left = limits.inflated
        self.given = 0
        """Bytes that were read, and those that were inflated of them."""

    def read(self, key: str, *, absolute: bool) -> StoredBlob:
        """Return a blob by full name. Raises UnreadableDocumentError, and errors of the storage except KeyError."""
        blob = self._known.get(key)
        if blob is None:
            if len(self._known) >= self._limits.blobs:
                raise UnreadableDocumentError(
                    "oversized-awkward", f"the number of blobs exceeds the limit, {self._limits.blobs}"
                )
            value = lookup(self._storage, key)
            if value is None:
                raise UnreadableDocumentError("missing-blob", f"there is no blob {show(key)}")
            blob = self._known[key] = _blob(key, value)
            self.given += len(blob.data)
        return StoredBlob(blob.key, blob.data, absolute, blob.array) if absolute else blob

    def bytes_of(self, raw: Raw, size: int | None = None) -> memoryview:
        """Return the bytes of a blob, when inflated at most one more than wanted. Raises UnreadableDocumentError."""
        if isinstance(raw, StoredBlob):
            return raw.data
        data = self.bytes_of(raw.inner)
        most = min(self._limits.unsized if size is None else size, self._left)
        inflated = DECOMPRESSORS[raw.function](data, most + 1, origin(raw).key)
        if len(inflated) > most and (size is None or most < size):
            text = f"blob {show(origin(raw).key)} inflates to more than the limit leaves, {most} bytes"
            if size is None:
                text += ", and the document does not give a count of its elements"
            raise UnreadableDocumentError("oversized-awkward", text)
        self._left -= min(len(inflated), most)
        self.given += min(len(inflated), most)
        return memoryview(inflated)

    def hold(self, name: str, data: bytes) -> StoredBlob:
        """Return bytes that a function of the caller made as a blob. Raises UnreadableDocumentError for too many."""
        if len(data) > self._left:
            text = f"{name} returns {len(data)} bytes, more than the limit leaves, {self._left}"
            raise UnreadableDocumentError("oversized-awkward", text)
        self._left -= len(data)
        self.given += len(data)
        return StoredBlob(name, memoryview(data))


def lookup(storage: Any, key: str) -> Any | None:
    """Return the value of a key, None if missing. Raises errors of the storage."""
    try:
        return storage[key] if hasattr(type(storage), "__getitem__") else storage.get(key)
    except (KeyError, UnsafeKeyError):
        return None


def _blob(key: str, value: Any) -> StoredBlob:
    """Convert a storage value to a blob. Raises UnreadableDocumentError."""
    if isinstance(value, bytes | bytearray | memoryview):
        view = memoryview(value)
        return StoredBlob(key, (view if view.c_contiguous else memoryview(view.tobytes())).cast("B"))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        array = np.ascontiguousarray(value)
        if not array.dtype.hasobject:
            flat = array.reshape(-1)
            data = flat.view(np.uint8) if array.dtype.itemsize and array.size else np.zeros(0, np.uint8)
            return StoredBlob(key, memoryview(data.data), array=array)
    raise UnreadableDocumentError("bad-blob", f"blob {show(key)} must be bytes, not {type(value).__name__}")


MOST_STREAMS = 100
"""Maximum number of consecutive LZMA streams in a blob."""


def _stream(begin: Callable[[], tuple[Any, Any]], *, several: bool) -> Any:
    """Return a bounded decompressor from a library's incremental one; `several`: allow consecutive streams."""

    def made(data: memoryview, most: int, key: str) -> bytes | bytearray:
        """Return the first bytes of the decompressed data, at most `most`. Raises UnreadableDocumentError."""
        out: list[bytes] = []
        size, rest = 0, data
        for _ in range(MOST_STREAMS if several else 1):
            unpacker, fault = begin()
            try:
                piece = unpacker.decompress(rest, most - size)
            except fault as error:
                raise UnreadableDocumentError("bad-blob", f"blob {show(key)} cannot be inflated: {error}") from None
            size += len(piece)
            out.append(piece)
            rest = memoryview(unpacker.unused_data)
            if size >= most or (unpacker.eof and not rest):
                return out[0] if len(out) == 1 else b"".join(out)
            if not unpacker.eof:
                raise UnreadableDocumentError("bad-blob", f"the compressed data of blob {show(key)} end too early")
        raise UnreadableDocumentError("bad-blob", f"blob {show(key)} has bytes after its compressed data")

    return made


def _zlib() -> tuple[Any, Any]:
    from zlib_ng import zlib_ng  # inflates in a third of the time of zlib

    return zlib_ng.decompressobj(), zlib_ng.error


LZMA_MEMORY = 128 << 20
"""Maximum memory of an LZMA decoder; the largest preset has a 64 MiB dictionary."""


def _lzma() -> tuple[Any, Any]:
    import lzma

    return lzma.LZMADecompressor(memlimit=LZMA_MEMORY), lzma.LZMAError


def _lz4(data: memoryview, most: int, key: str) -> bytes:
    """Inflate an LZ4 block prefixed with its size, as lz4.block stores it."""
    try:
        block = importlib.import_module("lz4.block")
    except ImportError:
        text = f"blob {show(key)} is compressed with LZ4, but the library lz4 is not installed"
        raise UnreadableDocumentError("missing-library", text, helps=("run `pip install lz4`",)) from None
    size = int.from_bytes(data[:4], "little")
    if size > most or size > 255 * len(data):  # LZ4 expands a byte to 255 at most
        raise UnreadableDocumentError(
            "bad-blob", f"blob {show(key)} declares a decompressed size of {size} bytes, which is too large"
        )
    try:
        inflated: bytes = block.decompress(bytes(data))
    except (block.LZ4BlockError, ValueError) as error:
        raise UnreadableDocumentError("bad-blob", f"blob {show(key)} cannot be inflated: {error}") from None
    return inflated


_LZMA = _stream(_lzma, several=True)  # Python's lzma.decompress reads several streams

DECOMPRESSORS: dict[str, Callable[[memoryview, int, str], bytes | bytearray]] = {
    "zlib": _stream(_zlib, several=False),
    "lzma": _LZMA,
    "backports.lzma": _LZMA,  # awkward0's default whitelist has both modules
    "lz4.block": _lz4,
}
"""Decompressors by module. Arguments: bytes, maximum size, blob name. They raise UnreadableDocumentError."""
