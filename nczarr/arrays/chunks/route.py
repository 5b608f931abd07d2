"""Route of data: whether source chunks equal target chunks byte by byte, and the alternatives."""

from __future__ import annotations

from nczarr.arrays.codecs.chain import same_bytes
from nczarr.arrays.execution.counts import Route
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Stored, itemsize
from nczarr.arrays.values.elements import modelled


def matches(stored: Stored | None, layout: Layout) -> bool:
    """Return whether a source's encoded chunk is a valid chunk of this layout."""
    return (
        stored is not None
        and not _lies_otherwise(layout)
        and stored.chunks == layout.chunks
        and plain(stored.dtype) == plain(layout.dtype)
        and same_bytes(stored.codecs, layout.codecs, itemsize(layout.dtype))
    )


def _lies_otherwise(layout: Layout) -> bool:
    """Return whether a chunk's bytes are not its elements in C order."""
    return layout.order == "F" and sum(length > 1 for length in layout.chunks) > 1


def plain(dtype: Descr) -> Descr:
    """Return the dtype without meaningless byte order; booleans and complex numbers become bytes and parts."""
    if isinstance(dtype, str) and dtype[1] in "bc":
        dtype = modelled(dtype)
    if isinstance(dtype, str) and (dtype[1] in "SVO" or dtype[2:] == "1"):
        return "|" + dtype[1:]
    return dtype


def way(source: ArraySource, layout: Layout) -> Route:
    """Return the route from a source to a target of this layout."""
    stored = source.stored
    if matches(stored, layout):
        return "copy"
    if stored is not None and not stored.codecs:
        alike = plain(stored.dtype) == plain(layout.dtype) and not _lies_otherwise(layout)
        return "gather" if not layout.codecs and alike else "transcode"
    if source.viewed:
        return "encode"
    return "transcode" if grid(source) == layout.chunks else "rechunk"


def grid(source: ArraySource) -> tuple[int, ...]:
    """Return the chunk shape in which a source is decoded."""
    return source.layout.chunks if source.stored is None else source.stored.chunks
