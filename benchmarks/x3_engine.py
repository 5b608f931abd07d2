"""Rows X1 to X6 through xarray: our engine beside xarray's own; row O1 without xarray.

X1 and X2 load all values of 200 MB of float32 (x1_load.py makes them): netCDF-4 with shuffle and deflate 4 in chunks of
1 MB, and the same values as Zarr v2, v3 and in shards. X3 opens a netCDF-4 file of 300 variables along two dimensions
with coordinates, and the same with a dimension `t` that is unlimited and has no coordinate; of that one, h5netcdf asks
every variable for its length, once for each variable, and takes half a minute. X4 opens a consolidated Zarr v2 store of
2,000 variables, X5 a tree of 200 groups, each without a value but those of coordinates. X6 loads a classic file of
400 MB. O1 opens the file of X3 with `nczarr.open` and lists the headers of all variables, beside netCDF4-python. Each
process measures from the opening to the last value, after one opening for which everything is imported.

Beside X2 are zarr-python's default pipeline, the pipeline `zarrs` in it, and tensorstore, which has no engine: its
arrays are read at once and put into a dataset. The fused pipeline of zarr-python exists from 3.4 on, and is measured if
it is there.

Goals: X1 0.50 of h5netcdf, 0.60 of netcdf4, 0.75 of either on one processor; X2 0.30 of zarr and of its fused pipeline,
0.8 of zarrs and tensorstore; X3 0.10 of h5netcdf, 0.65 of netcdf4; X4 0.40 of zarr; X5 0.2 of h5netcdf, 0.7 of
netcdf4; X6 1.0 of scipy, 0.8 of netcdf4; O1 0.45; a peak of memory of 200 MB beside the values and the interpreter.
Compared: names, attributes and every bit of the values, by `identical`; of O1 names, types, shapes, dimensions and
attributes.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness import execute, main, measure, need
from x1_load import BESIDE, NAMES, SETTLING, Load
from x1_load import make as make_fields

MEASURES = ("api", "arrays", "formats/netcdf3", "formats/netcdf4", "formats/zarr", "plugins/xarray")

INTERPRETER = 160 << 20
"""Bytes of an interpreter with xarray, pandas and a library."""

ENGINES = {"zarr": {"consolidated": True}}
"""Options of engines."""

PIPELINES = {"zarrs": "zarrs.ZarrsCodecPipeline", "fused": "zarr.core.codec_pipeline.FusedCodecPipeline"}
"""Codec pipelines of zarr-python."""


def opened(engine: str, path: str) -> Any:
    """Return what xarray opens: a tree where the name says so."""
    import xarray

    if engine == "tensorstore":
        return xarray.Dataset({name: (tuple("tyx"), values) for name, values in by_tensorstore(path).items()})
    if engine in PIPELINES:
        import zarr

        zarr.config.set({"codec_pipeline.path": PIPELINES[engine]})
        engine = "zarr"
    if path.endswith("tree.nc"):
        return xarray.open_datatree(path, engine=engine)
    options = ENGINES.get(engine, {}) if path.endswith("many.zarr") else {}
    if engine == "zarr" and not options:
        options = {"consolidated": False}
    return xarray.open_dataset(path, engine=engine, **options)


def by_tensorstore(path: str) -> dict[str, Any]:
    """Return the values of a store by name, all arrays at once."""
    import tensorstore

    driver = "zarr" if path.endswith("v2") else "zarr3"
    arrays = {
        name: tensorstore.open({"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/{name}"}}, read=True)
        for name in NAMES
    }
    pending = {name: array.result().read() for name, array in arrays.items()}
    return {name: each.result() for name, each in pending.items()}


def headers(engine: str, path: str) -> dict[str, Any]:
    """Return type, shape, dimensions and attributes of every variable, without xarray."""
    if engine == "nczarr":
        import nczarr

        variables = nczarr.open(path).variables
        return {name: (each.dtype, each.shape, each.dims, dict(each.attributes)) for name, each in variables.items()}
    import netCDF4

    with netCDF4.Dataset(path) as file:
        return {
            name: (each.dtype, each.shape, each.dimensions, {item: each.getncattr(item) for item in each.ncattrs()})
            for name, each in file.variables.items()
        }


def child(engine: str, path: str, processors: int, what: str) -> None:
    """Open or load once on so many processors."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
    read = headers if what == "headers" else opened
    first = read(engine, path)
    if what == "load":
        next(iter(first.data_vars.values()))[(0,) * 3].load()
    time.sleep(SETTLING)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    dataset = read(engine, path)
    if what == "load":
        dataset.load()
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([seconds, work]))


def side(engine: str, path: str, what: str, processors: int) -> Load:
    return Load([sys.executable, str(Path(__file__).resolve()), "--load", engine, path, str(processors), what])


def make(folder: Path, quick: bool) -> None:
    """Write all inputs; in a process of its own, whose memory is given back."""
    import warnings

    import netCDF4
    import numpy as np
    import xarray

    warnings.simplefilter("ignore")
    make_fields(folder, 10 if quick else 50)
    for name in ("v2", "v3", "shards"):
        _name_dimensions(folder / name)
    for name in ("many.nc", "unlimited.nc"):
        _make_many(folder / name, unlimited=name == "unlimited.nc")
    arrays = {
        f"v{number}": (("t", "x"), np.ones((2, 10), "f4"), {"units": "K", "long_name": f"variable {number}"})
        for number in range(2000)
    }
    xarray.Dataset(arrays).to_zarr(folder / "many.zarr", zarr_format=2, consolidated=True)
    with netCDF4.Dataset(folder / "tree.nc", "w") as file:
        for number in range(200):
            group = file.createGroup(f"g{number}")
            group.createDimension("x", 5)
            group.createVariable("x", "f8", ("x",))[:] = range(5)
            variable = group.createVariable("v", "f4", ("x",), zlib=True)
            variable.units = "K"
            variable[:] = number
    steps = 20 if quick else 100
    values = np.random.default_rng(1).normal(size=(steps, 512, 512)).astype("f4")
    fields = {name: (tuple("tyx"), values + number) for number, name in enumerate(NAMES)}
    xarray.Dataset(fields).to_netcdf(folder / "classic.nc", format="NETCDF3_64BIT", engine="scipy")


def _make_many(path: Path, *, unlimited: bool) -> None:
    """Write a file of 300 variables; `unlimited`: along an unlimited dimension without a coordinate."""
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None if unlimited else 2)
        file.createDimension("x", 10)
        for name in () if unlimited else ("t", "x"):
            file.createVariable(name, "f8", (name,))[:] = np.arange(len(file.dimensions[name]))
        for number in range(300):
            variable = file.createVariable(f"v{number}", "f4", ("t", "x"), zlib=True, fill_value=-9.0)
            variable.setncatts({"units": "K", "long_name": f"variable {number}", "scale_factor": np.float32(2)})
            variable[:] = np.arange(20).reshape(2, 10)


def _name_dimensions(store: Path) -> None:
    """Add names of dimensions to the arrays of a store, which xarray wants."""
    for name in NAMES:
        document = store / name / "zarr.json"
        if document.exists():
            content = json.loads(document.read_text())
            document.write_text(json.dumps({**content, "dimension_names": list("tyx")}))
        else:
            (store / name / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": list("tyx")}))


PEERS_OF_STORES = (
    ("zarr", 0.30, 64),
    ("zarr", 1.0, 1),
    ("fused", 0.30, 64),
    ("zarrs", 0.8, 64),
    ("tensorstore", 0.8, 64),
)

ROWS = (
    (
        "X1 in xarray",
        "a.nc",
        "load",
        (("h5netcdf", 0.50, 64), ("netcdf4", 0.60, 64), ("h5netcdf", 0.75, 1), ("netcdf4", 0.75, 1)),
    ),
    ("X2 in xarray, v2", "v2", "load", PEERS_OF_STORES),
    ("X2 in xarray, v3", "v3", "load", PEERS_OF_STORES),
    ("X2 in xarray, shards", "shards", "load", PEERS_OF_STORES),
    ("X3", "many.nc", "open", (("h5netcdf", 0.10, 64), ("netcdf4", 0.65, 64))),
    ("X3, unlimited", "unlimited.nc", "open", (("netcdf4", 0.65, 64),)),
    ("X4", "many.zarr", "open", (("zarr", 0.40, 64),)),
    ("X5", "tree.nc", "open", (("h5netcdf", 0.2, 64), ("netcdf4", 0.7, 64))),
    ("X6", "classic.nc", "load", (("scipy", 1.0, 64), ("netcdf4", 0.8, 64), ("netcdf4", 1.0, 1))),
    ("O1", "many.nc", "headers", (("netCDF4", 0.45, 64),)),
)
"""Rows: input, measured work, and the engines beside with goals and processors."""


def absent(engine: str, path: str) -> str:
    """Return why an engine cannot take part; empty if it can."""
    if engine == "tensorstore" and path == "v2":
        return "tensorstore reads no filters of Zarr v2"
    if engine in ("tensorstore", "zarrs") and find_spec(engine) is None:
        return f"{engine} is not installed"
    if engine == "fused":
        import zarr

        if not hasattr(import_module("zarr.core.codec_pipeline"), "FusedCodecPipeline"):
            return f"zarr-python {zarr.__version__} has no fused pipeline"
    return ""


def row(folder: Path, quick: bool) -> bool:
    """Open or load every input beside the engines that read it."""
    need("h5netcdf", "netCDF4", "scipy", "xarray", "zarr")
    execute([sys.executable, str(Path(__file__).resolve()), "--make", str(folder), str(int(quick))], folder)
    steps = 10 if quick else 50
    sizes = {"load": len(NAMES) * steps << 20, "open": 0, "headers": 0}

    def compared(engine: str, path: str, what: str) -> Any:
        def compare() -> str:
            if what == "headers":
                ours, theirs = headers("nczarr", str(folder / path)), headers(engine, str(folder / path))
                assert [*ours.items()] == [*theirs.items()]
                return f"{len(ours)} variables equal"
            ours, theirs = opened("nczarr", str(folder / path)), opened(engine, str(folder / path))
            if not ours.identical(theirs):
                raise AssertionError(f"`{path}` differs from {engine}'s")
            return f"identical, {theirs.nbytes} bytes"

        return compare

    met = True
    for name, path, what, engines in ROWS:
        size = sizes[what] * (2 if path == "classic.nc" else 1)
        for engine, goal, processors in engines:
            row = f"{name}, {engine}" + (", one processor" if processors == 1 else "")
            reason = absent(engine, path)
            if quick and processors == 1:
                continue
            if reason:
                print(f"benchmark: {row}: {reason}", file=sys.stderr)
                continue
            if engine in ("tensorstore", "zarrs"):
                need(engine)
            peer, ours = side(engine, path, what, processors), side("nczarr", path, what, processors)
            peak = size + BESIDE + INTERPRETER
            met &= measure(row, goal, peer, ours, folder, compared(engine, path, what), rounds=3, peak_goal=peak)
    return met


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--load", engine, path, processors, what]:
            child(engine, path, int(processors), what)
        case ["--make", folder, quick]:
            make(Path(folder), quick == "1")
        case _:
            main(row)
