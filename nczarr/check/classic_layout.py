"""Layout of a classic netCDF file, computed before it is written.

Expects: a dataset of the classic model without anonymous dimensions. A file is
its header, the fixed variables in definition order, then the records. A record
has one part of every record variable in definition order. Every part begins at
a multiple of four bytes, except that the records of a lone record variable have
no gaps. Source: the netCDF file format specifications ("The NetCDF Classic
Format Specification", CDF-2, CDF-5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Kind
from nczarr.check.checked import Checked

CLASSIC_KINDS: tuple[Kind, ...] = ("nc3", "nc6", "nc5")
"""Kinds of classic file, from the narrowest to the widest."""


class Widths(NamedTuple):
    """Bytes of the numbers in a header."""

    length: int
    """Bytes of counts, lengths and sizes."""
    offset: int
    """Bytes of file offsets."""


WIDTHS: dict[Kind, Widths] = {"nc3": Widths(4, 4), "nc6": Widths(4, 8), "nc5": Widths(8, 8)}
TAG = 4
"""Bytes of a list's tag, and of a type."""


class VariablePlace(NamedTuple):
    """Location of a variable in a file."""

    begin: int
    """Start of its values, or of those of the first record, in bytes."""
    size: int
    """Bytes of its values, or of one record of them."""
    padded: int
    """The size rounded up to four, the specification's `vsize`."""
    record: bool
    """True if the variable has records."""


class ClassicLayout(NamedTuple):
    """Layout of a whole file."""

    header: int
    """Size of the header in bytes."""
    places: Mapping[str, VariablePlace]
    """Location of each variable by FQN, in definition order."""
    records: int
    """Number of records."""
    record_begin: int
    """Start of the first record in bytes."""
    record_size: int
    """Distance of two records in bytes."""

    @property
    def end(self) -> int:
        """Size of the file."""
        return self.record_begin + self.records * self.record_size


def lay_out(checked: Checked, kind: Kind) -> ClassicLayout:
    """Return the layout for one of `CLASSIC_KINDS`. Raises KeyError for content that such a file cannot hold."""
    header = header_size(checked, kind)
    sizes: dict[str, tuple[int, bool]] = {}
    for path, variable in checked.variables.items():
        shape = checked.shapes[path]
        record = bool(variable.dimensions) and checked.dimensions[str(variable.dimensions[0])].unlimited
        sizes[path] = math.prod(shape[record:]) * ATOMIC[variable.type].size, record
    begins: dict[str, int] = {}
    at = header
    for of_records in (False, True):
        record_begin = at
        for path, (size, record) in sizes.items():
            if record is of_records:
                begins[path] = at
                at += padded(size)
    places = {path: VariablePlace(begins[path], size, padded(size), record) for path, (size, record) in sizes.items()}
    growing = [place for place in places.values() if place.record]
    records = next((item.size for item in checked.dimensions.values() if item.unlimited), 0)
    return ClassicLayout(header, places, records, record_begin, record_size([place.size for place in growing]))


def record_size(sizes: list[int]) -> int:
    """Return the bytes between records from those of each record variable; a lone one is not padded."""
    return sizes[0] if len(sizes) == 1 else sum(map(padded, sizes))


def padded(size: int) -> int:
    """Round up to a multiple of four."""
    return size + -size % 4


def header_size(checked: Checked, kind: Kind) -> int:
    """Return the bytes of the header: magic number, record count, lists of dimensions, attributes and variables."""
    count, offset = WIDTHS[kind]
    lists = 3 * (TAG + count)
    dimensions = sum(_name_size(item.name, count) + count for item in checked.dataset.dimensions)
    total = 4 + count + lists + dimensions + _attributes_size(checked.dataset.attributes, count)
    for variable in checked.variables.values():
        total += _name_size(variable.name, count) + count + count * len(variable.dimensions)
        total += TAG + count + _attributes_size(variable.attributes, count)
        total += TAG + count + offset
    return total


def encoded(name: str) -> bytes:
    """Return a name as stored: UTF-8 in NFC."""
    return names.normal(name).encode()


def _name_size(name: str, count: int) -> int:
    return count + padded(len(encoded(name)))


def _attributes_size(attributes: tuple[Attribute, ...], count: int) -> int:
    """Return the bytes of one owner's attributes, without the list head."""
    return sum(
        _name_size(item.name, count) + TAG + count + padded(item.value.count * ATOMIC[item.value.type].size)
        for item in attributes
    )
