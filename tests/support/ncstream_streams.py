"""Streams of messages made by hand, as senders of either generation write them; for tests of the message layer."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.protobuf import encode

START, END = b"CDFS", bytes.fromhex("ededdede")
HEADER, DATA, COLUMN = (bytes.fromhex(each) for each in ("adecceda", "abecceba", "abebbeba"))
RECORD, LAST_RECORD, ERROR = (bytes.fromhex(each) for each in ("abeffeba", "edeffeda", "abadbada"))
RAGGED = 2**64 - 1


def block(data: bytes) -> bytes:
    return encode(len(data)) + data


def section(*sizes: int) -> pb.Section:
    return pb.Section(range=[pb.Range(size=size) for size in sizes])


def head(kind: int, sizes: Sequence[int] | None, **more: Any) -> bytes:
    made = pb.Data(varName=more.pop("name", b"v"), dataType=kind, version=more.pop("version", 2), **more)
    if sizes is not None:
        made.section.CopyFrom(section(*sizes))
        made.section.SetInParent()
    return DATA + block(made.SerializeToString())


def counted(items: Iterable[bytes], count: int | None = None) -> bytes:
    listed = list(items)
    return encode(len(listed) if count is None else count) + b"".join(map(block, listed))


def numbers(kind: int, array: NDArray[Any], **more: Any) -> bytes:
    """A message with numbers of the first generation, big-endian."""
    data = array.astype(array.dtype.newbyteorder(">")).tobytes()
    return head(kind, array.shape, **more) + block(data)


def deflated(kind: int, array: NDArray[Any], **more: Any) -> bytes:
    data = array.astype(array.dtype.newbyteorder(">")).tobytes()
    more.setdefault("uncompressedSize", len(data))
    return head(kind, array.shape, compress=1, **more) + block(zlib.compress(data))


def rows(data: bytes, count: int, length: int, heap: Sequence[Sequence[bytes]] = (), **more: Any) -> bytes:
    """A StructureData as a block."""
    made = pb.StructureData(data=data, nrows=count, rowLength=length, **more)
    made.heapCount.extend(map(len, heap))
    made.sdata.extend(item for entry in heap for item in entry)
    return block(made.SerializeToString())


def variable(name: str, kind: int, *sizes: int, **more: Any) -> pb.Variable:
    dims = [
        pb.Dimension(isVlen=True, isPrivate=True) if size == RAGGED else pb.Dimension(length=size) for size in sizes
    ]
    return pb.Variable(name=name.encode(), dataType=kind, shape=dims, **more)


def structure(name: str, members: Sequence[Any], *sizes: int, kind: int = pb.STRUCTURE) -> pb.Structure:
    return pb.Structure(
        name=name.encode(),
        dataType=kind,
        shape=[pb.Dimension(length=size) for size in sizes],
        vars=[each for each in members if isinstance(each, pb.Variable)],
        structs=[each for each in members if isinstance(each, pb.Structure)],
    )


def header(*declared: Any, **more: Any) -> bytes:
    """A header message of variables and structures of the root group."""
    root = pb.Group(
        vars=[each for each in declared if isinstance(each, pb.Variable)],
        structs=[each for each in declared if isinstance(each, pb.Structure)],
        **more,
    )
    return HEADER + block(pb.Header(version=1, root=root).SerializeToString())


def column(kind: int, sizes: Sequence[int] | None, **more: Any) -> pb.DataCol:
    made = pb.DataCol(name=more.pop("name", b"v"), dataType=kind, **more)
    if sizes is not None:
        made.section.CopyFrom(section(*sizes))
        made.section.SetInParent()
    return made


def columns(made: pb.DataCol) -> bytes:
    return COLUMN + block(made.SerializeToString())
