"""Row B5: 2 GB in chunks of (1, 500, 500) to chunks of (500, 50, 50) within 256 MiB, against xarray with dask's
threads, whose memory nobody bounds. Goal: 1.0, and a peak of memory of 1.3 times the limit."""

from __future__ import annotations

import sys
from pathlib import Path

from fields import HERE, make_file, open_store, same_values, steps
from harness import OURS, Side, execute, main, measure, need

MEASURES = ("arrays", "link", "stores", "formats/zarr")

MEMORY = 256 << 20


def row(folder: Path, quick: bool) -> bool:
    """Other chunks in bounded memory."""
    need("netCDF4", "zarr", "xarray", "dask")
    make_file(folder / "a.nc", steps(quick))
    execute([*OURS, "convert", "a.nc", "a.zarr", "--to", "zarr2", "-q"], folder)
    wanted = "/t=500,50,50"
    command = [*OURS, "convert", "a.zarr", "ours.zarr", "--to", "zarr2", "--chunks", wanted, "--memory", str(MEMORY)]
    ours = Side([*command, "-q"], ["ours.zarr"])
    command = [sys.executable, str(HERE / "xarray_copy.py"), "a.zarr", "peer.zarr", "zlib", "dask", "rechunk"]
    peer = Side(command, ["peer.zarr"])

    def compare() -> str:
        said = same_values(open_store(folder / "a.zarr", 2), open_store(folder / "ours.zarr", 2))
        same_values(open_store(folder / "peer.zarr", 2), open_store(folder / "ours.zarr", 2))
        return said

    return measure("B5", 1.0, peer, ours, folder, compare, peak_goal=1.3 * MEMORY)


if __name__ == "__main__":
    main(row)
