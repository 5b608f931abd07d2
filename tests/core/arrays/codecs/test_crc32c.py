from __future__ import annotations

import pytest

from nczarr.arrays.codecs.crc32c import crc32c

KNOWN = [
    (b"", 0),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),  # RFC 3720, B.4
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
]


@pytest.mark.parametrize(("data", "wanted"), KNOWN)
def test_known_checksums(data: bytes, wanted: int) -> None:
    assert crc32c(data) == wanted
