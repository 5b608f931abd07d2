"""Stream messages as Python objects, and their conversion from and to bytes.

Invariant: `write_message` and `read` preserve values, section and name, but no
meaningless sender details (versions, wrong flags).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import Dataset
from nczarr.diagnostics.report import UNREAD, CompileError, Report, Source, Span
from nczarr.names import from_bytes, to_bytes
from nczarr.options import Options
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.decode import column_tree, inflate
from nczarr.plugins.ncstream.read.header_tree import HeaderContext
from nczarr.plugins.ncstream.read.scan import StreamEntry, entries
from nczarr.plugins.ncstream.wire import framing
from nczarr.plugins.ncstream.wire.element_types import (
    NAMES,
    NUMPY,
    Definitions,
    Section,
    check_shape,
    dtype_of,
    name_of,
    shape_of,
)
from nczarr.plugins.ncstream.wire.framing import Incoming, Stream
from nczarr.plugins.ncstream.wire.limits import DEFAULT, Limits, bad, contradictory
from nczarr.plugins.ncstream.wire.trees import RaggedLists, Tree, element_type, tree_of, values
from nczarr.plugins.ncstream.write.encode import column_message, data_message
from nczarr.plugins.ncstream.write.pack_rows import Piece, UnwritableError


class Message:
    """A stream message; `offset` is its stream offset, None for a new message."""

    kind = ""

    def __init__(self, offset: int | None = None) -> None:
        self.offset = offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._say()})"

    def _say(self) -> str:
        return "" if self.offset is None else f"at byte {self.offset}"


class Start(Message):
    """Beginning of a file."""

    kind = "start"


class End(Message):
    """End of a file."""

    kind = "end"


class _BlockMessage(Message):
    """A message of one block; `message` is its protobuf message."""

    def __init__(self, message: Any, offset: int | None = None) -> None:
        super().__init__(offset)
        self.message = message


class Header(_BlockMessage):
    """Structure of a dataset; `header` is the protobuf message."""

    kind = "header"
    message: pb.Header

    @property
    def header(self) -> pb.Header:
        """Protobuf message; its texts are bytes."""
        return self.message

    @cached_property
    def dataset(self) -> Dataset:
        """Dataset tree of the header, as in `nczarr.open`, without unrepresentable items.

        Raises CompileError for an invalid model in the header.
        """
        from nczarr.plugins.ncstream.read.header_reader import dataset_of

        report, source = Report(), Source("header", b"", binary=True)
        span = Span(source, self.offset or 0, self.offset or 0)
        asked = HeaderContext(span, report, Options.of(allow_loss=UNREAD), lambda path, members: None)
        unchecked = dataset_of(self.message, asked, source.name)
        if unchecked is None:
            raise CompileError(report.list_sorted())
        return unchecked.dataset


class Error(_BlockMessage):
    """Error sent instead of further data: `text` and a sender-specific `code`."""

    kind = "error"
    message: pb.Error

    @property
    def text(self) -> str:
        """Error text; invalid UTF-8 is shown with backslash escapes."""
        return self.message.message.decode("utf-8", "backslashreplace")

    @property
    def code(self) -> int:
        """Error number, 0 if missing."""
        return self.message.code

    def _say(self) -> str:
        return f"{self.text!r}, {self.code}"


class CoverageHeader(_BlockMessage):
    """Declarations of coverages: `message` is a `CoverageDataset`."""

    kind = "coverages"
    message: pb.CoverageDataset

    @cached_property
    def axes(self) -> dict[str, NDArray[Any]]:
        """Values of the axes by name, where present: big-endian float64, shape (values,).

        Raises UnreadableStreamError.
        """
        return axes(self.message.coordAxes, self.offset or 0)


class CoverageData(_BlockMessage):
    """Values of coverages: `message` is a `CoverageDataResponse`."""

    kind = "coverage data"
    message: pb.CoverageDataResponse

    def __init__(self, message: Any, offset: int | None = None, limits: Limits = DEFAULT) -> None:
        super().__init__(message, offset)
        self.values: dict[str, NDArray[Any]] = arrays(message.geoArray, offset or 0, limits)
        self.axes: dict[str, NDArray[Any]] = axes(message.coordAxes, offset or 0)


class Stations(_BlockMessage):
    """Station list of a point stream: `message` is a `StationList`."""

    kind = "stations"


class Points(_BlockMessage):
    """Row layout of the points that follow: `message` is a `PointFeatureCollection`."""

    kind = "collection"


class Point(_BlockMessage):
    """Location, time and row of a point: `message` is a `PointFeature`. `nczarr.open` converts points to records."""

    kind = "feature"


_KINDS: dict[str, Any] = {
    kind.kind: kind for kind in (Start, End, Header, Error, CoverageHeader, Stations, Points, Point)
}


class _Values(Message):
    r"""A message with values of a variable.

    `name`: full name, `/` between groups, `.` and `\` escaped; `section`: one
    range per dimension, None if missing. `tree`: the values as columns;
    `message`: the protobuf message without values.
    """

    def __init__(
        self,
        name: str,
        tree: Tree,
        section: Section | None,
        shape: tuple[int, ...] | None = None,
        *,
        message: Any = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(offset)
        self.name = name
        self.tree = tree
        self.section = section
        self.shape = shape if shape is not None else (len(tree),) if section is None else shape_of(section)
        self.message = message

    @property
    def data_type(self) -> str:
        """Element type in the format, e.g. `FLOAT`."""
        if self.message is not None:
            return NAMES[self.message.dataType]
        return NAMES[element_type(self.tree)]

    @cached_property
    def values(self) -> NDArray[Any]:
        """Values as one NumPy array of the section's shape; see `nczarr.ncstream.read_messages`."""
        return values(self.tree, self.shape)

    def _say(self) -> str:
        return f"{self.name!r}, {self.data_type}, {self.shape}"


class Data(_Values):
    """Values of a variable in a `Data` message. `deflate`: deflate level, or None.

    `sequence`: whether the values are records of a sequence. `ragged`: position
    of the section's ragged dimension.
    """

    kind = "data"

    def __init__(
        self,
        name: str,
        tree: Tree,
        section: Section | None,
        shape: tuple[int, ...] | None = None,
        *,
        deflate: int | None = None,
        sequence: bool = False,
        ragged: int | None = None,
        message: Any = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(name, tree, section, shape, message=message, offset=offset)
        self.deflate = deflate
        self.sequence = sequence
        self.ragged = ragged

    @property
    def data_type(self) -> str:
        """Element type in the format, e.g. `FLOAT`."""
        return "SEQUENCE" if self.sequence else super().data_type


class DataColumn(_Values):
    """Values of a variable in a column message (`DataCol`)."""

    kind = "column"


def of_values(
    name: str, array: Any, section: Section | None = None, *, data_type: str | None = None, column: bool | None = None
) -> Data | DataColumn:
    """Return a message with the values of a NumPy array, in the form that `values` of messages has.

    `array`: any shape; numbers, structured records, or objects (strings or
    lists). `section`: None means the whole array. `data_type`: needed if the
    dtype does not imply it (OPAQUE, ENUM1, …). `column`: message kind; None:
    columns for lists and records, else `Data`. Raises ValueError if the array
    is unrepresentable, or its shape is not that of the section.
    """
    number = None if data_type is None else pb.DataType.Value(data_type)
    values = np.asarray(array)
    sequence = number == pb.SEQUENCE
    tree = tree_of(values, None if number in (pb.SEQUENCE, pb.STRUCTURE) else number)
    ragged = None
    if section is None:
        section = tuple(map(range, values.shape))
        if isinstance(tree, RaggedLists) and tree.inner:
            ragged = len(section)
            section += tuple(map(range, tree.inner))
    elif shape_of(section) != values.shape:
        raise ValueError(f"an array of shape {values.shape} for a section of shape {shape_of(section)}")
    if sequence:
        return Data(name, tree, None, values.shape, sequence=True)
    if column is None:
        column = isinstance(tree, RaggedLists) or element_type(tree) == pb.STRUCTURE
    if column:
        return DataColumn(name, tree, section, values.shape)
    return Data(name, tree, section, values.shape, ragged=ragged)


# ---- from bytes ------------------------------------------------------------------------------------------------------


def read(stream: Stream, definitions: Definitions, limits: Limits) -> Iterator[Message]:
    """Yield the messages of a stream. Raises UnreadableStreamError."""
    incoming = Incoming(stream, limits)
    for entry in entries(incoming, values=True):
        match entry.kind:
            case "start" | "end":
                yield _KINDS[entry.kind](entry.offset)
            case "data" | "column":
                yield _make_data(entry, incoming, definitions, limits)
            case "coverage data":
                yield CoverageData(entry.message, entry.offset, limits)
            case _:
                if entry.kind == "header":
                    definitions.add(entry.message)
                yield _KINDS[entry.kind](entry.message, entry.offset)


def _make_data(entry: StreamEntry, incoming: Incoming, definitions: Definitions, limits: Limits) -> Data | DataColumn:
    """Decode a data message or a column message to its public object."""
    decoded = column_tree(entry, incoming.buffer, definitions, limits, base=incoming.base)
    message = entry.message
    if entry.column is not None:
        name = entry.column.name
        return DataColumn(name, decoded.tree, decoded.section, decoded.shape, message=message, offset=entry.offset)
    return Data(
        from_bytes(message.varName),
        decoded.tree,
        decoded.section,
        decoded.shape,
        deflate=-1 if message.compress == pb.Data.DEFLATE else None,
        sequence=message.dataType == pb.SEQUENCE,
        ragged=decoded.ragged,
        message=message,
        offset=entry.offset,
    )


# ---- to bytes --------------------------------------------------------------------------------------------------------


def write_message(message: Message) -> Iterator[Piece]:
    """Yield the bytes of a message in pieces. Raises UnwritableError."""
    match message:
        case Start():
            yield framing.START
        case End():
            yield framing.END
        case _BlockMessage():
            yield framing.frame(_MAGIC[message.kind], message.message)
        case DataColumn():
            yield from column_message(to_bytes(message.name), message.tree, message.section)
        case Data():
            section = None if message.sequence else message.section
            if section is None and not message.sequence:
                section = tuple(map(range, message.shape))
            yield from data_message(
                to_bytes(message.name), message.tree, section, deflate=message.deflate, ragged=message.ragged
            )
        case _:
            raise UnwritableError(f"{type(message).__name__} is not a message of a stream")


_MAGIC = {kind: magic for magic, kind in framing.MAGICS.items()}


def arrays(coverages: Iterable[pb.GeoReferencedArray], offset: int, limits: Limits) -> dict[str, NDArray[Any]]:
    """Return the arrays of an answer by coverage name, in the declared shape and the flagged byte order.

    Raises UnreadableStreamError.
    """
    return {from_bytes(coverage.coverageName): _read_array(coverage, offset, limits) for coverage in coverages}


def _read_array(coverage: pb.GeoReferencedArray, offset: int, limits: Limits) -> NDArray[Any]:
    """Return the values of a coverage, decompressed, in their shape. Raises errors of unreadable streams."""
    if coverage.dataType not in NUMPY:
        raise bad(f"a coverage has values of type {name_of(coverage.dataType)}", offset)
    dtype = dtype_of(coverage.dataType, big=coverage.bigend)
    shape = tuple(coverage.shape)
    check_shape(shape, offset)
    size = math.prod(shape) * dtype.itemsize
    data = coverage.primdata
    if coverage.compress == pb.Data.DEFLATE:
        data = inflate(data, size, limits, offset)
    elif coverage.compress != pb.Data.NONE:
        raise bad(f"unknown compression {coverage.compress}", offset)
    if len(data) != size:
        raise contradictory(f"a coverage of {math.prod(shape)} values has {len(data)} bytes", offset)
    return np.frombuffer(data, dtype).reshape(shape)


def axes(coordinates: Iterable[pb.CoordAxis], offset: int) -> dict[str, NDArray[Any]]:
    """Return the axis values that are present, by name: big-endian float64, shape (values,).

    Raises UnreadableStreamError.
    """
    values = {}
    for axis in coordinates:
        if not axis.values:
            continue
        if len(axis.values) % 8:
            raise contradictory(f"an axis has {len(axis.values)} bytes of doubles", offset)
        values[from_bytes(axis.name)] = np.frombuffer(axis.values, ">f8")
    return values
