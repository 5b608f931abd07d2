"""Values in coverage messages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read.decode import inflated
from nczarr.formats.ncstream.wire.element_types import NUMPY, check_shape, dtype_of, name_of
from nczarr.formats.ncstream.wire.limits import Limits, bad, contradictory
from nczarr.names import from_bytes


def arrays(coverages: Iterable[pb.GeoReferencedArray], offset: int, limits: Limits) -> dict[str, NDArray[Any]]:
    """Return the arrays of an answer by coverage name, in the declared shape and the flagged byte order.

    Raises UnreadableStreamError.
    """
    return {from_bytes(coverage.coverageName): _array(coverage, offset, limits) for coverage in coverages}


def _array(coverage: pb.GeoReferencedArray, offset: int, limits: Limits) -> NDArray[Any]:
    if coverage.dataType not in NUMPY:
        raise bad(f"a coverage has values of type {name_of(coverage.dataType)}", offset)
    dtype = dtype_of(coverage.dataType, big=coverage.bigend)
    shape = tuple(coverage.shape)
    check_shape(shape, offset)
    size = math.prod(shape) * dtype.itemsize
    data = coverage.primdata
    if coverage.compress == pb.Data.DEFLATE:
        data = inflated(data, size, limits, offset)
    elif coverage.compress != pb.Data.NONE:
        raise bad(f"unknown compression {coverage.compress}", offset)
    if len(data) != size:
        raise contradictory(f"a coverage of {math.prod(shape)} values has {len(data)} bytes", offset)
    return np.frombuffer(data, dtype).reshape(shape)


def axes(coordinates: Iterable[pb.CoordAxis], offset: int) -> dict[str, NDArray[Any]]:
    """Return the axis values that are present, by name: big-endian float64, shape (values,).

    Raises UnreadableStreamError.
    """
    values = {}
    for axis in coordinates:
        if not axis.values:
            continue
        if len(axis.values) % 8:
            raise contradictory(f"an axis has {len(axis.values)} bytes of doubles", offset)
        values[from_bytes(axis.name)] = np.frombuffer(axis.values, ">f8")
    return values
