"""What a user of xarray does: SOURCE TARGET CODEC [dask], from netCDF to Zarr v2 or back, chunks kept."""

from __future__ import annotations

import sys

import numcodecs
import xarray as xr

source, target, codec, *rest = sys.argv[1:]
chunks = {"time": 1} if "dask" in rest else None
if target.endswith(".nc"):
    with xr.open_zarr(source, chunks=chunks, decode_cf=False, consolidated=False) as dataset:
        encoding = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, 500, 500)}
        dataset.to_netcdf(target, encoding={"t": encoding})
else:
    with xr.open_dataset(source, chunks=chunks, decode_cf=False) as dataset:
        dataset["t"].encoding = {}
        made = {"zlib": numcodecs.Zlib(4), "zstd": numcodecs.Zstd(3)}[codec]
        filters = [numcodecs.Shuffle(4)] if codec == "zlib" else None
        encoding = {"chunks": (1, 500, 500), "compressors": (made,), "filters": filters}
        dataset.to_zarr(target, zarr_format=2, consolidated=False, encoding={"t": encoding})
