"""`read`: a stream file as a dataset whose values are decoded on demand.

One pass over the messages builds an index; of a large remote file, only when values
are read. The dataset tree is the model in the header (written by `header_writer.py`),
else `header_tree.py` derives it. Uncompressed numbers in a single message are a view
of the file, which can be copied or referenced directly.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import FileBytes
from nczarr.arrays.values.parts import Types
from nczarr.ast import ATOMIC
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.options import Options
from nczarr.plugins.common.dataset_service import Served
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.points import reader
from nczarr.plugins.ncstream.read.decode import ORDER, is_by_flag
from nczarr.plugins.ncstream.read.header_reader import HeaderReader
from nczarr.plugins.ncstream.read.headers import derive_header, merge
from nczarr.plugins.ncstream.read.lazy_local import (
    MessageDecoder,
    MessageInFile,
    RemoteMessages,
    cells_of,
    sources,
)
from nczarr.plugins.ncstream.read.scan import (
    StreamEntry,
    group_by_variable,
    refuse,
    refuse_error,
    scan,
    states_little,
    wire_name,
)
from nczarr.plugins.ncstream.wire.element_types import cdm_full_name
from nczarr.plugins.ncstream.wire.framing import END
from nczarr.plugins.ncstream.wire.limits import UnreadableStreamError
from nczarr.plugins.ncstream.wire.trees import opaque_sizes
from nczarr.semantics.check_types import variable_fill
from nczarr.semantics.checked import Tables, Unchecked, tables
from nczarr.stores.places import find_remote_file

SMALL = 1 << 20
"""Bytes of a remote file that is fetched at once."""

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
        from nczarr.plugins.ncstream.read import remote

        return remote.read(source, report, options)
    source = Source(source.name, source.data, binary=True, path=source.path)
    file = find_remote_file(source.path)
    if reader.is_points(source.data[:4]):
        return reader.read(source, report, options)
    before = report.errors
    if file is not None and file.size <= SMALL:
        file.fetch([(0, file.size)])
    stream = scan(source, report, header=file is not None and file.size > SMALL)
    for entry in stream:
        _refuse(entry, source, report)
    if report.errors > before:
        return None
    if not any(entry.kind in ("header", "data", "column") for entry in stream):
        report.error("bad-ncstream", "the stream has no header and no data", Span(source, 0, len(source.data)))
        return None
    is_cut = stream[-1].kind == "header" and stream[-1].end < len(source.data)
    last = source.data[-len(END) :] == END if is_cut else stream[-1].kind == "end"
    if stream[0].kind == "start" and not last:
        text = "the stream has a beginning but no end; it may be incomplete"
        report.warning("unended-stream", text, Span(source, stream[-1].offset, stream[-1].end))
    with building():
        return _StreamReader(source, stream, report, options, is_cut=is_cut).read()


def _refuse(entry: StreamEntry, source: Source, report: Report) -> None:
    """Report a message that does not belong to a dataset."""
    span = Span(source, entry.offset, entry.end)
    if entry.kind == "error":
        refuse_error(entry, span, report)
    elif entry.kind in _OTHERS:
        helps = ["read it with `nczarr.ncstream.read_messages`"]
        report.error("bad-ncstream", f"{_OTHERS[entry.kind]} is not part of a dataset", span, helps=helps)


class _StreamReader(HeaderReader):
    """State of one read. `is_cut`: only the messages up to the header are in `stream`."""

    def __init__(
        self, source: Source, stream: list[StreamEntry], report: Report, options: Options, *, is_cut: bool
    ) -> None:
        data = [entry for entry in stream if entry.kind in ("data", "column")]
        headers = [entry for entry in stream if entry.kind == "header"]
        header = merge([entry.message for entry in headers]) if headers else derive_header(data)
        first = headers[0] if headers else stream[0]
        super().__init__(source, header, Span(source, first.offset, first.end), report, options)
        self._file = FileBytes.of(source)
        self._has_header = bool(headers)
        spelled = frozenset(map(cdm_full_name, self._named.spelled.values()))
        self._data = group_by_variable(data, spelled)
        self._stated_little = {wire_name(entry): entry for entry in reversed(data) if states_little(entry)}
        self._by_flag = is_by_flag(options.run)
        self._remote = RemoteMessages(self._file, spelled, by_flag=self._by_flag) if is_cut else None

    def read(self) -> Unchecked | None:
        """Return the dataset with the array sources of its variables."""
        unchecked = super().read()
        if unchecked is not None:
            if self._remote is not None and not self._asked.options.run.accepts("unreadable-array"):
                self._remote.variables = frozenset(map(self._named.wire_name, tables(unchecked.dataset).variables))
            self._report_order()
            for entry in itertools.chain.from_iterable(self._data.values()):
                self._report_lost(f"`{wire_name(entry)}` is not a variable of the header", entry)
        return unchecked

    def _report_order(self) -> None:
        """Warn about numbers whose messages state little-endian order, which the option does not decide."""
        if self._asked.options.run.storage.of("source").get(ORDER) is None and self._stated_little:
            shown = ", ".join(f"`{name}`" for name in list(self._stated_little)[:5])
            more = f" and {len(self._stated_little) - 5} more" if len(self._stated_little) > 5 else ""
            first = next(iter(self._stated_little.values()))
            text = f"the numbers of {shown}{more} are read as big-endian, but their messages state little-endian order"
            helps = [
                f"if the values are wrong, read them with `--storage-option {ORDER}=flag`",
                f"if they are right, `--storage-option {ORDER}=big` says so",
            ]
            span = Span(self._source, first.offset, first.end)
            self._asked.report.warning("disputed-byte-order", text, span, helps=helps)

    def _report_lost(self, message: str, entry: StreamEntry) -> None:
        """Report skipped data as an error, unless the options allow the loss."""
        self._asked.report_lost("unreadable-array", message, Span(self._source, entry.offset, entry.end))

    def _message(
        self, path: str, entry: StreamEntry, shape: tuple[int, ...], type_name: TypeName, types: Types
    ) -> MessageInFile | None:
        """Return a message of a variable, or report what contradicts it and return None."""
        try:
            ranges = cells_of(entry, shape, is_declared=self._has_header)
            alone = self._serialize_alone(path)
            message = MessageInFile.of(entry, ranges, self._file, alone, type_name, types, by_flag=self._by_flag)
            if self._asked.options.reading.inspect and message.numbers is None:
                message.values(type_name, shape, types)
        except UnreadableStreamError as fault:
            if fault.code == "unreadable-array":
                self._report_lost(f"{fault}: it is of `{path}`", entry)
            else:
                refuse(fault, self._source, self._asked.report)
            return None
        return message

    def _entries(self, path: str, *, take: bool = False) -> list[StreamEntry]:
        """Return the messages of a variable. `take`: for the last time. Raises OSError."""
        name = self._named.wire_name(path)
        if self._remote is not None:
            return self._remote.entries.get(name, [])
        return self._data.pop(name, []) if take else self._data.get(name, [])

    def _build_parts(
        self, path: str, shape: tuple[int, ...] | None, declarations: Tables, fills: Mapping[str, bytes]
    ) -> Parts | None:
        """Return a variable's parts, from its messages or from the header's values; None without data."""
        variable, types = declarations.variables[path], dict(declarations.types)
        if self._remote is not None and shape is not None and not self._is_immediate(path):
            if not (variable.type in ATOMIC or variable.type in types):
                return None  # a check reports it
            fill = variable_fill(variable, declarations)
            alone = self._serialize_alone(path)
            find = partial(self._remote.messages, self._named.wire_name(path), variable.type, shape, types, alone)
            return sources(MessageDecoder(variable.type, shape, types, fill, find, self._file.name), fills)
        messages = self._entries(path, take=True)
        if shape is None:
            return None
        pieces = [
            message
            for entry in messages
            if (message := self._message(path, entry, shape, variable.type, types)) is not None
        ]
        if not pieces:
            try:
                return self._immediate(path, shape, declarations)
            except ValueError as fault:
                self._warn_ignored(f"the values of `{path}` in the header are left out: {fault}")
                return None
        plain = pieces[0].numbers
        if len(pieces) == 1 and pieces[0].ranges == tuple(map(range, shape)) and plain is not None:
            reverse = plain.layout.dtype[:1] == ">"
            one = fills.get("")
            layout = plain.layout._replace(fill=one if one is None or not reverse else one[::-1])
            return {"": replace(plain, layout=layout)}
        fill = variable_fill(variable, declarations)
        return sources(MessageDecoder(variable.type, shape, types, fill, tuple(pieces), self._file.name), fills)

    def _absent_members(self, path: str, declared: pb.Structure) -> frozenset[tuple[str, ...]]:
        """Return the members (as paths) of a structure that its data messages lack."""
        absent: set[tuple[str, ...]] = set()
        for entry in self._entries(path):
            try:
                absent |= MessageInFile((), self._file, entry.offset, entry.end, b"").absent_members(declared)
            except UnreadableStreamError as fault:
                refuse(fault, self._source, self._asked.report)
        return frozenset(absent)

    def _opaque_size(self, path: str, members: tuple[str, ...]) -> int | None:
        """Return the one size of all opaque values of a member; None if sizes differ or are unknown."""
        sizes: set[int] = set()
        for entry in self._entries(path):
            try:
                tree = MessageInFile((), self._file, entry.offset, entry.end, self._serialize_alone(path)).tree()
            except ValueError:
                return None  # told where the values are read
            tree_sizes = opaque_sizes(tree, members)
            if tree_sizes is None:
                return None
            sizes |= tree_sizes
        return sizes.pop() if len(sizes) == 1 else None
