"""Read-only store of zarr-python over a dataset of any format."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

from zarr.abc import store as abc
from zarr.core.buffer import default_buffer_prototype

from nczarr import names
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Options
from nczarr.plan.plans import Loss
from nczarr.plugins.common.pieces import length_of, part_of
from nczarr.plugins.common.store_view import StoreView, store_view
from nczarr.stores import ranges

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype


class ZarrStore(abc.Store):  # type: ignore[misc]  # types of zarr are not read
    """Dataset as a read-only store of zarr-python, made by `nczarr.zarr_store`.

    Attributes
    ----------
    dataset : DatasetHandle
        The dataset.
    zarr_format : int
        Version of Zarr, 2 or 3.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, dataset: DatasetHandle, zarr_format: int) -> None:
        super().__init__(read_only=True)
        self.dataset = dataset
        self.zarr_format = zarr_format
        self._lock = Lock()
        self._made: StoreView | None = None

    @property
    def _view(self) -> StoreView:
        """The keys, made on first use. Raises CompileError."""
        with self._lock:
            if self._made is None:
                self._made = _view(self.dataset, self.zarr_format)
            return self._made

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Content that the version of Zarr cannot hold."""
        return self._view.losses

    def __eq__(self, other: object) -> bool:
        """Return whether another store has the same dataset, opened from the same path, in the same version."""
        if not isinstance(other, ZarrStore) or self.zarr_format != other.zarr_format:
            return False
        return self.dataset is other.dataset or _is_same(self.dataset, other.dataset)

    def __hash__(self) -> int:
        return hash((self.zarr_format, len(self.dataset.checked.variables)))

    def __repr__(self) -> str:
        return f"<Zarr v{self.zarr_format} store of {names.readable(self.dataset._title)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return ZarrStore, (self.dataset, self.zarr_format)

    def with_read_only(self, read_only: bool = False) -> ZarrStore:
        """Return another store of the dataset. Raises ValueError for one to write to."""
        if not read_only:
            raise ValueError("the store of a dataset is read-only: write the dataset with `nczarr.write`")
        return ZarrStore(self.dataset, self.zarr_format)

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a key, or a range of them; None if it does not exist.

        Only the range of a copied chunk is read. Raises CompileError for an
        unreadable chunk, OSError.
        """
        pieces = self._view.pieces(key)
        if pieces is None:
            return None
        if byte_range is not None:
            pieces = list(part_of(pieces, *_bounds(byte_range, sum(map(length_of, pieces)))))
        data = b"".join(each if isinstance(each, bytes) else ranges.read(each) for each in pieces)
        return (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return as `get_sync`; chunks are made in another thread."""
        if key in self._view.documents:
            return self.get_sync(key, prototype=prototype, byte_range=byte_range)
        return await asyncio.to_thread(self.get_sync, key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the bytes of several ranges in their order."""
        return list(await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges)))

    async def exists(self, key: str) -> bool:
        """Return whether a key exists. A chunk of fill values does not."""
        return key in self._view.documents or await asyncio.to_thread(self._view.pieces, key) is not None

    async def getsize(self, key: str) -> int:
        """Return the bytes of a key. Raises FileNotFoundError if it does not exist."""
        pieces = await asyncio.to_thread(self._view.pieces, key)
        if pieces is None:
            raise FileNotFoundError(key)
        return sum(map(length_of, pieces))

    async def list(self) -> AsyncIterator[str]:
        """Yield all keys."""
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that begin with a prefix."""
        for key in self._view.documents:
            if key.startswith(prefix):
                yield key
        keys = self._view.chunk_keys(prefix)
        while (key := await asyncio.to_thread(next, keys, "")) != "":
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names directly below a prefix. Chunks are listed only below their array."""
        folder = prefix.rstrip("/") + "/" if prefix.rstrip("/") else ""
        found = {key[len(folder) :].partition("/")[0] for key in self._view.documents if key.startswith(folder)}
        if any(folder.startswith(own) for own in self._view.arrays):
            async for key in self.list_prefix(folder):
                found.add(key[len(folder) :].partition("/")[0])
        for name in sorted(found):
            yield name

    async def set(self, key: str, value: Buffer) -> None:
        """Raise ValueError: the store is read-only."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """Raise ValueError: the store is read-only."""
        self._check_writable()

    def set_sync(self, key: str, value: Buffer) -> None:
        """Raise ValueError: the store is read-only."""
        self._check_writable()

    def delete_sync(self, key: str) -> None:
        """Raise ValueError: the store is read-only."""
        self._check_writable()


def _view(dataset: DatasetHandle, zarr_format: int) -> StoreView:
    """Return the keys of a dataset. Raises CompileError if Zarr cannot hold it."""
    from nczarr import registry
    from nczarr.pipeline import phases

    form = registry.find_format(f"zarr{zarr_format}")
    assert form is not None
    report = Report()
    options = Options.of(allow_loss=frozenset({"all"}), consolidated=True)
    planned = phases.plan_store(dataset.checked, form, report, options)
    made = None if planned is None else store_view(planned, report)
    if made is None or report.errors:
        raise CompileError(report.list_sorted())
    return made


def _is_same(one: DatasetHandle, other: DatasetHandle) -> bool:
    """Return whether two datasets were opened by the same call."""
    first, second = one._open_again, other._open_again
    if first is None or second is None:
        return False
    return (first.func, first.args, first.keywords) == (second.func, second.args, second.keywords)


def _bounds(asked: ByteRequest, length: int) -> tuple[int, int]:
    """Return the start and stop of a range, cut at the end of a value."""
    match asked:
        case abc.RangeByteRequest(start=start, end=stop):
            return start, min(stop, length)
        case abc.OffsetByteRequest(offset=start):
            return start, length
        case abc.SuffixByteRequest(suffix=count):
            return max(0, length - count), length
    raise TypeError(f"a byte range is not {type(asked).__name__}")
