"""Constants as arrays in memory, and bitwise comparison of arrays."""

from __future__ import annotations

import math
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.source import Parts, little
from nczarr.arrays.values.parts import Types
from nczarr.arrays.values.value_lists import constant_parts
from nczarr.ast import Constant


def parts_of(constant: Constant, shape: tuple[int, ...], types: Types) -> Parts:
    """Return the values of a constant as the arrays of a variable.

    Parameters
    ----------
    constant : nczarr.ast.Constant
        The values.
    shape : tuple of int
        Shape of the variable.
    types : Mapping of str to UserType
        Declared types by fully qualified name.

    Returns
    -------
    Mapping of str to ArraySource
        One array for each part of a value: `""` for values of fixed size.

    Raises
    ------
    ValueError
        If the constant has another number of values than the shape.
    """
    if constant.count != math.prod(shape):
        raise ValueError(f"{constant.count} values do not make an array of shape {shape}")
    return constant_parts(constant, shape, types)


def differences(one: Parts, other: Parts) -> list[str]:
    """Compare the arrays of two variables bit by bit.

    Parameters
    ----------
    one, other : Mapping of str to ArraySource
        Arrays by part.

    Returns
    -------
    list of str
        One line for each part that differs; empty if all bits are equal.
    """
    found = [f"part {path!r} is only in one" for path in sorted(one.keys() ^ other.keys())]
    for path in sorted(one.keys() & other.keys()):
        first, second = whole(one, path), whole(other, path)
        if first.dtype != second.dtype or first.shape != second.shape:
            found.append(f"part {path!r}: {first.dtype}{first.shape} against {second.dtype}{second.shape}")
        elif first.tolist() != second.tolist() if first.dtype.hasobject else first.tobytes() != second.tobytes():
            found.append(f"part {path!r}: {first.tolist()} against {second.tolist()}")
    return found


def whole(parts: Parts, path: str = "") -> NDArray[Any]:
    """Return all values of one part, little-endian.

    Parameters
    ----------
    parts : Mapping of str to ArraySource
        Arrays by part.
    path : str
        Name of the part.

    Returns
    -------
    numpy.ndarray
        The values, in the shape of the part.
    """
    source = parts[path]
    return little(source.read(all_of(source.layout.shape)))
