"""Codes of ncstream messages (ncstream §1 to §6, §11)."""

from __future__ import annotations

from nczarr.codes.code import ERROR, Code

_START = ">>> import io, nczarr.ncstream\n>>> "


def _read(stream: str) -> str:
    """A script that reads a stream, given in hexadecimal."""
    return f'{_START}list(nczarr.ncstream.read_messages(bytes.fromhex("{stream}")))\n'


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
)
