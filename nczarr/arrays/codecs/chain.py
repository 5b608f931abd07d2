"""Codecs: the neutral chain of `ast/storage.py`, its numcodecs and `--codec` forms, its encoders.

A chain is a tuple of `Codec` (HDF5 filter number and parameters) in encoding
order. Zarr v2 gets numcodecs' names where they exist. `from_configs` inverts
`to_configs`, so that a reader can check that the plain form is complete. zlib
and bz2 come from the standard library; numcodecs is imported only where needed.
All encoders release the GIL.
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
"""Filters that numcodecs also has, with the same encoded bytes."""

LZF, LZ4, BITSHUFFLE = 32000, 32004, 32008

DECODED = NUMCODECS | {LZF, LZ4, BITSHUFFLE}
"""Filters that we decode."""

POINTER = 8
"""Item size for shuffling strings in netCDF-C's Zarr stores, whatever their length or the document: a pointer."""

LAST_HDF5 = 65535
"""Largest filter number of HDF5."""

BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
"""Blosc compressors by number in the HDF5 filter."""

DEFAULT_LEVELS = {DEFLATE: 4, BZIP2: 9, ZSTD: 3, GZIP: 4}
"""Levels of filters without one; the netCDF library's defaults where it has them."""

CONFIG_IDS = {"zlib": DEFLATE, "shuffle": SHUFFLE, "fletcher32": FLETCHER32, "bz2": BZIP2, "blosc": BLOSC,
              "zstd": ZSTD, "gzip": GZIP, "crc32c": CRC32C}  # fmt: skip
"""Filters by numcodecs name."""

_CONFIG_NAMES = {
    LZF: "lzf",
    LZ4: "hdf5_lz4",
    BITSHUFFLE: "hdf5_bitshuffle",
    **{number: name for name, number in CONFIG_IDS.items()},
}
_NAMES = {**CONFIG_IDS, "deflate": DEFLATE, "bzip2": BZIP2}
"""Filters by `--codec` name."""

_LEVELS = {DEFLATE: (0, 9), BZIP2: (1, 9), ZSTD: (0, 22), BLOSC: (0, 9), GZIP: (0, 9)}

Config = dict[str, Any]


def expressible(codecs: Sequence[Codec], supported: frozenset[int] = NUMCODECS) -> bool:
    """Return whether a target with these filters can express the whole chain, parameters included."""
    return all(codec.id in supported and _sane(codec) for codec in codecs)


def _sane(codec: Codec) -> bool:
    """Return whether the encoder accepts the parameters."""
    match codec.id:
        case 32001:
            level, shuffle, compressor = _blosc(codec)
            return level <= 9 and shuffle <= 2 and compressor < len(BLOSC_COMPRESSORS) and compressor != 3
        case 32008:
            return len(codec.parameters) > 2 and _bitshuffle(codec)[2] in (0, 2, 3)
        case 1 | 307 | 32015 | 65537:
            low, high = _LEVELS[codec.id]
            return len(codec.parameters) <= 1 and low <= level_of(codec) <= high
        case _:
            return True


def level_of(codec: Codec) -> int:
    """Return the compression level of deflate, bzip2, zstd or gzip."""
    return codec.parameters[0] if codec.parameters else DEFAULT_LEVELS[codec.id]


def _blosc(codec: Codec) -> tuple[int, int, int]:
    """Return level, shuffle and compressor of HDF5's blosc: parameters 4, 5, 6 (the first four are internal)."""
    settings = codec.parameters[4:7]
    level, shuffle, compressor = (*settings, *(5, 1, 0)[len(settings) :])
    return level, shuffle, compressor


def _bitshuffle(codec: Codec) -> tuple[int, int, int]:
    """Return width, block length and compressor of bitshuffle: parameters 2, 3, 4 (the first two are its version)."""
    width, block, compressor = (*codec.parameters[2:5], *(0, 0, 0)[len(codec.parameters[2:5]) :])
    return width, block, compressor


def same_bytes(one: Sequence[Codec], other: Sequence[Codec], itemsize: int) -> bool:
    """Return whether two chains produce the same bytes, except for compressor versions.

    HDF5's internal parameters of shuffle, fletcher32 and blosc do not count.
    """
    return [*map(_essence, working(one, itemsize))] == [*map(_essence, working(other, itemsize))]


def working(codecs: Sequence[Codec], itemsize: int) -> tuple[Codec, ...]:
    """Return the chain without no-ops: a shuffle of one-byte items."""
    return tuple(codec for codec in codecs if codec.id != SHUFFLE or itemsize != 1)


def _essence(codec: Codec) -> tuple[int, ...]:
    """Return the properties of a step that determine its output."""
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
    """Return the chain in an order that numcodecs can decode: shuffle before steps that change the length.

    HDF5 leaves a partial element at the end of a chunk unshuffled, but
    numcodecs refuses such a chunk. So only checksums that add whole elements
    may precede shuffle.
    """
    chain = list(codecs)
    for place, codec in enumerate(codecs):
        before = codecs[:place]
        whole = all(step.id in (FLETCHER32, CRC32C) for step in before) and (4 * len(before)) % max(1, itemsize) == 0
        if codec.id == SHUFFLE and before and not whole:
            chain.remove(codec)
            chain.insert(0, codec)
    return tuple(chain)


def nearest(codecs: Sequence[Codec], supported: frozenset[int]) -> tuple[Codec, ...]:
    """Return the chain for a target with these codecs; deflate replaces an unknown gzip."""
    plain = GZIP in supported
    return tuple(
        codec if plain or codec.id != GZIP else Codec(id=DEFLATE, parameters=codec.parameters) for codec in codecs
    )


REGISTERED = frozenset(("gzip", "zstd", "blosc", "crc32c"))
"""Names of numcodecs codecs that the registry of Zarr v3 has too."""


def registered(codecs: Sequence[Codec]) -> tuple[Codec, ...]:
    """Return the chain in codecs of the registry of Zarr v3, which decode to the same bytes.

    Deflate becomes gzip, and bzip2 zstd; behind a shuffle both, and zstd, become
    blosc. Fletcher32 becomes crc32c.
    """
    chain: list[Codec] = []
    for codec in codecs:
        shuffled = bool(chain) and chain[-1].id == SHUFFLE
        match codec.id:
            case 1 | 65537 | 32015 | 307 if shuffled:
                compressor = "zlib" if codec.id in (DEFLATE, GZIP) else "zstd"
                chain[-1] = _blosc_of(compressor, min(9, level_of(codec)))
            case 1:
                chain.append(Codec(id=GZIP, parameters=codec.parameters))
            case 307:
                chain.append(Codec(id=ZSTD, parameters=(DEFAULT_LEVELS[ZSTD],)))
            case 3:
                chain.append(Codec(id=CRC32C))
            case _:
                chain.append(codec)
    return tuple(_blosc_of("lz4", 1) if codec.id == SHUFFLE else codec for codec in chain)


def _blosc_of(compressor: str, level: int) -> Codec:
    return Codec(id=BLOSC, parameters=(0, 0, 0, 0, level, 1, BLOSC_COMPRESSORS.index(compressor)))


def of_hdf5(codecs: Sequence[Codec]) -> tuple[Codec, ...]:
    """Return the chain for HDF5, which has none of our own codecs: deflate for gzip, and no crc32c."""
    return tuple(codec for codec in nearest(codecs, NUMCODECS) if codec.id <= LAST_HDF5)


def to_configs(codecs: Sequence[Codec], itemsize: int) -> list[Config]:
    """Return numcodecs configurations in encoding order. Expects `expressible(codecs)`.

    `itemsize` is for shuffle, where numcodecs would take 0 for "do not
    shuffle".
    """
    return [_config(codec, itemsize) for codec in codecs]


def _config(codec: Codec, itemsize: int) -> Config:
    name = _CONFIG_NAMES.get(codec.id)
    if name is None:
        raise ValueError(f"no numcodecs name for filter {codec.id}")
    if codec.id == SHUFFLE:
        return {"id": name, "elementsize": itemsize}
    if codec.id == BITSHUFFLE:
        width, block, compressor = _bitshuffle(codec)
        return {"id": name, "elementsize": width, "blocksize": block, "compressor": compressor}
    if codec.id == BLOSC:
        level, shuffle, compressor = _blosc(codec)
        return {"id": name, "cname": BLOSC_COMPRESSORS[compressor], "clevel": level, "shuffle": shuffle, "blocksize": 0}
    return {"id": name, "level": level_of(codec)} if codec.id in DEFAULT_LEVELS else {"id": name}


def from_configs(configs: Sequence[Config]) -> tuple[Codec, ...] | None:
    """Return the neutral chain of numcodecs configurations; None if one has no number."""
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


NO_SHUFFLE = "noshuffle+"
"""Beginning of a specification without shuffle, also where that helps."""

_SHUFFLED = frozenset(CODEC_IDS[name] for name in ("deflate", "gzip", "zstd", "bzip2"))
"""Compressors that find more in shuffled numbers. Blosc shuffles by itself."""


def parse(text: str) -> tuple[Codec, ...]:
    """Return the chain of a `--codec` specification. Raises ValueError with an explanation.

    `none`, or steps joined by `+` in encoding order: `zlib:5`,
    `shuffle+zlib:5`, `zstd:3`, `bz2:9`, `blosc:lz4:5`, `fletcher32`, `gzip:5`,
    `crc32c`. Levels are optional. `noshuffle` before a compressor has no step.
    """
    if text == "none":
        return ()
    return tuple(_parse_step(step) for step in text.removeprefix(NO_SHUFFLE).split("+"))


def is_bare(chain: Sequence[Codec], text: str) -> bool:
    """Return whether a specification names one compressor alone, before which numbers are shuffled."""
    return len(chain) == 1 and chain[0].id in _SHUFFLED and not text.startswith(NO_SHUFFLE)


def _parse_step(step: str) -> Codec:
    name, *arguments = step.split(":")
    number = _NAMES.get(name)
    if number is None:
        raise ValueError(f"unknown codec `{name}`; known codecs are {', '.join(sorted(_NAMES))} and none")
    if number == BLOSC:
        cname = arguments.pop(0) if arguments else "lz4"
        if cname not in BLOSC_COMPRESSORS or cname == "snappy":
            raise ValueError(f"unknown blosc compressor `{cname}`")
        level = _parse_level(name, arguments, 5, _LEVELS[BLOSC])
        return Codec(id=BLOSC, parameters=(0, 0, 0, 0, level, 1, BLOSC_COMPRESSORS.index(cname)))
    if number in _LEVELS:
        return Codec(id=number, parameters=(_parse_level(name, arguments, DEFAULT_LEVELS[number], _LEVELS[number]),))
    if arguments:
        raise ValueError(f"`{name}` has no level")
    return Codec(id=number)


def _parse_level(name: str, arguments: list[str], default: int, limits: tuple[int, int]) -> int:
    if not arguments:
        return default
    text = arguments[0]
    if len(arguments) > 1 or not (text.isascii() and text.isdigit()) or not limits[0] <= int(text) <= limits[1]:
        raise ValueError(f"`{':'.join(arguments)}` is not a level of `{name}`: {limits[0]} to {limits[1]}")
    return int(text)


def encode(codecs: Sequence[Codec], data: bytes, itemsize: int) -> bytes:
    """Return the encoded bytes of one chunk. Expects `expressible(codecs)`."""
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
            from nczarr.arrays.codecs.crc32c import crc32c

            return data + crc32c(data).to_bytes(4, "little")
        case _:
            import numcodecs.registry

            return bytes(numcodecs.registry.get_codec(_config(codec, itemsize)).encode(_typed(codec, data, itemsize)))


def _shuffle(data: bytes, itemsize: int) -> bytes:
    """Group bytes by their position in the item; a partial item remains at the end."""
    if itemsize < 2:
        return data
    whole = len(data) // itemsize * itemsize
    columns = np.frombuffer(data, np.uint8, whole).reshape(-1, itemsize)
    return columns.T.tobytes() + data[whole:]


def _typed(codec: Codec, data: bytes, itemsize: int) -> Any:
    """Return the data as blosc needs them: it shuffles by the buffer's item size. Others accept bytes."""
    if codec.id != BLOSC or itemsize < 2 or len(data) % itemsize or itemsize > 255:
        return data
    return np.frombuffer(data, f"V{itemsize}")
