"""Row G2: `check --data` of 2 GB of values, shuffled and deflated to 500 MB in netCDF-4, against h5py reading all of
them, and against zlib-ng inflating every chunk in two threads and nothing else.

Goals: 0.5 and 1.3 (1.0 and 4.0 for small inputs, where the start of a process counts), within 150 MB. Compared: both
h5py and `check --data` accept the file, and refuse a copy in which one byte of a chunk is another.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from fields import HERE, make_file, steps
from harness import OURS, Side, main, measure, need

MEASURES = ("arrays", "cli", "formats/netcdf4", "plugins/damage", "semantics")

READ = """
import h5py, sys
with h5py.File(sys.argv[1]) as file:
    for start in range(0, file["t"].shape[0]):
        file["t"][start]
"""


def compare(folder: Path) -> str:
    """Damage a chunk, and see who finds it. Raises AssertionError."""
    import h5py

    shutil.copy(folder / "a.nc", folder / "damaged.nc")
    with h5py.File(folder / "a.nc") as file:
        chunk = file["t"].id.get_chunk_info(7)
    with (folder / "damaged.nc").open("r+b") as file:
        file.seek(chunk.byte_offset + chunk.size // 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 255]))
    for command in ([*OURS, "check", "--data"], [sys.executable, "-c", READ]):
        for name, is_good in (("a.nc", True), ("damaged.nc", False)):
            done = subprocess.run([*command, name], cwd=folder, capture_output=True, text=True, check=False)
            assert (done.returncode == 0) == is_good, (command, name, done.stderr[-500:])
    return "the file is accepted, its damaged copy refused"


def row(folder: Path, quick: bool) -> bool:
    """Every chunk of the file."""
    need("netCDF4", "h5py", "zlib_ng")
    make_file(folder / "a.nc", steps(quick))
    ours = Side([*OURS, "check", "--data", "a.nc", "-q"])
    h5py = Side([sys.executable, "-c", READ, "a.nc"])
    inflating = Side([sys.executable, str(HERE / "inflate_chunks.py"), "a.nc"])
    goals = (1.0, 4.0) if quick else (0.5, 1.3)
    met = measure("G2, h5py", goals[0], h5py, ours, folder, lambda: compare(folder), 3, peak_goal=150e6)
    return (
        measure("G2, inflating", goals[1], inflating, ours, folder, lambda: compare(folder), 3, peak_goal=150e6) and met
    )


if __name__ == "__main__":
    main(row)
