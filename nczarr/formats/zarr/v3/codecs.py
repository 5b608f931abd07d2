"""The chain of `codecs` in `zarr.json` as it is written, and its steps two ways; `read_codecs.py` reads it.

`gzip`, `zstd`, `blosc`, `crc32c` are in the specification and its register, and all readers know them. Deflate,
shuffle, fletcher32 and bzip2 have only the names that zarr-python gives numcodecs, `numcodecs.zlib` and so on:
zarr-python and xarray read those, tensorstore does not. Deflate is not written as `gzip`, because the bytes of a chunk
stay those of HDF5's filter so.
"""

from __future__ import annotations

from collections.abc import Sequence

from nczarr.arrays.codecs import Config, to_configs
from nczarr.arrays.source import Descr, itemsize
from nczarr.ast import Codec
from nczarr.formats.zarr.core.fill_values import Json

BLOSC_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
NUMCODECS = "numcodecs."
"""What zarr-python puts before the name of a codec of numcodecs that the specification has not."""

INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
"""Codecs of a shard's index."""


def chain(
    descr: Descr, codecs: Sequence[Codec], inner: tuple[int, ...] | None = None, *, utf8: bool = True
) -> list[Json]:
    """The `codecs` member: elements to bytes, then bytes to bytes; all of it within a shard of `inner` chunks."""
    size = itemsize(descr)
    steps = [_to_bytes(descr, size, utf8=utf8)]
    steps += [_step(config, size) for config in to_configs(codecs, size)]
    if inner is None:
        return steps
    configuration = {"chunk_shape": inner, "codecs": steps, "index_codecs": INDEX, "index_location": "end"}
    return [{"name": "sharding_indexed", "configuration": configuration}]


def _to_bytes(descr: Descr, size: int, *, utf8: bool) -> Json:
    if descr == "|O":
        return {"name": "vlen-utf8" if utf8 else "vlen-bytes"}
    if isinstance(descr, str) and (size == 1 or descr[1] in "SV"):
        return {"name": "bytes"}
    endian = "big" if isinstance(descr, str) and descr[0] == ">" else "little"
    return {"name": "bytes", "configuration": {"endian": endian}}


def _step(config: Config, size: int) -> Json:
    """One step from bytes to bytes, from its configuration for numcodecs."""
    name = config["id"]
    configuration = {key: value for key, value in config.items() if key != "id"}
    match name:
        case "gzip":
            return {"name": name, "configuration": configuration}
        case "zstd":
            return {"name": name, "configuration": {**configuration, "checksum": False}}
        case "crc32c":
            return {"name": name}
        case "blosc":
            configuration["shuffle"] = BLOSC_SHUFFLES[configuration["shuffle"]]
            return {"name": name, "configuration": {**configuration, "typesize": size if 1 <= size <= 255 else 1}}
        case _:
            return {"name": NUMCODECS + name, "configuration": configuration}


def config_of(name: str, configuration: Json) -> Config:
    """A step as numcodecs configures it."""
    name, configuration = name.removeprefix(NUMCODECS), dict(configuration)
    if name == "blosc":
        configuration.pop("typesize", None)
        shuffle = configuration.get("shuffle")
        if shuffle not in BLOSC_SHUFFLES:
            return {"id": ""}
        configuration["shuffle"] = BLOSC_SHUFFLES.index(shuffle)
    return {"id": name, **configuration}
