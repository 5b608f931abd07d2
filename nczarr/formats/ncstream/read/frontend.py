"""`read`: a stream file as a dataset whose values are decoded on demand.

One pass over the messages builds an index. The dataset tree is the model in the
header (written by `header_writer.py`), else `header_tree.py` derives it.
Uncompressed numbers in a single message are a view of the file, which can be
copied or referenced directly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from nczarr import names
from nczarr.arrays.sources.decoded_parts import in_one_piece
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.arrays.values.parts import Types, descr
from nczarr.ast import ATOMIC
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.ast.types import EnumType
from nczarr.check.check_types import variable_fill
from nczarr.check.checked import Tables, Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.points import reader
from nczarr.formats.ncstream.read.header_reader import HeaderReader
from nczarr.formats.ncstream.read.headers import derive_header, merge
from nczarr.formats.ncstream.read.lazy_local import MessageDecoder, MessageInFile, sources
from nczarr.formats.ncstream.read.scan import StreamEntry, is_counted, refuse, refuse_error, scan
from nczarr.formats.ncstream.wire.element_types import section_of
from nczarr.formats.ncstream.wire.limits import UnreadableStreamError
from nczarr.formats.ncstream.wire.trees import opaque_sizes
from nczarr.options import Options
from nczarr.stores.dataset_service import Served

_OTHERS = {
    "coverages": "a coverage's header",
    "coverage data": "values of a coverage",
    "stations": "a list of stations",
    "collection": "a collection of points",
    "feature": "a point",
}
"""Message kinds that do not belong to a dataset."""


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a stream. Reports errors with byte offsets. Raises OSError."""
    if isinstance(source, Served):
        from nczarr.formats.ncstream.read import remote

        return remote.read(source, report, options)
    source = Source(source.name, source.data, binary=True, path=source.path)
    if reader.is_points(source.data[:4]):
        return reader.read(source, report, options)
    before = report.errors
    stream = scan(source, report)
    for entry in stream:
        _refuse(entry, source, report)
    if report.errors > before:
        return None
    if not any(entry.kind in ("header", "data", "column") for entry in stream):
        report.error("bad-ncstream", "the stream has no header and no data", Span(source, 0, len(source.data)))
        return None
    if stream[0].kind == "start" and stream[-1].kind != "end":
        text = "the stream has a beginning but no end; it may be incomplete"
        report.warning("unended-stream", text, Span(source, stream[-1].offset, stream[-1].end))
    with building():
        return _StreamReader(source, stream, report, options).read()


def _refuse(entry: StreamEntry, source: Source, report: Report) -> None:
    """Report a message that does not belong to a dataset."""
    span = Span(source, entry.offset, entry.end)
    if entry.kind == "error":
        refuse_error(entry, span, report)
    elif entry.kind in _OTHERS:
        helps = ["read it with `nczarr.ncstream.read_messages`"]
        report.error("bad-ncstream", f"{_OTHERS[entry.kind]} is not part of a dataset", span, helps=helps)


class _StreamReader(HeaderReader):
    """State of one read."""

    def __init__(self, source: Source, stream: list[StreamEntry], report: Report, options: Options) -> None:
        data = [entry for entry in stream if entry.kind in ("data", "column")]
        headers = [entry for entry in stream if entry.kind == "header"]
        header = merge([entry.message for entry in headers]) if headers else derive_header(data)
        first = headers[0] if headers else stream[0]
        super().__init__(source, header, Span(source, first.offset, first.end), report, options)
        self._file = FileBytes.of(source)
        self._has_header = bool(headers)
        spelled = set(map(names.cdm_full_name, self._named.spelled.values()))
        self._data: dict[str, list[StreamEntry]] = {}
        for entry in data:
            name = wire_name(entry)
            self._data.setdefault(name if name in spelled else names.normal(name), []).append(entry)

    def read(self) -> Unchecked | None:
        """Return the dataset with the array sources of its variables."""
        unchecked = super().read()
        if unchecked is not None:
            for entry in itertools.chain.from_iterable(self._data.values()):
                self._report_lost(f"`{wire_name(entry)}` is not a variable of the header", entry)
        return unchecked

    def _report_lost(self, message: str, entry: StreamEntry) -> None:
        """Report skipped data as an error, unless the options allow the loss."""
        self._asked.report_lost("unreadable-array", message, Span(self._source, entry.offset, entry.end))

    def _ranges(self, path: str, entry: StreamEntry, shape: tuple[int, ...] | None) -> tuple[range, ...] | None:
        """Return the indices of a message along each dimension, or report an invalid section and return None."""
        ragged = entry.kind == "column" or is_counted(entry.message)
        try:
            section, _ = section_of(entry.message, entry.offset, ragged=ragged)
        except UnreadableStreamError as fault:
            refuse(fault, self._source, self._asked.report)
            return None
        if shape is None:
            return None
        if section is None or not shape or not self._has_header:
            return tuple(map(range, shape))
        ranges = section[: len(shape)]  # dimensions behind a ragged one are of its elements
        if len(ranges) == len(shape) and all(
            not indices or indices[-1] < length for indices, length in zip(ranges, shape, strict=True)
        ):
            return ranges
        lengths = " × ".join(map(str, shape)) or "one value"
        self._report_lost(f"the section of a message of `{path}` is not within {lengths}", entry)
        return None

    def _build_parts(
        self, path: str, shape: tuple[int, ...] | None, declarations: Tables, fills: Mapping[str, bytes]
    ) -> Parts | None:
        variable = declarations.variables[path]
        every = self._data.pop(self._named.wire_name(path), [])
        messages = [(entry, ranges) for entry in every if (ranges := self._ranges(path, entry, shape)) is not None]
        if shape is None:
            return None
        if not messages:
            try:
                return self._immediate(path, shape, declarations)
            except ValueError as fault:
                self._warn_ignored(f"the values of `{path}` in the header are left out: {fault}")
                return None
        if len(messages) == 1 and messages[0][1] == tuple(map(range, shape)):
            plain = self._plain(messages[0][0], variable.type, shape, declarations.types, fills)
            if plain is not None:
                return {"": plain}
        alone, file = self._alone(path), self._file
        pieces = tuple(MessageInFile(ranges, file, entry.offset, entry.end, alone) for entry, ranges in messages)
        fill = variable_fill(variable, declarations)
        return sources(MessageDecoder(variable.type, shape, dict(declarations.types), fill, pieces), fills)

    def _plain(
        self,
        entry: StreamEntry,
        type_name: TypeName,
        shape: tuple[int, ...],
        types: Types,
        fills: Mapping[str, bytes],
    ) -> AffineArray | None:
        """Return a view of numbers stored contiguously in C order, else None."""
        place, big = plain_numbers(entry)
        declared = types.get(type_name)
        number = declared.base if isinstance(declared, EnumType) else type_name
        width = ATOMIC[number].size if number in ATOMIC else 0
        if place is None or not width or place[1] - place[0] != math.prod(shape) * width:
            return None
        dtype = descr(type_name, types)
        assert isinstance(dtype, str)
        fill = fills.get("")
        if big:
            dtype = dtype.replace("<", ">")
            fill = None if fill is None else fill[::-1]
        return AffineArray(in_one_piece(dtype, shape, fill), self._file, place[0], math.prod(shape[1:]) * width)

    def _opaque_size(self, path: str, members: tuple[str, ...]) -> int | None:
        sizes: set[int] = set()
        for entry in self._data.get(self._named.wire_name(path), ()):
            try:
                tree = MessageInFile((), self._file, entry.offset, entry.end, self._alone(path)).tree()
            except ValueError:
                return None  # told where the values are read
            tree_sizes = opaque_sizes(tree, members)
            if tree_sizes is None:
                return None
            sizes |= tree_sizes
        return sizes.pop() if len(sizes) == 1 else None


def wire_name(entry: StreamEntry) -> str:
    """Return the full variable name of a data message in the sender's spelling."""
    name: bytes = entry.message.name if entry.kind == "column" else entry.message.varName
    return names.from_bytes(name.removeprefix(b"/"))


def plain_numbers(entry: StreamEntry) -> tuple[tuple[int, int] | None, bool]:
    """Return the byte range of uncompressed contiguous numbers (or None), and whether they are big-endian."""
    if entry.column is not None:
        message: pb.DataCol = entry.column.message
        plain = not message.isVlen and not entry.column.members
        return entry.column.payload if plain else None, message.bigend
    data: pb.Data = entry.message
    counted = is_counted(data) or data.dataType in (pb.STRUCTURE, pb.SEQUENCE)
    return None if counted or data.compress else entry.payload, True
