"""Layout of an array in a target of chunk references, that of its source where possible, and its byte ranges.

The layout is the recut source with its grid, elements and codecs, or the reason
why its chunks cannot be referenced and the target must hold the values.
"""

from __future__ import annotations

from nczarr.arrays.chunks.manifest import WHOLE, Affine, PlaceColumns, columns_of, some, unmask
from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import drop_no_ops, expressible, nearest, portable, same_bytes
from nczarr.arrays.codecs.lengths import measure_linked_chunks
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import distinct, even_chunks, grid_of, unravel
from nczarr.arrays.sources.source import ArraySource, Descr, Layout
from nczarr.arrays.sources.source import itemsize as width
from nczarr.arrays.sources.windows import plain
from nczarr.ast import Codec, Storage
from nczarr.ast.dataset import FLETCHER32, SHUFFLE, ZARR_PLUGIN
from nczarr.ast.rectilinear import varies
from nczarr.registry import Arrays


def as_stored(
    source: ArraySource,
    dtype: Descr,
    itemsize: int,
    arrays: Arrays,
    asked: Storage,
    source_storage: Storage,
    *,
    rectilinear: bool,
) -> tuple[ArraySource, Layout] | str:
    """Return the source in referenceable chunks and their layout, or why it has none.

    `dtype` is the part's, in any byte order. `asked` is `source_storage`
    with options applied. `rectilinear`: chunks may differ in length.
    """
    stored = source.stored
    if stored is None:
        return "its values are not in chunks that references can name"
    if not _same_elements(stored.dtype, dtype, arrays):
        return "its elements have gaps or a form in the file that Zarr does not have"
    codecs = _usual_codecs(source)
    if codecs is None:
        return "its chunks are not in a place with a URL"
    wrong = _find_unsaid(codecs, itemsize, arrays)
    if wrong is not None:
        return wrong
    if asked.codecs != source_storage.codecs and not same_bytes(asked.codecs, codecs, itemsize):
        return "the requested codecs differ from those of its chunks"
    if varies(stored.chunks) and not rectilinear:
        return "its chunks differ in length along a dimension (`--metadata zarr3 --grid rectilinear` expresses that)"
    chunks = asked.chunks if asked.chunks != source_storage.chunks else None
    cut = _cut_source(source, itemsize, chunks)
    if cut is None or cut.stored is None:
        return "it cannot be divided into the requested chunk lengths"
    chain = drop_no_ops(codecs, width(stored.dtype))
    return cut, Layout(stored.dtype, source.layout.shape, cut.stored.chunks, chain)


def _same_elements(stored: Descr, dtype: Descr, arrays: Arrays) -> bool:
    """Return whether stored elements equal those of a part, whatever their byte order."""
    if not isinstance(stored, str) or not isinstance(dtype, str):
        return stored == dtype
    if dtype == "|O":
        return stored == "|O" or (arrays.fixed_strings and stored[1] == "S")
    return plain(stored.replace(">", "<")) == plain(dtype.replace(">", "<"))


def _find_unsaid(codecs: tuple[Codec, ...], itemsize: int, arrays: Arrays) -> str | None:
    """Return why the format cannot describe the decoding, or None."""
    for codec in codecs:
        supported = table.nameable(arrays.codecs, by_reference=True)
        if not expressible(nearest((codec,), supported), supported):
            name = f"the filter {codec.name}" if codec.name else f"filter {codec.id}"
            if codec.id == ZARR_PLUGIN:
                return "a plugin of zarr-python decodes its chunks, which only Zarr v3 can name (`--metadata zarr3`)"
            return f"its chunks are encoded with {name}, for which Zarr has no codec"
        if codec.id == SHUFFLE and itemsize > 1 and codec.parameters and codec.parameters[0] != itemsize:
            return f"its bytes are shuffled as elements of {codec.parameters[0]} bytes, but have {itemsize}"
    if portable(codecs, itemsize) != tuple(codecs):
        if any(codec.id == FLETCHER32 for codec in codecs):
            return f"its checksum precedes the shuffle of {itemsize}-byte elements, which no codec can undo"
        return "its filters have an order that no Zarr codec can undo"
    return None


def _cut_source(source: ArraySource, itemsize: int, chunks: tuple[int, ...] | None) -> ArraySource | None:
    """Return a source with these chunk lengths, or with sensible ones by default; None: impossible."""
    if chunks is not None:
        stored = source.stored
        return source if stored is not None and chunks == stored.chunks else source.recut(chunks)
    shape = source.layout.shape
    if 0 in shape:
        return source
    for lengths in even_chunks(shape, itemsize):
        recut = source.recut(lengths)
        if recut is not None:
            return recut
    return source


def _usual_codecs(source: ArraySource) -> tuple[Codec, ...] | None:
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
        if same_bytes(unmask(stored.codecs, mask), layout.codecs, width(layout.dtype))
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
