"""Deflate in the formats of zlib, and of gzip, which the registry of Zarr v3 has."""

import zlib

from nczarr.arrays.codecs.lengths import inflate, inflate_whole
from nczarr.arrays.codecs.table import Config, LeveledCodec, Parameters
from nczarr.ast.dataset import DEFLATE

ISAL_LEVEL = 3
"""Level of ISA-L: as small as level 1 of zlib, in a tenth of its time. Bytes may differ between processors."""


class Deflate(LeveledCodec):
    """Deflate in the format of zlib."""

    config_id = "zlib"
    stage = "bytes"
    levels = (0, 9)
    default_level = 4
    blosc_compressor = "zlib"

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        return zlib.compress(data, self.level(parameters))

    def encode_fast(self, data: bytes) -> bytes:
        from isal import isal_zlib

        return isal_zlib.compress(data, ISAL_LEVEL)

    def usage(self) -> str:
        return f"{super().usage()[:-1]}, `fast`)"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return inflate(data, 15, limit)  # 15: the largest window, with zlib's header

    def decode_whole(self, data: bytes, size: int) -> bytes | None:
        return inflate_whole(data, size)


class Gzip(LeveledCodec):
    """Deflate in the format of gzip, without a time: the same data give the same bytes."""

    config_id = "gzip"
    stage = "bytes"
    registered = True
    levels = (0, 9)
    default_level = 4
    stands_for = frozenset({DEFLATE})
    substitute = DEFLATE
    blosc_compressor = "zlib"

    def stand_in(self, parameters: Parameters) -> Parameters:
        return parameters

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        packer = zlib.compressobj(self.level(parameters), wbits=31)  # 31: zlib's gzip header has no time
        return packer.compress(data) + packer.flush()

    def encode_fast(self, data: bytes) -> bytes:
        from isal import isal_zlib

        packer = isal_zlib.compressobj(ISAL_LEVEL, wbits=31)
        return packer.compress(data) + packer.flush()

    def usage(self) -> str:
        return f"{super().usage()[:-1]}, `fast`)"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return inflate(data, 31, limit)  # 31: the largest window, with gzip's header


CODECS = (Deflate(), Gzip())
