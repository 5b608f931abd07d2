"""Blocks of N5: a header with the block's own shape, and its compressed numbers, big-endian.

Blocks at the end of an array are as short as it is; here they get the length of all others.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.table import CodecKind, Config
from nczarr.arrays.lazy_numpy import np

DEFAULT, VARYING = 0, 1
"""Modes of a block: with the numbers of its shape, or with a number of its own after the shape."""

HEADER = 4
"""Bytes of mode and number of dimensions."""

LZ4_BLOCK = struct.Struct("<8sBiiI")
"""Header of a piece in lz4-java's form: magic, token, compressed and decompressed length, checksum."""


class N5Block(CodecKind):
    """One block. `block`: its full shape in C order; `compression`: the member of the array's attributes."""

    config_id = "n5_block"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        """Return the numbers of a full block. Raises ValueError and errors of the decoders."""
        block = tuple(step["block"])
        if len(data) < HEADER + 4 * len(block):
            raise ValueError(f"the block has {len(data)} bytes, too few for its header")
        mode, rank = struct.unpack_from(">HH", data)
        if mode not in (DEFAULT, VARYING) or rank != len(block):
            raise ValueError(f"the block has mode {mode} and {rank} dimensions")
        shape = struct.unpack_from(f">{rank}I", data, HEADER)[::-1]  # of N5, the first dimension changes fastest
        start, count = HEADER + 4 * rank, math.prod(shape)
        if mode == VARYING:
            count = int.from_bytes(data[start : start + 4], "big")
            start += 4
        if count != math.prod(shape) or any(own > full for own, full in zip(shape, block, strict=True)):
            raise ValueError(f"the block of shape {shape} has {count} elements")
        size = count * itemsize
        if size > limit:
            raise ValueError(table.TOO_MUCH)
        numbers = _decompress(data[start:], step["compression"], size)
        if len(numbers) != size:
            raise ValueError(f"the block has {len(numbers)} bytes instead of {size}")
        if shape == block:
            return numbers
        whole = np.zeros(block, f"V{itemsize}")
        whole[tuple(map(slice, shape))] = np.frombuffer(numbers, f"V{itemsize}").reshape(shape)
        return whole.tobytes()


def _decompress(data: bytes, compression: Config, size: int) -> bytes:
    """Return the decompressed bytes, at most `size`."""
    name = DECODERS[compression["type"]]
    if name == "gzip" and compression.get("useZlib"):
        name = "zlib"
    if not name:
        return data
    if name == "lz4":
        return _join_lz4(data, size)
    kind = table.of_config_id(name)
    assert kind is not None
    config: dict[str, Any] = {"id": name, **({"format": 1} if name == "lzma" else {})}  # 1: the container of xz
    return kind.decode(data, config, 1, size)


def _join_lz4(data: bytes, size: int) -> bytes:
    """Return the bytes of pieces in lz4-java's form. Raises ValueError."""
    kind = table.of_config_id("lz4")
    assert kind is not None
    pieces, at, found = [], 0, 0
    while at + LZ4_BLOCK.size <= len(data):
        magic, token, packed, plain, _ = LZ4_BLOCK.unpack_from(data, at)
        at += LZ4_BLOCK.size
        found += plain
        if magic != b"LZ4Block" or packed < 0 or plain < 0 or found > size:
            raise ValueError("the block is not in the form of lz4-java")
        piece = data[at : at + packed]
        is_stored = token & 0xF0 == 0x10
        pieces.append(piece if is_stored else kind.decode(struct.pack("<I", plain) + piece, {"id": "lz4"}, 1, plain))
        at += packed
    return b"".join(pieces)


DECODERS = {"raw": "", "gzip": "gzip", "bzip2": "bz2", "xz": "lzma", "lz4": "lz4", "blosc": "blosc", "zstd": "zstd"}
"""Names of codecs by the type of a compression."""

N5_BLOCK = N5Block()
