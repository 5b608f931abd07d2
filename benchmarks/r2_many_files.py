"""Row R2: small netCDF-4 files with a step of time each as one Parquet document, beside kerchunk and VirtualiZarr.

Goals: 0.5 of the time of the quicker peer, at most 400 MB of memory for ten thousand files. NCZARR_KERCHUNK names an
interpreter that has kerchunk, or VirtualiZarr, or both. Compared: every reference of all documents, and the values of
the coordinate. The peers make one process do the work, as they do by default; ours runs with one and with two
processes. `ours` is that with one.
"""

from __future__ import annotations

import functools
import json
import statistics
import sys
from pathlib import Path

from harness import OURS, Side, apart, execute, main, need_beside, show

MEASURES = ("formats/netcdf4", "formats/reference", "plugins/combine", "plugins/refs")

MAKE = """
import sys, numpy as np, netCDF4
rng = np.random.default_rng(0)
for number in range(int(sys.argv[1])):
    with netCDF4.Dataset(f"f{number:05}.nc", "w") as file:
        file.createDimension("time", None)
        for name, length in (("lat", 20), ("lon", 30)):
            file.createDimension(name, length)
            file.createVariable(name, "f4", (name,))[:] = np.arange(length)
        time = file.createVariable("time", "f8", ("time",), chunksizes=(1,))
        time.units = "hours since 2000-01-01"
        time[:] = [number]
        for each in range(9):
            made = file.createVariable(f"v{each}", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 20, 30))
            made.units = "K"
            made[0] = rng.random((20, 30)).astype("f4")
"""
KERCHUNK = """
import glob, sys, fsspec
from kerchunk.combine import MultiZarrToZarr
from kerchunk.hdf import SingleHdf5ToZarr
found = sorted(glob.glob("f*.nc"))
every = [SingleHdf5ToZarr(path, inline_threshold=64).translate() for path in found]
made = MultiZarrToZarr(every, concat_dims=["time"], identical_dims=["lat", "lon"], coo_map={"time": "data:time"})
import json
json.dump(made.translate(), open("kerchunk.json", "w"))
"""
VIRTUALIZARR = """
import glob, os, xarray
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser
registry = ObjectStoreRegistry({"file://": LocalStore()})
found = ["file://" + os.path.abspath(path) for path in sorted(glob.glob("f*.nc"))]
every = [
    open_virtual_dataset(path, registry=registry, parser=HDFParser(), loadable_variables=["time"], decode_times=False)
    for path in found
]
made = xarray.concat(every, "time", data_vars="minimal", coords="minimal", compat="override", join="override")
made.vz.to_kerchunk("virtualizarr.json", format="json")
"""
PEERS = {"kerchunk": KERCHUNK, "virtualizarr": VIRTUALIZARR}
GOAL = 0.5
PEAK = 400e6


def row(folder: Path, quick: bool) -> bool:
    """All in turn, three counted rounds."""
    interpreter = need_beside("NCZARR_KERCHUNK", "kerchunk", "virtualizarr")
    count, rounds = (100, 1) if quick else (1000, 3)
    execute([sys.executable, "-c", MAKE, str(count)], folder)
    names = [f"f{number:05}.nc" for number in range(count)]
    peers = {
        name: Side([interpreter, "-c", code], [f"{name}.json"])
        for name, code in PEERS.items()
        if _has(interpreter, name)
    }
    if not peers:
        raise SystemExit("benchmark: the interpreter of NCZARR_KERCHUNK has neither kerchunk nor virtualizarr")
    sides = {**peers, **{f"ours {workers}": _ours(names, workers) for workers in (1, 2)}}
    runs = [{name: side.run(folder) for name, side in sides.items()} for _ in range(rounds + 1)][1:]
    seconds = {name: statistics.median(each[name].seconds for each in runs) for name in sides}
    work = {name: statistics.median(each[name].work for each in runs) for name in sides}
    quickest = min(peers, key=lambda name: seconds[name])
    compared = apart(functools.partial(_compare, folder, names, list(peers)))
    peak = statistics.median(each["ours 1"].peak for each in runs)
    if not quick:
        execute([sys.executable, "-c", MAKE, "10000"], folder)
        large = _ours([f"f{number:05}.nc" for number in range(10_000)], 1).run(folder)
        peak = large.peak
    met = show(
        "R2",
        [each["ours 1"].seconds / each[quickest].seconds for each in runs],
        GOAL,
        files=count,
        peer=quickest,
        peer_seconds=round(seconds[quickest], 2),
        seconds={name: round(each, 2) for name, each in seconds.items()},
        compared=compared,
    )
    spent = [each["ours 1"].work / min(each[name].work for name in peers) for each in runs]
    show("R2, work", spent, None, work={name: round(each, 2) for name, each in work.items()})
    return show("R2, memory", [peak / 1e6], PEAK / 1e6, unit="MB", files=count if quick else 10_000) and met


def _has(interpreter: str, name: str) -> bool:
    import subprocess

    return subprocess.run([interpreter, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def _ours(names: list[str], workers: int) -> Side:
    target = f"ours{workers}.json"
    options = ["--along", "time", "--metadata", "zarr2", "--workers", str(workers)]
    return Side([*OURS, "refs", "combine", "-q", *names, "-o", target, *options], [target])


def _compare(folder: Path, names: list[str], peers: list[str]) -> str:
    """Every reference of the data in all documents; URLs may be spelled otherwise."""
    documents = {name: json.loads((folder / f"{name}.json").read_text())["refs"] for name in (*peers, "ours1", "ours2")}
    found = {
        name: {
            key: (Path(each[0]).name, *each[1:])
            for key, each in refs.items()
            if key[0] == "v" and isinstance(each, list)
        }
        for name, refs in documents.items()
    }
    if len(found["ours1"]) != 9 * len(names) or documents["ours1"] != documents["ours2"]:
        raise AssertionError(f"{len(found['ours1'])} references")
    for name in peers:
        if found[name] != found["ours1"]:
            raise AssertionError(f"{name}: {len(found[name])} references, or other ones")
    return f"{len(found['ours1'])} references of {', '.join(found)}"


if __name__ == "__main__":
    main(row)
