"""The checksum of HDF5's metadata: Bob Jenkins' hash lookup3, on bytes, begun with 0.

Source: HDF5 File Format Specification 3.0, VII (Appendix A), which names it.
"""

from __future__ import annotations

_START = 0xDEADBEEF
_ALL = 0xFFFFFFFF

_MIX = (4, 6, 8, 16, 19, 4)
"""By how many bits the three words are turned between groups of twelve bytes."""

_END = (14, 11, 25, 16, 4, 14, 24)
"""The same behind the last group."""


def lookup3(data: bytes) -> int:
    """The checksum of bytes, 32 bits."""
    a = b = c = (_START + len(data)) & _ALL
    if not data:
        return c
    last = (len(data) - 1) // 12 * 12  # the last group has one to twelve bytes, padded by zeros
    for at in range(0, last, 12):
        a, b, c = _mixed(*_added(data[at : at + 12], a, b, c))
    a, b, c = _added(data[last:].ljust(12, b"\0"), a, b, c)
    for bits in _END:
        a, b, c = b, ((c ^ b) - _turned(b, bits)) & _ALL, a  # the words change places
    return b


def _added(group: bytes, a: int, b: int, c: int) -> tuple[int, int, int]:
    first, second, third = (int.from_bytes(group[at : at + 4], "little") for at in (0, 4, 8))
    return (a + first) & _ALL, (b + second) & _ALL, (c + third) & _ALL


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    """Each step takes one word from another, turns it in, and adds the third to it: the words change places."""
    for bits in _MIX:
        a = ((a - c) & _ALL) ^ _turned(c, bits)
        c = (c + b) & _ALL
        a, b, c = b, c, a
    return a, b, c


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _ALL
