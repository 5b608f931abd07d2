"""Chunks of a wrong length: zarr-python refuses every one of them, and so do we."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numcodecs
import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.crc32c import crc32c

WHOLE = np.arange(4, 7, dtype="<i4").tobytes()
DAMAGES = {"element-short": WHOLE[:-4], "byte-short": WHOLE[:-1], "byte-long": WHOLE + b"\0", "empty": b""}


def codecs(zarr: ModuleType) -> dict[str, tuple[int, Any, Callable[[bytes], bytes]]]:
    """Zarr format, compressors and encoder by name."""
    import zarr.codecs as three

    return {
        "2-none": (2, None, bytes),
        "2-zlib": (2, numcodecs.Zlib(), lambda data: bytes(numcodecs.Zlib().encode(data))),
        "2-zstd": (2, numcodecs.Zstd(), lambda data: bytes(numcodecs.Zstd().encode(data))),
        "2-blosc": (2, numcodecs.Blosc(), lambda data: bytes(numcodecs.Blosc().encode(data))),
        "2-lz4": (2, numcodecs.LZ4(), lambda data: bytes(numcodecs.LZ4().encode(data))),
        "3-none": (3, None, bytes),
        "3-gzip": (3, three.GzipCodec(), lambda data: bytes(numcodecs.GZip().encode(data))),
        "3-zstd": (3, three.ZstdCodec(), lambda data: bytes(numcodecs.Zstd().encode(data))),
        "3-blosc": (3, three.BloscCodec(), lambda data: bytes(numcodecs.Blosc().encode(data))),
        "3-crc32c": (3, three.Crc32cCodec(), lambda data: data + crc32c(data).to_bytes(4, "little")),
    }


NAMES = ["2-none", "2-zlib", "2-zstd", "2-blosc", "2-lz4", "3-none", "3-gzip", "3-zstd", "3-blosc", "3-crc32c"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_that_zarr_python_refuses(
    name: str, damage: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    zarr = peer("zarr")
    version, compressors, encode = codecs(zarr)[name]
    path = tmp_path / "t.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=version)
    array = group.create_array("v", shape=(6,), chunks=(3,), dtype="<i4", compressors=compressors)
    array[...] = np.arange(1, 7)
    chunk = path / "v" / ("1" if version == 2 else "c/1")
    chunk.write_bytes(encode(DAMAGES[damage]))
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        zarr.open_group(path, mode="r")["v"][...]
    with pytest.raises(nczarr.CompileError, match="unreadable-chunk"):
        nczarr.open(path)["v"][...]
