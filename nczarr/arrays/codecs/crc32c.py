"""CRC32C (Castagnoli), the checksum of Zarr v3: RFC 3720, appendix B.4; polynomial 0x1EDC6F41."""

from nczarr.arrays.codecs.table import CodecKind, Config, Parameters
from nczarr.ast.dataset import FLETCHER32


class Crc32c(CodecKind):
    """Checksum of four bytes behind the chunk."""

    config_id = "crc32c"
    stage = "bytes"
    registered = True
    stands_for = frozenset({FLETCHER32})
    length_added = 4

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        return data + crc32c(data).to_bytes(4, "little")  # the codec's specification: little-endian, at the end

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        if len(data) < 4 or crc32c(data[:-4]).to_bytes(4, "little") != data[-4:]:
            raise ValueError("the checksum does not match")
        return data[:-4]


def crc32c(data: bytes) -> int:
    """Return the checksum; 0 for empty data."""
    from google_crc32c import value

    checksum: int = value(data)
    return checksum


CODECS = (Crc32c(),)
