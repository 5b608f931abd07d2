"""Row B6: 900 MB in chunks of (1, 750, 750) to chunks of (400, 50, 50) within a sixteenth of the values, against
rechunker and dask's p2p. Goal: 0.7 of the time of each. A run that is killed in each pass and resumed has equal values.

rechunker needs Zarr 2: NCZARR_RECHUNKER names an interpreter that has both.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from fields import HERE
from harness import OURS, Side, apart, main, measure, need, need_beside

MEASURES = ("api", "arrays", "link", "stores", "formats/zarr")

SHAPE, QUICK = (400, 750, 750), (64, 300, 300)
ROUNDS = 3


def make_source(path: Path, shape: tuple[int, int, int]) -> str:
    """A Zarr v2 store of maps, shuffled and compressed by blosc to two thirds, from a seed."""
    import numcodecs
    import numpy as np
    import zarr

    steps, rows, columns = shape
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    array = group.create_array(
        "v", shape=shape, chunks=(1, rows, columns), dtype="f4", compressors=numcodecs.Blosc("lz4"), fill_value=None
    )
    array.attrs["_ARRAY_DIMENSIONS"] = ["t", "y", "x"]
    pick = np.random.default_rng(1)
    base = np.add.outer(np.sin(np.arange(rows) / 100), np.cos(np.arange(columns) / 70)).astype("f4") * 10 + 280
    for step in range(steps):
        noise = pick.normal(0, 0.5, (rows, columns)).astype("f4")
        array[step] = np.round(base + np.float32(np.sin(step / 30) * 3) + noise, 2)
    return ""


def digest_of(folder: Path, *names: str) -> list[str]:
    """The digests of stores."""
    done = subprocess.run([*OURS, "digest", *names], cwd=folder, capture_output=True, text=True, check=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


def compare_values(one: Path, other: Path) -> None:
    """Compare the array of two stores, block by block. Raises AssertionError."""
    import zarr

    mine, theirs = zarr.open_array(str(one / "v")), zarr.open_array(str(other / "v"))
    assert mine.shape == theirs.shape
    for start in range(0, mine.shape[1], 50):
        assert mine[:, start : start + 50].tobytes() == theirs[:, start : start + 50].tobytes(), f"rows from {start}"


def scratch_size(folder: Path) -> int:
    """Bytes of the scratch array of a run."""
    files = (path for path in folder.glob("killed*.scratch*/c/**/*") if path.is_file())
    try:
        return sum(path.stat().st_size for path in files)
    except FileNotFoundError:
        return 0


def count_chunks(folder: Path) -> int:
    """Chunks of an unfinished target."""
    return sum(1 for _ in folder.glob("killed.zarr.partial-*/v/[0-9]*"))


def kill_and_resume(folder: Path, command: list[str], size: int) -> str:
    """Kill a run in its first pass, the next in its second, and let the third end; return what was seen."""
    command = [*command, "--resume"]
    seen = []
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    for is_reached in (lambda: scratch_size(folder) > size // 3, lambda: count_chunks(folder) > 10):
        run = subprocess.Popen(command, cwd=folder, env=environment)
        while run.poll() is None and not is_reached():
            time.sleep(0.002)
        assert run.poll() is None, "the run ended before it was killed"
        run.send_signal(signal.SIGKILL)
        run.wait()
        seen.append(f"{scratch_size(folder) / 1e9:.2f} GB of scratch and {count_chunks(folder)} chunks")
    subprocess.run(command, cwd=folder, check=True, env=environment)
    assert not list(folder.glob("killed*.scratch*")), "the scratch array is still there"
    return f"killed at {' and '.join(seen)}, resumed"


def row(folder: Path, quick: bool) -> bool:
    """Two passes within a sixteenth of the values."""
    need("zarr", "xarray", "distributed")
    shape = QUICK if quick else SHAPE
    size = shape[0] * shape[1] * shape[2] * 4
    memory = size // 16
    apart(lambda: make_source(folder / "maps.zarr", shape))
    chunks = ["--to", "zarr2", "--chunks", f"t={shape[0]},y=50,x=50", "--memory", str(memory), "-q"]
    ours = Side([*OURS, "rechunk", "maps.zarr", "ours.zarr", *chunks], ["ours.zarr"])
    peers = {"p2p": sys.executable, "rechunker": os.environ.get("NCZARR_RECHUNKER", "")}
    met = True
    for name, interpreter in peers.items():
        if not interpreter:
            continue
        if name == "rechunker":
            need_beside("NCZARR_RECHUNKER", name)
        script = [interpreter, str(HERE / "rechunk_peers.py"), "maps.zarr", f"{name}.zarr", str(memory), name]
        peer = Side(script, [f"{name}.zarr", f"{name}.zarr.scratch"])

        def compare(target: str = f"{name}.zarr") -> str:
            said = kill_and_resume(folder, [*OURS, "rechunk", "maps.zarr", "killed.zarr", *chunks], size)
            digests = digest_of(folder, "maps.zarr", "ours.zarr", "killed.zarr")
            assert len(set(digests)) == 1, digests
            compare_values(folder / "ours.zarr", folder / target)
            (folder / "killed.zarr").rename(folder / f"killed.{time.monotonic_ns()}")
            return f"every value, and one digest of three stores; {said}"

        rounds = 1 if quick else ROUNDS
        peak = memory * 1.3 + (80 << 20)
        met = measure(f"B6, {name}", 0.7, peer, ours, folder, compare, rounds, peak_goal=peak) and met
    return met


if __name__ == "__main__":
    main(row)
