"""Which way the data of one part take from source to target.

A way is that of most chunks: one that cannot be copied because a filter left it alone is made anew.
"""

from __future__ import annotations

from nczarr.arrays.counts import Route
from nczarr.arrays.route import way
from nczarr.arrays.source import ArraySource
from nczarr.plan.plans import Target


def route(source: ArraySource | None, target: Target, *, by_reference: bool = False) -> Route:
    """The way for one part. `by_reference`: into a target that holds references, where there are any."""
    layout = target.layout
    if 0 in layout.shape:
        return "nothing"
    if source is None:
        return "nothing" if target.sparse else "fill"
    if by_reference:
        from nczarr.arrays.chunk_references import referred  # few targets hold references

        if referred(source, layout) is not None:
            return "reference"
    return way(source, layout)
