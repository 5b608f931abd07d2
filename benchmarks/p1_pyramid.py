"""Row P1: a pyramid of 4 GB of maps, in chunks of (1, 1024, 1024) of Zarr v3, with four levels above the first, against
ndpyramid and topozarr. Goal: 0.5 of the time of ndpyramid, and a peak of memory of 512 MB.

The maps have cells without values. Sums of the values are exact, so that all levels are equal. NCZARR_PYRAMIDS names an
interpreter with ndpyramid and topozarr, if this one lacks them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fields import HERE
from harness import OURS, Side, apart, main, measure, need, need_beside

MEASURES = ("arrays", "link", "formats/zarr", "plugins/pyramid")

SHAPE, QUICK = (64, 4096, 4096), (4, 1024, 1024)
LEVELS = 4
MEMORY = 256 << 20
PEAK = 512 * 10**6


def make_source(path: Path, shape: tuple[int, int, int], side: int) -> str:
    """A store of maps in whole numbers, a tenth of them missing, from a seed."""
    import numpy as np
    import zarr

    group = zarr.open_group(str(path), mode="w", zarr_format=3)
    array = group.create_array(
        "v", shape=shape, chunks=(1, side, side), dtype="f4", fill_value=float("nan"), dimension_names=["t", "y", "x"]
    )
    steps, rows, columns = shape
    for name, length in (("t", steps), ("y", rows), ("x", columns)):
        axis = group.create_array(name, shape=(length,), dtype="f8", dimension_names=[name])
        axis[:] = np.arange(length) * 0.5
    pick = np.random.default_rng(1)
    base = np.add.outer(np.sin(np.arange(rows) / 100), np.cos(np.arange(columns) / 70)) * 500 + 1000
    for step in range(steps):
        values = np.round(base + pick.normal(0, 5, (rows, columns)) + step).astype("f4")
        values[pick.random((rows, columns), "f4") < 0.1] = np.nan
        array[step] = values
    return ""


def compare_levels(one: Path, other: Path, levels: range) -> str:
    """Compare the variable at some levels of two stores, step by step."""
    import numpy as np
    import zarr

    count = 0
    for level in levels:
        mine, theirs = (zarr.open_array(str(path / str(level) / "v"), mode="r") for path in (one, other))
        assert mine.shape == theirs.shape, (mine.shape, theirs.shape)
        for step in range(mine.shape[0]):
            assert np.array_equal(mine[step], theirs[step], equal_nan=True), (level, step)
        count += mine.size
    return f"{count:,} values of {len(levels)} levels"


def row(folder: Path, quick: bool) -> bool:
    """Overviews beside ndpyramid and topozarr."""
    need("zarr")
    python = os.environ.get("NCZARR_PYRAMIDS", sys.executable)
    if python == sys.executable:
        need("ndpyramid", "topozarr", "xarray", "dask")
    else:
        need_beside("NCZARR_PYRAMIDS", "ndpyramid", "topozarr", "xarray", "dask")
    shape, side = (QUICK, 256) if quick else (SHAPE, 1024)
    apart(lambda: make_source(folder / "a.zarr", shape, side))
    command = [*OURS, "pyramid", "a.zarr", "ours.zarr", "--to", "zarr3", "--levels", str(LEVELS)]
    ours = Side([*command, "--memory", str(MEMORY), "-q"], ["ours.zarr"])
    met = True
    for peer, goal, levels in (("ndpyramid", 0.5, range(LEVELS + 1)), ("topozarr", 1.0, range(2))):
        script = [python, str(HERE / "pyramid_peers.py"), "a.zarr", f"{peer}.zarr", str(LEVELS), str(side), peer]

        def compare(peer: str = peer, levels: range = levels) -> str:
            return compare_levels(folder / "ours.zarr", folder / f"{peer}.zarr", levels)

        side_of_peer = Side(script, [f"{peer}.zarr"])
        rounds = 1 if not quick else 3
        met &= measure(f"P1, {peer}", goal, side_of_peer, ours, folder, compare, rounds, peak_goal=PEAK)
    return met


if __name__ == "__main__":
    main(row)
