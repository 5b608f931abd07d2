"""Whole chunks: values at an array's edge with fill beyond it, and whether a chunk holds nothing but fill."""

from __future__ import annotations

from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np


def padded(values: NDArray[Any], chunks: tuple[int, ...], fill: bytes) -> NDArray[Any]:
    """The values as a whole chunk in C order. `fill`: one element in the bytes of their dtype, or one text."""
    if values.shape == chunks:
        return np.ascontiguousarray(values)
    full = np.empty(chunks, values.dtype)
    if values.dtype.hasobject:
        full.fill(fill)
    elif fill.strip(b"\0"):
        full[...] = np.frombuffer(fill, values.dtype)[0]
    else:
        full.reshape(-1).view(np.uint8)[...] = 0
    full[tuple(map(slice, values.shape))] = values
    return full


def is_all(values: NDArray[Any], fill: bytes) -> bool:
    """Whether a chunk in C order is the element `fill` over and over, bit by bit. Its ends decide for most chunks."""
    flat = values.reshape(-1)
    if not flat.size or flat[0].tobytes() != fill or flat[-1].tobytes() != fill:
        return not flat.size
    width = len(fill)
    if width in (1, 2, 4, 8):
        wanted = np.frombuffer(fill, f"u{width}")[0]
        return bool((flat.view(f"u{width}") == wanted).all())
    return flat.tobytes() == fill * flat.size
