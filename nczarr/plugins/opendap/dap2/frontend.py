"""`read`: a DODS response or a dataset on a server → dataset.

Numbers of a file stay in it, everything else is decoded once. Of a server, regions are requested by constraint
expressions. Sequences have no sections in DAP2, so a variable with one is requested whole. The answer has a DDS of its
own: one that does not declare exactly what was requested is an error.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, Region, Selection, all_of
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Parts
from nczarr.arrays.sources.strided import FileBytes
from nczarr.arrays.values.parts import NUMPY, Types, is_fixed, size
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.names.records import frozen
from nczarr.options import Options
from nczarr.plugins.common.dataset_service import LONGEST_DOCUMENT, Served, encode, message
from nczarr.plugins.common.remote_variable import TEXT, RemoteVariable
from nczarr.plugins.opendap.common.columns import (
    BrokenValuesError,
    all_values,
    decode_arrays,
    in_memory,
    numbers_in_file,
)
from nczarr.plugins.opendap.common.words import FULL, NARROW, xdr_padding
from nczarr.plugins.opendap.dap2.dataset import build_dataset, chars_of, read_declarations, refuse_error, values_at
from nczarr.plugins.opendap.dap2.dialect import RecastIntegers
from nczarr.plugins.opendap.dap2.parser import Declaration, TextFaultError, parse_dds
from nczarr.plugins.opendap.dap2.tree import DataSlot, Declared, Tree, TreeVariable
from nczarr.plugins.opendap.dap2.xdr import Xdr, narrow
from nczarr.semantics.checked import Unchecked
from nczarr.stores import local_paths

LONGEST_DAS = 256 << 20
"""Maximum bytes of a DAS."""

_LINE_END = b"\r\n"  # editors and transfers add it


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a DODS response; None after an error.

    The attributes are those of the `.das` beside a local file, if there is one.
    Reports `bad-dap2` and `foreign-member`. Raises OSError.
    """
    if isinstance(source, Served):
        return _read_served(source, report)
    text = Source(source.name, source.data, path=source.path)
    if refuse_error(text, report):
        return None
    place = values_at(source.data)
    if place is None:
        fault = "the response has no line `Data:`, after which values follow"
        report.error("bad-dap2", f"`{source.name}`: {fault}", Span(source, len(source.data), len(source.data)))
        return None
    binary, das = Source(source.name, source.data, binary=True, path=source.path), _find_das(source)
    try:
        with building():
            return _of_response(read_declarations(text, 0, place[0]), binary, place[1], das, report)
    except TextFaultError as fault:
        report.error("bad-dap2", str(fault), Span(text, fault.start, fault.end))
    except BrokenValuesError as fault:
        report.error("bad-dap2", str(fault), Span(binary, fault.at, fault.at))
    return None


def _find_das(source: Source) -> Source | None:
    """Return the DAS beside a file; None without one. Raises OSError."""
    path = local_paths.stem_of(source.path) + ".das"
    if not source.path.lower().endswith(".dods") or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return Source(local_paths.stem_of(source.name) + ".das", file.read(LONGEST_DAS))


def _of_response(
    declared: Declared, source: Source, start: int, das: Source | None, report: Report
) -> Unchecked | None:
    """Return the dataset of a response whose values begin at `start`. Raises TextFaultError, BrokenValuesError."""
    wire, file = Xdr(source.data, start, declared.scope.all_types()), FileBytes.of(source)
    arrays: dict[int, Parts] = {}
    for slot in declared.slots:
        try:
            arrays[id(slot)] = _arrays(wire, slot, file)
        except BrokenValuesError as fault:
            raise BrokenValuesError(f"variable `{slot.projection}`: {fault}", fault.at) from None
    unread = wire.end - wire.at
    if unread > len(_LINE_END) or (unread and bytes(source.data[wire.at :]) not in (_LINE_END, _LINE_END[1:])):
        raise BrokenValuesError(f"{unread} bytes follow the last value", wire.at)

    def values(slot: DataSlot) -> NDArray[Any]:
        (array,) = arrays[id(slot)].values()
        return array.read(all_of(slot.shape))

    def parts(variable: TreeVariable) -> Parts:
        if variable.chars is None:
            return arrays[id(variable.slot)]
        return {"": in_memory("|S1", chars_of(values(variable.slot), variable.chars))}

    return _assemble(declared, das, report, values, parts)


def _assemble(
    declared: Declared,
    das: Source | None,
    report: Report,
    values: Callable[[DataSlot], NDArray[Any] | None],
    parts: Callable[[TreeVariable], Parts],
) -> Unchecked | None:
    """Return the dataset of declarations; None after an error in the DAS. Raises TextFaultError, OSError.

    `values`: returns the values of a map, None if they are too many to be compared; `parts`: those of a variable.
    """

    def equal(one: DataSlot, other: DataSlot) -> bool:
        first = values(one)
        second = None if first is None else values(other)
        if first is None or second is None:
            return False
        return bool((first == second).all()) if one.type == "string" else first.tobytes() == second.tobytes()

    tree = Tree(declared, equal)
    described = build_dataset(tree, das, report)
    if described is None:
        return None
    restored = {names.join("/", each.name): _restore_integers(each, parts(each)) for each in tree.variables.values()}
    return Unchecked(described, parts=restored)


def _restore_integers(variable: TreeVariable, parts: Parts) -> Parts:
    """Return the parts of a variable in the type of its integers."""
    return parts if variable.integer is None else {"": RecastIntegers(parts[""], variable.integer)}


def _arrays(wire: Xdr, slot: DataSlot, file: FileBytes) -> Parts:
    """Return the arrays of the next variable; numbers stay in the file. Raises BrokenValuesError."""
    if not slot.array or (slot.type not in FULL and slot.type not in NARROW):
        return decode_arrays(wire, slot.type, slot.shape, array=slot.array)
    wire.array(slot.type, math.prod(slot.shape))
    packed = slot.type == "ubyte"
    numbers = numbers_in_file(wire, file, "|u1" if packed else FULL.get(slot.type, ">u4"), slot.shape)
    if packed:
        wire.take(xdr_padding(math.prod(slot.shape)), "the padding of an array")
    return {"": numbers if packed or slot.type in FULL else Narrow(numbers, slot.type)}


@frozen
class Narrow(DerivedSource):
    """Array of 16-bit integers made of an array of units (`>u4`)."""

    source: ArraySource
    """The units."""
    type: TypeName
    """Type of the values: short or ushort."""

    @property
    def layout(self) -> Layout:
        return self.source.layout._replace(dtype=NUMPY[self.type], codecs=())

    @property
    def viewed(self) -> bool:
        return False

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        return self.source.list_occupied(chunks, region)

    def read(self, selection: Selection) -> NDArray[Any]:
        try:
            return narrow(self.type)(self.source.read(selection))
        except ValueError as fault:
            raise OSError(None, str(fault)) from None


LONGEST_MAP = 1 << 22
"""Maximum bytes of a map that is compared with those of other grids; longer ones are variables of their own."""


@frozen
class Dap2Codec:
    """A variable in DAP2."""

    slot: DataSlot
    """Its declaration."""
    types: Types
    """Declared types by FQN."""
    chars: int | None = None
    """Length of the last dimension of chars, whose texts are sent; 0: single chars; None for other types."""

    @property
    def type(self) -> TypeName:
        return self.slot.type if self.chars is None else "char"

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.slot.shape, self.chars) if self.chars else self.slot.shape

    def most(self, region: Region) -> int | None:
        """Return twice the bytes in XDR, or the bytes of all texts of chars; lists and other texts are of any size."""
        if self.chars is not None:
            return math.prod(map(len, self._send(region))) * (8 + self.chars)
        if not is_fixed(self.type, self.types):
            return None
        return 2 * math.prod(map(len, region)) * 8 * size(self.type, self.types)

    def _send(self, region: Region) -> Region:
        """Return the part of a region that has dimensions of its own."""
        return region[:-1] if self.chars else region

    def expression(self, region: Region) -> str:
        slabs = (f"[{indices[0]}:{indices.step}:{indices[-1]}]" for indices in self._send(region))
        return self.slot.projection + "".join(slabs)

    def query(self, expression: str) -> str:
        return ".dods?" + encode(expression)

    def decode(self, data: bytes, region: Region) -> dict[str, NDArray[Any]]:
        """Return the values of a region from a response, by part; texts become chars if the variable has these."""
        values = self._decode(data, tuple(map(len, self._send(region))))
        if self.chars is None:
            return values
        chars = chars_of(values[""], self.chars)
        inner = region[len(self.slot.shape) :]
        return {"": chars[..., slice(inner[0].start, inner[0].stop, inner[0].step)] if inner else chars}

    def _decode(self, data: bytes, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Return the values of an answer. Raises BrokenValuesError, TextFaultError."""
        place = values_at(data)
        if place is None:
            words = message(data[:4096].decode("utf-8", "replace"))
            raise BrokenValuesError(f"it has no values: {words[:200]}", 0)
        declared = parse_dds(Source("answer", data), 0, place[0]).variables
        if len(declared) != 1 or not self._fits(declared[0], shape):
            raise BrokenValuesError("it declares other variables or another shape", 0)
        wire = Xdr(data, place[1], self.types)
        values = all_values(decode_arrays(wire, self.slot.type, shape, array=self.slot.array))
        if wire.end - wire.at > 2:  # an end of line may follow
            raise BrokenValuesError(f"{wire.end - wire.at} bytes follow the values", wire.at)
        return values

    def _fits(self, received: Declaration, shape: tuple[int, ...]) -> bool:
        """Return whether a declaration is that of this variable with another shape."""
        expected = self.slot.declared
        if self.slot.grid is not None and received.kind in ("structure", "grid") and not received.dims:
            if received.name != self.slot.grid.name or len(received.members) != 1:
                return False
            received = received.members[0]
        elif received.name not in (expected.name, self.slot.projection_name):
            return False
        if tuple(dim.size for dim in received.dims) != shape or received.type.lower() != expected.type.lower():
            return False
        return (received.kind, received.members) == (expected.kind, expected.members)


def _read_served(source: Served, report: Report) -> Unchecked | None:
    """Read the dataset of a server. Raises OSError."""
    service = source.service
    if refuse_error(source, report):
        return None
    das = Source(f"{source.name}.das", service.ask(".das", LONGEST_DOCUMENT).data)
    try:
        with building():
            declared = read_declarations(source, 0, len(source.data))
            types = declared.scope.all_types()

            def values(slot: DataSlot) -> NDArray[Any] | None:
                width = TEXT if slot.type == "string" else size(slot.type, types)
                if math.prod(slot.shape) * width > LONGEST_MAP:
                    return None
                variable = RemoteVariable(service, Dap2Codec(slot, types))
                return variable.values(tuple(map(range, slot.shape)), keep=True)[""]

            def parts(variable: TreeVariable) -> Parts:
                return RemoteVariable(service, Dap2Codec(variable.slot, types, variable.chars)).parts()

            return _assemble(declared, das, report, values, parts)
    except TextFaultError as fault:
        report.error("bad-dap2", str(fault), Span(source, fault.start, fault.end))
        return None
