"""Layout of padded records: `structOffset` of a document."""

from __future__ import annotations

import math
from typing import NamedTuple

from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.values.parts import Types, descr
from nczarr.formats.opendap.common.declarations import FaultError, whole
from nczarr.formats.opendap.common.xml_reader import XmlElement


class PaddedMember(NamedTuple):
    """Member of a padded record."""

    name: str
    """Name of the member."""
    offset: int
    """Byte offset in the record."""


def layout_of(element: XmlElement, type_name: str, types: Types) -> tuple[int, tuple[PaddedMember, ...]] | None:
    """Return size and member offsets of a padded record; None if packed. Raises FaultError.

    `structOffset` lists the offsets of all members but the first, and the
    record size.
    """
    chunks = element.first("dmrpp:chunks")
    written = chunks.attributes.get("structOffset") if chunks is not None else None
    packed = descr(type_name, types)
    if written is None or isinstance(packed, str):
        return None
    numbers = [0, *(whole(word, "offset of a member") for word in written.split())]
    if len(numbers) != len(packed) + 1:
        raise FaultError(f"`structOffset` has {len(numbers) - 1} numbers for {len(packed)} members")
    for (name, inner, shape), start, stop in zip(packed, numbers[:-1], numbers[1:], strict=True):
        size = itemsize(inner) * math.prod(shape)
        if start + size > stop or (size != stop - start and not isinstance(inner, str)):
            raise FaultError(f"`structOffset` leaves {stop - start} bytes for its member `{name}`, which needs {size}")
    if numbers[-1] == itemsize(packed):
        return None
    members = tuple(PaddedMember(name, start) for (name, _, _), start in zip(packed, numbers[:-1], strict=True))
    return numbers[-1], members
