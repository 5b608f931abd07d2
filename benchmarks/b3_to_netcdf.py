"""Row B3: chunk files of Zarr v2, shuffled and deflated, to one netCDF-4 file, against `cp` of the resulting file (goal
2.5) and against xarray (at least 20 times as fast). Row B6: within 150 MB."""

from __future__ import annotations

from pathlib import Path

from fields import make_file, open_file, open_store, same_values, steps, xarray_to_zarr
from harness import OURS, Side, execute, main, measure, need

MEASURES = ("arrays", "link", "stores", "formats/netcdf4", "formats/zarr")


def row(folder: Path, quick: bool) -> bool:
    """Chunks out of files into one file."""
    need("cp", "netCDF4", "zarr", "xarray")
    make_file(folder / "a.nc", steps(quick))
    execute([*OURS, "convert", "a.nc", "a.zarr", "--to", "zarr2", "--allow-loss", "all", "-q"], folder)
    execute([*OURS, "convert", "a.zarr", "file.nc", "-q"], folder)
    ours = Side([*OURS, "convert", "a.zarr", "ours.nc", "-q"], ["ours.nc"])

    def compare() -> str:
        same_values(open_file(folder / "a.nc"), open_file(folder / "ours.nc"))
        return same_values(open_store(folder / "a.zarr", 2), open_file(folder / "ours.nc"))

    peer = Side(["cp", "file.nc", "peer.nc"], ["peer.nc"])
    met = measure("B3, cp", 2.5, peer, ours, folder, compare, peak_goal=150e6)
    peer = Side(xarray_to_zarr("a.zarr", "xarray.nc", "zlib"), ["xarray.nc"])
    return measure("B3, xarray", 0.05, peer, ours, folder, compare) and met


if __name__ == "__main__":
    main(row)
