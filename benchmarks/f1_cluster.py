"""Row F1: chunks of netCDF-4 (zlib) to Zarr v2 with another codec (zstd 9), by a cluster of two workers with one thread
each against one such worker, and by that one against one thread without a cluster. Goals: 0.65 and 1.25."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fields import make_file, open_file, open_store, same_values
from harness import OURS, ROOT, Side, main, measure, need

MEASURES = ("arrays", "link", "formats/netcdf4", "formats/zarr", "plugins/dask")

TYPICAL, SMALL = 600, 40
"""Chunks of 1 MB."""

STARTING = 60.0
"""Seconds that a cluster may take to start."""


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """The address of a scheduler with workers that have one thread each."""
    folder.mkdir()
    processes: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def start(*arguments: str) -> None:
        command = [sys.executable, "-m", *arguments, "--no-dashboard"]
        log = (folder / f"{len(processes)}.log").open("wb")
        processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder))

    def wait(name: str, text: str) -> None:
        end = time.monotonic() + STARTING
        while not (folder / name).exists() or text not in (folder / name).read_text():
            if time.monotonic() > end:
                raise SystemExit("benchmark: the cluster does not start")
            time.sleep(0.05)

    try:
        start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", "at.json")
        wait("at.json", "}")
        address = str(json.loads((folder / "at.json").read_text())["address"])
        for number in range(workers):
            start("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1")
            wait(f"{number + 1}.log", "Registered to")
        yield address
    finally:
        for process in processes:
            process.kill()
            process.wait()


def row(folder: Path, quick: bool) -> bool:
    """One thread, one worker, two workers."""
    need("netCDF4", "zarr", "distributed")
    make_file(folder / "a.nc", SMALL if quick else TYPICAL)

    def side(name: str, *options: str) -> Side:
        command = [*OURS, "convert", "a.nc", name, "--to", "zarr2", "--codec", "zstd:9", "-q", *options]
        return Side(command, [name])

    def compare() -> str:
        stores = [folder / name for name in ("thread.zarr", "one.zarr", "two.zarr")]
        found = [
            {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}
            for store in stores
            if store.exists()
        ]
        assert all(each == found[0] for each in found)
        return f"{same_values(open_file(folder / 'a.nc'), open_store(stores[1], 2))}; {len(found)} stores, equal bytes"

    with cluster(folder / "c1", 1) as first, cluster(folder / "c2", 2) as second:
        thread, one = side("thread.zarr", "--workers", "1"), side("one.zarr", "--dask", first)
        two = side("two.zarr", "--dask", second)
        met = measure("F1, one worker", 1.25, thread, one, folder, compare, rounds=3)
        return measure("F1, two workers", 0.65, one, two, folder, compare, rounds=3) and met


if __name__ == "__main__":
    main(row)
