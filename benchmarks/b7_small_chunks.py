"""Row B7: a netCDF-4 file of 200,000 chunks of 1 kB to Zarr v3 with one shard a variable, beside references of the same
file. Goal: 1.5, deflated and not. Its digest and diff have limits in processor time. Compared: every value of all
outputs, and the digests."""

from __future__ import annotations

import functools
import statistics
import sys
from pathlib import Path

from fields import open_file, open_store
from harness import OURS, Side, apart, execute, main, measure, need, show

MEASURES = ("arrays", "link", "pipeline/compare", "stores", "formats/netcdf4", "formats/reference", "formats/zarr")

MAKE = """
import sys, netCDF4, numpy as np
path, rows, filters = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "deflated"
pick = np.random.default_rng(7)
with netCDF4.Dataset(path, "w") as file:
    file.createDimension("y", rows * 16)
    file.createDimension("x", 100 * 16)
    for name in ("v", "w"):
        file.createVariable(name, "i4", ("y", "x"), zlib=filters, complevel=1, shuffle=filters, chunksizes=(16, 16))
    for start in range(0, rows * 16, 160):
        stop = min(start + 160, rows * 16)
        for name in ("v", "w"):
            file[name][start:stop] = pick.integers(0, 1000, (stop - start, 1600)) + np.arange(1600)
"""
GOAL = 1.5
WORK = 6.0
"""Seconds of processor time for the digest, and for the difference of two datasets."""


def row(folder: Path, quick: bool) -> bool:
    """Shards beside references, then the digest and the difference."""
    need("netCDF4", "zarr")
    rows = 100 if quick else 1000
    met = True
    for kind in ("deflated", "plain"):
        execute([sys.executable, "-c", MAKE, f"{kind}.nc", str(rows), kind], folder)
        shards, command = f"y={rows * 16},x=1600", [*OURS, "convert", "-q", f"{kind}.nc"]
        peer = Side([*command, f"{kind}.json", "--to", "reference", "--inline", "0"], [f"{kind}.json"])
        ours = Side([*command, f"{kind}.zarr", "--to", "zarr3", "--shards", shards], [f"{kind}.zarr"])
        compare = functools.partial(_compare, folder, kind)
        met = measure(f"B7, {kind}", GOAL, peer, ours, folder, compare) and met
    return _read(folder) and met


def _compare(folder: Path, kind: str) -> str:
    shards = [path for path in (folder / f"{kind}.zarr").rglob("c/0/0") if path.is_file()]
    if len(shards) != 2:
        raise AssertionError(f"{len(shards)} shards, not 2")
    one, other = open_file(folder / f"{kind}.nc"), open_store(folder / f"{kind}.zarr", 3)
    count = 0
    for name in ("v", "w"):
        for start in range(0, one[name].shape[0], 1600):
            values, ours = one[name][start : start + 1600], other[name][start : start + 1600]
            if values.dtype != ours.dtype or values.tobytes() != ours.tobytes():
                raise AssertionError(f"{name} differs from {start}")
            count += values.size
    return f"{count} values"


def _read(folder: Path) -> bool:
    """The processor time of the digest and the difference."""
    sides = {
        "digest": Side([*OURS, "digest", "deflated.nc"]),
        "digest of shards": Side([*OURS, "digest", "deflated.zarr"]),
        "diff": Side([*OURS, "diff", "deflated.nc", "plain.nc"]),
        "diff with shards": Side([*OURS, "diff", "deflated.nc", "deflated.zarr"]),
    }
    rounds = [{name: side.run(folder).work for name, side in sides.items()} for _ in range(4)][1:]
    work = {name: round(statistics.median(each[name] for each in rounds), 2) for name in sides}

    def compare() -> str:
        import nczarr

        found = {nczarr.digest(folder / name) for name in ("deflated.nc", "deflated.zarr", "plain.nc", "plain.zarr")}
        if len(found) != 1:
            raise AssertionError(f"{len(found)} digests of the same values")
        return f"one digest: {found.pop()}"

    most = [max(each.values()) for each in rounds]
    return show("B7, work", most, WORK, unit="s of work", decimals=2, work=work, compared=apart(compare))


if __name__ == "__main__":
    main(row)
