"""Chunk references of an array, for targets that store only chunk locations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nczarr.arrays.chunks.manifest import Affine, Manifest, PlaceColumns
from nczarr.arrays.codecs.chain import same_bytes
from nczarr.arrays.codecs.lengths import measure_linked_chunks
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import distinct, grid_of, unravel
from nczarr.arrays.sources.source import ArraySource, Layout, itemsize
from nczarr.arrays.sources.windows import plain
from nczarr.ast.rectilinear import varies
from nczarr.ast.storage import Codec
from nczarr.registry import ChunkKeys

WHOLE = -1
"""Length of a reference to a whole file or object."""

BATCH = 1 << 14
"""Chunks whose indices become Python integers at once."""


class Referred(NamedTuple):
    """Chunks of one array as byte ranges of other files."""

    chunk_keys: ChunkKeys
    """Names of the chunks."""
    counts: tuple[int, ...]
    """Shape of the chunk grid."""
    columns: PlaceColumns
    """Byte ranges, sorted by chunk, without duplicates and masks. Length `WHOLE` with offset 0: a whole file."""
    noted: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Recorded properties of the files, as in `ArraySource`."""

    def keys(self) -> Iterator[str]:
        """Yield the key of each row."""
        chunk, (prefix, separator, lead) = self.columns.chunk, self.chunk_keys
        if not self.counts:
            yield from (self.chunk_keys.key(()) for _ in range(len(chunk)))
            return
        head = f"{prefix}{lead}{separator}" if lead else prefix
        for start in range(0, len(chunk), BATCH):
            axes = [axis.tolist() for axis in np.unravel_index(chunk[start : start + BATCH], self.counts)]
            if len(axes) == 1:
                yield from (f"{head}{number}" for number in axes[0])
            else:
                yield from (head + separator.join(map(str, index)) for index in zip(*axes, strict=True))


def columns_of(manifest: Manifest) -> PlaceColumns:
    """Return a manifest with one row per chunk."""
    if isinstance(manifest, PlaceColumns):
        return manifest
    number = np.arange(manifest.count, dtype=np.int64)
    zeros = np.zeros(manifest.count, np.int64)
    offset = manifest.base + number * manifest.stride
    return PlaceColumns((manifest.source,), number, zeros, offset, zeros + manifest.length, zeros.astype(np.int32))


def some(columns: PlaceColumns, rows: NDArray[Any] | slice) -> PlaceColumns:
    """Select rows by a slice, a mask (bool, shape (rows,)) or row numbers (integers, shape (selected rows,))."""
    sources, chunk, source, offset, length, mask = columns
    return PlaceColumns(sources, chunk[rows], source[rows], offset[rows], length[rows], mask[rows])


def usual_codecs(source: ArraySource) -> tuple[Codec, ...] | None:
    """Return the codec chain of most chunks that are byte ranges; None without any.

    A mask marks skipped steps; the chain omits the steps that the most frequent
    mask skips.
    """
    stored, manifest = source.stored, source.manifest()
    if stored is None or manifest is None:
        return None
    if isinstance(manifest, Affine) or not len(manifest.mask) or not manifest.mask.any():
        return stored.codecs
    masks, counts = np.unique(manifest.mask, return_counts=True)
    return unmask(stored.codecs, int(masks[counts.argmax()]))


def unmask(codecs: tuple[Codec, ...], mask: int) -> tuple[Codec, ...]:
    """Return the steps that a mask does not skip."""
    return tuple(codec for number, codec in enumerate(codecs) if not mask >> number & 1)


def refer_chunks(source: ArraySource | None, layout: Layout) -> PlaceColumns | None:
    """Return the source's byte ranges that are valid chunks of this layout, or None. Raises OSError.

    Grid and elements must be equal. Chunks of a wrong length are left to the
    source, which reports them.
    """
    stored = None if source is None else source.stored
    if source is None or stored is None or stored.chunks != layout.chunks or plain(stored.dtype) != plain(layout.dtype):
        return None
    manifest = source.manifest()
    if manifest is None:
        return None
    columns = columns_of(manifest)
    fitting = [
        mask
        for mask in distinct(columns.mask).tolist()
        if same_bytes(unmask(stored.codecs, mask), layout.codecs, itemsize(layout.dtype))
    ]
    rows = np.isin(columns.mask, fitting)
    size = measure_linked_chunks(layout.dtype, _table(columns.chunk, layout), layout.chunks, layout.codecs)
    rows &= (columns.length == WHOLE) | (columns.length != 0 if size is None else columns.length == size)
    if not rows.any():
        return None
    return columns if rows.all() else some(columns, rows)


def _table(numbers: NDArray[np.int64], layout: Layout) -> NDArray[np.int64]:
    """Return the indices of chunks: int64, shape (chunks, dimensions); of equal chunks, which need none, none."""
    if not varies(layout.chunks):
        return numbers[:0].reshape(0, len(layout.chunks))
    return unravel(numbers, grid_of(layout.shape, layout.chunks))
