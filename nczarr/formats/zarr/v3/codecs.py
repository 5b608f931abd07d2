"""The `codecs` chain in `zarr.json`: writer, reader of any chain, and of extension points
in general.

All readers support the registered `gzip`, `zstd`, `blosc` and `crc32c`. Deflate, shuffle,
fletcher32 and bzip2 have only zarr-python's names, such as `numcodecs.zlib`, which xarray
reads too, but not tensorstore. Deflate is not written as `gzip`, so that chunk bytes stay
those of HDF5. Shards that are read may have any inner chain; their index has plain numbers,
with an optional checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nczarr.arrays.codecs import Config, to_configs
from nczarr.arrays.source import Descr, itemsize
from nczarr.ast import Codec
from nczarr.formats.zarr.core.array_metadata import lengths
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.reader import BadDocumentError

BLOSC_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
NUMCODECS = "numcodecs."
"""zarr-python's prefix for numcodecs codecs outside of the specification."""

INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
"""Codecs of a shard index."""


def chain(
    descr: Descr, codecs: Sequence[Codec], inner: tuple[int, ...] | None = None, *, utf8: bool = True
) -> list[Json]:
    """Return the `codecs` member: array to bytes, then bytes to bytes; in a shard with `inner` chunks."""
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
    """Return one bytes-to-bytes step for a numcodecs configuration."""
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


def _config_of(name: str, configuration: Json) -> Config:
    """Return the numcodecs configuration of a step."""
    name, configuration = name.removeprefix(NUMCODECS), dict(configuration)
    if name == "blosc":
        configuration.pop("typesize", None)
        shuffle = configuration.get("shuffle")
        if shuffle not in BLOSC_SHUFFLES:
            return {"id": ""}
        configuration["shuffle"] = BLOSC_SHUFFLES.index(shuffle)
    return {"id": name, **configuration}


class Chain(NamedTuple):
    """Codecs of an array: members of `Encoding`, inner chunks of shards, byte order."""

    steps: tuple[Json, ...]
    big: bool
    texts: str = ""
    permutation: tuple[int, ...] | None = None
    inner: tuple[int, ...] | None = None
    index_steps: tuple[Json, ...] = ()
    index_first: bool = False


def named(written: Any, member: str) -> tuple[str, Json]:
    """Return name and configuration of an extension point; a text is a name alone."""
    if isinstance(written, str):
        return written, {}
    if isinstance(written, dict) and isinstance(written.get("name"), str):
        configuration = written.get("configuration", {})
        if isinstance(configuration, dict):
            return written["name"], configuration
    raise BadDocumentError(f"`{member}` has no name and configuration", member)


def read_chain(written: Any, chunks: tuple[int, ...], *, inner: bool = False) -> Chain:
    """Parse the codecs, by the array-to-bytes codec. `inner`: codecs inside a shard."""
    if not isinstance(written, list) or not written:
        raise BadDocumentError("the codecs are no list", "codecs")
    steps = [named(each, "codecs") for each in written]
    before: list[Json] = []
    permutation: tuple[int, ...] | None = None
    for number, (name, configuration) in enumerate(steps):
        match name:
            case "transpose" if permutation is None:
                permutation = _permutation(configuration.get("order"), len(chunks))
            case "bytes" | "vlen-utf8" | "vlen-bytes":
                after = [_config_of(each, own) for each, own in steps[number + 1 :]]
                big = configuration.get("endian") == "big"
                return Chain((*before, *after), big, name if name != "bytes" else "", permutation)
            case "sharding_indexed" if not inner and not before and permutation is None and len(steps) == 1:
                return _sharded(configuration, chunks)
            case _ if name.startswith(NUMCODECS):
                before.append(_config_of(name, configuration))
            case _:
                break
    raise BadDocumentError("a chain of codecs like this is not known", "codecs", "unreadable-array")


def _permutation(order: Any, rank: int) -> tuple[int, ...] | None:
    if order == "C":
        return None
    found = tuple(reversed(range(rank))) if order == "F" else lengths(order)
    if found is None or sorted(found) != list(range(rank)):
        raise BadDocumentError("the order of `transpose` is none", "codecs")
    return found if rank > 1 else None


def _sharded(configuration: Json, shard: tuple[int, ...]) -> Chain:
    chunks = lengths(configuration.get("chunk_shape"), least=1)
    if chunks is None or len(chunks) != len(shard) or any(a % b for a, b in zip(shard, chunks, strict=True)):
        raise BadDocumentError("the chunks of a shard do not make it up", "codecs")
    location = configuration.get("index_location", "end")
    index = configuration.get("index_codecs")
    steps = [named(each, "codecs") for each in index] if isinstance(index, list) else []
    if [name for name, _ in steps] not in (["bytes"], ["bytes", "crc32c"]) or location not in ("start", "end"):
        raise BadDocumentError("the index of the shards is not one that is known", "codecs", "unreadable-array")
    found = read_chain(configuration.get("codecs"), chunks, inner=True)
    endian = {"id": "bytes", "endian": steps[0][1].get("endian", "little")}
    return found._replace(
        inner=chunks, index_steps=(endian, *({"id": "crc32c"} for _ in steps[1:])), index_first=location == "start"
    )
