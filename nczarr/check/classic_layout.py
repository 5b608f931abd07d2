"""Where everything lies in a classic netCDF file: pure arithmetic, before a byte exists.

Expects: a dataset of the classic model whose dimensions all have names. A file is its header, the fixed variables in
the order of definition, then the records; a record has one part of every record variable, in the order of definition.
Every part begins at a multiple of four bytes, except that the records of a lone record variable lie without a gap.
Source of the rules: the netCDF file format specifications ("The NetCDF Classic Format Specification", CDF-2, CDF-5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Kind
from nczarr.check.checked import Checked

CLASSIC_KINDS: tuple[Kind, ...] = ("nc3", "nc6", "nc5")
"""The kinds of classic file, from the narrowest to the widest."""


class Widths(NamedTuple):
    """Bytes of numbers in the header of a kind: `length` counts, lengths and sizes; `offset` places in the file."""

    length: int
    offset: int


WIDTHS: dict[Kind, Widths] = {"nc3": Widths(4, 4), "nc6": Widths(4, 8), "nc5": Widths(8, 8)}
TAG = 4
"""Bytes of a list's tag, and of a type, in every kind."""


class Place(NamedTuple):
    """Where one variable lies: `begin` of its values, of those of the first record for a record variable.

    `size`: bytes of its values (of one record); `padded`: the same as a multiple of four, the specification's `vsize`.
    """

    begin: int
    size: int
    padded: int
    record: bool


class ClassicLayout(NamedTuple):
    """The whole file: bytes of the header, the place of each variable by FQN in the order of definition, records.

    `record_begin`: where the first record begins, `record_size`: bytes from one record to the next, `records`: how
    many there are.
    """

    header: int
    places: Mapping[str, Place]
    records: int
    record_begin: int
    record_size: int

    @property
    def end(self) -> int:
        """Bytes of the whole file."""
        return self.record_begin + self.records * self.record_size


def lay_out(checked: Checked, kind: Kind) -> ClassicLayout:
    """The layout of a dataset as a file of one of `CLASSIC_KINDS`. Raises KeyError for what no such file holds."""
    header = header_size(checked, kind)
    sizes: dict[str, tuple[int, bool]] = {}
    for path, variable in checked.variables.items():
        shape = checked.shapes[path]
        record = bool(variable.dimensions) and checked.dimensions[str(variable.dimensions[0])].unlimited
        sizes[path] = math.prod(shape[record:]) * ATOMIC[variable.type].size, record
    begins: dict[str, int] = {}
    at = header
    for wanted in (False, True):
        record_begin = at
        for path, (size, record) in sizes.items():
            if record is wanted:
                begins[path] = at
                at += padded(size)
    places = {path: Place(begins[path], size, padded(size), record) for path, (size, record) in sizes.items()}
    growing = [place for place in places.values() if place.record]
    records = next((item.size for item in checked.dimensions.values() if item.unlimited), 0)
    return ClassicLayout(header, places, records, record_begin, record_size([place.size for place in growing]))


def record_size(sizes: list[int]) -> int:
    """Bytes from one record to the next, given those of each record variable: a lone one is not padded."""
    return sizes[0] if len(sizes) == 1 else sum(map(padded, sizes))


def padded(size: int) -> int:
    """The next multiple of four."""
    return size + -size % 4


def header_size(checked: Checked, kind: Kind) -> int:
    """Bytes of the header: magic number, number of records, and the lists of dimensions, attributes and variables."""
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
    """A name as it stands in the file: UTF-8 of its NFC form."""
    return names.normal(name).encode()


def _name_size(name: str, count: int) -> int:
    return count + padded(len(encoded(name)))


def _attributes_size(attributes: tuple[Attribute, ...], count: int) -> int:
    """Bytes of the attributes of one owner, without the head of their list."""
    return sum(
        _name_size(item.name, count) + TAG + count + padded(item.value.count * ATOMIC[item.value.type].size)
        for item in attributes
    )
