"""Row S3: 10,000 chunks of 10 kB to a real S3 server on loopback, against zarr-python with s3fs doing the same.

Requests are counted in a run of its own, through a proxy that costs time. Goals: at most 1.02 requests a chunk, up to
16 or more at once; the ratio of times is reported, with a goal of 0.53. Needs the tool `s3-server` of the shared data.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness import OURS, ROOT, Side, execute, main, measure, need, show

MEASURES = ("link", "stores", "formats/zarr", "plugins/remote")

sys.path.insert(0, str(ROOT))

TYPICAL, SMALL = 10_000, 500
SIDE = 2500
"""Elements of a chunk."""

PEER = """
import sys, zarr
zarr.config.set({"async.concurrency": 16})
one = zarr.open_group("in.zarr", mode="r")["v"]
group = zarr.create_group(sys.argv[1], zarr_format=2)
other = group.create_array("v", shape=one.shape, chunks=one.chunks, dtype=one.dtype, compressors=one.compressors,
                           filters=one.filters or None)
for start in range(0, one.shape[0], 500):
    other[start : start + 500] = one[start : start + 500]
"""


def make_store(path: Path, count: int) -> None:
    """A Zarr v2 store of one array of `count` chunks, from a seed."""
    import numpy as np
    import zarr
    from numcodecs import Zlib

    values = np.random.default_rng(3).integers(0, 2**30, (count, SIDE), dtype="i4")
    group = zarr.create_group(path, zarr_format=2)
    array = group.create_array("v", shape=values.shape, chunks=(1, SIDE), dtype="i4", compressors=Zlib(1))
    array.attrs["_ARRAY_DIMENSIONS"] = ["t", "x"]
    array[:] = values


def row(folder: Path, quick: bool) -> bool:
    """Objects beside zarr-python's, then the count of requests."""
    need("zarr", "s3fs")
    tool = Path(os.environ.get("NCZARR_SHARED") or ROOT.parent / "shared") / "tools" / "s3-server"
    if not tool.exists():
        raise SystemExit("benchmark: the tool s3-server is not there (NCZARR_SHARED)")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    count = SMALL if quick else TYPICAL
    make_store(folder / "in.zarr", count)
    server = folder / "server"
    started = subprocess.run([tool, "start", server], capture_output=True, text=True, check=True)
    try:
        os.environ.update(line.split("=", 1) for line in started.stdout.splitlines())
        return _measured(folder, count)
    finally:
        subprocess.run([tool, "stop", server], check=True, capture_output=True)


def _measured(folder: Path, count: int) -> bool:
    execute([sys.executable, "-c", "import fsspec; fsspec.filesystem('s3').mkdir('bench')"], folder)
    (folder / "peer.py").write_text(PEER)
    ours = [*OURS, "convert", "in.zarr", "s3://bench/ours-$$.zarr", "--to", "zarr2", "-q"]
    theirs = [sys.executable, "peer.py", "s3://bench/peer-$$.zarr"]

    def compare() -> str:
        import fsspec
        import numpy as np
        import zarr

        names = sorted(name.rpartition("/")[2] for name in fsspec.filesystem("s3").ls("bench", detail=False))
        wanted = zarr.open_group(folder / "in.zarr", mode="r")["v"][:]
        for name in names:
            if not np.array_equal(zarr.open_group(f"s3://bench/{name}", mode="r")["v"][:], wanted):
                raise SystemExit(f"benchmark: {name} differs")
        return f"{wanted.size} values, {len(names)} times"

    sides = [Side(["bash", "-c", f"exec {' '.join(command)}"]) for command in (theirs, ours)]
    met = measure("S3, time", 0.53, *sides, folder, compare, rounds=3)
    return _counted(folder, count) and met


def _counted(folder: Path, count: int) -> bool:
    from tests.support.proxy import Proxy

    proxy = Proxy(os.environ["AWS_ENDPOINT_URL"])
    os.environ["AWS_ENDPOINT_URL"] = proxy.endpoint
    execute([*OURS, "convert", "in.zarr", "s3://bench/counted.zarr", "--to", "zarr2", "-q"], folder)
    requests = len(proxy.requests)
    proxy.close()
    goal = 1.02 + (0 if count == TYPICAL else 20 / count)
    missed = [] if 12 <= proxy.most <= 64 else [f"{proxy.most} requests at once, not 12 to 64"]
    more = {"chunks": count, "requests": requests, "most_at_once": proxy.most}
    return show("S3, requests", [requests / count], goal, unit="requests a chunk", missed=missed, **more)


if __name__ == "__main__":
    main(row)
