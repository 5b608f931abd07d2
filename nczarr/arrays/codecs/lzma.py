"""LZMA."""

from nczarr.arrays.codecs.lengths import decompress_bounded
from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config

LZMA_MEMORY = 256 << 20
"""Maximum memory of an lzma decoder; the highest preset needs 65 MiB."""


class Lzma(CodecKind):
    """LZMA in the configured format, which is read only."""

    config_id = "lzma"
    stage = "bytes"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        import lzma as library

        kind, filters = step.get("format", library.FORMAT_XZ), step.get("filters")
        raw = kind == library.FORMAT_RAW
        if raw and any(member.get("dict_size", 0) > LZMA_MEMORY for member in filters or ()):
            raise ValueError(TOO_MUCH)
        try:
            unpacker = library.LZMADecompressor(kind, None if raw else LZMA_MEMORY, filters if raw else None)
            return decompress_bounded(unpacker, data, limit)
        except library.LZMAError as error:  # its module is loaded only here
            raise ValueError(str(error)) from None


CODECS = (Lzma(),)
