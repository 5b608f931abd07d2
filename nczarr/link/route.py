"""Which way the data of one part take from source to target.

Ways, cheapest first: `nothing` (the target's fill value says it all), `fill` (chunks of nothing but fill, written
because the target declares none), `encode` (read, convert, encode chunk by chunk). Copying of encoded chunks
joins them with the first source that has any.
"""

from __future__ import annotations

from typing import Literal

from nczarr.data.source import ArraySource
from nczarr.passes.planned import Target

Route = Literal["nothing", "fill", "encode"]


def route(source: ArraySource | None, target: Target) -> Route:
    """The way for one part."""
    if 0 in target.layout.shape:
        return "nothing"
    if source is None:
        return "nothing" if target.sparse else "fill"
    return "encode"
