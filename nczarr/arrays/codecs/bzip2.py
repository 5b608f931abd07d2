"""bzip2."""

import bz2

from nczarr.arrays.codecs.lengths import decompress_bounded
from nczarr.arrays.codecs.table import Config, LeveledCodec, Parameters


class Bzip2(LeveledCodec):
    """bzip2, by the standard library."""

    config_id = "bz2"
    stage = "bytes"
    levels = (1, 9)
    default_level = 9
    blosc_compressor = "zstd"

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        return bz2.compress(data, self.level(parameters))

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return decompress_bounded(bz2.BZ2Decompressor(), data, limit)


CODECS = (Bzip2(),)
