"""Values that stand in the header itself: those of short variables and coordinates (ncstream §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nczarr.arrays.parts import Types
from nczarr.ast.node import TypeName
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire.cells import fixed
from nczarr.formats.ncstream.wire.decode import unsigned
from nczarr.formats.ncstream.wire.definitions import Declared
from nczarr.formats.ncstream.wire.elements import NUMPY, dtype_of
from nczarr.formats.ncstream.wire.trees import Numbers, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray


def values(declared: Declared | None, type_name: TypeName, shape: tuple[int, ...], types: Types) -> NDArray[Any] | None:
    """The values that the header has of a variable, None if it has none. Raises ValueError if they do not suit it."""
    if not isinstance(declared, pb.Variable) or not declared.HasField("data"):
        return None
    return fixed(numbers(declared), type_name, shape, types)


def numbers(declared: pb.Variable) -> Tree:
    """The values, big-endian as all of them are. Raises ValueError if they are no numbers."""
    import numpy as np

    if declared.dataType not in NUMPY:
        raise ValueError("they are no numbers")
    made = Numbers(declared.dataType, np.frombuffer(declared.data, dtype_of(declared.dataType, big=True)))
    return unsigned(made) if declared.unsigned else made
