"""Row R2 in a bucket: 10,000 small netCDF-4 files of a real S3 server on loopback as one Parquet document.

Goals: at most 3 requests a file (counted by a proxy), at most 400 MB of memory in any process, two workers of a dask
cluster in at most 0.6 of the time of one. Compared: 1,000 random points through fsspec and xarray with the local files;
the document of a run that was killed at ten random moments and resumed, and those of the cluster, byte by byte with
that of a run in one piece. `--quick` takes 200 files.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from harness import OURS, ROOT, execute, main, need, show
from r2_many_files import MAKE

sys.path.insert(0, str(ROOT))

from tests.support.peers.cluster import Cluster
from tests.support.proxy import Proxy
from tests.support.series import content

MEASURES = (
    "stores",
    "formats/netcdf4",
    "formats/reference",
    "plugins/combine",
    "plugins/dask",
    "plugins/refs",
    "plugins/remote",
)

POINTS = """
import json, random, sys
import netCDF4, xarray
count, points = int(sys.argv[1]), int(sys.argv[2])
options = {"fo": "whole.parq", "remote_protocol": "s3", "remote_options": {"asynchronous": True},
           "asynchronous": True, "skip_instance_cache": True}
found = xarray.open_dataset("reference://", engine="zarr", consolidated=False, zarr_format=2, decode_cf=False,
                            storage_options=options)
assert found.sizes["time"] == count
chosen = random.Random(1)
for _ in range(points):
    at, name = chosen.randrange(count), f"v{chosen.randrange(9)}"
    lat, lon = chosen.randrange(20), chosen.randrange(30)
    with netCDF4.Dataset(f"f{at:05}.nc") as one:
        expected = one[name][0, lat, lon], one["time"][0]
    assert (found[name][at, lat, lon].item(), found["time"][at].item()) == expected, (at, name, lat, lon)
"""
REQUESTS, PEAK, SHARE = 3.0, 400e6, 0.6
KILLS, POINTS_TRIED = 10, 1000


def row(folder: Path, quick: bool) -> bool:
    """One line for the document, and one for the cluster."""
    need("s3fs", "zarr", "xarray", "pyarrow", "distributed")
    count, shared = (200, 100) if quick else (10_000, 1500)
    execute([sys.executable, "-c", MAKE, str(count)], folder)
    names = [f"f{number:05}.nc" for number in range(count)]
    with _bucket(folder, names):
        sources = [f"s3://bench/{name}" for name in names]
        document = _document(folder, sources)
        cluster = _cluster(folder, sources[:shared], rounds=1 if quick else 3)
    return document and cluster


@contextmanager
def _bucket(folder: Path, names: Sequence[str]) -> Iterator[None]:
    """Start a server with the files in its bucket `bench`; AWS_… in the environment name it."""
    import fsspec

    tool = Path(os.environ.get("NCZARR_SHARED") or ROOT.parent / "shared") / "tools" / "s3-server"
    if not tool.exists():
        raise SystemExit("benchmark: the tool s3-server is not there (NCZARR_SHARED)")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    server = folder / "server"
    started = subprocess.run([tool, "start", server], capture_output=True, text=True, check=True)
    try:
        os.environ.update(line.split("=", 1) for line in started.stdout.splitlines())
        system = fsspec.filesystem("s3")
        system.mkdir("bench")
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda name: system.pipe_file(f"bench/{name}", (folder / name).read_bytes()), names))
        yield
    finally:
        subprocess.run([tool, "stop", server], check=True, capture_output=True)


def _command(sources: Sequence[str], target: str, *more: str) -> list[str]:
    options = ["--along", "time", "--metadata", "zarr2", "-q", *more]
    return [*OURS, "refs", "combine", *sources, "-o", target, *options]


def _document(folder: Path, sources: Sequence[str]) -> bool:
    """Make the document: timed, counted, killed and resumed; and compare its values."""
    count = len(sources)
    ran = execute(_command(sources, "whole.parq", "--workers", "2"), folder)
    peak = max(ran.peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
    direct = os.environ["AWS_ENDPOINT_URL"]
    proxy = Proxy(direct)
    os.environ["AWS_ENDPOINT_URL"] = proxy.endpoint
    execute(_command(sources, "counted.parq", "--workers", "2"), folder)
    os.environ["AWS_ENDPOINT_URL"] = direct
    asked, sent = len(proxy.requests), sum(each.size for each in proxy.requests)
    proxy.close()
    kills = _resumed(folder, sources, ran.seconds)
    for name in ("counted.parq", "resumed.parq"):
        if content(folder / name) != content(folder / "whole.parq"):
            raise SystemExit(f"benchmark: {name} differs")
    execute([sys.executable, "-c", POINTS, str(count), str(POINTS_TRIED)], folder)
    return show(
        "R2, in a bucket",
        [asked / count],
        REQUESTS,
        unit="requests a file",
        decimals=5,
        files=count,
        kB_a_file=round(sent / count / 1000, 1),
        our_seconds=round(ran.seconds, 1),
        work_ms_a_file=round(1000 * ran.work / count, 1),
        our_peak_mb=round(peak / 1e6, 1),
        peak_goal_mb=PEAK / 1e6,
        kills=kills,
        compared=f"{POINTS_TRIED} points through xarray; resumed and counted documents, byte by byte",
    )


def _resumed(folder: Path, sources: Sequence[str], seconds: float) -> int:
    """Make `resumed.parq` by runs that are killed at random moments, then one to the end; return the number of kills.

    The moments leave each of the runs a part of the work: the time of one run in all.
    """
    chosen, killed = random.Random(2), 0
    command = _command(sources, "resumed.parq", "--workers", "2", "--resume")
    for _ in range(KILLS):
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
                                   start_new_session=True)  # fmt: skip
        try:
            process.wait(1.5 + chosen.random() * 2 * seconds / KILLS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            continue
        break
    if not (folder / "resumed.parq").exists():
        execute(command, folder)
    return killed


def _cluster(folder: Path, sources: Sequence[str], rounds: int) -> bool:
    """The same by one and by two workers of a cluster, in turn."""
    times: dict[int, list[float]] = {1: [], 2: []}
    reached = {"key": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "endpoint_url": "AWS_ENDPOINT_URL"}
    given = [word for name, each in reached.items() for word in ("--storage-option", f"{name}={os.environ[each]}")]
    for number in range(rounds + 1):
        for workers in times:
            place = folder / f"cluster{number}-{workers}"
            place.mkdir()
            with Cluster(place, workers) as cluster:
                began = time.perf_counter()
                execute(_command(sources, f"by{workers}.parq", "--dask", cluster.url, *given), folder)
                times[workers].append(time.perf_counter() - began)
            if number < rounds:
                shutil.move(folder / f"by{workers}.parq", place)
    if content(folder / "by1.parq") != content(folder / "by2.parq"):
        raise SystemExit("benchmark: the documents of the clusters differ")
    ratios = [two / one for one, two in zip(times[1], times[2], strict=True)][1:]
    one, two = (round(statistics.median(each[1:]), 1) for each in times.values())
    more = {"files": len(sources), "peer_seconds": one, "our_seconds": two}
    return show("R2, cluster", ratios, SHARE, compared="both documents, byte by byte", **more)


if __name__ == "__main__":
    main(row)
