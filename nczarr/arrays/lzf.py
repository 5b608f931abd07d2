"""LZF of liblzf and HDF5's filter 32000: literal runs and back references.

A control byte below 32 precedes a run of that many bytes plus one. In others the upper three bits are the
length less 2, where 7 means that a byte to add follows. The lower five bits and the next byte are the
distance less 1.
"""

from __future__ import annotations

LITERAL = 32
"""First control byte of a back reference."""


def lzf_decoded(data: bytes, limit: int) -> bytes:
    """Decompress a stream. Raises ValueError for invalid data, or more than `limit` bytes."""
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
