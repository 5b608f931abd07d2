"""Chunks of an array as references: what a target gets that holds no chunks, only where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.arrays.codecs import same_bytes
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.lengths import linked_length
from nczarr.arrays.manifest import Affine, Columns, Manifest
from nczarr.arrays.route import plain
from nczarr.arrays.source import ArraySource, Layout, itemsize
from nczarr.ast.storage import Codec
from nczarr.capabilities import ChunkKeys

WHOLE = -1
"""The length of a reference to all of a target."""

BATCH = 1 << 14
"""Chunks whose indices become Python's numbers at once."""


class Referred(NamedTuple):
    """The chunks of one array. `counts`: how many there may be along each dimension.

    `columns.source` counts `columns.sources`, which are URLs or paths; a length of `WHOLE` with offset 0 is a whole
    target. No row has a mask. Rows are in the order of `columns.chunk`, each once.
    """

    chunk_keys: ChunkKeys
    counts: tuple[int, ...]
    columns: Columns

    def keys(self) -> Iterator[str]:
        """The key of each row."""
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


def columns_of(manifest: Manifest) -> Columns:
    """A manifest with a row for each chunk."""
    if isinstance(manifest, Columns):
        return manifest
    number = np.arange(manifest.count, dtype=np.int64)
    zeros = np.zeros(manifest.count, np.int64)
    offset = manifest.base + number * manifest.stride
    return Columns((manifest.source,), number, zeros, offset, zeros + manifest.length, zeros.astype(np.int32))


def some(columns: Columns, rows: NDArray[Any] | slice) -> Columns:
    """Some rows: by a mask, their numbers, or where they begin and end."""
    sources, chunk, source, offset, length, mask = columns
    return Columns(sources, chunk[rows], source[rows], offset[rows], length[rows], mask[rows])


def usual_codecs(source: ArraySource) -> tuple[Codec, ...] | None:
    """The chain behind which most chunks of an array lie that are byte ranges; None if none are.

    A chunk's mask tells which steps were left out, and where most chunks have the same mask the chain is without these.
    """
    stored, manifest = source.stored, source.manifest
    if stored is None or manifest is None:
        return None
    if isinstance(manifest, Affine) or not len(manifest.mask) or not manifest.mask.any():
        return stored.codecs
    masks, counts = np.unique(manifest.mask, return_counts=True)
    return unmasked(stored.codecs, int(masks[counts.argmax()]))


def unmasked(codecs: tuple[Codec, ...], mask: int) -> tuple[Codec, ...]:
    """The steps that a mask does not leave out."""
    return tuple(codec for number, codec in enumerate(codecs) if not mask >> number & 1)


def referred(source: ArraySource | None, layout: Layout) -> Columns | None:
    """The chunks of a source that may stand in an array of this layout as they are, and are byte ranges; None if there
    are none, or the grid or the elements are others. Chunks of a wrong length are left to the source, which says so
    when they are made. Raises OSError.
    """
    stored = None if source is None else source.stored
    if source is None or stored is None or stored.chunks != layout.chunks or plain(stored.dtype) != plain(layout.dtype):
        return None
    manifest = source.manifest
    if manifest is None:
        return None
    columns = columns_of(manifest)
    fitting = [
        mask
        for mask in np.unique(columns.mask).tolist()
        if same_bytes(unmasked(stored.codecs, mask), layout.codecs, itemsize(layout.dtype))
    ]
    rows = np.isin(columns.mask, fitting)
    size = linked_length(layout.dtype, layout.chunks, layout.codecs)
    rows &= (columns.length == WHOLE) | (columns.length != 0 if size is None else columns.length == size)
    if not rows.any():
        return None
    return columns if rows.all() else some(columns, rows)
