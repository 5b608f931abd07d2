"""Takes netCDF files through xarray and a Zarr store and back, as a worker: `source, target, folder` a line.

Nothing is decoded; a file with groups goes as a tree; the target is of the source's kind as far as xarray has it.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import netCDF4
import xarray
from worker import serve

SECONDS = 120


def copy(line: str) -> dict[str, Any]:
    source, target, folder = line.split("\t")
    store = os.path.join(folder, "store")
    signal.alarm(SECONDS)
    try:
        _copy(source, store, target)
    except Exception as error:
        return {"word": "refused", "error": f"{type(error).__name__}: {error}"}
    finally:
        signal.alarm(0)
    return {"word": "exact"}


def _copy(source: str, store: str, target: str) -> None:
    with netCDF4.Dataset(source) as file:
        kind, grouped = file.data_model, bool(file.groups)
    if grouped:
        with xarray.open_datatree(source, engine="netcdf4", decode_cf=False) as tree:
            tree.to_zarr(store)
        with xarray.open_datatree(store, engine="zarr", decode_cf=False) as tree:
            tree.to_netcdf(target)
        return
    with xarray.open_dataset(source, engine="netcdf4", decode_cf=False) as dataset:
        dataset.to_zarr(store)
    kept = kind if kind != "NETCDF3_64BIT_DATA" else "NETCDF4"
    with xarray.open_zarr(store, decode_cf=False) as dataset:
        dataset.to_netcdf(target, engine="netcdf4", format=kept)


if __name__ == "__main__":
    serve(copy)
