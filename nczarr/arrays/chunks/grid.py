"""Chunks of a grid: decoding and caching.

Shared by sources with encoded chunks in keys of a store or in ranges of a file.
A chunk is decoded on demand and cached, because target grids differ; or it is
decoded straight into a region (`chunk_grid_array.py`). A missing chunk is fill; one that
decodes to a wrong length is unreadable (`lengths.py`). `LARGEST_CHUNK` bounds a
chunk's memory.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NoReturn

from nczarr.arrays.codecs.chain import decode
from nczarr.arrays.codecs.lengths import misfit, texts_of
from nczarr.arrays.codecs.shuffle import unshuffle
from nczarr.arrays.codecs.table import Config
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Selection
from nczarr.arrays.sources.source import Descr, Layout, numpy_dtype
from nczarr.arrays.values.elements import widen
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Severity, Source, Span
from nczarr.names.records import NamedTuple
from nczarr.stores.ranges import BoundedCache

LARGEST_CHUNK = 4 << 30
"""Maximum bytes of a decoded chunk."""

KEPT = 32 << 20
"""Maximum bytes of the process's cache of decoded chunks and shards."""

ITEM = 1 << 10
"""Bytes of an item of the cache besides its data: many small arrays may be read."""


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


class ChunkCache:
    """Cache of recently decoded data of all arrays, up to `KEPT` bytes."""

    def __init__(self) -> None:
        self._items: BoundedCache[tuple[object, str, Index], tuple[Any, int]] = BoundedCache(KEPT, itemgetter(1))

    def get(self, key: tuple[object, str, Index]) -> Any:
        """Return the cached item, or None."""
        entry = self._items.get(key)
        return None if entry is None else entry[0]

    def put(self, key: tuple[object, str, Index], item: Any, size: int) -> None:
        """Cache an item and evict the oldest."""
        if size + ITEM <= KEPT // 4:
            self._items.put(key, (item, size + ITEM))

    def put_chunk(self, identity: object, index: Index, values: NDArray[Any]) -> None:
        """Cache a decoded chunk of the array that `identity` identifies; it becomes read-only.

        `values`: the chunk's shape, the layout's dtype.
        """
        size = values.nbytes + (64 * values.size if values.dtype.hasobject else 0)
        if size <= KEPT // 4:
            values.flags.writeable = False
        self.put((identity, "chunk", index), values, size)


kept = ChunkCache()


def chunk_of(
    data: bytes, dtype: Descr, steps: Sequence[Config], layout: Layout, permutation: tuple[int, ...] | None = None
) -> NDArray[Any]:
    """Decode a whole chunk of elements `dtype` into the layout's dtype.

    `permutation`: array axes in storage order. Raises one of `DECODING_ERRORS`;
    ValueError for a wrong length.
    """
    chunks = layout.chunks
    count = math.prod(chunks)
    if dtype == "|O":
        if count * 16 > LARGEST_CHUNK:
            raise ValueError(f"a chunk of {count} strings exceeds the limit of one read")
        plain = decode(data, steps, 1, None)
        flat = np.empty(count, dtype=object)
        flat[:] = texts_of(plain, count)
        return _in_order(flat, chunks, permutation)
    element = numpy_dtype(dtype)
    if not _is_shuffled(steps, element, layout):
        plain = _decode_steps(data, steps, element.itemsize, count)
        return _in_order(convert(np.frombuffer(plain, element, count), layout.dtype), chunks, permutation)
    out = np.empty(chunks, numpy_dtype(layout.dtype))
    _unshuffle(data, element, steps, chunks, permutation, tuple(map(slice, chunks)), out)
    return out


def put_chunk(
    out: NDArray[Any],
    data: bytes,
    dtype: Descr,
    steps: Sequence[Config],
    layout: Layout,
    inside: Selection,
    permutation: tuple[int, ...] | None = None,
) -> None:
    """Decode a part of a chunk into `out`: the part's shape, the layout's dtype, any strides.

    For the other arguments and errors see `chunk_of`.
    """
    if dtype != "|O":
        element = numpy_dtype(dtype)
        if _is_shuffled(steps, element, layout):
            _unshuffle(data, element, steps, layout.chunks, permutation, inside, out)
            return
        if element.kind in "iuf" and out.dtype.kind == element.kind:
            plain = _decode_steps(data, steps, element.itemsize, math.prod(layout.chunks))
            out[...] = _in_order(np.frombuffer(plain, element), layout.chunks, permutation)[inside]
            return
    out[...] = chunk_of(data, dtype, steps, layout, permutation)[inside]


def _decode_steps(data: bytes, steps: Sequence[Config], itemsize: int, count: int) -> bytes:
    """Undo the steps of a chunk of `count` elements of fixed size. Raises one of `DECODING_ERRORS`."""
    size = count * itemsize
    if size > LARGEST_CHUNK:
        raise ValueError(f"a chunk of {size} bytes exceeds the limit of one read")
    plain = decode(data, steps, itemsize, size)
    if len(plain) != size:
        raise ValueError(misfit(len(plain), size))
    return plain


def _is_shuffled(steps: Sequence[Config], element: np.dtype[Any], layout: Layout) -> bool:
    """Return whether the last step to undo shuffles whole elements, which differ in byte order at most."""
    if not steps or steps[0].get("id") != "shuffle" or element.itemsize < 2:
        return False
    if steps[0].get("elementsize") not in (None, 0, element.itemsize):
        return False
    expected = numpy_dtype(layout.dtype)
    return element == expected or (element.kind in "iuf" and element.newbyteorder() == expected)


def _unshuffle(
    data: bytes,
    element: np.dtype[Any],
    steps: Sequence[Config],
    chunks: tuple[int, ...],
    permutation: tuple[int, ...] | None,
    inside: Selection,
    out: NDArray[Any],
) -> None:
    """Decode a part of a chunk whose last step to undo is a shuffle. Bytes are swapped on the way."""
    width, count = element.itemsize, math.prod(chunks)
    plain = _decode_steps(data, steps[1:], width, count)
    planes = np.frombuffer(plain, np.uint8).reshape(width, count)
    if element != out.dtype:
        planes = planes[::-1]
    axes = None if permutation is None else (0, *(axis + 1 for axis in permutation))
    unshuffle(_in_order(planes, (width, *chunks), axes)[(slice(None), *inside)], out)


def _in_order(stored: NDArray[Any], shape: tuple[int, ...], permutation: tuple[int, ...] | None) -> NDArray[Any]:
    """Return stored elements in the shape of the chunk; `permutation`: array axes in storage order."""
    if permutation is None:
        return stored.reshape(shape)
    return stored.reshape([shape[axis] for axis in permutation]).transpose(np.argsort(permutation))


def convert(values: NDArray[Any], dtype: Descr) -> NDArray[Any]:
    """Convert stored elements to a layout's dtype, in the same shape.

    The result is little-endian, with fields in their own types. Raises ValueError
    for UTF-32 that no text has, of which NumPy makes invalid strings.
    """
    if dtype == "|O":  # texts of fixed length
        if values.dtype.kind == "U" and (_code_points(values) > sys.maxunicode).any():
            raise ValueError(f"a text has a code point above {sys.maxunicode:#x}")
        out = np.empty(values.size, dtype=object)
        texts = values.ravel().tolist()
        out[:] = [text.encode("utf-8", "surrogatepass") for text in texts] if values.dtype.kind == "U" else texts
        return out.reshape(values.shape)
    declared = numpy_dtype(dtype)
    if values.dtype == declared:
        return values
    if values.dtype.kind in "iuf":
        return values.astype(declared)
    return values.astype(widen(values.dtype).newbyteorder("<")).view(declared)


def _code_points(values: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the code points of UTF-32 texts: uint32, any shape."""
    return np.ascontiguousarray(values).view(values.dtype.str[0] + "u4")


def unreadable(
    name: str, text: str, key: str | None = None, *, offset: int = 0, helps: tuple[str, ...] = ()
) -> NoReturn:
    """Raise CompileError with `unreadable-chunk`, for a key of a store or an offset of a file."""
    binary = key is None
    span = Span(Source(name, b"", binary=binary, key=key), offset, offset)
    place = Label(span, key=key, offset=offset if binary else None)
    raise CompileError([Diagnostic("unreadable-chunk", Severity.ERROR, text, place, helps=helps)]) from None
