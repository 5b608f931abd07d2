"""Deflate: zlib's format of one compressed stream."""

import zlib

from nczarr.arrays.codecs.lengths import inflate
from nczarr.arrays.codecs.table import Config, LeveledCodec, Parameters


class Deflate(LeveledCodec):
    """Deflate in the format of zlib."""

    config_id = "zlib"
    stage = "bytes"
    levels = (0, 9)
    default_level = 4
    blosc_compressor = "zlib"

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        return zlib.compress(data, self.level(parameters))

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return inflate(data, 15, limit)  # 15: the largest window, with zlib's header


CODECS = (Deflate(),)
