"""Row B1: netCDF-4, 2 GB in 2,000 chunks that are deflated to 500 MB, to Zarr v3 with one shard a variable, against
`cp` of the file. Goal: 2.3. Row B6: within 150 MB."""

from __future__ import annotations

from pathlib import Path

from fields import make_file, open_file, open_store, same_values, steps
from harness import OURS, Side, main, measure, need

MEASURES = ("arrays", "link", "stores", "formats/netcdf4", "formats/zarr")


def row(folder: Path, quick: bool) -> bool:
    """Chunks into a shard against a copy of the file."""
    need("cp", "netCDF4", "zarr")
    count = steps(quick)
    make_file(folder / "a.nc", count)
    peer = Side(["cp", "a.nc", "peer.nc"], ["peer.nc"])
    shards = f"/t={count},500,500"
    ours = Side([*OURS, "convert", "a.nc", "ours.zarr", "--to", "zarr3", "--shards", shards, "-q"], ["ours.zarr"])

    def compare() -> str:
        shard = folder / "ours.zarr" / "t" / "c" / "0" / "0" / "0"
        said = same_values(open_file(folder / "a.nc"), open_store(folder / "ours.zarr", 3))
        return f"{said}; a shard of {shard.stat().st_size / 1e6:.0f} MB"

    return measure("B1", 2.3, peer, ours, folder, compare, peak_goal=150e6)


if __name__ == "__main__":
    main(row)
