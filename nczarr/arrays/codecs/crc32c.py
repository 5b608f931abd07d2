"""CRC-32, and CRC32C (Castagnoli), the checksum of Zarr v3: RFC 3720, appendix B.4; polynomial 0x1EDC6F41, reflected.

Uses `google_crc32c` if installed, else tables; for long data NumPy processes
many stretches in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from nczarr.arrays.codecs.table import CodecKind, Config, Parameters
from nczarr.arrays.lazy_numpy import np
from nczarr.ast.dataset import FLETCHER32


def crc32(data: bytes | memoryview, before: int = 0) -> int:
    """Return the CRC-32 of bytes that follow others; `before`: CRC-32 of those."""
    from zlib_ng import zlib_ng

    checksum: int = zlib_ng.crc32(data, before)
    return checksum


_POLYNOMIAL = 0x82F63B78
_LANES = 1024
"""Stretches of long data processed in parallel."""


class Crc32c(CodecKind):
    """Checksum of four bytes behind the chunk."""

    config_id = "crc32c"
    stage = "bytes"
    registered = True
    stands_for = frozenset({FLETCHER32})
    length_added = 4

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        return data + crc32c(data).to_bytes(4, "little")

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        if len(data) < 4 or crc32c(data[:-4]).to_bytes(4, "little") != data[-4:]:
            raise ValueError("the checksum does not match")
        return data[:-4]


def crc32c(data: bytes) -> int:
    """Return the checksum; 0 for empty data."""
    return _implementation()(data)


@cache
def _implementation() -> Callable[[bytes], int]:
    try:
        import google_crc32c
    except ImportError:
        return by_table
    value: Callable[[bytes], int] = google_crc32c.value
    return value


@cache
def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return tuple(table)


def by_table(data: bytes) -> int:
    """Return the checksum without a library."""
    state = 0xFFFFFFFF
    stretch = len(data) // _LANES
    whole = 0
    if stretch >= 16:
        whole = stretch * _LANES
        state = _side_by_side(data[:whole], stretch)
    table = _table()
    for byte in memoryview(data)[whole:]:
        state = state >> 8 ^ table[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF


def _side_by_side(data: bytes, stretch: int) -> int:
    """Return the state after data cut into `_LANES` stretches of equal length.

    The state is linear: after a stretch it is the previous state moved over as
    many zeros, plus the state of the stretch from 0.
    """
    table = np.array(_table(), np.uint32)
    columns = np.frombuffer(data, np.uint8).reshape(_LANES, stretch).T
    states = np.zeros(_LANES, np.uint32)
    for column in columns:
        states = states >> 8 ^ table[(states ^ column) & 0xFF]
    moved = _over_zeros(stretch)
    state = 0xFFFFFFFF
    for lane in states.tolist():
        behind = lane
        for bit in range(32):
            if state >> bit & 1:
                behind ^= moved[bit]
        state = behind
    return state


def _over_zeros(count: int) -> list[int]:
    """Return the image of each state bit after `count` zero bytes."""
    table = _table()
    moved = [1 << bit for bit in range(32)]
    power = [table[1 << bit] if bit < 8 else 1 << (bit - 8) for bit in range(32)]  # over one byte
    while count:
        if count & 1:
            moved = [_apply(power, value) for value in moved]
        power = [_apply(power, value) for value in power]
        count >>= 1
    return moved


def _apply(matrix: list[int], state: int) -> int:
    state_after = 0
    for bit, column in enumerate(matrix):
        if state >> bit & 1:
            state_after ^= column
    return state_after


CODECS = (Crc32c(),)
