"""Storage of a variable in the words of xarray's netCDF4 and zarr engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from nczarr.arrays.sources.source import ArraySource
from nczarr.ast.rectilinear import Lengths, largest
from nczarr.ast.storage import Codec, Storage

_NO_FILTERS: dict[str, Any] = {
    **dict.fromkeys(("zlib", "szip", "zstd", "bzip2", "blosc", "shuffle"), False),
    "complevel": 0,
    "fletcher32": False,
}
_BLOSC = ("blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_snappy", "blosc_zlib", "blosc_zstd")
"""Names of blosc's compressors by number, as netCDF4-python spells them."""

MOST_PREFERRED = 1 << 16
"""Maximum number of chunks of a dimension whose different lengths are named."""

_SZIP = {4: "ec", 32: "nn"}
"""Coding of szip by bit of its options."""


def storage_encoding(storage: Storage, dimensions: Sequence[str], source: ArraySource | None) -> dict[str, Any]:
    """Return the members of an encoding that describe layout and codecs; none for formats without either.

    `source`: the variable's array, if it has one. `chunksizes`, `contiguous` and the
    codecs are those of the netCDF4 engine. A store also has `chunks`, those of its
    keys even if another layout is recorded, and `shards` if it has some. Blosc of
    stores is not named: HDF5's blosc refuses chunks that it cannot make smaller.
    """
    encoding: dict[str, Any] = {}
    chunks = storage.chunks if dimensions else None
    if storage.layout is not None or storage.chunks is not None:
        encoding.update(_NO_FILTERS)
        for codec in storage.codecs:
            add = _CODECS.get(codec.name or "")
            if add is not None and not (storage.layout is None and add is _blosc):
                add(encoding, codec)
        encoding.update(contiguous=chunks is None, chunksizes=None if chunks is None else largest(chunks))
    if source is not None and source.keyed and dimensions and (chunks is None or storage.layout is None):
        layout = source.layout
        chunks, encoding["chunks"] = layout.chunks, largest(layout.chunks)
        if layout.shards is not None:
            encoding["shards"] = largest(layout.shards)
    if chunks is not None:
        encoding["preferred_chunks"] = dict(zip(dimensions, map(_preferred, chunks), strict=True))
    return encoding


def _preferred(length: int) -> int | tuple[int, ...]:
    """Return a chunk length, or those of all chunks if they differ and are not too many for a graph."""
    if not isinstance(length, Lengths):
        return length
    return length.expanded() if length.count <= MOST_PREFERRED else int(length)


def _deflate(encoding: dict[str, Any], codec: Codec) -> None:
    encoding["zlib"] = True
    encoding["complevel"] = codec.parameters[0] if codec.parameters else 4


def _levelled(name: str) -> Callable[[dict[str, Any], Codec], None]:
    def add(encoding: dict[str, Any], codec: Codec) -> None:
        encoding[name] = True
        if codec.parameters:
            level = codec.parameters[0]
            encoding["complevel"] = level - 2**32 if level >= 2**31 else level  # zstd has negative levels

    return add


def _flag(name: str) -> Callable[[dict[str, Any], Codec], None]:
    def add(encoding: dict[str, Any], codec: Codec) -> None:
        encoding[name] = True

    return add


def _blosc(encoding: dict[str, Any], codec: Codec) -> None:
    """Describe blosc as netCDF4-python does, and in the words that its `createVariable` takes."""
    if len(codec.parameters) < 7 or codec.parameters[6] >= len(_BLOSC):
        return
    level, shuffle, compressor = codec.parameters[4:7]
    name = _BLOSC[compressor]
    encoding.update(blosc={"compressor": name, "shuffle": shuffle}, complevel=level)
    encoding.update(compression=name, blosc_shuffle=shuffle)


def _szip(encoding: dict[str, Any], codec: Codec) -> None:
    """Describe szip where netCDF4-python can write it; elsewhere it does not show it either.

    It writes no szip with a `complevel` of 0.
    """
    if len(codec.parameters) < 2:
        return
    coding = next((name for bit, name in _SZIP.items() if codec.parameters[0] & bit), None)
    if coding is None or find_spec("netCDF4") is None or not import_module("netCDF4").__has_szip_support__:
        return
    pixels = codec.parameters[1]
    encoding["complevel"] = encoding["complevel"] or 4
    encoding.update(
        szip={"coding": coding, "pixels_per_block": pixels}, szip_coding=coding, szip_pixels_per_block=pixels
    )


_CODECS: dict[str, Callable[[dict[str, Any], Codec], None]] = {
    "deflate": _deflate,
    "gzip": _deflate,
    "shuffle": _flag("shuffle"),
    "fletcher32": _flag("fletcher32"),
    "zstd": _levelled("zstd"),
    "bzip2": _levelled("bzip2"),
    "blosc": _blosc,
    "szip": _szip,
}
