"""Arrays that lie in a store chunk by chunk: an array source over keys, for every version of Zarr.

How chunks are decoded and put together is said in `grid.py`; here their bytes are found. Raises CompileError with
`unreadable-chunk` for chunks that cannot be decoded.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from nczarr.data.blocks import every_block, grid_of, number_of
from nczarr.data.decoding import DECODING_ERRORS, decoded
from nczarr.data.grid import assembled, chunk_of, covering, covering_regions, kept, unreadable
from nczarr.data.listing import Listing
from nczarr.data.memory import chunks_of_run
from nczarr.data.referred import WHOLE
from nczarr.data.source import ArraySource, Columns, Descr, Index, Layout, Manifest, Place, Selection, Stored, itemsize
from nczarr.stores import ranges
from nczarr.stores.base import Range, Store
from nczarr.stores.ranges import neighbours
from nczarr.stores.references import ReferenceStore
from nczarr.stores.referring import Reference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ABSENT = 2**64 - 1
"""Offset and length of a chunk that its shard does not hold."""


class Encoding(NamedTuple):
    """How the chunks of an array are encoded.

    `dtype`: the element as it is stored, byte order included; `"|O"` for texts behind their lengths. `steps`: numcodecs
    configurations in the order of encoding. `permutation`: axes of the array in the order in which they are stored,
    None: as they are. `separator` and `lead`: as in keys. `index_steps`, `index_first`: of shards, where there are any.
    """

    dtype: Descr
    steps: tuple[dict[str, Any], ...] = ()
    permutation: tuple[int, ...] | None = None
    separator: str = "."
    lead: str = ""
    index_steps: tuple[dict[str, Any], ...] = ()
    index_first: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StoredArray:
    """One array of a store. `prefix` is what its keys begin with; `nil` says which strings are NIL."""

    layout: Layout
    store: Store
    prefix: str
    encoding: Encoding
    nil: tuple[tuple[int, int], ...] = ()
    _own: list[Any] = field(default_factory=list, repr=False)
    """What this process knows of the array: its keys."""
    _at_hand: dict[Index, bytes] = field(default_factory=dict, repr=False)
    """Encoded chunks that were brought here from far away."""

    def __reduce__(self) -> tuple[Any, ...]:
        """The description, and a digest of the keys that there are: another process has to see the same.

        Raises OSError.
        """
        described = self.layout, self.store, self.prefix, self.encoding, self.nil
        return _elsewhere, (described, self._listing.digest())

    @property
    def distant(self) -> bool:
        """As the store."""
        return self.store.distant

    @property
    def together(self) -> tuple[int, ...] | None:
        """What is far away, a shard; chunks that are ranges of other files may lie side by side anywhere."""
        if isinstance(self.store, ReferenceStore) and self.layout.shards is None:
            return tuple(max(1, length) for length in self.layout.shape) if self.store.distant else None
        return self.layout.shards if self.store.distant else None

    def fetched(self, regions: Sequence[Selection]) -> Self:
        """The same array with the encoded chunks at hand that meet these regions and lie in shards far away: those that
        lie near one another are brought here by one request. Raises OSError.
        """
        if self.together is None:
            return self
        if isinstance(self.store, ReferenceStore) and self.layout.shards is None:
            keys = {self.key(index): index for index in covering_regions(regions, self.layout.chunks)}
            return replace(self, _at_hand={keys[key]: data for key, data in self.store.several(keys).items()})
        shards: dict[Index, list[tuple[int, int, Index]]] = {}
        for index in sorted(covering_regions(regions, self.layout.chunks)):
            found = self._in_shard(index)
            if found is not None:
                shards.setdefault(self._home(index), []).append((*found[1:], index))
        at_hand: dict[Index, bytes] = {}
        for home, places in shards.items():
            for begin, end, group in neighbours(places):
                data = memoryview(self._part(self.key(home), begin, end - begin))
                for offset, length, index in group:
                    at_hand[index] = bytes(data[offset - begin : offset - begin + length])
        return replace(self, _at_hand=at_hand)

    @property
    def manifest(self) -> Manifest | None:
        """Where all stored chunks lie that lie in a target that anyone can reach: a file, or the object of a URL; None
        if that is none of them. Looked up once. Raises OSError.
        """
        listing = self._listing
        if not listing.placed:
            listing.manifest, listing.placed = self._columns(), True
        return listing.manifest

    def _columns(self) -> Columns | None:
        import numpy as np

        layout, sources = self.layout, dict[str, int]()
        counts = grid_of(layout.shape, layout.chunks)
        rows: list[tuple[int, int, int, int]] = []
        for index in self._chunks_stored():
            found = self._reference(index)
            if found is not None and found.url is not None:
                if found.length is not None:
                    self._fits(self.key(index), found.length)
                source = sources.setdefault(found.url, len(sources))
                rows.append(
                    (number_of(index, counts), source, found.offset, WHOLE if found.length is None else found.length)
                )
        if not rows:
            return None
        table = np.array(rows, np.int64).T.copy()
        return Columns(tuple(sources), table[0], table[1], table[2], table[3], np.zeros(len(rows), np.int32))

    def _chunks_stored(self) -> Iterator[Index]:
        """Chunks in keys that there are, in C order."""
        layout = self.layout
        if layout.shards is None:
            return iter(self._listing.stored())
        return iter(sorted(covering(self._listing.stored(), layout.shards, layout.chunks, layout.shape)))

    def _reference(self, index: Index) -> Reference | None:
        """Where anyone finds a chunk."""
        whole = self.store.refer(self.key(self._home(index)))
        if whole is None or self.layout.shards is None:
            return whole
        found = self._in_shard(index)
        return None if found is None else Reference(whole.url, whole.offset + found[1], found[2])

    def recut(self, chunks: tuple[int, ...]) -> ArraySource | None:
        """None: chunks lie as they are."""
        return None

    @property
    def stored(self) -> Stored | None:
        """How chunks are encoded; None if the order of axes or a step of the chain is none that we write."""
        encoding, codecs = self.encoding, self.layout.codecs
        if len(encoding.permutation or ()) > 1 or len(codecs) != len(encoding.steps):
            return None
        size = itemsize(encoding.dtype)
        if any(step.get("id") == "shuffle" and step.get("elementsize", 0) not in (0, size) for step in encoding.steps):
            return None
        return Stored(encoding.dtype, self.layout.chunks, codecs)

    def place(self, chunk: Index) -> Place | None:
        """Where a chunk lies in a file; None if it is not stored, or the store is none of files. Raises OSError."""
        if self.layout.shards is None:
            self._listing.check_seen()
            whole = self.store.locate(self.key(chunk))
            if whole is None:
                return None
            self._fits(self.key(chunk), whole.length)
            return Place(*whole)
        found = self._in_shard(chunk)
        if found is None:
            return None
        shard, offset, length = found
        if not isinstance(shard, Range):
            return None
        return Place(shard.path, shard.offset + offset, length)

    def key(self, index: Index) -> str:
        """The key of a chunk or shard."""
        return self._listing.key(index)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Decoded values of a region; NIL strings are None."""
        layout = self.layout
        bounds = [part.indices(length)[:2] for part, length in zip(selection, layout.shape, strict=True)]
        source = self
        if self.together is not None and not self._at_hand and not _in_one(bounds, layout.chunks):
            source = self.fetched([tuple(slice(*bound) for bound in bounds)])
        out = assembled(layout, selection, source._chunk, layout.shape)
        if self.nil and layout.dtype == "|O":
            self._put_nil(out, [start for start, _ in bounds])
        return out

    def _put_nil(self, out: NDArray[Any], starts: list[int]) -> None:
        """Make None of those empty texts that are NIL."""
        import numpy as np

        firsts = np.array([first for first, _ in self.nil], np.int64)
        ends = np.array([first + count for first, count in self.nil], np.int64)
        linear = np.zeros((), np.int64)
        for start, length, extent in zip(starts, out.shape, self.layout.shape, strict=True):
            linear = linear[..., None] * extent + np.arange(start, start + length, dtype=np.int64)
        run = np.searchsorted(firsts, linear, side="right") - 1
        nil = (run >= 0) & (linear < ends[run])
        out[nil & (out == b"")] = None

    def encoded(self, chunk: Index) -> bytes | None:
        """The encoded bytes of a chunk of the source's own grid; None: not stored. Raises OSError."""
        if chunk in self._at_hand:
            return self._at_hand[chunk]
        if self.layout.shards is None:
            self._listing.check_seen()
            data = self.store.get(self.key(chunk))
            if data is None:
                self._listing.check_absent(chunk)
            else:
                self._fits(self.key(chunk), len(data))
            return data
        found = self._in_shard(chunk)
        if found is None:
            return None
        shard, offset, length = found
        if isinstance(shard, Range):
            return ranges.read(Range(shard.path, shard.offset + offset, length))
        if shard is not None:
            return shard[offset : offset + length]
        return self._part(self.key(self._home(chunk)), offset, length)

    def _fits(self, key: str, length: int) -> None:
        """That a reference leads to as many bytes as a chunk has, where no step changes their number: one of any other
        length leads to something else. Raises CompileError.
        """
        if isinstance(self.store, ReferenceStore) and not self.encoding.steps and self.encoding.dtype != "|O":
            size = math.prod(self.layout.chunks) * itemsize(self.encoding.dtype)
            if self.layout.shards is None and length != size:
                self._unreadable(key, f"there are {length} bytes where a chunk has {size}")

    def _part(self, key: str, offset: int, length: int) -> bytes:
        """Some bytes of a shard in a distant store, which was there a moment ago. Raises OSError."""
        data = self.store.part(key, offset, length)
        if data is None:
            raise OSError(errno.EIO, "the shard is not there any more", f"{self.store.path}/{key}")
        return data

    def _in_shard(self, chunk: Index) -> tuple[bytes | Range | None, int, int] | None:
        """The shard of a chunk, and where in it the chunk lies; None if it is not stored."""
        shards = self.layout.shards or self.layout.chunks
        counts = [shard // each for shard, each in zip(shards, self.layout.chunks, strict=True)]
        home = self._home(chunk)
        whole = self._shard(home, math.prod(counts))
        if whole is None:
            return None
        shard, table = whole
        place = 0
        for number, count in zip(chunk, counts, strict=True):
            place = place * count + number % count
        offset, length = int(table[2 * place]), int(table[2 * place + 1])
        if offset == length == ABSENT:
            return None
        if shard is not None and offset + length > (shard.length if isinstance(shard, Range) else len(shard)):
            self._unreadable(self.key(home), "the index points behind the end of the shard")
        return shard, offset, length

    def _shard(self, index: Index, count: int) -> tuple[bytes | Range | None, NDArray[np.uint64]] | None:
        """A shard, which stays in its file where it lies in one, and its index: offset and length of each chunk. None
        for the shard: it is far away, and only parts of it are fetched.
        """
        known: tuple[bytes | Range | None, NDArray[np.uint64]] | None = kept.get((self._listing, "shard", index))
        if known is not None:
            return known
        self._listing.check_seen()
        key = self.key(index)
        if self.store.distant:
            with self._listing.lock:  # others that want the same index wait for it
                again: tuple[None, NDArray[np.uint64]] | None = kept.get((self._listing, "shard", index))
                return again or self._distant_shard(index, key, count)
        place = self.store.locate(key)
        shard: bytes | Range | None = place if place is not None else self.store.get(key)
        if shard is None:
            self._listing.check_absent(index)
            return None
        length = shard.length if isinstance(shard, Range) else len(shard)
        size = self._index_size(count)
        if length < size:
            self._unreadable(key, "the shard is shorter than its index")
        begin = 0 if self.encoding.index_first else length - size
        if isinstance(shard, Range):
            table = ranges.read(Range(shard.path, shard.offset + begin, size))
        else:
            table = shard[begin : begin + size]
        found = shard, self._table(table, key, count)
        kept.put((self._listing, "shard", index), found, 16 * count + (0 if isinstance(shard, Range) else length))
        return found

    def _distant_shard(self, index: Index, key: str, count: int) -> tuple[None, NDArray[np.uint64]] | None:
        """The index of a shard that is far away."""
        size = self._index_size(count)
        table = self.store.part(key, 0 if self.encoding.index_first else -size, size)
        if table is None:
            self._listing.check_absent(index)
            return None
        found = None, self._table(table, key, count)
        kept.put((self._listing, "shard", index), found, 16 * count)
        return found

    def _index_size(self, count: int) -> int:
        """Bytes of the index of a shard."""
        return 16 * count + (4 if len(self.encoding.index_steps) > 1 else 0)

    def _table(self, data: bytes, key: str, count: int) -> NDArray[np.uint64]:
        """The numbers of a shard's index."""
        import numpy as np

        steps = self.encoding.index_steps
        try:
            plain = decoded(data, steps[1:], 8, 16 * count)
        except DECODING_ERRORS as error:
            self._unreadable(key, f"the index of the shard: {error}")
        return np.frombuffer(plain, ">u8" if steps[0].get("endian") == "big" else "<u8", 2 * count)

    @property
    def _listing(self) -> Listing:
        """The keys of the array in this process; made once, because it tells the array from all others, too."""
        if not self._own:
            self._own.append(self._listed(None))
        listing: Listing = self._own[0]
        return listing

    def _listed(self, expected: str | None) -> Listing:
        unit = self.layout.shards or self.layout.chunks
        counts = grid_of(self.layout.shape, unit)
        return Listing(self.store, self.prefix, self.encoding.separator, self.encoding.lead, counts, expected)

    def _chunk(self, index: Index) -> NDArray[Any] | None:
        """A whole decoded chunk in the layout's dtype; None if it is not stored."""
        known: NDArray[Any] | None = kept.get((self._listing, "chunk", index))
        if known is not None:
            return known
        data = self.encoded(index)
        if data is None:
            return None
        encoding = self.encoding
        try:
            exact = isinstance(self.store, ReferenceStore)
            values = chunk_of(data, encoding.dtype, encoding.steps, self.layout, encoding.permutation, exact=exact)
        except DECODING_ERRORS as error:
            self._unreadable(self.key(self._home(index)), str(error) or type(error).__name__)
        kept.put_chunk(self._listing, index, values)
        return values

    def _home(self, index: Index) -> Index:
        """The index of the key that a chunk lies in."""
        layout = self.layout
        if layout.shards is None:
            return index
        lengths = zip(index, layout.chunks, layout.shards, strict=True)
        return tuple(number * chunk // shard for number, chunk, shard in lengths)

    def _unreadable(self, key: str, reason: str) -> NoReturn:
        unreadable(self.store.path, f"the chunk cannot be decoded: {reason}", key)

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Chunks of a grid of this chunk shape that a stored key meets, in C order."""
        shape = self.layout.shape
        unit = self.layout.shards or self.layout.chunks
        if not self.store.listed:
            return every_block(shape, chunks)
        stored = self._listing.stored()
        if chunks == unit and not self.nil:
            return iter(stored)
        found: set[Index] = set()
        grid = [-(-length // own) for length, own in zip(shape, chunks, strict=True)]
        for first, count in self.nil:  # where all texts of a chunk are empty there is none, and some may be NIL
            found.update(chunks_of_run(first, count, shape, chunks, grid) if shape else [()])
        found |= covering(stored, unit, chunks, shape)
        return iter(sorted(found))


def _in_one(bounds: list[tuple[int, int]], chunks: tuple[int, ...]) -> bool:
    """Whether a region lies in one chunk, or is empty."""
    return all(
        stop <= start or (stop - 1) // each == start // each for (start, stop), each in zip(bounds, chunks, strict=True)
    ) or any(stop <= start for start, stop in bounds)


def _elsewhere(described: tuple[Any, ...], keys: str | None) -> StoredArray:
    """An array from its description in another process, and the digest of the keys that there were."""
    array = StoredArray(*described)
    array._own.append(array._listed(keys))
    return array
