"""Values in coverage messages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire.decode import inflated
from nczarr.formats.ncstream.wire.element_types import NUMPY, check_shape, dtype_of, name_of
from nczarr.formats.ncstream.wire.limits import Limits, bad, contradictory
from nczarr.names import from_bytes


def arrays(found: Iterable[pb.GeoReferencedArray], offset: int, limits: Limits) -> dict[str, NDArray[Any]]:
    """Return the arrays of an answer by coverage name, in the declared shape and the flagged byte order.

    Raises RefusedError.
    """
    return {from_bytes(each.coverageName): _array(each, offset, limits) for each in found}


def _array(each: pb.GeoReferencedArray, offset: int, limits: Limits) -> NDArray[Any]:
    if each.dataType not in NUMPY:
        raise bad(f"a coverage has values of type {name_of(each.dataType)}", offset)
    dtype = dtype_of(each.dataType, big=each.bigend)
    shape = tuple(each.shape)
    check_shape(shape, offset)
    size = math.prod(shape) * dtype.itemsize
    data = each.primdata
    if each.compress == pb.Data.DEFLATE:
        data = inflated(data, size, limits, offset)
    elif each.compress != pb.Data.NONE:
        raise bad(f"unknown compression {each.compress}", offset)
    if len(data) != size:
        raise contradictory(f"a coverage of {math.prod(shape)} values has {len(data)} bytes", offset)
    return np.frombuffer(data, dtype).reshape(shape)


def axes(found: Iterable[pb.CoordAxis], offset: int) -> dict[str, NDArray[Any]]:
    """Return the axis values that are present, by name: big-endian float64, shape (values,). Raises RefusedError."""
    made = {}
    for each in found:
        if not each.values:
            continue
        if len(each.values) % 8:
            raise contradictory(f"an axis has {len(each.values)} bytes of doubles", offset)
        made[from_bytes(each.name)] = np.frombuffer(each.values, ">f8")
    return made
