"""Decoding of chunks by numcodecs configurations; only harmless codecs are allowed.

numcodecs decodes harmless codecs that we do not write. Codecs that run code
(`pickle`) or make objects are rejected. Output is bounded by the expected chunk
size.
"""

from __future__ import annotations

import bz2
import json
import lzma
import math
import struct
import sys
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from nczarr.arrays.codecs import bounded_decompression, hdf5_filters
from nczarr.arrays.codecs.lengths import texts_end
from nczarr.arrays.lazy_numpy import NDArray, np

Config = Mapping[str, Any]

HARMLESS = frozenset(
    {"zlib", "gzip", "bz2", "lzma", "zstd", "lz4", "blosc", "shuffle", "fletcher32", "crc32c", "crc32", "adler32",
     "lzf", "hdf5_lz4", "hdf5_bitshuffle", "delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype",
     "base64", "jenkins_lookup3", "categorize", "json2", "msgpack2"}
)  # fmt: skip
"""Codecs that only turn bytes into bytes, numbers or texts."""

TEXTS = frozenset({"json2", "msgpack2", "categorize"})
"""Codecs of text arrays besides `vlen-utf8` and `vlen-bytes`; their texts are decoded to the form of these."""

DECODING_ERRORS = (
    ValueError, TypeError, RuntimeError, EOFError, KeyError, IndexError, OverflowError, AssertionError, ImportError,
    MemoryError, struct.error, zlib.error, lzma.LZMAError, BufferError,
)  # fmt: skip
"""Exceptions of decoders for invalid bytes or configurations."""

SLACK = 1 << 20
"""Bytes allowed beyond twice the chunk size, for checksums and the like."""

SUMMED = (2, 4)
"""Item sizes that are unshuffled by arithmetic, in a third and two thirds of the time of copies byte by byte."""

FEW = 1 << 13
"""Items below which copies are quicker than arithmetic."""

IN_CACHE = 1 << 17
"""Items that are unshuffled at once."""

LARGEST = 4 << 30
"""Maximum decoded bytes of a chunk of texts."""


def decoded(data: bytes, steps: Sequence[Config], itemsize: int, size: int | None) -> bytes:
    """Undo all steps. `size`: approximate decoded bytes, None if unknown. Raises one of `DECODING_ERRORS`."""
    limit = LARGEST if size is None else 2 * size + SLACK
    for step in reversed(steps):
        data = _step(step, data, itemsize, limit)
    return data


def _step(step: Config, data: bytes, itemsize: int, limit: int) -> bytes:
    name = step.get("id")
    if name not in HARMLESS:
        raise ValueError(f"codec `{name}` is unknown")
    match name:
        case "zlib":
            return _inflated(data, 15, limit)
        case "gzip":
            return _inflated(data, 31, limit)
        case "bz2":
            return bounded_decompression.bounded(bz2.BZ2Decompressor(), data, limit)
        case "zstd":
            return bounded_decompression.zstd(data, limit)
        case "blosc":
            return bounded_decompression.blosc(data, limit)
        case "lz4":
            return bounded_decompression.lz4(data, limit)
        case "lzma":
            return bounded_decompression.lzma(step, data, limit)
        case "crc32c":
            return _crc32c(data)
        case "lzf":
            return bounded_decompression.lzf(data, limit)
        case "hdf5_lz4":
            return hdf5_filters.lz4(data, limit)
        case "hdf5_bitshuffle":
            return hdf5_filters.bitshuffle(data, step["elementsize"], step["blocksize"], step["compressor"], limit)
        case "shuffle":
            width = step.get("elementsize") or itemsize
            return unshuffled(data, width if isinstance(width, int) and width > 0 else itemsize)
        case "categorize":
            return _categories(step, data)
        case "json2":
            return vlen_texts(_listed(_parsed(data)))
        case "msgpack2":
            return vlen_texts(_listed(_unpacked(data)))
        case _:
            return _numcodecs(step, data, limit)


def _inflated(data: bytes, bits: int, limit: int) -> bytes:
    from zlib_ng import zlib_ng  # inflates in a third of the time of zlib

    out: list[bytes] = []
    size = 0
    while data:
        unpacker = zlib_ng.decompressobj(bits)
        try:
            piece = unpacker.decompress(data, limit - size + 1)
        except zlib_ng.error as error:  # type: ignore[misc]
            raise ValueError(str(error)) from None
        size += len(piece)
        if size > limit:
            raise ValueError(bounded_decompression.TOO_MUCH)
        if not unpacker.eof:
            raise ValueError(bounded_decompression.EARLY)
        out.append(piece)
        data = unpacker.unused_data if bits == 31 else b""
    return b"".join(out)


def _crc32c(data: bytes) -> bytes:
    from nczarr.arrays.codecs.crc32c import crc32c

    if len(data) < 4 or crc32c(data[:-4]).to_bytes(4, "little") != data[-4:]:
        raise ValueError("the checksum does not match")
    return data[:-4]


def unshuffled(data: bytes, itemsize: int) -> bytes:
    """Invert HDF5's shuffle; a partial item remains at the end."""
    if itemsize < 2:
        return data
    whole = len(data) // itemsize * itemsize
    out = np.empty(whole // itemsize, f"V{itemsize}")
    unshuffle(np.frombuffer(data, np.uint8, whole).reshape(itemsize, -1), out)
    return out.tobytes() + data[whole:]


def unshuffle(planes: NDArray[np.uint8], out: NDArray[Any]) -> None:
    """Put together items whose bytes are in planes: byte i of each item is in `planes[i]`.

    `planes`: shape `(itemsize, *out.shape)`; `out`: any dtype without objects, any
    strides. Releases the GIL.
    """
    while out.ndim and len(out) == 1:
        planes, out = planes[:, 0], out[0, ...]
    if not out.ndim:
        planes, out = planes[:, None], out.reshape(1)
    rows = max(1, IN_CACHE // max(1, math.prod(out.shape[1:])))
    for start in range(0, len(out), rows):
        some, target = planes[:, start : start + rows], out[start : start + rows]
        if out.itemsize in SUMMED and target.size >= FEW:
            whole = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
            _sum_planes(some, whole.view(f"u{out.itemsize}"))
            if whole is not target:
                target[...] = whole
        else:
            columns = target[..., None].view(np.uint8)
            for place, plane in enumerate(some):
                columns[..., place] = plane


def _sum_planes(planes: NDArray[np.uint8], out: NDArray[Any]) -> None:
    """Make unsigned integers of their bytes. `out`: uint16 or uint32 in the processor's byte order."""
    first, *others = planes[::-1] if sys.byteorder == "little" else planes
    out[...] = first
    for plane in others:
        np.multiply(out, 256, out=out)
        np.bitwise_or(out, plane, out=out)


def _numcodecs(step: Config, data: bytes, limit: int) -> bytes:
    import numcodecs.registry

    ratio = 8 if step.get("id") == "packbits" else 1
    for name in ("dtype", "astype", "encode_dtype", "decode_dtype"):
        if name in step and (np.dtype(step[name]).kind not in "biufc"):
            raise ValueError(f"codec `{step.get('id')}` does not return numbers")
    if len(data) * ratio > 2 * limit:
        raise ValueError(bounded_decompression.TOO_MUCH)
    codec = numcodecs.registry.get_codec(dict(step))
    with np.errstate(all="ignore"):  # else numpy prints a warning with the place of numcodecs
        out = np.asarray(codec.decode(data))
    if out.dtype.hasobject:
        raise ValueError(f"codec `{step.get('id')}` returns Python objects")
    if out.nbytes > limit:
        raise ValueError(bounded_decompression.TOO_MUCH)
    return out.tobytes()


def _categories(step: Config, data: bytes) -> bytes:
    """Return the labels that numbers stand for: texts of a fixed length or any; 0 is an empty text."""
    labels, codes = step.get("labels"), np.dtype(step.get("astype", "u1"))
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels) or codes.kind not in "iu":
        raise ValueError("codec `categorize` has no labels")
    numbers = np.frombuffer(data, codes).astype(np.int64)
    codes_in_range = np.where((numbers > 0) & (numbers <= len(labels)), numbers, 0)
    dtype = np.dtype(step.get("dtype"))
    if dtype.kind == "U":
        return np.array(["", *labels], dtype)[codes_in_range].tobytes()
    texts = [b"", *(label.encode() for label in labels)]
    return vlen_texts([texts[number] for number in codes_in_range.tolist()])


def _listed(document: Any) -> list[bytes]:
    """Return the texts of a chunk in numcodecs' form: the texts of all cells, then dtype and shape."""
    if not isinstance(document, list) or len(document) < 2 or not isinstance(document[-1], list):
        raise ValueError("the chunk is not a list of values, dtype and shape")
    values = document[:-2]
    for _ in document[-1][1:]:  # several dimensions are lists of lists
        values = [inner for row in values if isinstance(row, list) for inner in row]
    if not all(isinstance(text, str) for text in values):
        raise ValueError("the chunk holds values that are not texts")
    return [text.encode() for text in values]


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _unpacked(data: bytes) -> Any:
    try:
        import msgpack
    except ImportError:
        raise ValueError("codec `msgpack2` needs a library: pip install msgpack") from None
    try:
        return msgpack.unpackb(data, max_str_len=LARGEST, strict_map_key=True)
    except msgpack.exceptions.UnpackException as error:
        raise ValueError(f"not msgpack: {error}") from None


def vlen_texts(texts: Sequence[bytes]) -> bytes:
    """Return numcodecs' `vlen-utf8` or `vlen-bytes`: the count, then each text after its length (uint32)."""
    pieces = [struct.pack("<I", len(texts))]
    for text in texts:
        pieces += (struct.pack("<I", len(text)), text)
    return b"".join(pieces)


def texts_of(data: bytes, count: int) -> list[bytes]:
    """Split length-prefixed texts, as in `vlen-utf8` and `vlen-bytes`. Raises ValueError."""
    texts_end(data, count)
    unpack = struct.Struct("<I").unpack_from
    texts: list[bytes] = []
    at = 4
    for _ in range(count):
        end = at + 4 + unpack(data, at)[0]
        texts.append(data[at + 4 : end])
        at = end
    return texts
