"""Values that stand in the header itself: those of short variables and coordinates (ncstream §4)."""

from __future__ import annotations

from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.decoding import unsigned
from nczarr.formats.ncstream.elements import NUMPY, dtype_of
from nczarr.formats.ncstream.trees import Numbers, Tree


def numbers(declared: pb.Variable) -> Tree:
    """The values, big-endian as all of them are. Raises ValueError if they are no numbers."""
    import numpy as np

    if declared.dataType not in NUMPY:
        raise ValueError("they are no numbers")
    made = Numbers(declared.dataType, np.frombuffer(declared.data, dtype_of(declared.dataType, big=True)))
    return unsigned(made) if declared.unsigned else made
