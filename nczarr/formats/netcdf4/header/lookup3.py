"""Checksum of HDF5's metadata: Bob Jenkins' lookup3 (HDF5 File Format Specification 3.0, VII)."""

from __future__ import annotations

from struct import unpack

_SEED = 0xDEADBEEF
_ALL = 0xFFFFFFFF


def lookup3(data: bytes) -> int:
    """Return the 32-bit checksum of bytes."""
    a = b = c = (_SEED + len(data)) & _ALL
    if not data:
        return c
    words: tuple[int, ...] = unpack(f"<{(len(data) + 11) // 12 * 3}I", data.ljust((len(data) + 11) // 12 * 12, b"\0"))
    for at in range(0, len(words) - 3, 3):
        a, b, c = (a + words[at]) & _ALL, (b + words[at + 1]) & _ALL, (c + words[at + 2]) & _ALL
        a = ((a - c) & _ALL) ^ (c << 4 & _ALL | c >> 28)
        c = (c + b) & _ALL
        b = ((b - a) & _ALL) ^ (a << 6 & _ALL | a >> 26)
        a = (a + c) & _ALL
        c = ((c - b) & _ALL) ^ (b << 8 & _ALL | b >> 24)
        b = (b + a) & _ALL
        a = ((a - c) & _ALL) ^ (c << 16 & _ALL | c >> 16)
        c = (c + b) & _ALL
        b = ((b - a) & _ALL) ^ (a << 19 & _ALL | a >> 13)
        a = (a + c) & _ALL
        c = ((c - b) & _ALL) ^ (b << 4 & _ALL | b >> 28)
        b = (b + a) & _ALL
    a, b, c = (a + words[-3]) & _ALL, (b + words[-2]) & _ALL, (c + words[-1]) & _ALL
    c = ((c ^ b) - (b << 14 & _ALL | b >> 18)) & _ALL
    a = ((a ^ c) - (c << 11 & _ALL | c >> 21)) & _ALL
    b = ((b ^ a) - (a << 25 & _ALL | a >> 7)) & _ALL
    c = ((c ^ b) - (b << 16 & _ALL | b >> 16)) & _ALL
    a = ((a ^ c) - (c << 4 & _ALL | c >> 28)) & _ALL
    b = ((b ^ a) - (a << 14 & _ALL | a >> 18)) & _ALL
    return ((c ^ b) - (b << 24 & _ALL | b >> 8)) & _ALL
