"""Codecs: the neutral chain of `ast/storage.py`, its numcodecs configurations, its command line, its work.

A chain is a tuple of `Codec` (HDF5 filter number and parameters) in the order of encoding. What numcodecs can
name is written to Zarr v2 as it names it, and `from_configs` is the inverse of `to_configs`, so that a reader
knows when the plain form says everything. zlib and bz2 come from the standard library;
numcodecs is imported only by the codecs that need it. All encoders release the interpreter's lock.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Sequence
from typing import Any

from nczarr.arrays.lazy_numpy import np
from nczarr.ast.storage import CODEC_IDS, Codec

DEFLATE, SHUFFLE, FLETCHER32, BZIP2, BLOSC, ZSTD, GZIP, CRC32C = (
    CODEC_IDS[name] for name in ("deflate", "shuffle", "fletcher32", "bzip2", "blosc", "zstd", "gzip", "crc32c")
)
NUMCODECS = frozenset({DEFLATE, SHUFFLE, FLETCHER32, BZIP2, BLOSC, ZSTD})
"""Filters that numcodecs has too, with the same encoded bytes."""

LZF = 32000

DECODED = NUMCODECS | {LZF}
"""Filters whose chunks are decoded here."""

POINTER = 8
"""Bytes of the items by which netCDF-C shuffles strings in a Zarr store, whatever their length and the document say:
the size of the pointers that it holds them by."""

LAST_HDF5 = 65535
"""The largest number of a filter in HDF5."""

BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
"""Blosc's compressors by the number that the HDF5 filter uses."""

DEFAULT_LEVELS = {DEFLATE: 4, BZIP2: 9, ZSTD: 3, GZIP: 4}
"""Levels where a filter comes without one. Those of the netCDF library's own defaults where it has them."""

CONFIG_IDS = {"zlib": DEFLATE, "shuffle": SHUFFLE, "fletcher32": FLETCHER32, "bz2": BZIP2, "blosc": BLOSC,
              "zstd": ZSTD, "gzip": GZIP, "crc32c": CRC32C}  # fmt: skip
"""Filters by the names that numcodecs has for them."""

_CONFIG_NAMES = {LZF: "lzf", **{number: name for name, number in CONFIG_IDS.items()}}
_NAMES = {**CONFIG_IDS, "deflate": DEFLATE, "bzip2": BZIP2}
"""Filters by the names that `--codec` takes."""

_LEVELS = {DEFLATE: (0, 9), BZIP2: (1, 9), ZSTD: (0, 22), BLOSC: (0, 9), GZIP: (0, 9)}

Config = dict[str, Any]


def expressible(codecs: Sequence[Codec], known: frozenset[int] = NUMCODECS) -> bool:
    """Whether a target that names these filters can name the whole chain, parameters included."""
    return all(codec.id in known and _sane(codec) for codec in codecs)


def _sane(codec: Codec) -> bool:
    """Whether the parameters are ones that the encoder takes."""
    match codec.id:
        case 32001:
            level, shuffle, compressor = _blosc(codec)
            return level <= 9 and shuffle <= 2 and compressor < len(BLOSC_COMPRESSORS) and compressor != 3
        case 1 | 307 | 32015 | 65537:
            low, high = _LEVELS[codec.id]
            return len(codec.parameters) <= 1 and low <= level_of(codec) <= high
        case _:
            return True


def level_of(codec: Codec) -> int:
    """The compression level of a deflate, bzip2, zstd or gzip filter."""
    return codec.parameters[0] if codec.parameters else DEFAULT_LEVELS[codec.id]


def _blosc(codec: Codec) -> tuple[int, int, int]:
    """Level, shuffle and compressor of HDF5's blosc filter: parameters 4, 5, 6 (the first four are its own notes)."""
    given = codec.parameters[4:7]
    level, shuffle, compressor = (*given, *(5, 1, 0)[len(given) :])
    return level, shuffle, compressor


def same_bytes(one: Sequence[Codec], other: Sequence[Codec], itemsize: int) -> bool:
    """Whether two chains make the same bytes of a chunk, up to what versions of a compressor do.

    What HDF5 notes in the parameters of shuffle, fletcher32 and blosc says nothing of the bytes.
    """
    return [*map(_essence, working(one, itemsize))] == [*map(_essence, working(other, itemsize))]


def working(codecs: Sequence[Codec], itemsize: int) -> tuple[Codec, ...]:
    """Return the chain without steps that change nothing: a shuffle of items of one byte."""
    return tuple(codec for codec in codecs if codec.id != SHUFFLE or itemsize != 1)


def _essence(codec: Codec) -> tuple[int, ...]:
    """What decides of the bytes that a step makes."""
    match codec.id:
        case 2 | 3 | 65538:
            return (codec.id,)
        case 32001:
            return (codec.id, *_blosc(codec))
        case 1 | 307 | 32015 | 65537:
            return (codec.id, level_of(codec))
        case _:
            return (codec.id, *codec.parameters)


def portable(codecs: Sequence[Codec], itemsize: int) -> tuple[Codec, ...]:
    """The chain in an order that numcodecs can decode: shuffle comes before what changes the length of a chunk.

    HDF5 leaves alone what is no whole element at the end of a chunk, numcodecs refuses such a chunk; so
    only a checksum of whole elements may stand before shuffle.
    """
    chain = list(codecs)
    for place, codec in enumerate(codecs):
        before = codecs[:place]
        whole = all(step.id in (FLETCHER32, CRC32C) for step in before) and (4 * len(before)) % max(1, itemsize) == 0
        if codec.id == SHUFFLE and before and not whole:
            chain.remove(codec)
            chain.insert(0, codec)
    return tuple(chain)


def nearest(codecs: Sequence[Codec], known: frozenset[int]) -> tuple[Codec, ...]:
    """The chain for a target that knows these: where there is no gzip, deflate does the same."""
    plain = GZIP in known
    return tuple(
        codec if plain or codec.id != GZIP else Codec(id=DEFLATE, parameters=codec.parameters) for codec in codecs
    )


def of_hdf5(codecs: Sequence[Codec]) -> tuple[Codec, ...]:
    """The chain for an HDF5 file, which has no codec with a number of ours: deflate for gzip, and no crc32c."""
    return tuple(codec for codec in nearest(codecs, NUMCODECS) if codec.id <= LAST_HDF5)


def to_configs(codecs: Sequence[Codec], itemsize: int) -> list[Config]:
    """The chain as numcodecs configures it, in the order of encoding. Expects `expressible(codecs)`.

    `itemsize` goes into shuffle, where 0 would silently mean "do not shuffle" to numcodecs.
    """
    return [_config(codec, itemsize) for codec in codecs]


def _config(codec: Codec, itemsize: int) -> Config:
    name = _CONFIG_NAMES.get(codec.id)
    if name is None:
        raise ValueError(f"no numcodecs name for filter {codec.id}")
    if codec.id == SHUFFLE:
        return {"id": name, "elementsize": itemsize}
    if codec.id == BLOSC:
        level, shuffle, compressor = _blosc(codec)
        return {"id": name, "cname": BLOSC_COMPRESSORS[compressor], "clevel": level, "shuffle": shuffle, "blocksize": 0}
    return {"id": name, "level": level_of(codec)} if codec.id in DEFAULT_LEVELS else {"id": name}


def from_configs(configs: Sequence[Config]) -> tuple[Codec, ...] | None:
    """The neutral chain behind numcodecs configurations; None if one of them has no number."""
    codecs = []
    for config in configs:
        number = CONFIG_IDS.get(config.get("id", ""))
        if number is None or (number == BLOSC and config.get("cname") not in BLOSC_COMPRESSORS):
            return None
        parameters: tuple[int, ...] = ()
        if number == BLOSC:
            compressor = BLOSC_COMPRESSORS.index(config["cname"])
            parameters = (0, 0, 0, 0, int(config.get("clevel", 5)), int(config.get("shuffle", 1)), compressor)
        elif number in DEFAULT_LEVELS:
            parameters = (int(config.get("level", 1)),)
        codecs.append(Codec(id=number, parameters=parameters))
    return tuple(codecs)


def parse(text: str) -> tuple[Codec, ...]:
    """The chain of a `--codec` specification. Raises ValueError, whose text says what is wrong.

    `none`, or steps joined by `+` in the order of encoding: `zlib:5`, `shuffle+zlib:5`, `zstd:3`, `bz2:9`,
    `blosc:lz4:5`, `fletcher32`, `gzip:5`, `crc32c`. Levels may be left out.
    """
    if text == "none":
        return ()
    return tuple(_parse_step(step) for step in text.split("+"))


def _parse_step(step: str) -> Codec:
    name, *arguments = step.split(":")
    number = _NAMES.get(name)
    if number is None:
        raise ValueError(f"unknown codec `{name}`; known are {', '.join(sorted(_NAMES))} and none")
    if number == BLOSC:
        cname = arguments.pop(0) if arguments else "lz4"
        if cname not in BLOSC_COMPRESSORS or cname == "snappy":
            raise ValueError(f"unknown blosc compressor `{cname}`")
        level = _parse_level(name, arguments, 5, _LEVELS[BLOSC])
        return Codec(id=BLOSC, parameters=(0, 0, 0, 0, level, 1, BLOSC_COMPRESSORS.index(cname)))
    if number in _LEVELS:
        return Codec(id=number, parameters=(_parse_level(name, arguments, DEFAULT_LEVELS[number], _LEVELS[number]),))
    if arguments:
        raise ValueError(f"`{name}` takes no level")
    return Codec(id=number)


def _parse_level(name: str, arguments: list[str], default: int, limits: tuple[int, int]) -> int:
    if not arguments:
        return default
    text = arguments[0]
    if len(arguments) > 1 or not (text.isascii() and text.isdigit()) or not limits[0] <= int(text) <= limits[1]:
        raise ValueError(f"`{':'.join(arguments)}` is no level of `{name}`: {limits[0]} to {limits[1]}")
    return int(text)


def encode(codecs: Sequence[Codec], data: bytes, itemsize: int) -> bytes:
    """The bytes of one chunk after all steps of the chain. Expects `expressible(codecs)`."""
    for codec in codecs:
        data = _encode_step(codec, data, itemsize)
    return data


def _encode_step(codec: Codec, data: bytes, itemsize: int) -> bytes:
    match codec.id:
        case 1:
            return zlib.compress(data, level_of(codec))
        case 2:
            return _shuffle(data, itemsize)
        case 307:
            return bz2.compress(data, level_of(codec))
        case 65537:
            packer = zlib.compressobj(level_of(codec), wbits=31)  # without a time: the same data give the same bytes
            return packer.compress(data) + packer.flush()
        case 65538:
            from nczarr.arrays.crc32c import crc32c

            return data + crc32c(data).to_bytes(4, "little")
        case _:
            import numcodecs.registry

            return bytes(numcodecs.registry.get_codec(_config(codec, itemsize)).encode(_typed(codec, data, itemsize)))


def _shuffle(data: bytes, itemsize: int) -> bytes:
    """All first bytes, then all second bytes, and so on; what is no whole item stays at the end."""
    if itemsize < 2:
        return data
    whole = len(data) // itemsize * itemsize
    columns = np.frombuffer(data, np.uint8, whole).reshape(-1, itemsize)
    return columns.T.tobytes() + data[whole:]


def _typed(codec: Codec, data: bytes, itemsize: int) -> Any:
    """Blosc shuffles by the item size of the buffer that it is given; the others take bytes as they are."""
    if codec.id != BLOSC or itemsize < 2 or len(data) % itemsize or itemsize > 255:
        return data
    return np.frombuffer(data, f"V{itemsize}")
