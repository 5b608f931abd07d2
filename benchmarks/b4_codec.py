"""Row B4: the input of B1 to Zarr v2 with another codec (zstd 3) and the same chunks, against xarray with dask's
threads. Goal: 0.40."""

from __future__ import annotations

from pathlib import Path

from fields import make_file, open_file, open_store, same_values, steps, xarray_to_zarr
from harness import OURS, Side, main, measure, need

MEASURES = ("arrays", "link", "stores", "formats/netcdf4", "formats/zarr")


def row(folder: Path, quick: bool) -> bool:
    """Decoding and encoding in threads."""
    need("netCDF4", "zarr", "xarray", "dask")
    make_file(folder / "a.nc", steps(quick))
    command = [*OURS, "convert", "a.nc", "ours.zarr", "--to", "zarr2", "--codec", "zstd:3", "-q"]
    ours = Side(command, ["ours.zarr"])
    peer = Side(xarray_to_zarr("a.nc", "xarray.zarr", "zstd", dask=True), ["xarray.zarr"])

    def compare() -> str:
        said = same_values(open_file(folder / "a.nc"), open_store(folder / "ours.zarr", 2))
        same_values(open_store(folder / "xarray.zarr", 2), open_store(folder / "ours.zarr", 2))
        return said

    return measure("B4", 0.40, peer, ours, folder, compare)


if __name__ == "__main__":
    main(row)
