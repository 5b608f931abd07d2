"""Whether two libraries show the same values: bit for bit where the types are the same, else by value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def difference(
    truth: Any, seen: Any, undefined: NDArray[np.bool_] | None = None, *, payloads: bool = True, raw: bool = False
) -> str | None:
    """Where `seen` differs from `truth` in the cells that are defined; None if it does not.

    `payloads`: NaNs of other bits differ. `raw`: records and texts inside records are seen as their bytes.
    """
    if _failed(truth):
        return None
    if _failed(seen):
        return f"{seen} instead of {_short(truth)}"
    one, other = _plain(truth), _plain(seen)
    texts = np.asarray(truth).dtype.kind != "V" and one.dtype == other.dtype == object
    if texts and other.ndim == one.ndim + 1:
        other = _joined(other)
    if one.shape == () and other.shape == (1,):  # NCZarr stores a scalar as an array of one element
        other = other.reshape(())
    if one.shape != other.shape:
        return f"shape {other.shape} instead of {one.shape}"
    if (one.dtype.names is None) != (other.dtype.names is None):
        return f"{other.dtype} instead of {one.dtype}"
    if one.dtype.names is not None:
        if one.dtype.names != other.dtype.names:
            return f"fields {other.dtype.names} instead of {one.dtype.names}"
        for name in one.dtype.names:
            inner = one.dtype[name].shape
            mask = (
                None
                if undefined is None
                else np.broadcast_to(undefined.reshape(undefined.shape + (1,) * len(inner)), undefined.shape + inner)
            )
            field = one.dtype[name]
            readings = (
                [_typed(other[name], each) for each in (field, field.newbyteorder("<"))] if raw else [other[name]]
            )
            differences = [difference(one[name], each, mask, payloads=payloads, raw=raw) for each in readings]
            found = None if None in differences else differences[0]
            if found is not None:
                return f"field {name}: {found}"
        return None
    unlike = _unlike(one, other)
    if isinstance(unlike, str):
        return unlike
    if undefined is not None:
        unlike &= ~undefined
    if not payloads and one.dtype.kind in "fc" and other.dtype.kind in "fc":
        unlike &= ~((one != one) & (other != other))
    if not unlike.any():
        return None
    place = tuple(int(index[0]) for index in np.nonzero(np.atleast_1d(unlike)))
    shown = np.atleast_1d(one)[place], np.atleast_1d(other)[place]
    return f"at {place}: {shown[1]!r} instead of {shown[0]!r}, {int(unlike.sum())} of {unlike.size} cells"


def _typed(seen: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Raw bytes as values of a type of their size; other values as they are."""
    if seen.dtype.kind != "V" or seen.dtype.names is not None or seen.dtype.itemsize != dtype.itemsize:
        return seen
    return np.frombuffer(seen.tobytes(), dtype.base).reshape(seen.shape + dtype.shape)


def _failed(values: Any) -> bool:
    return isinstance(values, str) and values.startswith("error: ")


def _short(values: Any) -> str:
    return repr(values)[:60].replace("\n", " ")


def _plain(values: Any) -> NDArray[Any]:
    """Values in the forms that are compared: little-endian numbers, texts as bytes, records of such."""
    array = np.asarray(values)
    if array.dtype.names is not None:
        if array.dtype.names == ("r", "i"):
            return np.asarray(array["r"] + array["i"] * 1j)
        return array
    if array.dtype.kind == "b":
        return array.astype("u1")
    if array.dtype.kind in "SUOT":
        made = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            made[place] = _text(array[place])
        return made
    if array.dtype.kind == "V":
        made = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            made[place] = array[place].tobytes()
        return made
    return array.astype(array.dtype.newbyteorder("<"))


def _text(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, np.ndarray):
        return _text(value.item())
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    return data.rstrip(b"\0")


def _joined(characters: NDArray[Any]) -> NDArray[Any]:
    """Texts of single characters along the last axis."""
    made = np.empty(characters.shape[:-1], object)
    for place in np.ndindex(made.shape):
        made[place] = b"".join(each or b"\0" for each in characters[place]).rstrip(b"\0")
    return made


def _unlike(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_] | str:
    """The cells that differ, or why the types cannot be compared."""
    if one.dtype == object or other.dtype == object:
        if one.dtype != other.dtype:
            return f"{other.dtype} instead of {one.dtype}"
        return np.asarray(one != other, bool)
    if one.dtype == other.dtype:
        width = one.dtype.itemsize
        pair = [np.ascontiguousarray(each).reshape(-1).view("u1").reshape(*each.shape, width) for each in (one, other)]
        return np.asarray((pair[0] != pair[1]).any(-1), bool)
    if one.dtype.kind != other.dtype.kind or one.dtype.itemsize > other.dtype.itemsize:
        if one.dtype.kind in "iu" and other.dtype.kind in "iu" and one.dtype.itemsize == 1:  # bool
            return np.asarray(one != other, bool)
        return f"{other.dtype} instead of {one.dtype}"
    with np.errstate(invalid="ignore"):
        wider = one.astype(other.dtype)
    return np.asarray((wider != other) & ~((wider != wider) & (other != other)), bool)


def attribute_difference(truth: Any, seen: Any) -> str | None:
    """How the value of an attribute of numbers differs from the truth; None if it is the same number exactly."""
    wanted = np.asarray(truth)
    found = [_number(each) for each in np.ravel(np.asarray(seen, object)).tolist()]
    exact = np.ravel(wanted).tolist()
    same = len(exact) == len(found) and all(
        one == other or (_nan(one) and _nan(other)) for one, other in zip(exact, found, strict=True)
    )
    return None if same else f"{found} instead of {exact}"


def _number(value: Any) -> Any:
    """A number of Python; JSON has texts for those that are not finite."""
    return float(value) if isinstance(value, str) else value.item() if isinstance(value, np.generic) else value


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
