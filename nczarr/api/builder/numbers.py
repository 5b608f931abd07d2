"""Exact conversion of numeric arrays, and fill values as bytes."""

from __future__ import annotations

from typing import Any

from nczarr.api.builder.pieces import UnsuitedValueError
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import Constant


def fill_bytes(fill: Constant | None) -> bytes | None:
    """Return a fill value as the bytes of one element, or None."""
    data = fill.data if fill is not None else None
    if isinstance(data, tuple):
        return data[0] if data and isinstance(data[0], bytes) else None
    return data


def numbers(array: NDArray[Any], type_name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert an array to another numeric dtype without loss, except that doubles may be rounded to float."""
    with np.errstate(all="ignore"):
        out = array.astype(dtype)
        if dtype.kind == "f" and array.dtype.kind == "f":
            wrong = np.isfinite(array) & ~np.isfinite(out)
        else:
            wrong = (out.astype(array.dtype) != array) | ((out < 0) != (array < 0))
            if dtype.kind == "f":  # the way back saturates
                wrong |= np.abs(out) > float(np.iinfo(array.dtype).max)
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0]) if array.ndim else ()
        value = array[first].item()
        raise UnsuitedValueError("value-range", f"{value!r} at {list(first)} cannot be stored in type {type_name}")
    return out
