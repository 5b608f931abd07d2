"""Messages of ncstream, the stream of CDM Remote, read and written one by one: the public door to them.

    for message in nczarr.ncstream.read_messages(open("a.ncs", "rb")):
        print(message, getattr(message, "values", None))

A stream is bytes, a memory map, or any binary file, a pipe too; memory is that of one message. Whole files and
servers are datasets as any other: `nczarr.open("a.ncs")`. A stream that is wrong raises CompileError, whose
`.diagnostics` have the byte offset; nothing is allocated for what it merely announces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

from nczarr.diagnostics.report import CompileError, Report
from nczarr.formats.ncstream.wire.limits import DEFAULT, Limits, RefusedError
from nczarr.source import NOWHERE, Source, Span

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.check.checked import Checked
    from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
    from nczarr.formats.ncstream.wire.framing import Stream
    from nczarr.formats.ncstream.wire.messages import (
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
    from nczarr.formats.ncstream.write.variable_messages import Profile

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
    """The types of messages, loaded with protobuf when somebody names them."""
    if name in __all__:
        from nczarr.formats.ncstream.wire import messages

        return getattr(messages, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def read_messages(
    stream: Stream, *, definitions: pb.Header | None = None, limits: Limits = DEFAULT
) -> Iterator[Message]:
    """The messages of a stream, in order; `.values` of those with data are numpy arrays of the section's shape.

    Numbers have the byte order of the stream and are views of it, unless they were deflated. Chars are `S1`. Strings
    are objects: `str`, `bytes` where they are no UTF-8, None for NIL; opaque values are `bytes`. Lists are objects,
    too, each an array. Structures and sequences are structured arrays by the definition in a header that came before,
    or in `definitions`, with plain members first, then structures; members of variable size are objects. Rows of a
    structure that nobody has defined are `V`, as they are, and columns name their members themselves.

    Raises CompileError at the message that is wrong; those before it have been given. OSError if it cannot be read.
    """
    from nczarr.formats.ncstream.wire import messages
    from nczarr.formats.ncstream.wire.definitions import Definitions

    known = Definitions() if definitions is None else Definitions(definitions)
    try:
        yield from messages.read(stream, known, limits)
    except RefusedError as error:
        name = getattr(stream, "name", None)
        source = Source(name if isinstance(name, str) else "stream", b"", binary=True)
        raise _fault(error.code, str(error), Span(source, error.start, error.end)) from None


def write_messages(messages: Iterable[Message], stream: IO[bytes]) -> None:
    """Write messages one behind the other. Raises CompileError for one that has no form on the wire; OSError."""
    from nczarr.formats.ncstream.wire.byte_pieces import UnwritableError
    from nczarr.formats.ncstream.wire.messages import written

    for message in messages:
        try:
            for piece in written(message):
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
    """A message with the values of a numpy array, in the forms in which `read_messages` gives them.

    `section`: the indices that the values have in their variable; all of it if None. `data_type`: the format's name
    of the type where the dtype does not tell: `OPAQUE`, `ENUM1`, `SEQUENCE`. `column`: True for a message of columns,
    False for one of the first kind; None: columns for lists and structures. Raises ValueError for a dtype that the
    format lacks.
    """
    from nczarr.formats.ncstream.wire.messages import of_values

    return of_values(name, values, section, data_type=data_type, column=column)


def header_message(dataset: DatasetHandle | Checked, *, location: str | None = None) -> bytes:
    """The header of a dataset as a message: what a server answers to `req=header`. `location`: its URL or path."""
    from nczarr.formats.ncstream.wire import framing
    from nczarr.formats.ncstream.write.header_writer import header

    return framing.framed(framing.HEADER, header(_checked(dataset), location))


def data_messages(
    dataset: DatasetHandle | Checked,
    wanted: Iterable[tuple[str, tuple[range, ...] | None]],
    *,
    profile: Profile = "mixed",
    deflate: int | None = None,
) -> Iterator[bytes]:
    """One message for each variable that is wanted, by FQN, and the indices of it (None: all), piece by piece.

    `profile`: numbers and texts in the first form and all else in columns (`mixed`); or one of the forms wherever it
    suits (`first`, `second`), as servers of the two generations have it. `deflate`: a level, for numbers in the first
    form. Raises KeyError for a name that no variable has, ValueError for indices that it lacks, or that go backwards;
    OSError; and CompileError (`unwritable-ncstream`) for values that one message does not hold.
    """
    from nczarr.formats.ncstream.wire.byte_pieces import UnwritableError
    from nczarr.formats.ncstream.write.variable_messages import Values

    checked = _checked(dataset)
    for path, ranges in wanted:
        if ranges is not None:
            _check_indices(path, ranges, checked.shapes[path])
        try:
            for piece in Values.of(checked, path, ranges).message(profile, deflate):
                yield bytes(piece)
        except UnwritableError as error:
            raise _fault("unwritable-ncstream", f"`{path}`: {error}") from None


def write_points(dataset: DatasetHandle, stream: IO[bytes], variable: str | None = None) -> Report:
    """Write a variable of records along one dimension as a stream of points, as features with a place and a time.

    `variable`: its path; None: the only one of its kind. `nczarr.open` reads such streams, whose variables suit as
    they are. Otherwise the attribute `location` of the variable names five members, time, latitude, longitude, altitude
    and nominal time, separated by blanks; or members are called so (`lat`, `lon`, `alt` for short).

    The report has a warning, `lost-beside-points`, if the dataset has more than a stream of points holds. Raises
    CompileError (`unsuited-points`) for other variables, OSError.
    """
    from nczarr.formats.ncstream.points.writer import write

    report = Report()
    pieces = write(dataset.checked, report, variable)
    if pieces is None:
        raise CompileError(report.sorted())
    for piece in pieces:
        stream.write(piece)
    return report


def _checked(dataset: DatasetHandle | Checked) -> Checked:
    from nczarr.api.handle import DatasetHandle

    return dataset.checked if isinstance(dataset, DatasetHandle) else dataset


def _check_indices(path: str, ranges: tuple[range, ...], shape: tuple[int, ...]) -> None:
    """Raise ValueError for indices that a variable does not have."""
    if len(ranges) != len(shape) or not all(isinstance(each, range) for each in ranges):
        raise ValueError(f"`{path}` has {len(shape)} dimensions, each of which takes a range: {ranges!r}")
    for indices, length in zip(ranges, shape, strict=True):
        if indices.step < 0 or (indices and not 0 <= indices[0] <= indices[-1] < length):
            raise ValueError(f"`{path}` has {length} places along a dimension, and {indices!r} does not go up in them")


def _put(piece: bytes | bytearray | memoryview, stream: IO[bytes]) -> None:
    """Write all of a piece, of which a raw file may take a part at a time."""
    rest = memoryview(piece)
    while len(rest):
        taken = stream.write(rest)
        if taken is None or taken >= len(rest):
            return
        rest = rest[taken:]


def _fault(code: str, message: str, span: Span = NOWHERE) -> CompileError:
    report = Report()
    report.error(code, message, span)
    return CompileError(report.sorted())


def is_sequence(checked: Checked, fqn: str) -> bool:
    """Return whether clients of CDM Remote see a variable as a sequence, of which no section can be read."""
    from nczarr.formats.ncstream.write import header_writer

    return header_writer.is_sequence(checked.variables[fqn].type, checked.shapes[fqn], checked.types)
