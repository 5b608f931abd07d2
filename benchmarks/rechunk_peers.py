"""Rechunk a store by rechunker or by dask, to chunks of all steps by 50 × 50 cells.

Arguments: SOURCE TARGET MEMORY, and `rechunker` or `p2p`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

SIDE = 50


def rechunk_by_rechunker(source: str, target: str, memory: int) -> None:
    """Two passes of rechunker with dask's threads; it needs Zarr 2."""
    import dask
    import zarr
    from rechunker import rechunk

    group: Any = zarr.open_group(source, mode="r")
    chunks = {"v": (group["v"].shape[0], SIDE, SIDE)}
    plan = rechunk(group, chunks, memory, target, temp_store=f"{target}.scratch", executor="dask")
    with dask.config.set(scheduler="threads"):
        plan.execute()


def rechunk_by_p2p(source: str, target: str) -> None:
    """The shuffle of dask's cluster between two threads of one worker, which spills to disk."""
    import dask
    import xarray as xr
    from dask.distributed import Client, LocalCluster

    dask.config.set({"array.rechunk.method": "p2p", "optimization.fuse.active": False})
    folder = str(Path(target).parent)
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, local_directory=folder)
        as cluster,
        Client(cluster),
        xr.open_zarr(source, decode_cf=False, chunks={}, consolidated=False) as dataset,
    ):  # fmt: skip
        chunked = dataset.chunk({"t": dataset.sizes["t"], "y": SIDE, "x": SIDE})
        chunked["v"].encoding = {}
        chunked.to_zarr(target, mode="w", zarr_format=2, consolidated=False)


if __name__ == "__main__":
    if sys.argv[4] == "rechunker":
        rechunk_by_rechunker(*sys.argv[1:3], int(sys.argv[3]))
    else:
        rechunk_by_p2p(*sys.argv[1:3])
