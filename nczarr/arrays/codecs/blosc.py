"""Blosc: a shuffle and one of several compressors, block by block."""

import struct
from typing import Any

from nczarr.arrays.codecs.lengths import EARLY, LARGEST_HEADER, check_size
from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config, Parameters, parse_level
from nczarr.arrays.lazy_numpy import np

COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
"""Compressors by number in the HDF5 filter."""

SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
"""Names of shuffles in Zarr v3 by number."""

AUTOMATIC = -1
"""Shuffle of numcodecs that depends on the size of elements."""

DEFAULTS = {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
"""Parameters of numcodecs that a document may omit."""

LEVELS = (0, 9)
"""Lowest and highest level."""


class Blosc(CodecKind):
    """Blosc, by numcodecs. Four internal parameters of HDF5's filter precede level, shuffle and compressor."""

    config_id = "blosc"
    stage = "bytes"
    registered = True

    def is_valid(self, parameters: Parameters) -> bool:
        level, shuffle, compressor = settings(parameters)
        is_encoded = compressor < len(COMPRESSORS) and COMPRESSORS[compressor] != "snappy"  # numcodecs lacks snappy
        return is_encoded and level <= LEVELS[1] and shuffle <= 2

    def essence(self, parameters: Parameters) -> Parameters:
        return settings(parameters)

    def config(self, parameters: Parameters, itemsize: int) -> dict[str, Any]:
        level, shuffle, compressor = settings(parameters)
        return {"id": "blosc", "cname": COMPRESSORS[compressor], "clevel": level, "shuffle": shuffle, "blocksize": 0}

    def parameters(self, config: Config) -> Parameters | None:
        if config.get("cname") not in COMPRESSORS:
            return None
        return parameters_of(config["cname"], int(config.get("clevel", 5)), int(config.get("shuffle", 1)))

    def parse(self, arguments: list[str]) -> Parameters:
        compressor = arguments.pop(0) if arguments else "lz4"
        if compressor not in COMPRESSORS or compressor == "snappy":
            raise ValueError(f"unknown blosc compressor `{compressor}`; write its name and a level, as `blosc:lz4:5`")
        return parameters_of(compressor, parse_level("blosc", arguments, 5, LEVELS))

    def usage(self) -> str:
        return "`blosc:lz4` (0 to 9; also `blosclz`, `lz4hc`, `zlib`, `zstd`)"

    def zarr3_configuration(self, config: Config, itemsize: int) -> dict[str, Any]:
        configuration = {**DEFAULTS, **super().zarr3_configuration(config, itemsize)}
        typesize = itemsize if 1 <= itemsize <= 255 else 1  # blosc has one byte for it, and takes others as 1
        shuffle = configuration["shuffle"]
        if shuffle == AUTOMATIC:
            shuffle = SHUFFLES.index("bitshuffle" if itemsize == 1 else "shuffle")  # as AUTOSHUFFLE of numcodecs
        return {**configuration, "shuffle": SHUFFLES[shuffle], "typesize": typesize}

    def from_zarr3(self, configuration: Config) -> Config:
        config = {key: member for key, member in configuration.items() if key != "typesize"}
        shuffle = configuration.get("shuffle")
        if shuffle not in SHUFFLES:
            return {"id": ""}
        return {"id": "blosc", **config, "shuffle": SHUFFLES.index(shuffle)}

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        """Return the encoded bytes; blosc shuffles by the item size of its buffer."""
        typed: Any = data
        if not (itemsize < 2 or len(data) % itemsize or itemsize > 255):  # blosc's header has one byte for it
            typed = np.frombuffer(data, f"V{itemsize}")
        return super().encode(typed, parameters, itemsize)

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        if len(data) < 16:  # 16: blosc's header
            raise ValueError(EARLY)
        size, _, packed = struct.unpack_from("<III", data, 4)  # nbytes, blocksize and cbytes of the header
        if size > min(limit, LARGEST_HEADER):
            raise ValueError(TOO_MUCH)
        if packed > len(data):
            raise ValueError(EARLY)
        import numcodecs

        return check_size(numcodecs.Blosc().decode(data), limit)


def settings(parameters: Parameters) -> tuple[int, int, int]:
    """Return level, shuffle and compressor: parameters 4, 5 and 6."""
    present = parameters[4:7]
    level, shuffle, compressor = (*present, *(5, 1, 0)[len(present) :])
    return level, shuffle, compressor


def parameters_of(compressor: str, level: int, shuffle: int = 1) -> Parameters:
    """Return the parameters of the HDF5 filter."""
    return (0, 0, 0, 0, level, shuffle, COMPRESSORS.index(compressor))


CODECS = (Blosc(),)
