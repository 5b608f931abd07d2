"""NumPy equivalents of wire element types, and sections.

Invariant: the shape of a section is possible for an array.
"""

from __future__ import annotations

import math

from nczarr.arrays.lazy_numpy import np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire.limits import LARGEST, MOST_DIMENSIONS, bad, oversized

Section = tuple[range, ...]
"""Region of a variable in a message: one range per dimension."""

NUMPY: dict[int, str] = {
    pb.CHAR: "S1", pb.BYTE: "i1", pb.SHORT: "i2", pb.INT: "i4", pb.LONG: "i8", pb.FLOAT: "f4", pb.DOUBLE: "f8",
    pb.ENUM1: "u1", pb.ENUM2: "u2", pb.ENUM4: "u4", pb.UBYTE: "u1", pb.USHORT: "u2", pb.UINT: "u4", pb.ULONG: "u8",
}  # fmt: skip
"""NumPy name of each fixed-width type. Enums are unsigned, as their codes are."""

UNSIGNED: dict[int, int] = {pb.BYTE: pb.UBYTE, pb.SHORT: pb.USHORT, pb.INT: pb.UINT, pb.LONG: pb.ULONG}
"""Effect of the `unsigned` flag on a type (first generation)."""

OF_NUMPY: dict[str, int] = {
    "S1": pb.CHAR, "i1": pb.BYTE, "i2": pb.SHORT, "i4": pb.INT, "i8": pb.LONG, "f4": pb.FLOAT, "f8": pb.DOUBLE,
    "u1": pb.UBYTE, "u2": pb.USHORT, "u4": pb.UINT, "u8": pb.ULONG, "b1": pb.UBYTE,
}  # fmt: skip
"""Wire type by NumPy dtype, if none is specified."""

NAMES: dict[int, str] = {number: name for name, number in pb.DataType.items()}
"""Name of each type in the format."""

RAGGED = 2**64 - 1
"""Length that marks a ragged dimension."""


def name_of(data_type: int) -> str:
    """Return the name of a type; an unknown type is its number."""
    return NAMES.get(data_type, str(data_type))


def dtype_of(data_type: int, *, big: bool) -> np.dtype[np.generic]:
    """Return the NumPy dtype of a fixed-width type."""
    return np.dtype(NUMPY[data_type]).newbyteorder(">" if big else "<")


def data_type_of(dtype: np.dtype[np.generic]) -> int:
    """Return the wire type of a numeric dtype. Raises ValueError if there is none."""
    name = f"{dtype.kind}{dtype.itemsize}"
    if name not in OF_NUMPY:
        raise ValueError(f"ncstream has no type for numpy's {dtype}")
    return OF_NUMPY[name]


def section_of(
    message: pb.Data | pb.DataCol, offset: int, *, ragged: bool = False
) -> tuple[Section | None, int | None]:
    """Return the section of a message (or None), and the position of its removed ragged dimension.

    `ragged`: allow a ragged dimension.
    """
    if not message.HasField("section"):
        return None, None
    found: list[range] = []
    place = None
    for each in message.section.range:
        if ragged and each.size == RAGGED and place is None:
            place = len(found)
            continue
        stride = each.stride or 1
        stop = each.start + each.size * stride
        if stop >= LARGEST:
            raise oversized(f"a section has a range of {each.size} places from {each.start} on", offset)
        found.append(range(each.start, stop, stride))
    check_shape(tuple(map(len, found)), offset)
    return tuple(found), place


def check_shape(shape: tuple[int, ...], offset: int) -> None:
    """Raise RefusedError for an impossible array shape."""
    if len(shape) > MOST_DIMENSIONS:
        raise oversized(f"a section has {len(shape)} dimensions, more than {MOST_DIMENSIONS}", offset)
    if math.prod(max(1, length) for length in shape) >= LARGEST >> 8:
        raise oversized(f"a section of {' × '.join(map(str, shape))} places is larger than any array", offset)


def shape_of(section: Section) -> tuple[int, ...]:
    """Return the shape of a section."""
    return tuple(map(len, section))


def write_section(section: Section, into: pb.Section) -> None:
    """Write a section in second-generation style: stride always, start only if not 0."""
    into.SetInParent()
    for each in section:
        one = into.range.add(size=len(each), stride=each.step)
        if each.start:
            one.start = each.start


def known_type(data_type: int, offset: int) -> None:
    """Raise RefusedError if the format has no such type."""
    if data_type not in NAMES:
        raise bad(f"there is no data type {data_type}", offset)
