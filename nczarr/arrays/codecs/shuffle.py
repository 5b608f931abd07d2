"""Shuffle: the bytes of all elements by their position in the element."""

from __future__ import annotations

import math
import sys
from typing import Any

from nczarr.arrays.codecs.table import CodecKind, Config, Parameters
from nczarr.arrays.lazy_numpy import NDArray, np

SUMMED = (2, 4)
"""Item sizes that are unshuffled by arithmetic, in a third and two thirds of the time of copies byte by byte."""

FEW = 1 << 13
"""Items below which copies are quicker than arithmetic."""

IN_CACHE = 1 << 17
"""Items that are unshuffled at once."""


class Shuffle(CodecKind):
    """HDF5's shuffle. HDF5 notes the item size as a parameter of its own."""

    config_id = "shuffle"
    stage = "bytes"
    length_added = 0

    def essence(self, parameters: Parameters) -> Parameters:
        return ()

    def config(self, parameters: Parameters, itemsize: int) -> dict[str, Any]:
        """Return the configuration with the item size: numcodecs would take 0 for "do not shuffle"."""
        return {"id": self.config_id, "elementsize": itemsize}

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        return shuffle(data, itemsize)

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        width = step.get("elementsize") or itemsize  # 0, as netCDF-C writes it, means the size of the dtype
        return undo_shuffle(data, width if isinstance(width, int) and width > 0 else itemsize)


def shuffle(data: bytes, itemsize: int) -> bytes:
    """Group bytes by their position in the item; a partial item remains at the end."""
    if itemsize < 2:
        return data
    whole = len(data) // itemsize * itemsize
    columns = np.frombuffer(data, np.uint8, whole).reshape(-1, itemsize)
    return columns.T.tobytes() + data[whole:]


def undo_shuffle(data: bytes, itemsize: int) -> bytes:
    """Invert HDF5's shuffle; a partial item remains at the end."""
    if itemsize < 2:
        return data
    whole = len(data) // itemsize * itemsize
    out = np.empty(whole // itemsize, f"V{itemsize}")
    unshuffle(np.frombuffer(data, np.uint8, whole).reshape(itemsize, -1), out)
    return out.tobytes() + data[whole:]


def unshuffle(planes: NDArray[np.uint8], out: NDArray[Any]) -> None:
    """Put together items whose bytes are in planes: byte i of each item is in `planes[i]`.

    `planes`: shape `(itemsize, *out.shape)`; `out`: any dtype without objects, any
    strides. Releases the GIL.
    """
    while out.ndim and len(out) == 1:
        planes, out = planes[:, 0], out[0, ...]
    if not out.ndim:
        planes, out = planes[:, None], out.reshape(1)
    rows = max(1, IN_CACHE // max(1, math.prod(out.shape[1:])))
    for start in range(0, len(out), rows):
        some, target = planes[:, start : start + rows], out[start : start + rows]
        if out.itemsize in SUMMED and target.size >= FEW:
            whole = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
            _sum_planes(some, whole.view(f"u{out.itemsize}"))
            if whole is not target:
                target[...] = whole
        else:
            columns = target[..., None].view(np.uint8)
            for place, plane in enumerate(some):
                columns[..., place] = plane


def _sum_planes(planes: NDArray[np.uint8], out: NDArray[Any]) -> None:
    """Make unsigned integers of their bytes. `out`: uint16 or uint32 in the processor's byte order."""
    first, *others = planes[::-1] if sys.byteorder == "little" else planes
    out[...] = first
    for plane in others:
        np.multiply(out, 256, out=out)
        np.bitwise_or(out, plane, out=out)


CODECS = (Shuffle(),)
