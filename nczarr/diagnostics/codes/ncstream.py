"""Codes of ncstream messages (ncstream §1 to §6, §11)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

_START = ">>> import io, nczarr.ncstream\n>>> "


def _read(stream: str) -> str:
    """A script that reads a stream, given in hexadecimal."""
    return f'{_START}list(nczarr.ncstream.read_messages(bytes.fromhex("{stream}")))\n'


def _opened(stream: str) -> str:
    """A script that reads a stream, given in hexadecimal, as a dataset."""
    return (
        ">>> from nczarr.diagnostics.report import Report\n>>> from nczarr.options import Options\n"
        ">>> from nczarr.source import Source\n>>> import nczarr.pipeline\n>>> report = Report()\n"
        f'>>> source = Source("a.ncs", bytes.fromhex("{stream}"))\n'
        ">>> nczarr.pipeline.read(source, report, Options())\n"
    )


CODES = (
    Code(
        "bad-ncstream",
        ERROR,
        "Bytes are no stream of messages: no message begins so, a block is no protobuf message of its kind, "
        "there is no such data type or compression, or a deflated block is none. The offset is where.",
        _read("43444653 deadbeef"),
        "A message begins with one of the magics of ncstream; an unknown one cannot be passed over. See whether the "
        "stream was moved as text, or has another format's bytes in front.",
    ),
    Code(
        "truncated-ncstream",
        ERROR,
        "A stream ends within a message: fewer bytes are there than a block or a count announces.",
        _read("adecceda 1c 0a0178"),
        "Get the stream again. The messages before the offset are whole.",
    ),
    Code(
        "contradictory-ncstream",
        ERROR,
        "A message says of its values what does not agree: the places of its section, its counts, the bytes that are "
        "there, and what the header says of the variable.",
        _read("abecceba 11 0a0161 1002 1a060a0410031801 2001 2803 04 0001fffe"),
        "Whoever writes has to make section, counts and values of the same variable. If headers come from "
        "elsewhere, see whether they are of the same dataset.",
    ),
    Code(
        "oversized-ncstream",
        ERROR,
        "A message announces more than a limit lets pass: a block of 2³¹ bytes or more, an array larger than any, "
        "deflated values beyond the limit, members in too many levels.",
        _read("43444653 adecceda ffffffffffffffff0f"),
        "Nothing of it was allocated. In Python `read_messages` takes `limits`.",
    ),
    Code(
        "unwritable-ncstream",
        ERROR,
        "Values have no form in a message of their kind: lists of anything but numbers, or opaque members, in a "
        "message of the first kind; rows that nobody has defined, as columns; blocks of 2³¹ bytes or more.",
        f"{_START}import numpy\n"
        ">>> lists = numpy.array([numpy.array(['a'], object), None], object)[:1]\n"
        ">>> lists = nczarr.ncstream.data('l', lists, column=False)\n"
        ">>> nczarr.ncstream.write_messages([lists], io.BytesIO())\n",
        "Lists and records have a form as columns (`column=True`); split what is too large.",
    ),
    Code(
        "stream-error",
        ERROR,
        "The sender of a stream ended it with a message that says why there is no more.",
        _opened("adecceda 02 2801 abadbada 06 0a04 66756c6c"),
        "What came before is in the stream: `nczarr.ncstream.read_messages` gives it, message by message.",
    ),
    Code(
        "unended-stream",
        WARNING,
        "A stream has a beginning and no end. It may have been cut between two messages: variables whose messages are "
        "missing hold their fill values.",
        _opened("43444653 adecceda 02 2801"),
        "Get the stream again, or see that all variables have values.",
    ),
    Code(
        "unknown-enum",
        WARNING,
        "A variable is of an enum that no group around it declares, or whose integers have another size. Servers of "
        "the first generation are known to name the variable instead of the enum.",
        _opened("adecceda 0e 220a 1a08 0a0176 100a 3a0165 2801"),
        "The integers are read as they are.",
    ),
    Code(
        "ignored-values",
        WARNING,
        "The values that a header itself has of a variable are not as many as its dimensions say, or no numbers.",
        _opened("adecceda 10 220c 1a0a 0a0176 1003 3203000001 2801"),
        "The variable holds its fill value; a message of data with its values would count in any case.",
    ),
)
