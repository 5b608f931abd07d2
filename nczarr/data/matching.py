"""Whether the chunks of a source are, byte for byte, those of a target: then they are moved, never decoded."""

from __future__ import annotations

from nczarr.data.codecs import same_bytes
from nczarr.data.source import Descr, Layout, Stored


def matches(stored: Stored | None, layout: Layout) -> bool:
    """Whether an encoded chunk of a source may stand in a target of this layout as it is (DESIGN §6, `copy`)."""
    return (
        stored is not None
        and stored.chunks == layout.chunks
        and plain(stored.dtype) == plain(layout.dtype)
        and same_bytes(stored.codecs, layout.codecs)
    )


def plain(dtype: Descr) -> Descr:
    """The dtype without a byte order where there is none: of elements of one byte, and of texts."""
    if isinstance(dtype, str) and (dtype[1] in "SVO" or dtype[2:] == "1"):
        return "|" + dtype[1:]
    return dtype
