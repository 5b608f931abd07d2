"""`write`: a dataset as a sequential stream, suitable for pipes: header, values in header order, END.

Numbers are big-endian `Data` messages (several above 2³¹ - 1 bytes), which
every reader accepts; strings and opaque values are length-prefixed; lists and
records are columns with bounded cells per message. Invariant: memory holds a
piece of one variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.diagnostics.report import Report
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire.framing import END, ERROR, HEADER, START, framed
from nczarr.formats.ncstream.write.byte_pieces import Piece
from nczarr.formats.ncstream.write.header_writer import header
from nczarr.formats.ncstream.write.variable_messages import MessageValues
from nczarr.names import to_bytes
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the pieces of the stream. Raises OSError.

    If a variable is unreadable from its start, the stream ends with an error
    message; later faults break it off.
    """
    checked = plan.checked
    yield START
    yield framed(HEADER, header(checked))
    for path in checked.variables:
        storage = plan.storage.get(path)
        level = storage.codecs[0].parameters[0] if storage is not None and storage.codecs[0].parameters else None
        begun = False
        try:
            for piece in _one_behind(MessageValues.of(checked, path).messages(deflate=level)):
                begun = True
                yield piece
        except OSError as error:
            if not begun:
                yield framed(ERROR, pb.Error(message=to_bytes(str(error.strerror or error))))
            raise
    yield END


def _one_behind(pieces: Iterator[Piece]) -> Iterator[bytes]:
    """Delay each piece until the next is available, so that a message header waits for its first values."""
    waiting: Piece | None = None
    for piece in pieces:
        if waiting is not None:
            yield bytes(waiting)
        waiting = piece
    if waiting is not None:
        yield bytes(waiting)
