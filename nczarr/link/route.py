"""Which way the data of one part take from source to target (DESIGN §6).

A way is that of most chunks: one that cannot be copied because a filter left it alone is made anew.
"""

from __future__ import annotations

from nczarr.data.counts import Route
from nczarr.data.matching import matches, plain
from nczarr.data.source import ArraySource, Computed
from nczarr.passes.planned import Target


def route(source: ArraySource | None, target: Target) -> Route:
    """The way for one part."""
    layout = target.layout
    if 0 in layout.shape:
        return "nothing"
    if source is None:
        return "nothing" if target.sparse else "fill"
    stored = source.stored
    if matches(stored, layout):
        return "copy"
    if stored is not None and not stored.codecs:
        return "gather" if not layout.codecs and plain(stored.dtype) == plain(layout.dtype) else "transcode"
    if isinstance(source, Computed):
        return "encode"
    return "transcode" if grid(source) == layout.chunks else "rechunk"


def grid(source: ArraySource) -> tuple[int, ...]:
    """The chunk lengths in which a source is decoded."""
    return source.layout.chunks if source.stored is None else source.stored.chunks
