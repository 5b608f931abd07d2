"""`write`: a dataset as a stream from front to back, so that it can go to a pipe.

Header, then the values of every variable in the order of the header, then the end. Numbers go big-endian in one message
a variable, which every reader takes; texts and opaque values by their lengths; lists and records as columns, a bounded
number of cells a message. Invariant: what is in memory is a piece of one variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.diagnostics.report import Report
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire import protobuf
from nczarr.formats.ncstream.wire.byte_pieces import Piece
from nczarr.formats.ncstream.wire.framing import END, ERROR, HEADER, START
from nczarr.formats.ncstream.write.header_writer import header
from nczarr.formats.ncstream.write.variable_messages import Values
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """The pieces of the stream. Where the values of a variable are out of reach from the beginning, the stream says so
    and is at its end; later it just breaks off, within a message. Raises OSError.
    """
    checked = plan.checked
    yield START
    yield header_message(header(checked))
    for path in checked.variables:
        storage = plan.storage.get(path)
        level = storage.codecs[0].parameters[0] if storage is not None and storage.codecs[0].parameters else None
        begun = False
        try:
            for piece in _one_behind(Values.of(checked, path).messages(deflate=level)):
                begun = True
                yield piece
        except OSError as error:
            if not begun:
                yield error_message(str(error.strerror or error))
            raise
    yield END


def _one_behind(pieces: Iterator[Piece]) -> Iterator[bytes]:
    """The same pieces, each when the next one is there: what announces values waits for the first of them."""
    waiting: Piece | None = None
    for piece in pieces:
        if waiting is not None:
            yield bytes(waiting)
        waiting = piece
    if waiting is not None:
        yield bytes(waiting)


def header_message(given: pb.Header) -> bytes:
    """A header as a message."""
    block = given.SerializeToString(deterministic=True)
    return HEADER + protobuf.encoded(len(block)) + block


def error_message(text: str) -> bytes:
    """What stands instead of the rest of a stream."""
    block = pb.Error(message=text.encode("utf-8", "surrogateescape")).SerializeToString()
    return ERROR + protobuf.encoded(len(block)) + block
