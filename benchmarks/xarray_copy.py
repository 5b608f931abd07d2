"""What a user of xarray does: SOURCE TARGET CODEC [dask] [rechunk], from netCDF to Zarr v2 or back."""

from __future__ import annotations

import sys

import numcodecs
import xarray as xr

source, target, codec, *rest = sys.argv[1:]
chunks = {"time": 1} if "dask" in rest else None
wanted = (500, 50, 50) if "rechunk" in rest else (1, 500, 500)
reading = xr.open_dataset if source.endswith(".nc") else xr.open_zarr
with reading(source, chunks=chunks, decode_cf=False) as dataset:
    dataset["t"].encoding = {}
    if "rechunk" in rest:
        dataset["t"] = dataset["t"].chunk(dict(zip(dataset["t"].dims, wanted, strict=True)))
    if target.endswith(".nc"):
        encoding = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": wanted}
        dataset.to_netcdf(target, encoding={"t": encoding})
    else:
        made = {"zlib": numcodecs.Zlib(4), "zstd": numcodecs.Zstd(3)}[codec]
        filters = [numcodecs.Shuffle(4)] if codec == "zlib" else None
        encoding = {"chunks": wanted, "compressors": (made,), "filters": filters}
        dataset.to_zarr(target, zarr_format=2, consolidated=False, encoding={"t": encoding})
