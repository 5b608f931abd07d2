from __future__ import annotations

import random

import pytest

from nczarr.arrays.codecs.crc32c import by_table, crc32c

KNOWN = [
    (b"", 0),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),  # RFC 3720, B.4
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
]


@pytest.mark.parametrize(("data", "wanted"), KNOWN)
def test_known_checksums(data: bytes, wanted: int) -> None:
    assert by_table(data) == wanted
    assert crc32c(data) == wanted


@pytest.mark.parametrize("size", [1, 1023, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 100_003, 1 << 20])
def test_long_data_are_cut_into_stretches(size: int) -> None:
    google = pytest.importorskip("google_crc32c")
    data = random.Random(size).randbytes(size)
    assert by_table(data) == google.value(data)
