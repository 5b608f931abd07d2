"""Sources on which cost shows: dense, sparse with a vast shape, of many tiny chunks, of many variables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import nczarr

TIMES, ROWS = 160, 320
"""Lengths of the dense array: float32, 65 MB."""

VAST = (10_000, 100_000, 100_000)
"""Lengths of the sparse array: 10^14 cells."""

TILES = 3200
"""Lengths of both dimensions of the array of tiny chunks: 10^5 chunks of 10 × 10."""

VARIABLES = 10_000
"""Number of variables of the broad dataset."""


class Shape(NamedTuple):
    """Declared and stored content of a source."""

    name: str
    lengths: tuple[int, ...]
    """Lengths of `/v`."""
    chunks: tuple[int, ...]
    """Chunk lengths of `/v`."""
    stored: tuple[tuple[int, ...], ...] | None
    """Indices of the stored chunks; None: all."""
    itemsize: int
    variables: int = 1

    @property
    def count(self) -> int:
        """Number of stored chunks."""
        if self.stored is not None:
            return len(self.stored)
        return math.prod(-(-n // c) for n, c in zip(self.lengths, self.chunks, strict=True))


DENSE = Shape("dense", (TIMES, ROWS, ROWS), (1, ROWS, ROWS), None, 4)
SPARSE = Shape("sparse", VAST, (1, 500, 500), ((0, 0, 0), (17, 3, 9), (9999, 199, 199)), 4)
TINY = Shape("tiny", (TILES, TILES), (10, 10), None, 4)
BROAD = Shape("broad", (4,), (4,), None, 4, VARIABLES)
SHAPES = {shape.name: shape for shape in (DENSE, SPARSE, TINY, BROAD)}

FORMS: dict[str, tuple[str, dict[str, object]]] = {
    "netcdf4": (".nc", {"format": "netcdf4"}),
    "netcdf3": (".nc3", {"format": "netcdf3"}),
    "nczarr": (".zarr", {"format": "nczarr"}),
    "zarr3": (".zarr", {"format": "zarr3", "allow_loss": "all"}),
    "shards": (".zarr", {"format": "zarr3", "allow_loss": "all"}),
    "zip": (".zip", {"format": "nczarr"}),
    "reference": (".json", {"format": "reference"}),
    "parquet": (".parq", {"format": "reference"}),
    "dmrpp": (".dmrpp", {"format": "dmrpp", "allow_loss": "all"}),
    "ncstream": (".ncs", {"format": "ncstream", "allow_loss": "all"}),
    "cdl": (".cdl", {"format": "cdl"}),
}
"""Suffix and options of each kind of source."""

OF_FILES = ("reference", "parquet", "dmrpp")
"""Sources that describe the netCDF-4 file."""

SHARDS = {"dense": (16, ROWS, ROWS), "sparse": (100, 50_000, 50_000), "tiny": (TILES, TILES)}
"""Shard lengths: those of the sparse array have 10^6 chunks."""

IMPOSSIBLE = {
    *(("sparse", form) for form in ("netcdf3", "cdl", "ncstream")),
    *(("tiny", form) for form in ("nczarr", "zarr3", "zip", "cdl")),
    ("dense", "cdl"),
    ("broad", "ncstream"),
}
"""Sources that no run can make in its time: every cell of 10^14, or 10^5 files."""


def values_of(shape: Shape) -> NDArray[np.float32]:
    """Values of a dense array, which deflate by about two."""
    count = math.prod(shape.lengths)
    return (
        ((np.arange(count, dtype=np.uint32) * np.uint32(2654435761)) >> np.uint32(20))
        .astype(np.float32)
        .reshape(shape.lengths)
    )


def _broad(path: Path, options: dict[str, object]) -> None:
    """Write the dataset of many variables."""
    names = ["v", *(f"v{number}" for number in range(1, VARIABLES))]
    variables = "".join(f'float {name}(x) ; {name}:units = "K" ; ' for name in names)
    data = "".join(f"{name} = 0, 1, 2, 3 ; " for name in names)
    text = f"netcdf broad {{ dimensions: x = 4 ; variables: {variables} data: {data} }}"
    nczarr.write(nczarr.from_cdl(text), path, **options)  # type: ignore[arg-type]


def _netcdf4(shape: Shape, path: Path) -> None:
    """Write the netCDF-4 file from which all other sources of a shape are made."""
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        names = ("t", "y", "x")[-len(shape.lengths) :]
        for number, (name, length) in enumerate(zip(names, shape.lengths, strict=True)):
            file.createDimension(name, None if number == 0 and shape.name in ("dense", "sparse") else length)
        variable = file.createVariable("v", "f4", names, zlib=True, complevel=1, chunksizes=shape.chunks, fill_value=-1)
        if shape.stored is None:
            variable[:] = values_of(shape)
        for index in shape.stored or ():
            place = tuple(slice(i * c, i * c + c) for i, c in zip(index, shape.chunks, strict=True))
            variable[place] = np.arange(math.prod(shape.chunks), dtype="f4").reshape(shape.chunks)


def made(shape: Shape, form: str, folder: Path) -> Path | None:
    """Return the source of a shape in a form, made on first use; None if no run can make it."""
    if (shape.name, form) in IMPOSSIBLE:
        return None
    suffix, options = FORMS[form]
    path = folder / f"{shape.name}-{form}{suffix}"
    if path.exists():
        return path
    unfinished = folder / f"unfinished{suffix}"
    if shape is BROAD and form not in OF_FILES:
        _broad(unfinished, options)
    elif form == "netcdf4":
        _netcdf4(shape, unfinished)
    else:
        chosen = dict(options)
        if form == "shards":
            chosen["shards"] = {"/v": SHARDS[shape.name]}
        nczarr.convert(made(shape, "netcdf4", folder), unfinished, **chosen)  # type: ignore[arg-type]
    unfinished.rename(path)
    return path
