"""`read`: a DODS response → dataset. Numbers stay in the file, everything else is decoded once."""

from __future__ import annotations

import math
import os
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import all_of, even_chunks
from nczarr.arrays.sources.decoded_parts import in_one_piece
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Parts, itemsize
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.arrays.values.parts import descr, parts
from nczarr.ast.walk import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.opendap.common.columns import BrokenValuesError, decoded
from nczarr.formats.opendap.common.type_words import FULL, NARROW
from nczarr.formats.opendap.dap2.read.narrow import Narrow
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
from nczarr.formats.opendap.dap2.wire.xdr import Xdr, pad
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
        self.types = {names.join("/", each.name): each for each in self.scope.types}
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
        made = dataset(tree, das, report)
        if made is None:
            return None
        numbers = {id(slot): number for number, slot in enumerate(self.slots)}
        arrays = {}
        for each in tree.variables.values():
            found = self.arrays[numbers[id(each.slot)]]
            if each.chars is not None:
                found = {"": _in_memory("|S1", chars_of(self._values(each.slot), each.chars))}
            arrays[names.join("/", each.name)] = found
        return Unchecked(made, parts=arrays)

    def _equal(self, one: DataSlot, other: DataSlot) -> bool:
        return same_values(self._values(one), self._values(other), one.type)

    def _values(self, slot: DataSlot) -> NDArray[Any]:
        (array,) = self.arrays[next(number for number, each in enumerate(self.slots) if each is slot)].values()
        return array.read(all_of(slot.shape))

    def _arrays(self, wire: Xdr, slot: DataSlot) -> Parts:
        """Return the arrays of the next variable. Raises BrokenValuesError."""
        count = math.prod(slot.shape)
        if slot.array and (slot.type in FULL or slot.type in NARROW):
            wire.array(slot.type, count)
            return {"": self._lazy(wire, slot, count)}
        values = decoded(wire, slot.type, slot.shape, array=slot.array)
        return {
            part.path: _in_memory(descr(part.type, self.types), values[part.path])
            for part in parts(slot.type, slot.shape, self.types)
        }

    def _lazy(self, wire: Xdr, slot: DataSlot, count: int) -> ArraySource:
        """Return an array of numbers in the file, and go on behind it."""
        dtype = "|u1" if slot.type == "ubyte" else FULL.get(slot.type, ">u4")
        width = itemsize(dtype)
        size = count * width
        wire.left(size, f"an array of {count} elements")
        chunks = next(even_chunks(slot.shape, width), slot.shape)
        layout = Layout(dtype, slot.shape, tuple(max(1, each) for each in chunks))
        source = AffineArray(layout, self.file, wire.at, math.prod(slot.shape[1:]) * width)
        wire.at += size
        if slot.type == "ubyte":
            wire.take(pad(size), "the padding of an array")
        return source if slot.type not in NARROW or slot.type == "ubyte" else Narrow(source, slot.type)


def _in_memory(dtype: Descr, values: NDArray[Any]) -> ArrayInMemory:
    return ArrayInMemory(in_one_piece(dtype, values.shape), values)
