"""Datasets on CDM Remote servers: one request for the header, then sections on demand.

Servers may answer with either kind of data message. Record members are selected
here; so are records if a server sends all. Invariant: an answer holds the
requested cells, or raises OSError.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Region
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.ast.types import ATOMIC, CompoundType
from nczarr.diagnostics.report import Report, Span
from nczarr.names.records import frozen
from nczarr.options import Options
from nczarr.plugins.common.dataset_service import Served, Service, encode
from nczarr.plugins.common.part_arrays import UnsuitedError
from nczarr.plugins.common.remote_variable import RemoteVariable
from nczarr.plugins.common.section_text import write_section
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.decode import column_tree, is_by_flag
from nczarr.plugins.ncstream.read.header_reader import HeaderReader
from nczarr.plugins.ncstream.read.headers import merge
from nczarr.plugins.ncstream.read.message_values import check_type_of, values_of
from nczarr.plugins.ncstream.read.scan import entries, error_text, raise_diagnostics, refuse_error, scan
from nczarr.plugins.ncstream.wire.element_types import Definitions, full_bytes
from nczarr.plugins.ncstream.wire.framing import Incoming
from nczarr.plugins.ncstream.wire.limits import DEFAULT, UnreadableStreamError, contradictory
from nczarr.plugins.ncstream.wire.trees import Tree, opaque_sizes
from nczarr.semantics.check_types import variable_fill
from nczarr.semantics.checked import Tables, Unchecked

LOOKED_AT = 4096
"""Maximum cells of an opaque variable read to find its value size."""


@frozen
class CdmCodec:
    """A variable in CDM Remote."""

    path: str
    """FQN of the variable."""
    type: TypeName
    """Type of the values."""
    shape: tuple[int, ...]
    types: Types
    """Declared types by FQN."""
    behind: int
    """Number of dimensions of its section beyond `shape`: ragged ones and later ones."""
    declared: bytes
    """Serialized header that declares only this variable."""
    by_flag: bool = False
    """Read numbers in the order that a message states, instead of big-endian."""

    def most(self, region: Region) -> int | None:
        """Return twice the bytes of numbers; other values may come whole, or are of any length."""
        if self.type == "string" or self.type not in ATOMIC:
            return None
        return 2 * math.prod(map(len, region)) * ATOMIC[self.type].size

    def expression(self, region: Region) -> str:
        return write_section(names.split(self.path), [*region, *[None] * self.behind] if self.shape else None)

    def query(self, expression: str) -> str:
        return "?req=data&var=" + encode(expression, safe="")

    def decode(self, data: bytes, region: Region) -> dict[str, NDArray[Any]]:
        return raise_diagnostics(lambda: self._decode(data, region), f"the answer to `{self.expression(region)}`")

    def _decode(self, data: bytes, region: Region) -> dict[str, NDArray[Any]]:
        try:
            return values_of(self.tree(data, region), region, self.type, self.shape, self.types)
        except UnsuitedError as fault:
            raise contradictory(f"the message does not suit its variable: {fault}", 0, len(data)) from None

    def tree(self, data: bytes, region: Region) -> Tree:
        """Return the decoded message of an answer. Raises UnreadableStreamError."""
        full_name = full_bytes(self.path)
        for entry in entries(Incoming(data, DEFAULT), values=True):
            if entry.kind == "error":
                text = f"the server reports: {error_text(entry)}"
                raise UnreadableStreamError("stream-error", text, entry.offset, entry.end)
            if entry.kind not in ("data", "column"):
                continue
            definitions = Definitions(pb.Header.FromString(self.declared))
            name = entry.message.name if entry.kind == "column" else entry.message.varName
            if name.removeprefix(b"/") not in (full_name, full_name.rsplit(b"/", 1)[-1]):
                text = f"the message is of `{name.decode('utf-8', 'replace')}`"
                raise contradictory(text, entry.offset, entry.end)
            check_type_of(entry, definitions.find(full_name))
            answer = column_tree(entry, data, definitions, by_flag=self.by_flag)
            section = answer.section
            if self.shape and section is not None and section[: len(region)] != region and section != ():
                raise contradictory("the section of the message is not the requested one", entry.offset, entry.end)
            return answer.tree
        raise contradictory("the answer has no data", 0, len(data))


def read(source: Served, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a server. Raises OSError."""
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
        return _RemoteReader(source.service, source, merge(headers), span, report, options).read()


class _RemoteReader(HeaderReader):
    """State of one read."""

    def __init__(self, service: Service, *header: Any) -> None:
        super().__init__(*header)
        self._service = service

    def _build_parts(
        self, path: str, shape: tuple[int, ...] | None, declarations: Tables, fills: Mapping[str, bytes]
    ) -> Parts | None:
        """Return a variable's parts: the header's values, or regions to request; None without a shape."""
        if shape is None:
            return None
        declaration, types = declarations.variables[path], dict(declarations.types)
        usual = all_fill(variable_fill(declaration, declarations), declaration.type, shape, types)
        if not math.prod(shape):
            return dict(usual)
        filled = {part: fills.get(part, source.layout.fill) for part, source in usual.items()}
        with suppress(ValueError):  # values that do not fit are asked for
            immediate = self._immediate(path, shape, declarations, filled.get(""))
            if immediate is not None:
                return immediate
        declared = self._find_declaration(path)
        behind = max(0, len(declared.shape) - len(shape)) if declared is not None else 0
        alone, by_flag = self._serialize_alone(path), is_by_flag(self._asked.options.run)
        codec = CdmCodec(self._spell_path(path), declaration.type, shape, types, behind, alone, by_flag)
        keep = behind == 0 and isinstance(types.get(declaration.type), CompoundType)  # old servers send all
        return RemoteVariable(self._service, codec).parts(filled, keep=keep)

    def _opaque_size(self, path: str, members: tuple[str, ...]) -> int | None:
        """Return the one size of all opaque values of a member, of a variable small enough to request; else None."""
        declared = self._find_declaration(path)
        if declared is None or any(dimension.isVlen for dimension in declared.shape):
            return None
        shape = tuple(dimension.length for dimension in declared.shape)
        if not 0 < math.prod(shape) <= LOOKED_AT:
            return None
        codec = CdmCodec(self._spell_path(path), "", shape, {}, 0, self._serialize_alone(path))
        whole = tuple(map(range, shape))
        data = RemoteVariable(self._service, codec).answer(whole, keep=True)
        try:
            sizes = opaque_sizes(codec.tree(data, whole), members)
        except ValueError:
            return None  # told where the values are read
        return sizes.pop() if sizes is not None and len(sizes) == 1 else None
