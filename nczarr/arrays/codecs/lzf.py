"""LZF of liblzf, in filter 32000 of HDF5."""

from nczarr.arrays.codecs.lengths import EARLY
from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config

LITERAL = 32
"""First control byte of a back reference."""


class Lzf(CodecKind):
    """LZF, which is read only."""

    config_id = "lzf"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return unpack_lzf(data, limit)


def unpack_lzf(data: bytes, limit: int) -> bytes:
    """Decompress LZF of liblzf and HDF5's filter 32000: literal runs and back references. Raises ValueError.

    A control byte below 32 precedes a run of that many bytes plus one. In
    others the upper three bits are the length less 2, where 7 means that a byte
    to add follows. The lower five bits and the next byte are the distance less
    1.
    """
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            control = data[at]
            at += 1
            if control < LITERAL:
                out += data[at : at + control + 1]
                at += control + 1
            else:
                length = (control >> 5) + 2
                if length == 9:
                    length += data[at]
                    at += 1
                back = ((control & 31) << 8 | data[at]) + 1
                at += 1
                start = len(out) - back
                if start < 0:
                    raise ValueError("the compressed data refer to bytes before their start")
                if back >= length:
                    out += out[start : start + length]
                else:
                    out += (out[start:] * (length // back + 1))[:length]
            if len(out) > limit:
                raise ValueError(TOO_MUCH)
    except IndexError:
        at = end + 1
    if at > end:
        raise ValueError(EARLY)
    return bytes(out)


CODECS = (Lzf(),)
