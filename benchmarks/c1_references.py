"""Row C1: 200,000 chunks of one netCDF-4 file as references in JSON, beside kerchunk.

Goals: 0.40 of kerchunk's time, and at most 200 bytes of memory a reference. NCZARR_KERCHUNK names an interpreter that
has kerchunk. Compared: every reference of both documents. `bytes` is how much higher the peak of memory is than for a
file of 200 chunks, a reference. Parquet, and a million chunks for JSON and Parquet, are ours alone.
"""

from __future__ import annotations

import functools
import json
import statistics
import sys
from pathlib import Path

from harness import OURS, Side, apart, execute, main, need_beside, seconds_and_peaks, show

MEASURES = ("arrays/chunks", "plan", "link", "formats/netcdf4", "formats/reference")

KERCHUNK = """
import sys, orjson
from kerchunk.hdf import SingleHdf5ToZarr
open(sys.argv[2], "wb").write(orjson.dumps(SingleHdf5ToZarr(sys.argv[1], inline_threshold=0).translate()))
"""
MAKE = """
import sys, netCDF4, numpy as np
rows = int(sys.argv[2])
with netCDF4.Dataset(sys.argv[1], "w") as file:
    file.createDimension("y", rows * 4)
    file.createDimension("x", 1600)
    made = file.createVariable("v", "i2", ("y", "x"), zlib=True, complevel=1, chunksizes=(4, 8))
    for start in range(0, rows * 4, 400):
        stop = min(start + 400, rows * 4)
        made[start:stop] = np.arange(start * 1600, stop * 1600).reshape(-1, 1600) % 3001
"""
COLUMNS = 200
"""Chunks in a row of chunks."""
GOAL = 0.40
BYTES = 200


def row(folder: Path, quick: bool) -> bool:
    """Both in turn, then the others of ours."""
    interpreter = need_beside("NCZARR_KERCHUNK", "kerchunk")
    counts = {"small": 1, "c1": 100 if quick else 1000, "million": 500 if quick else 5000}
    for name, rows in counts.items():
        execute([sys.executable, "-c", MAKE, f"{name}.nc", str(rows)], folder)
    theirs = Side([interpreter, "-c", KERCHUNK, "c1.nc", "theirs.json"], ["theirs.json"])
    ours = _ours("c1", "json")
    pairs = [(theirs.run(folder), ours.run(folder)) for _ in range(6)][1:]
    entries = counts["c1"] * COLUMNS
    compared = apart(functools.partial(_compare, folder, entries))
    before = {kind: _ours("small", kind).run(folder).peak for kind in ("json", "parq")}
    peak = statistics.median(mine.peak for _, mine in pairs)
    grown = {"json": (peak - before["json"]) / entries}
    for name, kind in (("c1", "parq"), ("million", "json"), ("million", "parq")):
        done = _ours(name, kind).run(folder)
        grown[f"{name} {kind}"] = (done.peak - before[kind]) / (counts[name] * COLUMNS)
    met = show(
        "C1",
        [mine.seconds / peer.seconds for peer, mine in pairs],
        GOAL,
        **seconds_and_peaks(pairs),
        compared=compared,
    )
    most = max(grown["json"], grown["million json"])
    found = {name: round(each) for name, each in grown.items()}
    return show("C1, memory", [most], BYTES, unit="bytes a reference", decimals=3, bytes=found) and met


def _ours(name: str, kind: str) -> Side:
    target = f"{name}.{kind}"
    command = [
        *OURS,
        "convert",
        "-q",
        f"{name}.nc",
        target,
        "--to",
        "reference",
        "--metadata",
        "zarr2",
        "--inline",
        "0",
    ]
    return Side(command, [target])


def _compare(folder: Path, entries: int) -> str:
    """Every reference of both; the URLs may be spelled otherwise, and the metadata are not compared."""
    documents = [json.loads((folder / name).read_text())["refs"] for name in ("theirs.json", "c1.json")]
    first, second = ({key: each for key, each in found.items() if isinstance(each, list)} for found in documents)
    if len(first) != entries or first.keys() != second.keys():
        raise AssertionError(f"{len(first)} and {len(second)} references, not {entries}")
    for key, (url, *place) in first.items():
        if second[key][1:] != place or Path(url).name != Path(second[key][0]).name:
            raise AssertionError(f"{key}: {first[key]} and {second[key]}")
    return f"{entries} references"


if __name__ == "__main__":
    main(row)
