"""Zstandard."""

import struct
from typing import Any

from nczarr.arrays.codecs.lengths import EARLY, check_size
from nczarr.arrays.codecs.table import TOO_MUCH, Config, LeveledCodec, Parameters
from nczarr.ast.dataset import BZIP2

ZSTD_BLOCK = 1 << 17
"""Maximum output of one zstd block."""

UNTOLD = 64 << 20
"""Minimum limit for zstd frames without declared size, by their number of blocks."""


class Zstd(LeveledCodec):
    """Zstandard, by numcodecs."""

    config_id = "zstd"
    stage = "bytes"
    registered = True
    levels = (0, 22)
    default_level = 3
    blosc_compressor = "zstd"
    stands_for = frozenset({BZIP2})

    def stand_in(self, parameters: Parameters) -> Parameters:
        return (self.default_level,)

    def zarr3_configuration(self, config: Config, itemsize: int) -> dict[str, Any]:
        return {**super().zarr3_configuration(config, itemsize), "checksum": config.get("checksum", False)}

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return unpack_zstd(data, limit)


def unpack_zstd(data: bytes, limit: int) -> bytes:
    """Decompress zstd frames. Raises ValueError, RuntimeError."""
    declared, most = _zstd_sizes(data)
    if declared is not None and declared > limit:
        raise ValueError(TOO_MUCH)
    if declared is None and most > max(limit, UNTOLD):
        raise ValueError(TOO_MUCH)
    if most == 0:
        return b""  # numcodecs refuses a frame of nothing
    import numcodecs

    return check_size(numcodecs.Zstd().decode(data), limit)


def _zstd_sizes(data: bytes) -> tuple[int | None, int]:
    """Return the size declared by the first frame, and the maximum output of all blocks.

    Raises ValueError for invalid frames (RFC 8878, sections 3.1.1 and 3.1.1.2).
    """
    first: int | None = None
    most, at, number = 0, 0, 0
    try:
        while at < len(data):
            (magic,) = struct.unpack_from("<I", data, at)
            if magic & 0xFFFFFFF0 == 0x184D2A50:  # to be skipped
                at += 8 + struct.unpack_from("<I", data, at + 4)[0]
                continue
            if magic != 0xFD2FB528:
                raise ValueError("the compressed data are not zstd")
            flags = data[at + 4]
            single = flags >> 5 & 1
            place = at + 5 + (not single) + (0, 1, 2, 4)[flags & 3]
            width = (single, 2, 4, 8)[flags >> 6]
            if number == 0 and width:
                first = int.from_bytes(data[place : place + width], "little") + (256 if width == 2 else 0)
            at, number, last = place + width, number + 1, False
            while not last:
                header = int.from_bytes(data[at : at + 3], "little")
                last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
                if at + 3 > len(data):
                    raise ValueError(EARLY)
                at += 3 + (1 if kind == 1 else size)
                most += size if kind < 2 else ZSTD_BLOCK
            at += 4 * (flags >> 2 & 1)
    except (struct.error, IndexError):
        raise ValueError(EARLY) from None
    return first, most


CODECS = (Zstd(),)
