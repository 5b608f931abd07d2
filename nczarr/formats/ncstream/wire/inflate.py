"""Deflated blocks: zlib streams, inflated to what a message announces and not beyond (ncstream §5)."""

from __future__ import annotations

from nczarr.formats.ncstream.wire.limits import Limits, bad, contradictory, oversized
from nczarr.formats.ncstream.wire.protobuf import Buffer

MOST_OF_ONE = 1032
"""Bytes that one byte of a deflated stream can become."""


def inflated(block: Buffer, wanted: int | None, limits: Limits, offset: int) -> bytes:
    """The bytes of a block: exactly `wanted`, or what it has within the limit if that is None."""
    from zlib_ng import zlib_ng  # inflates in a third of the time of zlib

    end = offset + len(block)
    if wanted is not None:
        if wanted > len(block) * MOST_OF_ONE:
            raise contradictory(f"{len(block)} bytes cannot inflate to {wanted}", offset, end)
        if wanted > limits.inflated:
            raise oversized(f"a block inflates to {wanted} bytes, more than {limits.inflated}", offset, end)
    most = limits.inflated if wanted is None else wanted
    unpacker = zlib_ng.decompressobj()
    try:
        found = unpacker.decompress(block, most + 1)
    except zlib_ng.error as error:  # type: ignore[misc]
        raise bad(f"a deflated block cannot be inflated: {error}", offset, end) from None
    if wanted is None and len(found) > most:
        raise oversized(f"a block inflates to more than {most} bytes", offset, end)
    if wanted is not None and len(found) != wanted:
        more = "more than " if len(found) > wanted else ""
        text = f"a block inflates to {more}{min(len(found), wanted)} bytes, and its section takes {wanted}"
        raise contradictory(text, offset, end)
    if not unpacker.eof or unpacker.unused_data:
        raise bad("a deflated block ends before or behind its stream", offset, end)
    return bytes(found)
