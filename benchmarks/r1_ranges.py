"""Row R1: remote files by ranges, through a proxy with 20 ms of latency in front of a real S3 server on loopback.

Files: (a) a netCDF-4 file of 20,000 chunks, (b) 300 variables in groups, (c) a classic file, (d) a zipped Zarr store.
Work, each in a process of its own: to open the file (all variables and attributes), to make references of it, to open
it and read one slice. Beside ours: h5netcdf and zarr-python over fsspec files, xarray's engines, kerchunk and
VirtualiZarr (NCZARR_KERCHUNK names an interpreter that has both). Seconds are those of the work, without imports and
after a first request to the server, which is not counted. Goals: fewer requests and bytes than each, and half the time
of the fastest. Compared: the values of the slice.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from harness import ROOT, main, need, need_beside, show

MEASURES = ("stores", "formats/netcdf3", "formats/netcdf4", "formats/reference", "formats/zarr", "plugins/remote")

sys.path.insert(0, str(ROOT))

LATENCY = 0.02
ROUNDS = 3

TIMED = """
import json, os, sys, time, warnings
warnings.simplefilter("ignore")
def told(work):
    began = time.perf_counter()
    values = work()
    print(json.dumps({"seconds": time.perf_counter() - began, "values": None if values is None else values.tolist()}),
          flush=True)
    os._exit(0)
"""
OURS = TIMED + "import nczarr\nnczarr.convert('s3://bench/first.nc', sys.argv[1] + '.first.json')\n"
FSSPEC = (
    TIMED
    + """
import fsspec, h5netcdf, xarray, zarr, numpy
fs = fsspec.filesystem("s3")
fs.cat_file("bench/first.nc")
"""
)
KERCHUNK = (
    TIMED
    + """
import fsspec, h5py, kerchunk.hdf, kerchunk.netCDF3
fsspec.filesystem("s3").cat_file("bench/first.nc")
"""
)
VIRTUAL = (
    TIMED
    + """
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import S3Store
from virtualizarr.parsers import HDFParser, NetCDF3Parser
store = S3Store("bench", endpoint=os.environ["AWS_ENDPOINT_URL"], client_options={"allow_http": True})
registry = ObjectStoreRegistry({"s3://bench": store})
bytes(store.get("first.nc").bytes())
"""
)
OUR_OPEN = "told(lambda: nczarr.open('s3://bench/{name}') and None)"
OUR_SLICE = "told(lambda: nczarr.open('s3://bench/{name}')['{variable}'][{section}])"
OUR_REFERENCES = "told(lambda: nczarr.convert('s3://bench/{name}', sys.argv[1] + '.json') and None)"
WALKED = """
def walk(group):
    for each in (group, *group.variables.values()):
        dict(each.attrs)
    for each in group.variables.values():
        each.shape, each.dtype, each.chunks
    for each in group.groups.values():
        walk(each)
told(lambda: walk(h5netcdf.File(fs.open('bench/{name}'), 'r')))
"""


class Peer(NamedTuple):
    name: str
    program: str
    apart: bool = False
    """True if it runs with the interpreter of NCZARR_KERCHUNK."""


class Case(NamedTuple):
    """A piece of work on a file."""

    file: str
    work: str
    ours: str
    peers: tuple[Peer, ...]


def cases() -> list[Case]:
    """All work, with the programs of all sides."""
    found = []
    for name, variable, section in (("a.nc", "v", "105:107, 5:7, 10:20"), ("b.nc", "g5/v7", "5:7, 10:20")):
        group, own = ("/", variable) if name == "a.nc" else ("g5", "v7")
        described = {"name": name, "variable": variable, "section": section}
        hdf = f"kerchunk.hdf.SingleHdf5ToZarr(fsspec.filesystem('s3').open('bench/{name}'), 's3://bench/{name}')"
        references = (
            Peer("kerchunk", KERCHUNK + f"told(lambda: {hdf}.translate() and None)", True),
            Peer("VirtualiZarr", VIRTUAL + f"told(lambda: HDFParser()('s3://bench/{name}', registry) and None)", True),
        )
        opened = f"xarray.open_dataset(fs.open('bench/{name}'), engine='h5netcdf', group='{group}')"
        h5netcdf = f"""
def read():
    with h5netcdf.File(fs.open('bench/{name}'), 'r') as file:
        return file['{variable}'][{section}]
told(read)
"""
        found += [
            Case(name, "open", OURS + OUR_OPEN.format(**described),
                 (Peer("h5netcdf", FSSPEC + WALKED.format(name=name)), *references)),
            Case(name, "references", OURS + OUR_REFERENCES.format(**described), references),
            Case(name, "slice", OURS + OUR_SLICE.format(**described),
                 (Peer("h5netcdf", FSSPEC + h5netcdf),
                  Peer("xarray", FSSPEC + f"told(lambda: {opened}['{own}'][{section}].values)"))),
        ]  # fmt: skip
    section = "5:7, 10:20, 5:9"
    classic = "xarray.open_dataset(fs.open('bench/c.nc'), engine='scipy')"
    references = (
        Peer(
            "kerchunk",
            KERCHUNK + "told(lambda: kerchunk.netCDF3.NetCDF3ToZarr('s3://bench/c.nc').translate() and None)",
            True,
        ),
        Peer("VirtualiZarr", VIRTUAL + "told(lambda: NetCDF3Parser()('s3://bench/c.nc', registry) and None)", True),
    )
    mapper = "fsspec.get_mapper('zip::s3://bench/d.zip')"
    zipped = f"zarr.open_group(zarr.storage.FsspecStore.from_mapper({mapper}, read_only=True), mode='r')"
    ours = {"variable": "v3", "section": section}
    found += [
        Case("c.nc", "open", OURS + OUR_OPEN.format(name="c.nc"),
             (Peer("xarray", FSSPEC + f"told(lambda: {classic} and None)"), *references)),
        Case("c.nc", "references", OURS + OUR_REFERENCES.format(name="c.nc"), references),
        Case("c.nc", "slice", OURS + OUR_SLICE.format(name="c.nc", **ours),
             (Peer("xarray", FSSPEC + f"told(lambda: {classic}['v3'][{section}].values)"),)),
        Case("d.zip", "open", OURS + OUR_OPEN.format(name="d.zip"),
             (Peer("zarr", FSSPEC + f"told(lambda: [each for each in {zipped}.members(max_depth=None)] and None)"),)),
        Case("d.zip", "slice", OURS + OUR_SLICE.format(name="d.zip", variable="g5/v7", section="5:7, 10:20"),
             (Peer("zarr", FSSPEC + f"told(lambda: {zipped}['g5/v7'][5:7, 10:20])"),)),
    ]  # fmt: skip
    return found


def make(folder: Path, quick: bool) -> None:
    """The files, from a seed."""
    import netCDF4
    import numpy as np

    random = np.random.default_rng(1)
    chunks, step = (400, 100) if quick else (20_000, 500)
    with netCDF4.Dataset(folder / "a.nc", "w") as file:
        for name, length in (("t", None), ("y", 250), ("x", 100)):
            file.createDimension(name, length)
        values = file.createVariable("v", "f4", ("t", "y", "x"), chunksizes=(1, 250, 100))
        block = random.random((step, 250, 100), dtype="f4")
        for start in range(0, chunks, step):
            values[start : start + step] = block + start
    with netCDF4.Dataset(folder / "b.nc", "w") as file:
        for number in range(10):
            group = file.createGroup(f"g{number}")
            group.createDimension("t", 200)
            group.createDimension("x", 50 if quick else 500)
            for each in range(30):
                made = group.createVariable(f"v{each}", "f4", ("t", "x"), chunksizes=(50, 50), zlib=True, shuffle=True)
                for note in range(6):
                    made.setncattr(f"a{note}", f"text {note}")
                made[:] = random.random(made.shape)
    netCDF4.Dataset(folder / "first.nc", "w").close()
    with netCDF4.Dataset(folder / "c.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        for name, length in (("t", None), ("y", 500), ("x", 50 if quick else 500)):
            file.createDimension(name, length)
        for each in range(10):
            file.createVariable(f"v{each}", "f4", ("t", "y", "x")).units = "K"
        for record in range(20):
            for each in range(10):
                file[f"v{each}"][record] = random.random(file[f"v{each}"].shape[1:])
    subprocess.run(
        [sys.executable, "-m", "nczarr", "convert", "b.nc", "d.zip", "--to", "zarr2", "-q"], cwd=folder, check=True
    )


def row(folder: Path, quick: bool) -> bool:
    """One line for each file and work: requests, bytes and seconds of all sides."""
    need("s3fs", "h5netcdf", "zarr", "xarray")
    if "NCZARR_KERCHUNK" in os.environ:
        need_beside("NCZARR_KERCHUNK", "kerchunk", "virtualizarr")
    tool = Path(os.environ.get("NCZARR_SHARED") or ROOT.parent / "shared") / "tools" / "s3-server"
    if not tool.exists():
        raise SystemExit("benchmark: the tool s3-server is not there (NCZARR_SHARED)")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    make(folder, quick)
    server = folder / "server"
    started = subprocess.run([tool, "start", server], capture_output=True, text=True, check=True)
    try:
        os.environ.update(line.split("=", 1) for line in started.stdout.splitlines())
        import fsspec

        system = fsspec.filesystem("s3")
        system.mkdir("bench")
        for name in ("a.nc", "b.nc", "c.nc", "d.zip", "first.nc"):
            system.put_file(str(folder / name), f"bench/{name}")
        return _measured(folder)
    finally:
        subprocess.run([tool, "stop", server], check=True, capture_output=True)


def _measured(folder: Path) -> bool:
    from tests.support.proxy import Proxy

    proxy = Proxy(os.environ["AWS_ENDPOINT_URL"])
    os.environ["AWS_ENDPOINT_URL"] = proxy.endpoint
    met = True
    for case in cases():
        sides = [Peer("ours", case.ours), *case.peers]
        rows: dict[str, dict[str, float]] = {}
        values: dict[str, object] = {}
        seconds: dict[str, list[float]] = {}
        for side in sides:
            python = os.environ.get("NCZARR_KERCHUNK") if side.apart else sys.executable
            if python is None:
                continue
            times: list[float] = []
            for number in range(ROUNDS):
                proxy.clear()
                proxy.seconds = LATENCY
                command = [python, "-c", side.program, str(folder / f"{case.file}-{case.work}-{side.name}-{number}")]
                ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600)
                if ran.returncode or not ran.stdout:
                    raise SystemExit(f"benchmark: {case.file}, {case.work}, {side.name}: {ran.stderr[-2000:]}")
                answer = json.loads(ran.stdout.splitlines()[-1])
                times.append(answer["seconds"])
                values[side.name] = answer["values"]
            asked = [each for each in proxy.requests if "first.nc" not in each.path]
            sent = sum(each.size for each in asked)
            seconds[side.name] = times
            rows[side.name] = {"requests": len(asked), "kB": round(sent / 1000),
                               "seconds": round(statistics.median(times), 3)}  # fmt: skip
        if len(rows) == 1:
            print(f"benchmark: {case.file} {case.work}: no peer is installed", file=sys.stderr)
            continue
        if any(each != values["ours"] for each in values.values()):
            raise SystemExit(f"benchmark: {case.file}, {case.work}: the values differ")
        own, others = rows["ours"], [rows[name] for name in rows if name != "ours"]
        good = all(own["requests"] < each["requests"] and own["kB"] < each["kB"] for each in others)
        quickest = min((name for name in rows if name != "ours"), key=lambda name: rows[name]["seconds"])
        ratios = [mine / theirs for mine, theirs in zip(seconds["ours"], seconds[quickest], strict=True)]
        missed = [] if good else ["fewest requests and bytes"]
        met &= show(f"R1, {case.file} {case.work}", ratios, 0.5, missed=missed, sides=rows)
    proxy.close()
    return met


if __name__ == "__main__":
    main(row)
