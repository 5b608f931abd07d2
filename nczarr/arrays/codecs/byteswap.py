"""Swaps of bytes between steps of different byte order."""

from nczarr.arrays.codecs.table import CodecKind, Config, Step
from nczarr.arrays.lazy_numpy import np


class Byteswap(CodecKind):
    """Elements in the other byte order."""

    config_id = "byteswap"
    changes_arrays = True

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return np.frombuffer(data, step["dtype"]).byteswap().tobytes()

    def with_fill(self, step: Step, fill: bytes) -> tuple[Step, bytes]:
        return step, self.decode(fill, step, 0, len(fill))


CODECS = (Byteswap(),)
