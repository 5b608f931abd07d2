"""Reader of codec chains and other extension points in `zarr.json`; writers do not load it.

Shards may have any inner chain; their index has plain numbers, with an optional
checksum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nczarr.formats.zarr.core.array_metadata import lengths
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.reader import BadDocumentError
from nczarr.formats.zarr.v3.codecs import NUMCODECS, config_of


class Chain(NamedTuple):
    """Codecs of an array, as members of `Encoding`."""

    steps: tuple[Json, ...]
    """Configurations of the codecs."""
    big: bool
    """True for big-endian elements."""
    texts: str = ""
    """Codec of texts; empty for other elements."""
    permutation: tuple[int, ...] | None = None
    """Array axes in storage order; None: unchanged."""
    inner: tuple[int, ...] | None = None
    """Shape of the inner chunks of shards; None without shards."""
    index_steps: tuple[Json, ...] = ()
    """Codecs of the index of shards."""
    index_first: bool = False
    """True if the index of a shard precedes its chunks."""


def named(written: Any, member: str) -> tuple[str, Json]:
    """Return name and configuration of an extension point; a text is a name alone.

    Raises BadDocumentError.
    """
    if isinstance(written, str):
        return written, {}
    if isinstance(written, dict) and isinstance(written.get("name"), str):
        configuration = written.get("configuration", {})
        if isinstance(configuration, dict):
            return written["name"], configuration
    raise BadDocumentError(f"`{member}` has no name and configuration", member)


def read_chain(written: Any, chunks: tuple[int, ...], *, inner: bool = False) -> Chain:
    """Parse the codecs, by the array-to-bytes codec. Raises BadDocumentError.

    `inner`: codecs inside a shard.
    """
    if not isinstance(written, list) or not written:
        raise BadDocumentError("the codecs are not a list", "codecs")
    steps = [named(each, "codecs") for each in written]
    before: list[Json] = []
    permutation: tuple[int, ...] | None = None
    for number, (name, configuration) in enumerate(steps):
        match name:
            case "transpose" if permutation is None:
                permutation = _permutation(configuration.get("order"), len(chunks))
            case "bytes" | "vlen-utf8" | "vlen-bytes":
                after = [config_of(each, own) for each, own in steps[number + 1 :]]
                big = configuration.get("endian") == "big"
                return Chain((*before, *after), big, name if name != "bytes" else "", permutation)
            case "sharding_indexed" if not inner and not before and permutation is None and len(steps) == 1:
                return _sharded(configuration, chunks)
            case _ if name.startswith(NUMCODECS):
                before.append(config_of(name, configuration))
            case _:
                break
    raise BadDocumentError("this chain of codecs is not supported", "codecs", "unreadable-array")


def _permutation(order: Any, rank: int) -> tuple[int, ...] | None:
    if order == "C":
        return None
    found = tuple(reversed(range(rank))) if order == "F" else lengths(order)
    if found is None or sorted(found) != list(range(rank)):
        raise BadDocumentError("the order of `transpose` is invalid", "codecs")
    return found if rank > 1 else None


def _sharded(configuration: Json, shard: tuple[int, ...]) -> Chain:
    chunks = lengths(configuration.get("chunk_shape"), least=1)
    if chunks is None or len(chunks) != len(shard) or any(a % b for a, b in zip(shard, chunks, strict=True)):
        raise BadDocumentError("the shape of a shard is not a multiple of its chunk shape", "codecs")
    location = configuration.get("index_location", "end")
    index = configuration.get("index_codecs")
    steps = [named(each, "codecs") for each in index] if isinstance(index, list) else []
    if [name for name, _ in steps] not in (["bytes"], ["bytes", "crc32c"]) or location not in ("start", "end"):
        raise BadDocumentError("the index of the shards is not supported", "codecs", "unreadable-array")
    found = read_chain(configuration.get("codecs"), chunks, inner=True)
    endian = {"id": "bytes", "endian": steps[0][1].get("endian", "little")}
    return found._replace(
        inner=chunks, index_steps=(endian, *({"id": "crc32c"} for _ in steps[1:])), index_first=location == "start"
    )
