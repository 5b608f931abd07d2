"""Datasets on CDM Remote servers: one request for the header, then sections on demand.

Parts of fixed size, or of strings, are requested by region in pieces of at most
`PIECE` bytes; lists, and records with lists, in blocks of cells
(`arrays/sources/requested_regions.py`), because their lengths are unknown before. Servers may answer
with either kind of data message. Record members are selected here; so are
records if a server sends all. Invariant: an answer holds the requested cells,
or raises OSError.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.sources.decoded_parts import in_one_piece, sources
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.part_fills import all_fill
from nczarr.arrays.sources.requested_regions import Blocks, Regions
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types, descr, is_fixed
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType
from nczarr.ast.walk import building
from nczarr.check.checked import Tables, Unchecked
from nczarr.check.fill_values import variable_fill
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.ncstream.read.header_reader import HeaderReader, immediate_values
from nczarr.formats.ncstream.read.remote_request import CdmVariable
from nczarr.formats.ncstream.read.scan import refuse_error, scan
from nczarr.formats.ncstream.wire import header_merge
from nczarr.formats.ncstream.wire.trees import opaque_sizes
from nczarr.options import Options
from nczarr.stores.cdm_remote import Served, Service

LOOKED_AT = 4096
"""Maximum cells of an opaque variable read to find its value size."""


# ---- from the header -------------------------------------------------------------------------------------------------


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a `Served` source. Raises OSError."""
    assert isinstance(source, Served)
    before = report.errors
    stream = scan(source, report)
    headers = [entry.message for entry in stream if entry.kind == "header"]
    for entry in stream:
        if entry.kind == "error":
            refuse_error(entry, Span(source, 0, 0), report)
    if not headers and report.errors == before:
        report.error("bad-ncstream", "the answer has no header", Span(source, 0, len(source.data)))
    if report.errors > before:
        return None
    with building():
        span = Span(source, 0, len(source.data))
        return _RemoteReader(source.service, source, header_merge.merged(headers), span, report, options).read()


class _RemoteReader(HeaderReader):
    """State of one read."""

    def __init__(self, service: Service, *header: Any) -> None:
        super().__init__(*header)
        self._service = service

    def _variable(
        self, path: str, type_name: TypeName, shape: tuple[int, ...], types: Types, behind: int
    ) -> CdmVariable:
        return CdmVariable(self._service, self._written(path), type_name, shape, types, behind, self._alone(path))

    def _parts(
        self, path: str, shape: tuple[int, ...] | None, declarations: Tables, fills: Mapping[str, bytes]
    ) -> Parts | None:
        if shape is None:
            return None
        declaration = declarations.variables[path]
        fill = variable_fill(declaration, declarations)
        usual = all_fill(fill, declaration.type, shape, declarations.types)
        if not math.prod(shape):
            return dict(usual)
        values = self._immediate(path, declaration.type, shape, declarations.types)
        declared = self._declared(path)
        behind = max(0, len(declared.shape) - len(shape)) if declared is not None else 0
        variable = self._variable(path, declaration.type, shape, dict(declarations.types), behind)
        filled = {part: fills.get(part, source.layout.fill) for part, source in usual.items()}
        if values is not None:
            return {
                "": ArrayInMemory(in_one_piece(descr(declaration.type, declarations.types), shape, filled[""]), values)
            }
        if declaration.type == "string" or is_fixed(declaration.type, declarations.types):
            keep = behind == 0 and isinstance(declarations.types.get(declaration.type), CompoundType)
            return sources(
                Regions(variable, declaration.type, shape, variable.types, keep), filled
            )  # old servers send all
        return sources(Blocks(variable), filled)

    def _immediate(self, path: str, type_name: TypeName, shape: tuple[int, ...], types: Types) -> NDArray[Any] | None:
        """Return a variable's values in the header, in this shape and the type's dtype; None if missing or unfit."""
        try:
            return immediate_values(self._declared(path), type_name, shape, types)
        except ValueError:
            return None  # then they are asked for

    def _opaque_size(self, path: str, members: tuple[str, ...]) -> int | None:
        declared = self._declared(path)
        if declared is None or any(dimension.isVlen for dimension in declared.shape):
            return None
        shape = tuple(dimension.length for dimension in declared.shape)
        if not 0 < math.prod(shape) <= LOOKED_AT:
            return None
        try:
            tree = self._variable(path, "", shape, {}, 0).tree(tuple(map(range, shape)), keep=True)
        except ValueError:
            return None  # told where the values are read
        sizes = opaque_sizes(tree, members)
        return sizes.pop() if sizes is not None and len(sizes) == 1 else None
