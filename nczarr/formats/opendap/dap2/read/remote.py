"""Datasets on DAP2 servers: DDS and DAS for the tree, then sections on demand.

Regions are requested by constraint expressions. Sequences have no sections in
DAP2, so a variable with one is requested whole. The answer has a DDS of its
own: one that does not declare exactly what was requested is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Region
from nczarr.arrays.sources.decoded_parts import sources
from nczarr.arrays.sources.requested_regions import TEXT, Blocks, Regions
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast.node import TypeName
from nczarr.ast.walk import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.opendap.common.columns import BrokenValuesError, decoded
from nczarr.formats.opendap.dap2.read.parse import Declaration, parse_dds
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
from nczarr.formats.opendap.dap2.wire.xdr import Xdr
from nczarr.stores.opendap import Served, Service, encoded
from nczarr.stores.web_service import MOST_BYTES, message

LONGEST_HEAD = 2 << 20
"""Maximum bytes of an answer apart from its numbers."""

LONGEST_MAP = 1 << 22
"""Maximum bytes of a map that is compared with those of other grids; longer ones are variables of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class Dap2Variable:
    """Picklable description of a variable on a server."""

    service: Service
    """The server's dataset."""
    slot: DataSlot
    """Its declaration."""
    types: Types
    """Declared types by FQN."""
    chars: int | None = None
    """Length of the last dimension of chars, whose texts are sent; 0: single chars; None for other types."""

    @property
    def type(self) -> TypeName:
        """Type of the values."""
        return self.slot.type if self.chars is None else "char"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the variable."""
        return (*self.slot.shape, self.chars) if self.chars else self.slot.shape

    def values(self, region: Region, *, keep: bool = False) -> dict[str, NDArray[Any]]:
        """Return the values of a region by part, in the parts' shapes and dtypes. Raises OSError."""
        inner: Region = ()
        if self.chars:
            region, inner = region[:-1], region[-1:]
        expression = self.slot.projection + "".join(f"[{each[0]}:{each.step}:{each[-1]}]" for each in region)
        count = math.prod(map(len, region))
        most = MOST_BYTES
        if self.chars is not None:
            most = count * (8 + self.chars) + LONGEST_HEAD
        elif is_fixed(self.type, self.types):
            most = 2 * count * 8 * size(self.type, self.types) + LONGEST_HEAD
        data = self.service.answer(".dods?" + encoded(expression), most=most, size=count * TEXT, keep=keep)
        try:
            found = self._decoded(data, tuple(map(len, region)))
            if self.chars is None:
                return found
            chars = chars_of(found[""], self.chars)
            return {"": chars[..., slice(inner[0].start, inner[0].stop, inner[0].step)] if inner else chars}
        except (BrokenValuesError, TextFaultError) as fault:
            text = f"the answer to `{expression}` cannot be used: {fault}"
            raise OSError(None, text, self.service.shown) from None

    def _decoded(self, data: bytes, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Return the values of an answer. Raises BrokenValuesError, TextFaultError."""
        place = values_at(data)
        if place is None:
            words = message(data[:4096].decode("utf-8", "replace"))
            raise BrokenValuesError(f"it has no values: {words[:200]}", 0)
        found = parse_dds(Source("answer", data), 0, place[0]).variables
        if len(found) != 1 or not self._fits(found[0], shape):
            raise BrokenValuesError("it declares other variables or another shape", 0)
        wire = Xdr(data, place[1], self.types)
        values = decoded(wire, self.slot.type, shape, array=self.slot.array)
        if wire.end - wire.at > 2:
            raise BrokenValuesError(f"{wire.end - wire.at} bytes follow the values", wire.at)
        return values

    def _fits(self, found: Declaration, shape: tuple[int, ...]) -> bool:
        """Return whether a declaration is that of this variable with another shape."""
        own = self.slot.declared
        if self.slot.grid is not None and found.kind in ("structure", "grid") and not found.dims:
            if found.name != self.slot.grid.name or len(found.members) != 1:
                return False
            found = found.members[0]
        elif found.name not in (own.name, f"{self.slot.grid.name}.{own.name}" if self.slot.grid else own.name):
            return False
        lengths = tuple(each.size for each in found.dims)
        same = (found.kind, found.type.lower(), found.members) == (own.kind, own.type.lower(), own.members)
        return same and lengths == shape


def read(source: Source, report: Report) -> Unchecked | None:
    """Read the dataset of a `Served` source. Raises OSError."""
    assert isinstance(source, Served)
    service = source.service
    if refuse_error(source, report):
        return None
    das = Source(f"{source.name}.das", service.text(".das"))
    try:
        with building():
            schema, scope, slots = declarations(source, 0, len(source.data))
            types = {names.join("/", each.name): each for each in scope.types}
            variables = {id(slot): Dap2Variable(service, slot, types) for slot in slots}

            def equal(one: DataSlot, other: DataSlot) -> bool:
                width = TEXT if one.type == "string" else size(one.type, types)
                if math.prod(one.shape) * width > LONGEST_MAP:
                    return False
                whole = tuple(map(range, one.shape))
                first, second = (variables[id(slot)].values(whole, keep=True)[""] for slot in (one, other))
                return same_values(first, second, one.type)

            tree = tree_of(schema, slots, scope, equal)
            made = dataset(tree, das, report)
    except TextFaultError as fault:
        report.error("bad-dap2", str(fault), Span(source, fault.start, fault.end))
        return None
    if made is None:
        return None
    found = {}
    for each in tree.variables.values():
        variable = replace(variables[id(each.slot)], chars=each.chars)
        if variable.type == "string" or is_fixed(variable.type, types):
            regions = Regions(variable, variable.type, variable.shape, types)
            found[names.join("/", each.name)] = sources(regions, {})
        else:
            found[names.join("/", each.name)] = sources(Blocks(variable), {})
    return Unchecked(made, parts=found)
