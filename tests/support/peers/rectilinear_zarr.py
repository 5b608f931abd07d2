"""Rectilinear grids of zarr-python, as a process of its own: `make FOLDER SEED COUNT`, or `read FOLDER`.

`make` writes arrays `N.zarr` with their values `N.npy`. `read` compares each
`N.*.zarr` with `N.npy` and prints the number of compared stores.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

DTYPES = ["<i4", ">f8", "u1", "<f4", "bool", "<c8", "<i8", ">i2", "text"]
CHAINS: list[tuple[Any, ...]] = [(), (GzipCodec(),), (ZstdCodec(),), (BloscCodec(),), (GzipCodec(), Crc32cCodec())]


def edges(length: int, pick: np.random.Generator) -> list[int]:
    """Cut a length at random places."""
    cuts = sorted({*pick.integers(1, length + 1, pick.integers(1, 6)).tolist(), length})
    return [int(each) for each in np.diff([0, *cuts])]


def make(folder: Path, number: int, pick: np.random.Generator) -> None:
    """Write one array of a random shape, grid, type and chain."""
    rank = int(pick.integers(1, 4))
    shape = tuple(int(length) for length in pick.integers(1, 40, rank))
    dtype, chain = DTYPES[pick.integers(len(DTYPES))], CHAINS[pick.integers(len(CHAINS))]
    is_text = dtype == "text"
    options: dict[str, Any] = {"chunks": [edges(length, pick) for length in shape]}
    if not is_text and pick.random() < 0.3:
        inner = tuple(int(length) for length in pick.integers(1, 4, rank))
        shards = [
            [each * own for each in edges(max(1, length // own), pick)]
            for length, own in zip(shape, inner, strict=True)
        ]
        shape, options = tuple(map(sum, shards)), {"chunks": inner, "shards": shards}
    elif pick.random() < 0.3:
        options["filters"] = (TransposeCodec(order=tuple(pick.permutation(rank).tolist())),)
    values = pick.integers(0, 100, shape)
    values = values.astype(str).astype(object) if is_text else values.astype(dtype)
    array = zarr.create_array(
        folder / f"{number}.zarr", shape=shape, dtype=str if is_text else dtype, compressors=chain,
        dimension_names=[f"d{axis}" for axis in range(rank)], **options,
    )  # fmt: skip
    part = tuple(slice(0, max(1, length // (2 if pick.random() < 0.3 else 1))) for length in shape)
    written = np.zeros_like(values) if not is_text else np.full(shape, "", object)
    array[part] = written[part] = values[part]
    np.save(folder / f"{number}.npy", written, allow_pickle=True)


def read(folder: Path) -> int:
    """Compare all stores with their values."""
    count = 0
    for path in sorted(folder.glob("*.*.zarr")):
        found = zarr.open(path, mode="r")
        array = found if isinstance(found, zarr.Array) else next(each for _, each in sorted(found.arrays()))
        wanted = np.load(folder / f"{path.name.split('.')[0]}.npy", allow_pickle=True)
        assert np.array_equal(np.asarray(array[...]), wanted), path
        count += 1
    return count


warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})
place = Path(sys.argv[2])
if sys.argv[1] == "make":
    for each in range(int(sys.argv[4])):
        make(place, each, np.random.default_rng([int(sys.argv[3]), each]))
else:
    print(read(place))
