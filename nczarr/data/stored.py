"""Arrays that lie in a store chunk by chunk: an array source over keys, for every version of Zarr.

A chunk is decoded when something in it is asked for, and kept for a while, because targets have other grids. A missing
chunk is fill; a short one is continued with zeros, surplus bytes are ignored (nczarr-storage §7). What a chunk takes in
memory is bounded by `LARGEST_CHUNK`. Raises CompileError with `unreadable-chunk` for chunks that cannot be decoded.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.data.blocks import region_of
from nczarr.data.decoding import DECODING_ERRORS, decoded, texts_of
from nczarr.data.memory import chunks_of_run, fill_array
from nczarr.data.source import Descr, Index, Layout, Manifest, Place, Selection, Stored, itemsize, numpy_dtype
from nczarr.diagnostics import CompileError, Diagnostic, Label, Severity
from nczarr.source import Source, Span
from nczarr.stores import ranges
from nczarr.stores.base import Range, Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_CHUNK = 4 << 30
"""Bytes that one decoded chunk may have."""

KEPT = 64 << 20
"""Bytes of decoded chunks and of shards that a process keeps."""


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


class _Kept:
    """What was decoded last, up to `KEPT` bytes in all, of all arrays of the process."""

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[object, str, Index], Any] = OrderedDict()
        self._sizes: dict[tuple[object, str, Index], int] = {}
        self._size = 0

    def get(self, key: tuple[object, str, Index]) -> Any:
        """The item, None if it is not kept."""
        return self._items.get(key)

    def put(self, key: tuple[object, str, Index], item: Any, size: int) -> None:
        """Keep an item, and let go of the oldest."""
        if size > KEPT // 4 or key in self._items:
            return
        self._items[key] = item
        self._sizes[key] = size
        self._size += size
        while self._size > KEPT:
            try:
                oldest, _ = self._items.popitem(last=False)
            except KeyError:  # another thread was faster
                return
            self._size -= self._sizes.pop(oldest, 0)


_kept = _Kept()


@dataclass(frozen=True, slots=True, eq=False)
class StoredArray:
    """One array of a store. `prefix` is what its keys begin with; `nil` says which strings are NIL."""

    layout: Layout
    store: Store
    prefix: str
    encoding: Encoding
    nil: tuple[tuple[int, int], ...] = ()
    _own: list[Any] = field(default_factory=list, repr=False)
    """What this process knows of the array: the indices of its keys."""

    def __getstate__(self) -> tuple[Any, ...]:
        """The description alone."""
        return self.layout, self.store, self.prefix, self.encoding, self.nil

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(("layout", "store", "prefix", "encoding", "nil"), state, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_own", [])

    @property
    def manifest(self) -> Manifest | None:
        """None: chunks are keys, not byte ranges."""
        return None

    @property
    def stored(self) -> Stored | None:
        """How chunks are encoded; None if the order of axes or a step of the chain is none that we write."""
        encoding, codecs = self.encoding, self.layout.codecs
        if encoding.permutation is not None or len(codecs) != len(encoding.steps):
            return None
        size = itemsize(encoding.dtype)
        if any(step.get("id") == "shuffle" and step.get("elementsize", 0) not in (0, size) for step in encoding.steps):
            return None
        return Stored(encoding.dtype, self.layout.chunks, codecs)

    def place(self, chunk: Index) -> Place | None:
        """Where a chunk lies in a file; None if it is not stored, or the store is none of files. Raises OSError."""
        if self.layout.shards is None:
            whole = self.store.locate(self.key(chunk))
            return None if whole is None else Place(*whole)
        found = self._in_shard(chunk)
        if found is None:
            return None
        shard, offset, length = found
        if not isinstance(shard, Range):
            return None
        return Place(shard.path, shard.offset + offset, length)

    def key(self, index: Index) -> str:
        """The key of a chunk or shard."""
        encoding = self.encoding
        numbers = map(str, index)
        words = (encoding.lead, *numbers) if encoding.lead else numbers
        return self.prefix + (encoding.separator.join(words) or "0")

    def read(self, selection: Selection) -> NDArray[Any]:
        """Decoded values of a region; NIL strings are None."""
        layout = self.layout
        bounds = [part.indices(length)[:2] for part, length in zip(selection, layout.shape, strict=True)]
        out = fill_array(layout, tuple(max(0, stop - start) for start, stop in bounds))
        if not out.size:
            return out
        ranges = [
            range(start // chunk, -(-stop // chunk)) for (start, stop), chunk in zip(bounds, layout.chunks, strict=True)
        ]
        for index in itertools.product(*ranges):
            values = self._chunk(index)
            if values is None:
                continue
            region = region_of(index, layout.chunks, layout.shape)
            inside, outside = [], []
            for part, (start, stop), chunk in zip(region, bounds, layout.chunks, strict=True):
                low, high = max(part.start, start), min(part.stop, stop)
                first = part.start // chunk * chunk
                inside.append(slice(low - first, high - first))
                outside.append(slice(low - start, high - start))
            out[tuple(outside)] = values[tuple(inside)]
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
        if self.layout.shards is None:
            return self.store.get(self.key(chunk))
        found = self._in_shard(chunk)
        if found is None:
            return None
        shard, offset, length = found
        if isinstance(shard, Range):
            return ranges.read(Range(shard.path, shard.offset + offset, length))
        return shard[offset : offset + length]

    def _in_shard(self, chunk: Index) -> tuple[bytes | Range, int, int] | None:
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
        if offset + length > (shard.length if isinstance(shard, Range) else len(shard)):
            self._unreadable(self.key(home), "the index points behind the end of the shard")
        return shard, offset, length

    def _shard(self, index: Index, count: int) -> tuple[bytes | Range, NDArray[np.uint64]] | None:
        """A shard, which stays in its file where it lies in one, and its index: offset and length of each chunk."""
        known: tuple[bytes | Range, NDArray[np.uint64]] | None = _kept.get((self._identity, "shard", index))
        if known is not None:
            return known
        key = self.key(index)
        place = self.store.locate(key)
        shard: bytes | Range | None = place if place is not None else self.store.get(key)
        if shard is None:
            return None
        length = shard.length if isinstance(shard, Range) else len(shard)
        size = 16 * count + (4 if len(self.encoding.index_steps) > 1 else 0)
        if length < size:
            self._unreadable(key, "the shard is shorter than its index")
        begin = 0 if self.encoding.index_first else length - size
        if isinstance(shard, Range):
            table = ranges.read(Range(shard.path, shard.offset + begin, size))
        else:
            table = shard[begin : begin + size]
        found = shard, self._table(table, key, count)
        _kept.put((self._identity, "shard", index), found, 16 * count + (0 if isinstance(shard, Range) else length))
        return found

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
    def _identity(self) -> _Identity:
        """What tells this array from all others in the process."""
        if not self._own:
            self._own.append(_Identity())
        identity: _Identity = self._own[0]
        return identity

    def _chunk(self, index: Index) -> NDArray[Any] | None:
        """A whole decoded chunk in the layout's dtype; None if it is not stored."""
        place = (self._identity, "chunk", index)
        known: NDArray[Any] | None = _kept.get(place)
        if known is not None:
            return known
        data = self.encoded(index)
        if data is None:
            return None
        try:
            values = self._decoded(data)
        except DECODING_ERRORS as error:
            self._unreadable(self.key(self._home(index)), str(error) or type(error).__name__)
        _kept.put(place, values, values.nbytes + (64 * values.size if values.dtype.hasobject else 0))
        return values

    def _home(self, index: Index) -> Index:
        """The index of the key that a chunk lies in."""
        layout = self.layout
        if layout.shards is None:
            return index
        lengths = zip(index, layout.chunks, layout.shards, strict=True)
        return tuple(number * chunk // shard for number, chunk, shard in lengths)

    def _decoded(self, data: bytes) -> NDArray[Any]:
        """Raises one of `DECODING_ERRORS`."""
        import numpy as np

        encoding, chunks = self.encoding, self.layout.chunks
        stored_shape = chunks if encoding.permutation is None else tuple(chunks[axis] for axis in encoding.permutation)
        count = math.prod(chunks)
        if encoding.dtype == "|O":
            if count * 16 > LARGEST_CHUNK:
                raise ValueError(f"a chunk of {count} texts is more than is read at once")
            plain = decoded(data, encoding.steps, 1, None)
            flat = np.empty(count, dtype=object)
            flat[:] = texts_of(plain, count)
        else:
            dtype = numpy_dtype(encoding.dtype)
            size = count * dtype.itemsize
            if size > LARGEST_CHUNK:
                raise ValueError(f"a chunk of {size} bytes is more than is read at once")
            plain = decoded(data, encoding.steps, dtype.itemsize, size)
            if len(plain) < size:
                plain = plain + bytes(size - len(plain))
            flat = self._converted(np.frombuffer(plain, dtype, count))
        values = flat.reshape(stored_shape)
        return values if encoding.permutation is None else values.transpose(np.argsort(encoding.permutation))

    def _converted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Elements as they are stored → elements of the layout: little-endian, fields in their own types."""
        import numpy as np

        if self.layout.dtype == "|O":  # texts of fixed length
            out = np.empty(values.shape, dtype=object)
            out[...] = values.tolist()
            return out
        wanted = numpy_dtype(self.layout.dtype)
        if values.dtype == wanted:
            return values
        if values.dtype.kind in "iuf":
            return values.astype(wanted)
        little = values.astype(values.dtype.newbyteorder("<"))
        return little.view(wanted)

    def _unreadable(self, key: str, reason: str) -> Any:
        place = Label(Span(Source(self.store.path, b"", key=key), 0, 0), key=key)
        raise CompileError(
            [Diagnostic("unreadable-chunk", Severity.ERROR, f"the chunk cannot be decoded: {reason}", place)]
        ) from None

    def occupied(self, chunks: tuple[int, ...]) -> Iterator[Index]:
        """Chunks of a grid of this chunk shape that a stored key meets, in C order."""
        shape = self.layout.shape
        unit = self.layout.shards or self.layout.chunks
        stored = self._stored(unit)
        if chunks == unit and not self.nil:
            return iter(stored)
        found: set[Index] = set()
        grid = [-(-length // own) for length, own in zip(shape, chunks, strict=True)]
        for first, count in self.nil:  # where all texts of a chunk are empty there is none, and some may be NIL
            found.update(chunks_of_run(first, count, shape, chunks, grid) if shape else [()])
        for index in stored:
            region = region_of(index, unit, shape)
            ranges = (range(part.start // own, -(-part.stop // own)) for part, own in zip(region, chunks, strict=True))
            found.update(itertools.product(*ranges))
        return iter(sorted(found))

    def _stored(self, unit: tuple[int, ...]) -> list[Index]:
        """The indices of the keys that exist, in C order; looked up once in a process."""
        identity = self._identity
        if identity.stored is None:
            ends = [-(-length // each) for length, each in zip(self.layout.shape, unit, strict=True)]
            found = (self._index_of(key) for key in self.store.keys(self.prefix))
            identity.stored = sorted(
                index
                for index in found
                if index is not None and all(number < end for number, end in zip(index, ends, strict=True))
            )
        return identity.stored

    def _index_of(self, key: str) -> Index | None:
        """The index of a chunk's key; None for any other key."""
        rank = len(self.layout.shape)
        words = key[len(self.prefix) :].split(self.encoding.separator)
        if self.encoding.lead:
            if words[0] != self.encoding.lead:
                return None
            words = words[1:]
        elif rank == 0:
            return () if words == ["0"] else None
        if len(words) != rank or not all(_NUMBER.fullmatch(word) for word in words):
            return None
        return tuple(map(int, words))


_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class _Identity:
    """One array in one process, and the indices of its keys once they are known."""

    def __init__(self) -> None:
        self.stored: list[Index] | None = None
