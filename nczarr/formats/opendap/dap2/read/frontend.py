"""`read`: a DODS response → dataset. Numbers stay in the file, everything else is decoded once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, Region, Selection, all_of
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Parts
from nczarr.arrays.sources.strided import FileBytes
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.opendap.common.columns import BrokenValuesError, decoded_arrays, in_memory, numbers_in_file
from nczarr.formats.opendap.common.type_words import FULL, NARROW, xdr_padding
from nczarr.formats.opendap.dap2.read.response import (
    chars_of,
    dataset,
    declarations,
    refuse_error,
    same_values,
    values_at,
)
from nczarr.formats.opendap.dap2.read.tokens import TextFaultError
from nczarr.formats.opendap.dap2.read.tree import DataSlot, tree_of
from nczarr.formats.opendap.dap2.read.xdr import Xdr, narrowed
from nczarr.options import Options
from nczarr.stores.dataset_service import Served

LONGEST_DAS = 256 << 20
"""Maximum bytes of a DAS."""

_LINE_END = b"\r\n"  # editors and transfers add it


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a DODS response; None after an error.

    The attributes are those of the `.das` beside a local file, if there is one.
    Reports `bad-dap2` and `foreign-member`. Raises OSError.
    """
    if isinstance(source, Served):
        from nczarr.formats.opendap.dap2.read import remote

        return remote.read(source, report)
    text = Source(source.name, source.data, path=source.path)
    if refuse_error(text, report):
        return None
    place = values_at(source.data)
    if place is None:
        fault = "the response has no line `Data:`, after which values follow"
        report.error("bad-dap2", f"`{source.name}`: {fault}", Span(source, len(source.data), len(source.data)))
        return None
    binary = Source(source.name, source.data, binary=True, path=source.path)
    das = _das_beside(source)
    try:
        with building():
            return _File(binary, text, *place).read(das, report)
    except TextFaultError as fault:
        report.error("bad-dap2", str(fault), Span(text, fault.start, fault.end))
    except BrokenValuesError as fault:
        report.error("bad-dap2", str(fault), Span(binary, fault.at, fault.at))
    return None


def _das_beside(source: Source) -> Source | None:
    """Return the DAS beside a file; None without one. Raises OSError."""
    path = os.path.splitext(source.path)[0] + ".das"
    if not source.path.lower().endswith(".dods") or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return Source(os.path.splitext(source.name)[0] + ".das", file.read(LONGEST_DAS))


class _File:
    """Values of a response, with their places."""

    def __init__(self, source: Source, text: Source, stop: int, start: int) -> None:
        self.source = source
        self.schema, self.scope, self.slots = declarations(text, 0, stop)
        self.types = {names.join("/", declaration.name): declaration for declaration in self.scope.types}
        self.file = FileBytes.of(source)
        self.arrays: dict[int, Parts] = {}
        wire = Xdr(source.data, start, self.types)
        for number, slot in enumerate(self.slots):
            try:
                self.arrays[number] = self._arrays(wire, slot)
            except BrokenValuesError as fault:
                raise BrokenValuesError(f"variable `{slot.projection}`: {fault}", fault.at) from None
        if wire.at < wire.end:
            left = wire.end - wire.at
            if left > len(_LINE_END) or bytes(source.data[wire.at :]) not in (_LINE_END, _LINE_END[1:]):
                raise BrokenValuesError(f"{left} bytes follow the last value", wire.at)

    def read(self, das: Source | None, report: Report) -> Unchecked | None:
        """Return the dataset; None after an error in the DAS."""
        tree = tree_of(self.schema, self.slots, self.scope, self._equal)
        described = dataset(tree, das, report)
        if described is None:
            return None
        numbers = {id(slot): number for number, slot in enumerate(self.slots)}
        arrays = {}
        for variable in tree.variables.values():
            parts = self.arrays[numbers[id(variable.slot)]]
            if variable.chars is not None:
                parts = {"": in_memory("|S1", chars_of(self._values(variable.slot), variable.chars))}
            arrays[names.join("/", variable.name)] = parts
        return Unchecked(described, parts=arrays)

    def _equal(self, one: DataSlot, other: DataSlot) -> bool:
        return same_values(self._values(one), self._values(other), one.type)

    def _values(self, slot: DataSlot) -> NDArray[Any]:
        (array,) = self.arrays[next(number for number, other in enumerate(self.slots) if other is slot)].values()
        return array.read(all_of(slot.shape))

    def _arrays(self, wire: Xdr, slot: DataSlot) -> Parts:
        """Return the arrays of the next variable. Raises BrokenValuesError."""
        if slot.array and (slot.type in FULL or slot.type in NARROW):
            wire.array(slot.type, math.prod(slot.shape))
            return {"": self._numbers(wire, slot)}
        return decoded_arrays(wire, slot.type, slot.shape, array=slot.array)

    def _numbers(self, wire: Xdr, slot: DataSlot) -> ArraySource:
        """Return an array of numbers in the file, and go on behind it."""
        if slot.type != "ubyte":
            source = numbers_in_file(wire, self.file, FULL.get(slot.type, ">u4"), slot.shape)
            return source if slot.type in FULL else Narrow(source, slot.type)
        packed = numbers_in_file(wire, self.file, "|u1", slot.shape)
        wire.take(xdr_padding(math.prod(slot.shape)), "the padding of an array")
        return packed


@dataclass(frozen=True, slots=True, eq=False)
class Narrow(DerivedSource):
    """Array of 16-bit integers made of an array of units (`>u4`)."""

    source: ArraySource
    """The units."""
    type: TypeName
    """Type of the values: short or ushort."""

    @property
    def layout(self) -> Layout:
        """Layout of the units with the type of the values."""
        return self.source.layout._replace(dtype=NUMPY[self.type], codecs=())

    @property
    def viewed(self) -> bool:
        """False: values are converted."""
        return False

    def occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Yield the chunks of the units."""
        return self.source.occupied(chunks, region)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises OSError."""
        try:
            return narrowed(self.type)(self.source.read(selection))
        except ValueError as fault:
            raise OSError(None, str(fault)) from None
