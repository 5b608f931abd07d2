"""Route of a part's data from source to target.

It holds for most chunks: one that cannot be copied because a filter skipped it is encoded anew.
"""

from __future__ import annotations

from nczarr.arrays.counts import Route
from nczarr.arrays.route import way
from nczarr.arrays.source import ArraySource
from nczarr.plan.plans import Target


def route(source: ArraySource | None, target: Target, *, by_reference: bool = False) -> Route:
    """Return the route of a part. `by_reference`: reference chunks where possible."""
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
