"""Row B2: the input of B1 to chunk files of NCZarr, against `cp -r` of the resulting tree (goal 2.5), against xarray
with the same codec (at least 10 times as fast) and nccopy (5 times). Row B6: within 150 MB."""

from __future__ import annotations

from pathlib import Path

from fields import make_file, open_file, open_store, same_values, steps, xarray_to_zarr
from harness import OURS, Side, execute, main, measure, need

MEASURES = ("arrays", "link", "stores", "formats/netcdf4", "formats/zarr")


def row(folder: Path, quick: bool) -> bool:
    """Chunks into files against copies of the files, and against other programs."""
    need("cp", "netCDF4", "zarr", "xarray", "nccopy")
    make_file(folder / "a.nc", steps(quick))
    ours = Side([*OURS, "convert", "a.nc", "ours.zarr", "-q"], ["ours.zarr"])
    execute([*OURS, "convert", "a.nc", "tree.zarr", "-q"], folder)

    def compare() -> str:
        return same_values(open_file(folder / "a.nc"), open_store(folder / "ours.zarr", 2))

    peer = Side(["cp", "-r", "tree.zarr", "peer.zarr"], ["peer.zarr"])
    met = measure("B2, cp -r", 2.5, peer, ours, folder, compare, peak_goal=150e6)
    peer = Side(xarray_to_zarr("a.nc", "xarray.zarr", "zlib"), ["xarray.zarr"])
    met &= measure("B2, xarray", 0.1, peer, ours, folder, compare)
    url = f"file://{folder}/nccopy.zarr#mode=nczarr,file"
    peer = Side(["nccopy", "a.nc", url], ["nccopy.zarr"])
    return measure("B2, nccopy", 0.2, peer, ours, folder, compare) and met


if __name__ == "__main__":
    main(row)
