"""Zarr v3 stores whose chunks differ in length, written byte by byte."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nczarr.arrays.codecs.crc32c import crc32c


def store(path: Path, runs: Sequence[Sequence[tuple[int, int]]], kind: str = "bytes") -> tuple[np.ndarray, Path]:
    """Write variable `v`, int32, with runs of chunks or shards along each dimension; return its values and path.

    Each run is a length and a number of chunks. `kind`: `bytes`, `zlib`, or
    `shard` with chunks of one element.
    """
    listed = [[length for length, count in dimension for _ in range(count)] for dimension in runs]
    shape = [sum(lengths) for lengths in listed]
    values = np.arange(np.prod(shape), dtype="<i4").reshape(shape)
    plain = {"name": "bytes", "configuration": {"endian": "little"}}
    index = [plain, {"name": "crc32c"}]
    inner = {"chunk_shape": [1] * len(shape), "codecs": [plain], "index_codecs": index}
    codecs = {
        "bytes": [plain],
        "zlib": [plain, {"name": "numcodecs.zlib", "configuration": {"level": 1}}],
        "shard": [{"name": "sharding_indexed", "configuration": inner}],
    }
    document = {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32", "fill_value": 0,
        "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": listed}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": codecs[kind], "attributes": {}, "dimension_names": [f"d{axis}" for axis in range(len(shape))],
    }  # fmt: skip
    bounds = [list(itertools.pairwise([0, *itertools.accumulate(lengths)])) for lengths in listed]
    for number in itertools.product(*(range(len(lengths)) for lengths in listed)):
        region = tuple(slice(*bounds[axis][each]) for axis, each in enumerate(number))
        data = values[region].tobytes()
        key = path.joinpath("v", "c", *map(str, number))
        key.parent.mkdir(parents=True, exist_ok=True)
        key.write_bytes({"bytes": _same, "zlib": zlib.compress, "shard": _shard}[kind](data))
    (path / "v" / "zarr.json").write_text(json.dumps(document))
    (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    return values, path


def _same(data: bytes) -> bytes:
    return data


def _shard(data: bytes) -> bytes:
    """Return a shard of chunks of one element."""
    table = np.array([(start, 4) for start in range(0, len(data), 4)], "<u8").tobytes()
    return data + table + crc32c(table).to_bytes(4, "little")


def written(path: Path) -> Any:
    """Return the document of `v`."""
    return json.loads((path / "v" / "zarr.json").read_text())
