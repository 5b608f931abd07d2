"""What data messages of the first kind say of themselves (ncstream §3, §5)."""

from __future__ import annotations

from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire import protobuf
from nczarr.formats.ncstream.wire.elements import Section, write_section
from nczarr.formats.ncstream.wire.framing import DATA

VERSION = 3
"""The version of data messages of both kinds."""


def head(name: bytes, data_type: int, section: Section | None, *, big: bool = True) -> pb.Data:
    """What a message of the first kind says of itself; fields that the first generation requires are always there."""
    made = pb.Data(varName=name, dataType=pb.DataType.Name(data_type), bigend=big, version=VERSION)
    if section is not None:
        write_section(section, made.section)
    return made


def begun(message: pb.Data) -> bytes:
    """The magic and the block of a message, before its payload."""
    block = message.SerializeToString(deterministic=True)
    return DATA + protobuf.encoded(len(block)) + block
