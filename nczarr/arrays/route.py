"""Which way data take: whether the chunks of a source are, byte for byte, those of a target, and what else is done."""

from __future__ import annotations

from nczarr.arrays.codecs import same_bytes
from nczarr.arrays.counts import Route
from nczarr.arrays.elements import modelled
from nczarr.arrays.source import ArraySource, Descr, Layout, Stored, itemsize


def matches(stored: Stored | None, layout: Layout) -> bool:
    """Whether an encoded chunk of a source may stand in a target of this layout as it is."""
    return (
        stored is not None
        and not _lies_otherwise(layout)
        and stored.chunks == layout.chunks
        and plain(stored.dtype) == plain(layout.dtype)
        and same_bytes(stored.codecs, layout.codecs, itemsize(layout.dtype))
    )


def _lies_otherwise(layout: Layout) -> bool:
    """Whether the bytes of a chunk are not those of its elements in C order."""
    return layout.order == "F" and sum(length > 1 for length in layout.chunks) > 1


def plain(dtype: Descr) -> Descr:
    """The dtype without a byte order where there is none: of elements of one byte, and of texts. Booleans and complex
    numbers are the bytes that they are made of.
    """
    if isinstance(dtype, str) and dtype[1] in "bc":
        dtype = modelled(dtype)
    if isinstance(dtype, str) and (dtype[1] in "SVO" or dtype[2:] == "1"):
        return "|" + dtype[1:]
    return dtype


def way(source: ArraySource, layout: Layout) -> Route:
    """The way from a source to a target of this layout."""
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
    """The chunk lengths in which a source is decoded."""
    return source.layout.chunks if source.stored is None else source.stored.chunks
