"""Chunks of a grid: decoding, caching, and assembly of regions.

Shared by sources with encoded chunks in keys of a store or in ranges of a file.
A chunk is decoded on demand and cached, because target grids differ. A missing
chunk is fill; one that decodes to a wrong length is unreadable (`lengths.py`).
`LARGEST_CHUNK` bounds a chunk's memory.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from nczarr.arrays.array_steps import decoded
from nczarr.arrays.blocks import Index, Selection, every_index
from nczarr.arrays.decode import Config, texts_of
from nczarr.arrays.elements import widened
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.lengths import misfit
from nczarr.arrays.memory import fill_array
from nczarr.arrays.source import Descr, Layout, numpy_dtype
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Severity
from nczarr.source import Source, Span

LARGEST_CHUNK = 4 << 30
"""Maximum bytes of a decoded chunk."""

KEPT = 32 << 20
"""Maximum bytes of the process's cache of decoded chunks and shards."""


MANY = 1 << 12
"""Chunks of a region above which a listing is consulted."""


class Encoding(NamedTuple):
    """Encoding of an array's chunks."""

    dtype: Descr
    """Stored element with byte order; `"|O"` for length-prefixed texts."""
    steps: tuple[dict[str, Any], ...] = ()
    """Configurations of numcodecs in encoding order."""
    permutation: tuple[int, ...] | None = None
    """Array axes in storage order; None: unchanged."""
    index_steps: tuple[dict[str, Any], ...] = ()
    """Configurations for the index of shards, in encoding order."""
    index_first: bool = False
    """True if the index of a shard precedes its chunks."""


class Kept:
    """Cache of recently decoded data of all arrays, up to `KEPT` bytes."""

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[object, str, Index], Any] = OrderedDict()
        self._sizes: dict[tuple[object, str, Index], int] = {}
        self._size = 0

    def get(self, key: tuple[object, str, Index]) -> Any:
        """Return the cached item, or None."""
        return self._items.get(key)

    def put(self, key: tuple[object, str, Index], item: Any, size: int) -> None:
        """Cache an item and evict the oldest."""
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

    def put_chunk(self, identity: object, index: Index, values: NDArray[Any]) -> None:
        """Cache a decoded chunk of the array that `identity` identifies.

        `values`: the chunk's shape, the layout's dtype.
        """
        size = values.nbytes + (64 * values.size if values.dtype.hasobject else 0)
        self.put((identity, "chunk", index), values, size)


kept = Kept()


def assembled(
    layout: Layout,
    selection: Selection,
    chunk: Callable[[Index], NDArray[Any] | None],
    within: tuple[int, ...],
    stored: Callable[[], Iterable[Index]] | None = None,
) -> NDArray[Any]:
    """Assemble a region from whole chunks, in the layout's dtype; fill where `chunk` returns None.

    The result may be a chunk itself and must not be modified. `within` are the
    lengths of the written box from the origin: beyond it chunks are ignored and
    fill is used. `stored` lists existing chunks; it limits requests for regions
    of more than `MANY` chunks.
    """
    bounds = [part.indices(length)[:2] for part, length in zip(selection, layout.shape, strict=True)]
    starts = [start // each for (start, _), each in zip(bounds, layout.chunks, strict=True)]
    one_chunk = all(
        first * each == start and start + each == stop <= end
        for first, each, (start, stop), end in zip(starts, layout.chunks, bounds, within, strict=True)
    )
    if one_chunk:
        whole = chunk(tuple(starts))
        return whole if whole is not None else fill_array(layout, layout.chunks)
    out = fill_array(layout, tuple(max(0, stop - start) for start, stop in bounds))
    if not out.size:
        return out
    ends = [min(stop, end) for (_, stop), end in zip(bounds, within, strict=True)]
    if any(start >= end for (start, _), end in zip(bounds, ends, strict=True)):
        return out  # the region begins behind everything that was written
    ranges = [
        range(start // each, -(-stop // each))
        for (start, _), stop, each in zip(bounds, ends, layout.chunks, strict=True)
    ]
    indices: Iterable[Index] = every_index(ranges)
    if stored is not None and math.prod(each.stop - each.start for each in ranges) > MANY:
        indices = (index for index in stored() if all(map(range.__contains__, ranges, index)))
    for index in indices:
        values = chunk(index)
        if values is None:
            continue
        inside, outside = [], []
        for number, each, (start, _), stop in zip(index, layout.chunks, bounds, ends, strict=True):
            low, high = max(number * each, start), min((number + 1) * each, stop)
            inside.append(slice(low - number * each, high - number * each))
            outside.append(slice(low - start, high - start))
        out[tuple(outside)] = values[tuple(inside)]
    return out


def chunk_of(
    data: bytes,
    dtype: Descr,
    steps: Sequence[Config],
    layout: Layout,
    permutation: tuple[int, ...] | None = None,
) -> NDArray[Any]:
    """Decode a whole chunk of elements `dtype` into the layout's dtype.

    `permutation`: array axes in storage order. Raises one of `DECODING_ERRORS`;
    ValueError for a wrong length.
    """
    chunks = layout.chunks
    stored_shape = chunks if permutation is None else tuple(chunks[axis] for axis in permutation)
    count = math.prod(chunks)
    if dtype == "|O":
        if count * 16 > LARGEST_CHUNK:
            raise ValueError(f"a chunk of {count} strings exceeds the limit of one read")
        plain = decoded(data, steps, 1, None)
        flat = np.empty(count, dtype=object)
        flat[:] = texts_of(plain, count)
    else:
        element = numpy_dtype(dtype)
        size = count * element.itemsize
        if size > LARGEST_CHUNK:
            raise ValueError(f"a chunk of {size} bytes exceeds the limit of one read")
        plain = decoded(data, steps, element.itemsize, size)
        if len(plain) != size:
            raise ValueError(misfit(len(plain), size))
        flat = converted(np.frombuffer(plain, element, count), layout.dtype)
    values = flat.reshape(stored_shape)
    return values if permutation is None else values.transpose(np.argsort(permutation))


def converted(values: NDArray[Any], dtype: Descr) -> NDArray[Any]:
    """Convert stored elements to a layout's dtype, in the same shape.

    The result is little-endian, with fields in their own types.
    """
    if dtype == "|O":  # texts of fixed length
        out = np.empty(values.shape, dtype=object)
        texts = values.tolist()
        out[...] = [text.encode("utf-8", "surrogatepass") for text in texts] if values.dtype.kind == "U" else texts
        return out
    wanted = numpy_dtype(dtype)
    if values.dtype == wanted:
        return values
    if values.dtype.kind in "iuf":
        return values.astype(wanted)
    little = values.astype(widened(values.dtype).newbyteorder("<"))
    return little.view(wanted)


def covering_regions(regions: Iterable[Selection], chunks: tuple[int, ...]) -> set[Index]:
    """Return the chunks of a grid that meet some regions."""
    found: set[Index] = set()
    for region in regions:
        ranges = [range(part.start // own, -(-part.stop // own)) for part, own in zip(region, chunks, strict=True)]
        found.update(every_index(ranges))
    return found


def unreadable(
    name: str, text: str, key: str | None = None, *, offset: int = 0, helps: tuple[str, ...] = ()
) -> NoReturn:
    """Raise CompileError with `unreadable-chunk`, for a key of a store or an offset of a file."""
    binary = key is None
    span = Span(Source(name, b"", binary=binary, key=key), offset, offset)
    place = Label(span, key=key, offset=offset if binary else None)
    raise CompileError([Diagnostic("unreadable-chunk", Severity.ERROR, text, place, helps=helps)]) from None


def in_one(bounds: list[tuple[int, int]], chunks: tuple[int, ...]) -> bool:
    """Return whether a region lies in one chunk, or is empty."""
    return all(
        stop <= start or (stop - 1) // each == start // each for (start, stop), each in zip(bounds, chunks, strict=True)
    ) or any(stop <= start for start, stop in bounds)
