"""Rows X1 and X2: load all values of 200 MB of float32, a smooth field with noise, in chunks of 1 MB.

X1 is netCDF-4 with shuffle and deflate 4, beside h5py and netCDF4, on all processors and on one. X2 are the same
values as Zarr v2 with shuffle and zlib, as Zarr v3 with zstd, and in shards, beside zarr-python. Each process
measures from the opening of the file to the last value: what an import takes is not counted.

Goals: X1 0.25 of h5py, on one processor 0.40; of netCDF4 0.60 and 0.75; two processors 0.6 of one; X2 0.30 of
zarr-python; a peak of memory of 200 MB beside the values and the interpreter. Compared: every bit of every value.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import Run, Side, execute, main, measure, need

MEASURES = ("api", "arrays", "formats/netcdf4", "formats/zarr")

NAMES = "uvwq"
BESIDE = 200 << 20
"""Bytes that a load may take beside its values."""

SETTLING = 0.3
"""Seconds after the imports: the threads of OpenBLAS, which NumPy starts, keep all processors busy for 0.1 s."""

INTERPRETER = 60 << 20
"""Bytes of an interpreter with NumPy and our modules."""


@dataclass(frozen=True)
class Load(Side):
    """A process that loads all values, and says what that took."""

    def run(self, folder: Path) -> Run:
        """Return the seconds that the load took, without those of the interpreter."""
        whole = super().run(folder)
        seconds, work = json.loads((folder / "log.txt").read_text().splitlines()[-1])
        return replace(whole, seconds=seconds, work=work)


def load(reader: str, path: str, key: Any = ...) -> dict[str, Any]:
    """Return the values of a key by name."""
    if reader == "h5py":
        import h5py

        with h5py.File(path) as file:
            return {name: file[name][key] for name in NAMES}
    if reader == "netCDF4":
        import netCDF4

        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            return {name: file[name][key] for name in NAMES}
    if reader == "zarr":
        import zarr

        group = zarr.open_group(path, mode="r")
        return {name: group[name][key] for name in NAMES}
    import nczarr

    dataset = nczarr.open(path)
    return {name: dataset[name][key] for name in NAMES}


def child(reader: str, path: str, processors: int) -> None:
    """Load once on so many processors, after one value of each variable, for which everything is imported."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
    load(reader, path, (0, 0, 0))
    time.sleep(SETTLING)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    values = load(reader, path)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert len(values) == len(NAMES)
    print(json.dumps([seconds, work]))


def side(reader: str, path: str, processors: int = 64) -> Load:
    return Load([sys.executable, str(Path(__file__).resolve()), "--load", reader, path, str(processors)])


def make(folder: Path, steps: int) -> None:
    """Write the field in every form; in a process of its own, whose memory is given back."""
    import netCDF4
    import numcodecs
    import numpy as np
    import zarr

    random_numbers = np.random.default_rng(1)
    y, x = np.meshgrid(np.linspace(0, 6, 512), np.linspace(0, 6, 512), indexing="ij")
    zstd = zarr.codecs.ZstdCodec(level=3)
    forms: dict[str, dict[str, Any]] = {
        "v2": {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib(4)},
        "v3": {"compressors": zstd},
        "shards": {"compressors": zstd, "shards": (10, 512, 512)},
    }
    shape, chunks = (steps, 512, 512), (1, 512, 512)
    groups = {
        name: zarr.open_group(str(folder / name), mode="w", zarr_format=2 if name == "v2" else 3) for name in forms
    }
    with netCDF4.Dataset(folder / "a.nc", "w") as file:
        for name, length in zip("tyx", shape, strict=True):
            file.createDimension(name, length)
        for name in NAMES:
            noise = random_numbers.normal(0, 0.002, shape)
            field = [10 * np.sin(x + k / 9) * np.cos(y) + noise[k] for k in range(steps)]
            values = np.stack(field).astype("f4")
            options = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": chunks}
            file.createVariable(name, "f4", tuple("tyx"), **options)[:] = values
            for form, more in forms.items():
                groups[form].create_array(name, shape=shape, chunks=chunks, dtype="f4", **more)[:] = values


def row(folder: Path, quick: bool) -> bool:
    """Load every form beside the readers that have it."""
    need("h5py", "netCDF4", "zarr")
    steps = 10 if quick else 50
    execute([sys.executable, str(Path(__file__).resolve()), "--make", str(folder), str(steps)], folder)
    size = len(NAMES) * steps << 20

    def compared(reader: str, path: str) -> Any:
        def compare() -> str:
            ours, theirs = load("ours", str(folder / path)), load(reader, str(folder / path))
            for name in NAMES:
                if ours[name].shape != theirs[name].shape or ours[name].tobytes() != theirs[name].tobytes():
                    raise AssertionError(f"`{name}` differs from {reader}'s")
            return f"{size // 4} values"

        return compare

    def beside(name: str, goal: float, reader: str, path: str, processors: int = 64) -> bool:
        """Our load beside a reader's."""
        peer, ours = side(reader, path, processors), side("ours", path, processors)
        peak = size + BESIDE + INTERPRETER
        return measure(name, goal, peer, ours, folder, compared(reader, path), peak_goal=peak)

    met = [
        beside("X1, h5py", 0.25, "h5py", "a.nc"),
        beside("X1, netCDF4", 0.60, "netCDF4", "a.nc"),
        beside("X1, h5py, one processor", 0.40, "h5py", "a.nc", 1),
        beside("X1, netCDF4, one processor", 0.75, "netCDF4", "a.nc", 1),
        measure(
            "X1, two processors",
            0.6,
            side("ours", "a.nc", 1),
            side("ours", "a.nc", 2),
            folder,
            compared("h5py", "a.nc"),
        ),
        *(beside(f"X2, {form}", 0.30, "zarr", form) for form in ("v2", "v3", "shards")),
    ]
    return all(met)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--load", reader, path, processors]:
            child(reader, path, int(processors))
        case ["--make", folder, steps]:
            make(Path(folder), int(steps))
        case _:
            main(row)
