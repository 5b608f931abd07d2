"""Index of a stream: one `StreamEntry` per message, with the positions of its values.

Values are skipped; counted blocks are only counted. Invariant: all bytes of an
entry are present.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from google.protobuf.message import DecodeError

from nczarr import names
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity, Source, Span
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.plugins.ncstream.read.data_columns import NIL, ColumnParser, MessageColumn
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.element_types import NUMPY
from nczarr.plugins.ncstream.wire.framing import (
    BARE,
    COLUMN,
    DATA,
    LAST_RECORD,
    MAGICS,
    RECORD,
    BlockRanges,
    Incoming,
    check_crc32,
)
from nczarr.plugins.ncstream.wire.limits import DEFAULT, UnreadableStreamError, bad

T = TypeVar("T")

_NIL = frozenset({NIL})

NUMBER_WIDTHS = {number: int(dtype[1:]) for number, dtype in NUMPY.items()}
"""Bytes of a number by wire type."""

WHOLE: dict[str, Any] = {
    "header": pb.Header, "error": pb.Error, "coverages": pb.CoverageDataset, "coverage data": pb.CoverageDataResponse,
    "stations": points_pb.StationList, "collection": points_pb.PointFeatureCollection,
    "feature": points_pb.PointFeature,
}  # fmt: skip
"""Message kinds of one block, parsed at once."""


class StreamEntry(NamedTuple):
    """A message of a stream. Positions other than `offset` and `end` are buffer offsets."""

    kind: str
    offset: int
    """Start in the stream."""
    end: int
    message: Any = None
    """Parsed block without values; None if missing or of unknown kind, and `payload` is the block then."""
    payload: tuple[int, int] | None = None
    """Range of the values: a block, all counted blocks, the records of a sequence, or the numbers of a column."""
    blocks: int = 0
    """Number of counted blocks in the payload."""
    bounds: BlockRanges | None = None
    """Positions of lists, on request."""
    items: list[bytes] | None = None
    """Strings and opaque values, on request."""
    nil: tuple[tuple[int, int], ...] = ()
    """Runs of NIL strings."""
    column: MessageColumn | None = None


def scan(source: Source, report: Report, *, header: bool = False) -> list[StreamEntry]:
    """Return the messages of a file; reports a fault and returns the messages before it.

    `header`: only those up to a header, if values follow it at once.
    """
    messages: list[StreamEntry] = []
    try:
        for entry in entries(Incoming(source.data, DEFAULT)):
            messages.append(entry)
            if header and entry.kind == "header" and source.data[entry.end : entry.end + 4] in (DATA, COLUMN):
                break
    except UnreadableStreamError as error:
        refuse(error, source, report)
    return messages


def refuse(error: UnreadableStreamError, source: Source, report: Report) -> None:
    """Report a fault of a stream with its byte offset."""
    report.error(error.code, str(error), Span(source, error.start, error.end))


def raise_diagnostics(call: Callable[[], T], name: str) -> T:
    """Return the result of a function that reads messages of a named stream.

    Raises CompileError for bytes that are no valid message, OSError where they are out of reach.
    """
    try:
        return call()
    except UnreadableStreamError as fault:
        place = Span(Source(name, b"", binary=True), fault.start, fault.end)
        raise CompileError(
            [Diagnostic(fault.code, Severity.ERROR, str(fault), Label(place, offset=fault.start))]
        ) from None


def refuse_error(entry: StreamEntry, span: Span, report: Report) -> None:
    """Report an error message of the sender."""
    report.error("stream-error", f"the sender of the stream reported an error: {error_text(entry)!r}", span)


def error_text(entry: StreamEntry) -> str:
    """Return the text of an error message."""
    text: bytes = entry.message.message
    return text.decode("utf-8", "replace")


def entries(incoming: Incoming, *, values: bool = False) -> Iterator[StreamEntry]:
    """Yield the messages of a stream. Positions expire at the next message. Raises UnreadableStreamError.

    `values`: list the counted blocks for reading.
    """
    at = 0
    while True:
        at = incoming.begin(at)
        magic = incoming.magic(at)
        if magic is None:  # HTTP answers have no END: the stream ends with the body
            return
        kind = MAGICS.get(magic)
        if kind is None:  # its length is unknown: it cannot be skipped
            raise bad(f"unknown magic number {magic.hex(' ')}", incoming.base + at, incoming.base + at + 4)
        entry, after = _read_entry(incoming, kind, at, values=values)
        yield entry
        if kind == "end":
            return
        at = after


def _read_entry(incoming: Incoming, kind: str, at: int, *, values: bool) -> tuple[StreamEntry, int]:
    """Return the message at an offset of the buffer, and the offset of its end; `values`: locate those in it too."""
    offset, base = incoming.base + at, incoming.base
    if kind in BARE:
        return StreamEntry(kind, offset, offset + 4), at + 4
    start, end = incoming.block(at + 4)
    if kind == "data":
        entry, after = _data(incoming, offset, start, end, values=values)
        check_crc32(incoming.buffer, start, end, after, offset)
        return entry, after
    if kind == "column":
        column = ColumnParser(incoming.buffer, base, incoming.limits).column(start, end)
        return StreamEntry(kind, offset, base + end, column.message, column.payload, column=column), end
    if kind not in WHOLE:
        return StreamEntry(kind, offset, base + end, payload=(start, end)), end
    message = parse_message(WHOLE[kind], protobuf.view(incoming.buffer, start, end), kind, base + start)
    return StreamEntry(kind, offset, base + end, message), end


def parse_message(kind: Any, data: bytes | memoryview, name: str, offset: int) -> Any:
    """Parse a protobuf message. Raises UnreadableStreamError."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise bad(f"the block of a message `{name}` is not a protobuf message of its kind", offset) from None


def _data(incoming: Incoming, offset: int, start: int, end: int, *, values: bool) -> tuple[StreamEntry, int]:
    """Return the entry of a `Data` message with its payload, and the position after it."""
    base = incoming.base
    small, bulk = protobuf.walk(incoming.buffer, start, end, bulk=_NIL, limits=incoming.limits, base=base)
    message = parse_message(pb.Data, small, "data", base + start)
    nil = tuple(bulk.get(NIL, ()))
    # netCDF-Java deflates such blocks without the count before them
    if is_counted(message) and message.compress != pb.Data.DEFLATE:
        count, first = incoming.vlen(end)
        places = items = None
        if not values:
            after = incoming.skip(first, count)
        elif message.dataType in NUMPY:
            places, after = incoming.bounds(first, count)
        else:
            items, after = incoming.items(first, count)
        return StreamEntry("data", offset, base + after, message, (first, after), count, places, items, nil), after
    if message.dataType == pb.SEQUENCE:
        count, after = _sequence(incoming, end)
        return StreamEntry("data", offset, base + after, message, (end, after), count, nil=nil), after
    first, after = incoming.block(end)
    return StreamEntry("data", offset, base + after, message, (first, after), 1, nil=nil), after


def is_counted(message: pb.Data) -> bool:
    """Return whether the payload is a count followed by one block per value."""
    return message.dataType in (pb.STRING, pb.OPAQUE) or (
        message.vdata and message.dataType not in (pb.STRUCTURE, pb.SEQUENCE)
    )


def _sequence(incoming: Incoming, at: int) -> tuple[int, int]:
    """Return the number of records of a sequence, and its end."""
    count = 0
    while True:
        buffer, size = incoming.buffer, len(incoming.buffer)
        while at + 5 < size and buffer[at : at + 4] == RECORD:
            length = buffer[at + 4]
            if length >= 0x80 or at + 5 + length > size:
                break
            at += 5 + length
            count += 1
        magic = incoming.magic(at)
        if magic == LAST_RECORD:
            return count, at + 4
        if magic != RECORD:
            text = "the stream ends within a sequence" if magic is None else f"{magic.hex(' ')} in a sequence"
            error = UnreadableStreamError(
                "truncated-ncstream" if magic is None else "bad-ncstream", text, incoming.base + at
            )
            raise error
        _, at = incoming.block(at + 4)
        count += 1


# ---- data messages by variable ---------------------------------------------------------------------------------------


def name_bytes(entry: StreamEntry) -> bytes:
    """Return the full variable name of a data message in bytes."""
    name: bytes = entry.message.name if entry.kind == "column" else entry.message.varName
    return name


def states_little(entry: StreamEntry) -> bool:
    """Return whether a `data` message of numbers wider than a byte says that they are little-endian."""
    message = entry.message
    wide = entry.kind == "data" and NUMBER_WIDTHS.get(message.dataType, 0) > 1
    return wide and message.HasField("bigend") and not message.bigend


def wire_name(entry: StreamEntry) -> str:
    """Return the full variable name of a data message in the sender's spelling."""
    return names.from_bytes(name_bytes(entry).removeprefix(b"/"))


def group_by_variable(data: Iterable[StreamEntry], spelled: Collection[str]) -> dict[str, list[StreamEntry]]:
    """Return data messages by full variable name, in NFC unless it is one of those that are spelled otherwise."""
    entries_by_name: dict[str, list[StreamEntry]] = {}
    for entry in data:
        name = wire_name(entry)
        entries_by_name.setdefault(name if name in spelled else names.normal(name), []).append(entry)
    return entries_by_name
