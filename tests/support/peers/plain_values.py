"""Values as every reader of netCDF files, HDF5 and Zarr stores has them, and when two of them are the same.

Same is bitwise: NaN bits and the sign of zero count; byte order, padding of records and NULs behind texts do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Box = tuple[tuple[int, int], ...]
"""First and behind the last index along each axis."""


class Numbers(NamedTuple):
    """Numbers, characters or opaque values, little-endian."""

    array: Any


class Texts(NamedTuple):
    """Texts in C order; a NIL is an empty one."""

    shape: tuple[int, ...]
    items: tuple[bytes, ...]


class Records(NamedTuple):
    """Records, one member after the other; a member with lengths of its own has more axes."""

    shape: tuple[int, ...]
    members: tuple[tuple[str, Any], ...]


class Lists(NamedTuple):
    """Lists in C order."""

    shape: tuple[int, ...]
    items: tuple[Any, ...]


Values = Numbers | Texts | Records | Lists


def plain(array: Any) -> Values:
    """The values of a numpy array as a reader returns it; TypeError for what none of the forms holds."""
    array = np.asarray(array)
    if array.dtype.names is not None:
        members = tuple((name, plain(array[name])) for name in array.dtype.names)
        return Records(array.shape, members)
    match array.dtype.kind:
        case "O" | "T":
            return _objects(array)
        case "U":
            return Texts(array.shape, tuple(text.encode() for text in array.ravel().tolist()))
        case "S" if array.dtype.itemsize != 1:
            return Texts(array.shape, tuple(text.rstrip(b"\0") for text in array.ravel().tolist()))
        case "b":
            return Numbers(array.astype("|i1"))
        case "c":
            return Records(array.shape, (("r", plain(array.real)), ("i", plain(array.imag))))
        case _:
            return Numbers(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape))


def _objects(array: Any) -> Values:
    items = array.ravel().tolist()
    if all(item is None or isinstance(item, str | bytes) for item in items):
        texts = (item.encode("utf-8", "surrogateescape") if isinstance(item, str) else item or b"" for item in items)
        return Texts(array.shape, tuple(text.rstrip(b"\0") for text in texts))
    return Lists(array.shape, tuple(plain(item) for item in items))


def ragged(counts: Any, content: Values) -> Lists:
    """Lists from their lengths and the values of all of them in one axis."""
    ends = np.cumsum(counts.ravel())
    items = [part(content, int(end - count), int(end)) for count, end in zip(counts.ravel(), ends, strict=True)]
    return Lists(counts.shape, tuple(items))


def part(values: Values, start: int, stop: int) -> Values:
    """Elements of values of one axis (records' members: of their first axis)."""
    match values:
        case Numbers(array):
            return Numbers(array[start:stop])
        case Texts(_, items):
            return Texts((stop - start,), items[start:stop])
        case Lists(_, items):
            return Lists((stop - start,), items[start:stop])
        case Records(shape, members):
            cut = []
            for name, member in members:
                inner = _shape(member)[len(shape) :]
                each = math.prod(inner)
                piece = part(_flat(member), start * each, stop * each)
                cut.append((name, _shaped(piece, (stop - start, *inner))))
            return Records((stop - start,), tuple(cut))


def _shape(values: Values) -> tuple[int, ...]:
    return values.array.shape if isinstance(values, Numbers) else values.shape


def _flat(values: Values) -> Values:
    return _shaped(values, (math.prod(_shape(values)),))


def _shaped(values: Values, shape: tuple[int, ...]) -> Values:
    match values:
        case Numbers(array):
            return Numbers(array.reshape(shape))
        case Records(old, members):
            return Records(
                shape, tuple((name, _shaped(each, (*shape, *_shape(each)[len(old) :]))) for name, each in members)
            )
        case _:
            return values._replace(shape=shape)


def same(one: Values, other: Values, undefined: Sequence[Box] = ()) -> bool:
    """Whether two are the same, cells that nobody defines left out; an array of one element stands for a scalar, and
    raw bytes for an array within a record, of which zarr-python has no type.
    """
    if _shape(one) == () and _shape(other) == (1,):
        other = _shaped(other, ())
    if isinstance(one, Texts) and isinstance(other, Numbers) and other.array.dtype == np.dtype("S1"):
        other = Texts(other.array.shape, tuple(other.array.ravel().tolist()))
    if isinstance(one, Numbers | Records) and isinstance(other, Numbers) and other.array.dtype.kind == "V":
        return not undefined and bool(_packed(one, _shape(other)).tobytes() == other.array.tobytes())
    if 0 in _shape(one) and not isinstance(one, Numbers):
        return _shape(one) == _shape(other)
    if type(one) is not type(other) or _shape(one) != _shape(other):
        return False
    match one, other:
        case Numbers(first), Numbers(second):
            if (first.dtype, second.dtype) == (np.dtype("<f2"), np.dtype("<f4")):
                first = first.astype("<f4")  # netCDF has no halves: it is the same number
            if first.dtype != second.dtype:
                return False
            if undefined:
                first, second = _blank(first, undefined), _blank(second, undefined)
            return bool(first.tobytes() == second.tobytes())
        case Texts(shape, first), Texts(_, second):
            if undefined:
                first, second = (
                    _blank(np.array(each, object).reshape(shape), undefined).tolist() for each in (first, second)
                )
            return bool(first == second)
        case Records(_, first), Records(_, second):
            return [name for name, _ in first] == [name for name, _ in second] and all(
                same(mine, theirs, undefined) for (_, mine), (_, theirs) in zip(first, second, strict=True)
            )
        case Lists(_, first), Lists(_, second):
            return bool(undefined) or all(same(mine, theirs) for mine, theirs in zip(first, second, strict=True))
    return False


def _packed(values: Values, shape: tuple[int, ...]) -> Any:
    """The bytes of each element of an array of this shape, one row an element."""
    match values:
        case Numbers(array):
            flat = np.ascontiguousarray(array).reshape(math.prod(shape), -1)
            return flat.view(np.uint8).reshape(len(flat), -1)
        case Records(_, members):
            return np.hstack([_packed(member, shape) for _, member in members])
        case _:
            raise TypeError(f"{type(values).__name__} are no bytes")


def _blank(array: Any, undefined: Sequence[Box]) -> Any:
    array = array.copy()
    for box in undefined:
        array[tuple(slice(*each) for each in box)] = np.zeros((), array.dtype)[()]
    return array
