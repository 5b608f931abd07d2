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
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.common.remote_variable import TEXT, RemoteVariable
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
from nczarr.formats.opendap.dap2.read.xdr import Xdr
from nczarr.stores.dataset_service import LONGEST_DOCUMENT, Served, encoded, message

LONGEST_MAP = 1 << 22
"""Maximum bytes of a map that is compared with those of other grids; longer ones are variables of their own."""


@dataclass(frozen=True, slots=True, eq=False)
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
        """Type of the values."""
        return self.slot.type if self.chars is None else "char"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the variable."""
        return (*self.slot.shape, self.chars) if self.chars else self.slot.shape

    def most(self, region: Region) -> int | None:
        """Return twice the bytes in XDR, or the bytes of all texts of chars; lists and other texts are of any size."""
        if self.chars is not None:
            return math.prod(map(len, self._sent(region))) * (8 + self.chars)
        if not is_fixed(self.type, self.types):
            return None
        return 2 * math.prod(map(len, region)) * 8 * size(self.type, self.types)

    def _sent(self, region: Region) -> Region:
        """Return the part of a region that has dimensions of its own."""
        return region[:-1] if self.chars else region

    def expression(self, region: Region) -> str:
        """Return the projection of a region."""
        slabs = (f"[{indices[0]}:{indices.step}:{indices[-1]}]" for indices in self._sent(region))
        return self.slot.projection + "".join(slabs)

    def query(self, expression: str) -> str:
        """Return the query for a projection."""
        return ".dods?" + encoded(expression)

    def decoded(self, data: bytes, region: Region) -> dict[str, NDArray[Any]]:
        """Return the values of an answer."""
        values = self._decoded(data, tuple(map(len, self._sent(region))))
        if self.chars is None:
            return values
        chars = chars_of(values[""], self.chars)
        inner = region[len(self.slot.shape) :]
        return {"": chars[..., slice(inner[0].start, inner[0].stop, inner[0].step)] if inner else chars}

    def _decoded(self, data: bytes, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Return the values of an answer. Raises BrokenValuesError, TextFaultError."""
        place = values_at(data)
        if place is None:
            words = message(data[:4096].decode("utf-8", "replace"))
            raise BrokenValuesError(f"it has no values: {words[:200]}", 0)
        declared = parse_dds(Source("answer", data), 0, place[0]).variables
        if len(declared) != 1 or not self._fits(declared[0], shape):
            raise BrokenValuesError("it declares other variables or another shape", 0)
        wire = Xdr(data, place[1], self.types)
        values = decoded(wire, self.slot.type, shape, array=self.slot.array)
        if wire.end - wire.at > 2:
            raise BrokenValuesError(f"{wire.end - wire.at} bytes follow the values", wire.at)
        return values

    def _fits(self, declared: Declaration, shape: tuple[int, ...]) -> bool:
        """Return whether a declaration is that of this variable with another shape."""
        expected = self.slot.declared
        if self.slot.grid is not None and declared.kind in ("structure", "grid") and not declared.dims:
            if declared.name != self.slot.grid.name or len(declared.members) != 1:
                return False
            declared = declared.members[0]
        elif declared.name not in (
            expected.name,
            f"{self.slot.grid.name}.{expected.name}" if self.slot.grid else expected.name,
        ):
            return False
        lengths = tuple(dim.size for dim in declared.dims)
        same = (declared.kind, declared.type.lower(), declared.members) == (
            expected.kind,
            expected.type.lower(),
            expected.members,
        )
        return same and lengths == shape


def read(source: Served, report: Report) -> Unchecked | None:
    """Read the dataset of a server. Raises OSError."""
    service = source.service
    if refuse_error(source, report):
        return None
    das = Source(f"{source.name}.das", service.ask(".das", LONGEST_DOCUMENT).data)
    try:
        with building():
            schema, scope, slots = declarations(source, 0, len(source.data))
            types = {names.join("/", declaration.name): declaration for declaration in scope.types}
            codecs = {id(slot): Dap2Codec(slot, types) for slot in slots}

            def equal(one: DataSlot, other: DataSlot) -> bool:
                width = TEXT if one.type == "string" else size(one.type, types)
                if math.prod(one.shape) * width > LONGEST_MAP:
                    return False
                whole = tuple(map(range, one.shape))
                maps = (RemoteVariable(service, codecs[id(slot)]) for slot in (one, other))
                first, second = (variable.values(whole, keep=True)[""] for variable in maps)
                return same_values(first, second, one.type)

            tree = tree_of(schema, slots, scope, equal)
            described = dataset(tree, das, report)
    except TextFaultError as fault:
        report.error("bad-dap2", str(fault), Span(source, fault.start, fault.end))
        return None
    if described is None:
        return None
    parts = {
        names.join("/", variable.name): RemoteVariable(
            service, replace(codecs[id(variable.slot)], chars=variable.chars)
        ).parts()
        for variable in tree.variables.values()
    }
    return Unchecked(described, parts=parts)
