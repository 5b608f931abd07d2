"""Bitshuffle, filter 32008 of HDF5: the bits of a block's elements by their position, then LZ4 or zstd."""

from typing import Any

from nczarr.arrays.codecs.lengths import EARLY
from nczarr.arrays.codecs.lz4 import block_header, list_stored_blocks, unpack_block
from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config, Parameters
from nczarr.arrays.codecs.zstd import unpack_zstd
from nczarr.arrays.lazy_numpy import NDArray, np

EIGHT = 8
"""Elements whose bits make whole bytes; a block has a multiple of them."""

BLOCK_BYTES = 8192
"""Approximate bytes of a block whose length is not stated."""

FEWEST = 128
"""Minimum elements of a block whose length is not stated."""

LZ4, ZSTD = 2, 3
"""Compressors of bitshuffle by number; 0: no compressor."""


class Bitshuffle(CodecKind):
    """Filter 32008, which numcodecs lacks. It is read only."""

    config_id = "hdf5_bitshuffle"

    def is_valid(self, parameters: Parameters) -> bool:
        return len(parameters) > 2 and _settings(parameters)[2] in (0, LZ4, ZSTD)

    def config(self, parameters: Parameters, itemsize: int) -> dict[str, Any]:
        width, block, compressor = _settings(parameters)
        return {"id": self.config_id, "elementsize": width, "blocksize": block, "compressor": compressor}

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        return unpack_bitshuffle(data, step["elementsize"], step["blocksize"], step["compressor"], limit)


def _settings(parameters: Parameters) -> tuple[int, int, int]:
    """Return width, block length and compressor: parameters 2, 3, 4 (the first two are the filter's version)."""
    present = parameters[2:5]
    width, block, compressor = (*present, *(0, 0, 0)[len(present) :])
    return width, block, compressor


def unpack_bitshuffle(data: bytes, width: int, block: int, compressor: int, limit: int) -> bytes:
    """Undo filter 32008, with the compressor behind it. Raises ValueError, RuntimeError.

    `width`: bytes of an element. `block`: elements of a block, 0 for the default.
    Elements beyond the last multiple of eight are stored as they are.
    """
    if width < 1:
        raise ValueError("bitshuffle has no width of elements")
    if not compressor:
        if len(data) > limit:
            raise ValueError(TOO_MUCH)
        block = block or max(BLOCK_BYTES // width // EIGHT * EIGHT, FEWEST)
        whole = len(data) // width // EIGHT * EIGHT * width
        step = block * width
        blocks = [data[start : min(start + step, whole)] for start in range(0, whole, step)]
        return b"".join([*(_transpose(piece, width) for piece in blocks), data[whole:]])
    size, step = block_header(data, limit)
    whole = size // width // EIGHT * EIGHT * width
    if step % (width * EIGHT):
        raise ValueError("a block of bitshuffle is not a multiple of eight elements")
    out: list[bytes] = []
    at = 12  # 12: the bytes of the chunk and of a block
    for piece, length in list_stored_blocks(data, whole, step):
        at += 4 + len(piece)
        block_bytes = unpack_zstd(piece, length) if compressor == ZSTD else unpack_block(piece, length)
        if len(block_bytes) != length:
            raise ValueError(EARLY)
        out.append(_transpose(block_bytes, width))
    rest = data[at : at + size - whole]
    if len(rest) != size - whole:
        raise ValueError(EARLY)
    return b"".join([*out, rest])


def _transpose(data: bytes, width: int) -> bytes:
    """Return elements from the planes of their bits: of each byte the lowest bit first."""
    if not data:
        return data
    planes = np.frombuffer(data, np.uint8).reshape(width * EIGHT, -1)
    bits: NDArray[Any] = np.unpackbits(planes, axis=1, bitorder="little")
    return np.packbits(bits.T, axis=1, bitorder="little").tobytes()


CODECS = (Bitshuffle(),)
