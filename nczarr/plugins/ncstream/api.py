"""Messages of ncstream, the stream of CDM Remote, read and written singly: the public interface.

    for message in nczarr.ncstream.read_messages(open("a.ncs", "rb")):
        print(message, getattr(message, "values", None))

A stream is bytes, a memory map, or any binary file, also a pipe; memory is that
of one message. Whole files and servers are ordinary datasets:
`nczarr.open("a.ncs")`. An invalid stream raises CompileError, whose
`.diagnostics` have the byte offset; announced sizes allocate nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

from nczarr.diagnostics.report import NOWHERE, CompileError, Report, Source, Span
from nczarr.plugins.ncstream.wire.limits import DEFAULT, Limits, UnreadableStreamError

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
    from nczarr.plugins.ncstream.messages import (
        CoverageData,
        CoverageHeader,
        Data,
        DataColumn,
        End,
        Error,
        Header,
        Message,
        Point,
        Points,
        Start,
        Stations,
    )
    from nczarr.plugins.ncstream.wire.framing import Stream
    from nczarr.plugins.ncstream.write.backend import Profile
    from nczarr.semantics.checked import Checked

__all__ = [
    "CoverageData",
    "CoverageHeader",
    "Data",
    "DataColumn",
    "End",
    "Error",
    "Header",
    "Limits",
    "Message",
    "Point",
    "Points",
    "Start",
    "Stations",
    "data",
    "data_messages",
    "header_message",
    "read_messages",
    "write_messages",
    "write_points",
]


def __getattr__(name: str) -> Any:
    """Return a message type; loads protobuf on first use."""
    if name in __all__:
        from nczarr.plugins.ncstream import messages

        return getattr(messages, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def read_messages(
    stream: Stream, *, definitions: pb.Header | None = None, limits: Limits = DEFAULT
) -> Iterator[Message]:
    """Read the messages of a stream one by one.

    Parameters
    ----------
    stream : bytes, memory map or binary file
        The stream; a pipe as well.
    definitions : protobuf Header, optional
        Structures for messages whose header is missing from the stream.
    limits : Limits
        Limits of the reader.

    Yields
    ------
    Message
        The next message. `.values` of messages with data is a `numpy.ndarray` in the
        shape of the section. Numbers have the byte order of the stream, and are
        views of it unless deflated. A char is `S1`. Strings are objects: `str`,
        `bytes` where the text is not UTF-8, None for NIL. Opaque values are `bytes`;
        vlen values are arrays in object arrays. Structures and sequences are
        structured arrays with plain members first, then structures; members of
        variable size are objects. Rows of an undefined structure are `V`.

    Raises
    ------
    CompileError
        At an invalid message, after the valid messages before it.
    OSError
        If the stream is unreadable.

    Examples
    --------
    >>> import nczarr, io
    >>> _ = nczarr.convert("samples/01-station.cdl", "station.ncs")
    >>> with open("station.ncs", "rb") as stream:
    ...     found = [type(message).__name__ for message in nczarr.ncstream.read_messages(stream)]
    >>> found[0], found[1], found[-1]
    ('Start', 'Header', 'End')
    """
    from nczarr.plugins.ncstream import messages
    from nczarr.plugins.ncstream.wire.element_types import Definitions

    declared = Definitions() if definitions is None else Definitions(definitions)
    try:
        yield from messages.read(stream, declared, limits)
    except UnreadableStreamError as error:
        name = getattr(stream, "name", None)
        source = Source(name if isinstance(name, str) else "stream", b"", binary=True)
        raise _fault(error.code, str(error), Span(source, error.start, error.end)) from None


def write_messages(messages: Iterable[Message], stream: IO[bytes]) -> None:
    """Write messages to a stream, one after the other.

    Parameters
    ----------
    messages : Iterable of Message
        The messages.
    stream : binary file
        Receives the encoded messages.

    Raises
    ------
    CompileError
        If a message has no encoding.
    OSError
        If the stream is not writable.

    Examples
    --------
    >>> import io, numpy, nczarr.ncstream
    >>> stream = io.BytesIO()
    >>> message = nczarr.ncstream.data("t", numpy.array([1, 2], "<i4"))
    >>> nczarr.ncstream.write_messages([message], stream)
    >>> [each.values.tolist() for each in nczarr.ncstream.read_messages(stream.getvalue())]
    [[1, 2]]
    """
    from nczarr.plugins.ncstream.messages import write_message
    from nczarr.plugins.ncstream.write.pack_rows import UnwritableError

    for message in messages:
        try:
            for piece in write_message(message):
                _put(piece, stream)
        except UnwritableError as error:
            raise _fault("unwritable-ncstream", f"{message!r}: {error}") from None


def data(
    name: str,
    values: Any,
    section: tuple[range, ...] | None = None,
    *,
    data_type: str | None = None,
    column: bool | None = None,
) -> Data | DataColumn:
    """Return a message with the values of an array.

    Parameters
    ----------
    name : str
        Name of the variable.
    values : array_like
        Values in the forms that `read_messages` yields.
    section : tuple of range, optional
        Indices of the values in the variable; by default all indices.
    data_type : str, optional
        The format's name of the type where the dtype is ambiguous: `OPAQUE`,
        `ENUM1`, `SEQUENCE`.
    column : bool, optional
        True for a message of columns, False for one of the first form. By default
        vlen values and structures are columns.

    Returns
    -------
    Data or DataColumn
        The message.

    Raises
    ------
    ValueError
        If the format has no type for the dtype.
    """
    from nczarr.plugins.ncstream.messages import of_values

    return of_values(name, values, section, data_type=data_type, column=column)


def header_message(dataset: DatasetHandle | Checked, *, location: str | None = None) -> bytes:
    """Return the header message of a dataset, as a server answers `req=header`.

    Parameters
    ----------
    dataset : DatasetHandle
        An open dataset.
    location : str, optional
        URL or path of the dataset, for the header.

    Returns
    -------
    bytes
        The encoded message.
    """
    from nczarr.plugins.ncstream.wire import framing
    from nczarr.plugins.ncstream.write.header_writer import header

    return framing.frame(framing.HEADER, header(_check(dataset), location))


def data_messages(
    dataset: DatasetHandle | Checked,
    wanted: Iterable[tuple[str, tuple[range, ...] | None]],
    *,
    profile: Profile = "mixed",
    deflate: int | None = None,
    checksums: bool = False,
) -> Iterator[bytes]:
    """Encode the values of variables, one message each.

    Parameters
    ----------
    dataset : DatasetHandle
        An open dataset.
    wanted : Iterable of (str, tuple of range or None)
        Fully qualified names of variables with their indices, None for all.
    profile : {"mixed", "first", "second"}
        `mixed` encodes numbers and texts in the first form and other values in
        columns. `first` and `second` use one form wherever possible, as servers of
        the two generations.
    deflate : int, optional
        Compression level for numbers in the first form.
    checksums : bool
        True for a CRC-32 in each message of the first form; values are read twice
        for it.

    Yields
    ------
    bytes
        The next piece of the encoded messages.

    Raises
    ------
    KeyError
        If there is no such variable.
    ValueError
        If indices are out of bounds or descending.
    CompileError
        If one message cannot hold the values (`unwritable-ncstream`).
    OSError
        If values cannot be read.
    """
    from nczarr.plugins.ncstream.write.backend import MessageValues
    from nczarr.plugins.ncstream.write.pack_rows import UnwritableError

    checked = _check(dataset)
    for path, ranges in wanted:
        if ranges is not None:
            _check_indices(path, ranges, checked.shapes[path])
        try:
            for piece in MessageValues.of(checked, path, ranges, checksums=checksums).message(profile, deflate):
                yield bytes(piece)
        except UnwritableError as error:
            raise _fault("unwritable-ncstream", f"`{path}`: {error}") from None


def write_points(dataset: DatasetHandle, stream: IO[bytes], variable: str | None = None) -> Report:
    """Write a one-dimensional variable of records as a stream of point features with place and time.

    Variables that `nczarr.open` reads from such streams are suitable. Otherwise the
    attribute `location` of the variable names five members, separated by blanks:
    time, latitude, longitude, altitude and nominal time. Without the attribute,
    members with these names are used (`lat`, `lon`, `alt` for short).

    Parameters
    ----------
    dataset : DatasetHandle
        An open dataset.
    stream : binary file
        Receives the encoded stream.
    variable : str, optional
        Path of the variable; by default the only suitable one.

    Returns
    -------
    Report
        Has the warning `lost-beside-points` if the dataset has more content.

    Raises
    ------
    CompileError
        If no variable is suitable (`unsuited-points`).
    OSError
        If the stream is not writable.
    """
    from nczarr.plugins.ncstream.points.writer import write

    report = Report()
    pieces = write(dataset.checked, report, variable)
    if pieces is None:
        raise CompileError(report.list_sorted())
    for piece in pieces:
        stream.write(piece)
    return report


def _check(dataset: DatasetHandle | Checked) -> Checked:
    from nczarr.api.handle import DatasetHandle

    return dataset.checked if isinstance(dataset, DatasetHandle) else dataset


def _check_indices(path: str, ranges: tuple[range, ...], shape: tuple[int, ...]) -> None:
    """Raise ValueError for invalid indices."""
    if len(ranges) != len(shape) or not all(isinstance(indices, range) for indices in ranges):
        raise ValueError(f"`{path}` has {len(shape)} dimensions and needs a range for each: {ranges!r}")
    for indices, length in zip(ranges, shape, strict=True):
        if indices.step < 0 or (indices and not 0 <= indices[0] <= indices[-1] < length):
            raise ValueError(
                f"`{path}` has length {length} along a dimension, and {indices!r} does not increase within it"
            )


def _put(piece: bytes | bytearray | memoryview, stream: IO[bytes]) -> None:
    """Write a whole piece; a raw file may accept only a part at a time."""
    rest = memoryview(piece)
    while len(rest):
        taken = stream.write(rest)
        if taken is None or taken >= len(rest):
            return
        rest = rest[taken:]


def _fault(code: str, message: str, span: Span = NOWHERE) -> CompileError:
    report = Report()
    report.error(code, message, span)
    return CompileError(report.list_sorted())


def is_sequence(checked: Checked, fqn: str) -> bool:
    """Return whether CDM Remote clients see a variable as a sequence, without readable sections."""
    from nczarr.plugins.ncstream.wire import element_types

    return element_types.is_sequence(checked.variables[fqn].type, checked.shapes[fqn], checked.types)
