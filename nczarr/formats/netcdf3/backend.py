"""`write`: plan → a classic netCDF file, front to back, so that it can go to a pipe.

Header of exactly `layout.header` bytes, fixed variables in definition order,
records, with the bytes of the netCDF library; cells that it leaves undefined
(unwritten under `_NoFill`) hold the fill value. Names and values of the header
are zero-padded to multiples of four. Source: the netCDF file format
specifications.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.ast import ATOMIC, Attribute, Kind
from nczarr.ast.values import swapped
from nczarr.check.checked import Checked
from nczarr.check.classic_layout import TAG, WIDTHS, ClassicLayout, encoded, lay_out
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf3.data import values
from nczarr.formats.netcdf3.wire import (
    ABSENT,
    ATTRIBUTE,
    DIMENSION,
    LARGEST_VSIZE,
    MAGIC,
    TOO_LARGE_VSIZE,
    TYPES,
    VARIABLE,
)
from nczarr.options import Options
from nczarr.plan.plans import FilePlan


def write(plan: FilePlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the pieces of the file, whose kind the plan has checked."""
    assert plan.kind is not None
    layout = lay_out(plan.checked, plan.kind)
    yield header(plan.checked, plan.kind, layout)
    yield from values(plan.checked, plan.checked.parts, layout)


def header(checked: Checked, kind: Kind, layout: ClassicLayout) -> bytes:
    """Return the header of a file of a classic kind."""
    writer = _Header(kind)
    writer.out += MAGIC[kind]
    writer.count(layout.records)
    writer.head(DIMENSION, len(checked.dataset.dimensions))
    ids: dict[str, int] = {}
    for number, (path, dimension) in enumerate(checked.dimensions.items()):
        ids[path] = number
        writer.name(dimension.name)
        writer.count(0 if dimension.unlimited else dimension.size)
    writer.attributes(checked.dataset.attributes)
    writer.head(VARIABLE, len(checked.variables))
    for path, variable in checked.variables.items():
        place = layout.places[path]
        writer.name(variable.name)
        writer.count(len(variable.dimensions))
        for reference in variable.dimensions:
            writer.count(ids[str(reference)])
        writer.attributes(variable.attributes)
        writer.tag(TYPES[variable.type])
        writer.count(place.padded if writer.wide or place.padded <= LARGEST_VSIZE else TOO_LARGE_VSIZE)
        writer.offset(place.begin)
    return bytes(writer.out)


class _Header:
    """Growing header. `wide`: counts have eight bytes."""

    def __init__(self, kind: Kind) -> None:
        self.out = bytearray()
        self._count, self._offset = WIDTHS[kind]
        self.wide = self._count == 8

    def tag(self, number: int) -> None:
        self.out += number.to_bytes(TAG, "big")

    def count(self, number: int) -> None:
        self.out += number.to_bytes(self._count, "big")

    def offset(self, number: int) -> None:
        self.out += number.to_bytes(self._offset, "big")

    def head(self, tag: int, length: int) -> None:
        """Append the head of a list."""
        self.tag(tag if length else ABSENT)
        self.count(length)

    def padded(self, data: bytes) -> None:
        self.out += data
        self.out += bytes(-len(data) % 4)

    def name(self, name: str) -> None:
        data = encoded(name)
        self.count(len(data))
        self.padded(data)

    def attributes(self, attributes: tuple[Attribute, ...]) -> None:
        self.head(ATTRIBUTE, len(attributes))
        for attribute in attributes:
            value = attribute.value
            assert isinstance(value.data, bytes)  # no classic kind has strings
            self.name(attribute.name)
            self.tag(TYPES[value.type])
            self.count(value.count)
            self.padded(swapped(value.data, ATOMIC[value.type].size))
