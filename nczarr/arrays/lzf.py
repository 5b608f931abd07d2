"""LZF as liblzf and HDF5's filter 32000 make it: runs of bytes as they are, and repetitions of what came before.

A control byte below 32 stands before so many bytes and one. Any other has in its upper three bits the length of a
repetition less 2, where 7 is followed by a byte to add, and in its lower five with the byte behind how far back it
begins, less 1.
"""

from __future__ import annotations

LITERAL = 32
"""The first control byte of a repetition."""


def lzf_decoded(data: bytes, limit: int) -> bytes:
    """The bytes behind a stream. Raises ValueError for another stream, and for more than `limit` bytes."""
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            control = data[at]
            at += 1
            if control < LITERAL:
                out += data[at : at + control + 1]
                at += control + 1
            else:
                length = (control >> 5) + 2
                if length == 9:
                    length += data[at]
                    at += 1
                back = ((control & 31) << 8 | data[at]) + 1
                at += 1
                start = len(out) - back
                if start < 0:
                    raise ValueError("the compressed data repeat what is not there")
                if back >= length:
                    out += out[start : start + length]
                else:
                    out += (out[start:] * (length // back + 1))[:length]
            if len(out) > limit:
                raise ValueError("the chunk inflates to more than it may have")
    except IndexError:
        at = end + 1
    if at > end:
        raise ValueError("the compressed data end too early")
    return bytes(out)
