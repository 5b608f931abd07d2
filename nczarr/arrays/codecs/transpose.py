"""Transposes, where they are a step of the whole chunk."""

import math

from nczarr.arrays.codecs.lengths import misfit
from nczarr.arrays.codecs.table import CodecKind, Config, Step
from nczarr.arrays.lazy_numpy import np


class Transpose(CodecKind):
    """Transpose of a chunk; a usual chain has one at most, which is a member of `Encoding`."""

    config_id = "transpose"
    changes_arrays = True

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        shape, order = step["shape"], step["order"]
        count = math.prod(shape)
        if not count or len(data) % count:
            raise ValueError(misfit(len(data), count))
        values = np.frombuffer(data, f"V{len(data) // count}", count).reshape([shape[axis] for axis in order])
        return values.transpose(np.argsort(order)).tobytes()


def transpose_step(shape: tuple[int, ...], order: tuple[int, ...]) -> Step:
    """Return the step that transposes an array of this shape to `order`."""
    return {"id": "transpose", "shape": shape, "order": order}


CODECS = (Transpose(),)
