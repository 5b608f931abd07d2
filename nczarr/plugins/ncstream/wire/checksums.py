"""CRC-32 of `Data` messages: their field 7 as fixed32, which no known program writes.

Later definitions gave the number to the flag `vdata`, a varint: the wire types tell both apart, and readers of either
definition skip the other. The definition does not say which bytes count. Here they are all bytes of the message behind
its block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from errno import EINVAL
from zlib import crc32

from nczarr.options import RunOptions
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.framing import DATA
from nczarr.plugins.ncstream.wire.limits import contradictory
from nczarr.plugins.ncstream.wire.protobuf import Buffer

TAG = bytes([7 << 3 | 5])
"""Tag of the field."""

STEP = 1 << 20
"""Bytes that are summed at once."""

OPTION = "ncstream.crc32"
"""Storage option of targets: `true` writes checksums."""


def are_requested(run: RunOptions) -> bool:
    """Return whether a target gets checksums. Raises OSError for a wrong option."""
    value = run.storage.of("target").get(OPTION, False)
    if not isinstance(value, bool):
        raise OSError(EINVAL, f"the storage option `{OPTION}` must be `true` or `false`, not {value!r}")
    return value


def add_crc32(make: Callable[[], Iterable[bytes | bytearray | memoryview]]) -> Iterator[bytes | bytearray | memoryview]:
    """Yield the pieces of a `Data` message with its checksum, others as they are. `make` is called twice."""
    total, behind = 0, b""
    for number, piece in enumerate(make()):
        if number == 0:
            if bytes(piece[:4]) != DATA:
                break
            length, start = protobuf.varint(bytes(piece), 4, len(piece))
            block, behind = bytes(piece[start : start + length]), bytes(piece[start + length :])
            piece = behind
        total = crc32(piece, total)
    else:
        block += TAG + total.to_bytes(4, "little")
        rest = iter(make())
        next(rest)
        yield DATA + protobuf.encode(len(block)) + block + behind
        yield from rest
        return
    yield from make()


def check_crc32(buffer: Buffer, start: int, end: int, after: int, offset: int) -> None:
    """Raise UnreadableStreamError if a message states another checksum than that of its bytes behind the block.

    `start`, `end`: its block in the buffer; `after`: end of the message; `offset`: its offset in the stream.
    """
    block = bytes(protobuf.view(buffer, start, end))
    if TAG not in block:
        return
    for number, kind, _, value, behind in protobuf.fields(block, 0, len(block)):
        if (number << 3 | kind) == TAG[0]:
            total = 0
            for at in range(end, after, STEP):
                total = crc32(protobuf.view(buffer, at, min(at + STEP, after)), total)
            stated = int.from_bytes(block[value:behind], "little")
            if total != stated:
                text = f"the values have the CRC-32 {total:08x}, but the message states {stated:08x}"
                raise contradictory(text, offset)
