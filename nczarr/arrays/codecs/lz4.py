"""LZ4 of numcodecs: one block behind its length."""

import struct

from nczarr.arrays.codecs.lengths import EARLY, LARGEST_HEADER, check_size
from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config


class Lz4(CodecKind):
    """LZ4 with numcodecs' size prefix, which is read only."""

    config_id = "lz4"
    stage = "bytes"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return unpack_lz4(data, limit)


def unpack_lz4(data: bytes, limit: int) -> bytes:
    """Decompress lz4 with numcodecs' size prefix. Raises ValueError, RuntimeError."""
    if len(data) < 4:
        raise ValueError(EARLY)
    (size,) = struct.unpack_from("<I", data)  # numcodecs puts the length before the block
    if size > min(limit, LARGEST_HEADER):
        raise ValueError(TOO_MUCH)
    import numcodecs

    return check_size(numcodecs.LZ4().decode(data), limit)


CODECS = (Lz4(),)
