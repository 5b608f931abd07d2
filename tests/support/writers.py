"""Two writers of one target, and writers that are killed: no committed record is lost, and none is half written.

A pair pauses one `append` at a step, runs another to its end, and lets the first go on. A kill ends one at a step.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import nczarr
from tests.remote.conftest import S3
from tests.support.repositories import icechunk
from tests.support.stepped import Ended, Running, run

WIDTH = 5


class Kind(NamedTuple):
    """A kind of target."""

    suffix: str
    """End of its name."""
    options: dict[str, object]
    """Options that make it."""
    command: tuple[str, ...] = ("append",)
    """Command that extends it."""


KINDS = {
    "zarr2": Kind(".zarr", {"format": "zarr2", "consolidated": True}),
    "zarr3": Kind(".zarr", {"format": "zarr3", "consolidated": True}),
    "nczarr": Kind(".zarr", {"format": "nczarr"}),
    "nczarr3-shards": Kind(".zarr", {"format": "nczarr3", "shards": {"/v": (8, 3)}}),
    "netcdf4": Kind(".nc", {"kind": "nc4"}),
    "netcdf3": Kind(".nc", {"kind": "nc3"}),
    "json": Kind(".json", {}, ("refs", "append")),
    "parquet": Kind(".parq", {}, ("refs", "append")),
    "icechunk": Kind(".repository", {}),
}


def records(count: int, seed: int, *, start: int | None = None) -> nczarr.DatasetHandle:
    """Records whose values tell their source; without a coordinate, they may follow in any order."""
    built = nczarr.DatasetBuilder("t")
    time, x = built.dimension("time", count, unlimited=True), built.dimension("x", WIDTH)
    built.variable("v", "int", [time, x], chunks=(4, 3))
    data = {"/v": np.arange(count)[:, None] * 10 + np.arange(WIDTH) + 1000 * seed}
    if start is not None:
        built.variable("time", "double", [time], chunks=(4,))
        data["/time"] = np.arange(start, start + count, dtype="f8")
    return built.finish(data=data)


def values(seed: int, count: int) -> np.ndarray:
    return np.arange(count)[:, None] * 10 + np.arange(WIDTH) + 1000 * seed


class Place:
    """A target that is made anew from what it was, local or in a bucket."""

    def __init__(self, folder: Path, kind: str, s3: S3 | None, *, coordinate: bool) -> None:
        self.kind = KINDS[kind]
        self.folder = folder
        self.references = self.kind.command[0] == "refs"
        counts = (8, 8, 8) if self.references else (6, 7, 5)  # references need whole chunks
        starts = np.cumsum([0, *counts])
        self.counts = counts
        for number, name in enumerate(("base", "one", "other")):
            start = int(starts[1 if number else 0]) if coordinate else None
            made = records(counts[number], number, start=start)
            nczarr.write(made, folder / f"{name}.nc", kind="nc3" if kind == "netcdf3" else "nc4")
        self.before = folder / f"before{self.kind.suffix}"
        self.local = folder / f"t{self.kind.suffix}"
        self.is_repository = kind == "icechunk"
        self.target = f"icechunk:{self.local}" if self.is_repository else str(self.local)
        if self.references:
            nczarr.refs.combine([folder / "base.nc"], self.before, along="time")
        elif self.is_repository:
            nczarr.convert(folder / "base.nc", f"icechunk:{self.before}")
        else:
            nczarr.convert(folder / "base.nc", self.before, **self.kind.options)  # type: ignore[arg-type]
        self.s3 = s3
        if s3 is not None:
            self.target = s3.url(f"writers/{folder.name}/t{self.kind.suffix}")

    def reset(self) -> None:
        """Make the target as it was, and nothing beside it."""
        if self.s3 is None:
            for path in self.folder.glob(f"*t{self.kind.suffix}*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            (shutil.copytree if self.before.is_dir() else shutil.copy2)(self.before, self.local)
            return
        import fsspec

        system = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        root = self.target.removeprefix("s3://")
        for path in system.find(root.rpartition("/")[0]):
            system.rm_file(path)
        if self.before.is_file():
            system.pipe_file(root, self.before.read_bytes())
            return
        for path in self.before.rglob("*"):
            if path.is_file():
                system.pipe_file(f"{root}/{path.relative_to(self.before)}", path.read_bytes())

    def beside(self) -> list[str]:
        """Names in the folder of the target that a run has left."""
        if self.s3 is None:
            return sorted(p.name for p in self.folder.glob(f"*t{self.kind.suffix}*") if p != self.local)
        import fsspec

        system = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        root = self.target.removeprefix("s3://")
        return [path for path in system.find(root.rpartition("/")[0]) if not f"{path}/".startswith(f"{root}/")]

    def arguments(self, source: str) -> list[str]:
        path = str(self.folder / f"{source}.nc")
        if self.references:
            return ["refs", "append", self.target, path, "--along", "time", "--workers", "1"]
        return ["append", path, self.target, "--along", "time", "--workers", "1"]

    def read(self) -> np.ndarray:
        with nczarr.open(self.target) as dataset:
            return np.asarray(dataset["v"][:])

    def is_state(self, found: np.ndarray, *numbers: int) -> bool:
        """Return whether values are those of the base and of these sources, in this order."""
        right = np.concatenate([values(number, self.counts[number]) for number in (0, *numbers)])
        return found.shape == right.shape and bool((found == right).all())


def refused(ended: Ended) -> bool:
    """Return whether a run says that it was refused."""
    codes = ("busy-target", "misplaced-records", "target-exists", "unextendable-target")
    return ended.status in (1, 2) and any(code in ended.err for code in codes)


def check_pairs(place: Place, pairs: int, *, coordinate: bool = False) -> Counter[str]:
    """Pause one run at steps of its way, run another beside it; return how often which of them wrote."""
    place.reset()
    steps = run(str(place.folder), place.arguments("one")).steps
    assert place.is_state(place.read(), 1)
    seen: Counter[str] = Counter()
    for number in range(pairs):
        at = 1 + number * steps // pairs if pairs < steps else 1 + number % steps
        place.reset()
        one = Running(str(place.folder), place.arguments("one"), how="pause", at=at)
        one.paused()
        other = run(str(place.folder), place.arguments("other"))
        first = one.end()
        told = f"step {at} of {steps}: {first}, {other}"
        assert first.status == 0 or refused(first), told
        assert other.status == 0 or refused(other), told
        assert "Traceback" not in first.err + other.err
        found = place.read()
        wrote = tuple(n for n, ended in ((1, first), (2, other)) if ended.status == 0)
        assert wrote, told
        assert place.is_state(found, *wrote) or place.is_state(found, *wrote[::-1]), told
        assert not (coordinate and len(wrote) == 2), told
        assert place.beside() == [], told
        seen[str(wrote)] += 1
    return seen


def check_kills(place: Place, kills: int) -> Counter[str]:
    """Kill a run at steps of its way, and run it again; return how often it had written, and what the next said."""
    place.reset()
    steps = run(str(place.folder), place.arguments("one")).steps
    seen: Counter[str] = Counter()
    for number in range(kills):
        at = 1 + number * steps // kills if kills < steps else 1 + number % steps
        place.reset()
        killed = run(str(place.folder), place.arguments("one"), how="kill", at=at)
        assert killed.status == -9, f"step {at} of {steps}: {killed}"
        found = place.read()
        before, after = place.is_state(found), place.is_state(found, 1)
        assert before or after, f"step {at} of {steps}"
        left = [name for name in place.beside() if ".partial-" in name or ".replaced-" in name]
        again = run(str(place.folder), place.arguments("one"))
        told = f"step {at} of {steps}: {again}, {left}"
        assert all(name in again.err for name in left), told
        assert again.status == 0 or (after and again.status == 1 and "misplaced-records" in again.err), told
        assert place.is_state(place.read(), 1), told
        repeated = run(str(place.folder), place.arguments("one"))
        assert (repeated.status, "misplaced-records" in repeated.err) == (1, True), repeated
        assert place.is_state(place.read(), 1), told
        assert not [name for name in place.beside() if ".partial-" not in name and ".replaced-" not in name], told
        seen[f"{'after' if after else 'before'}, then {again.status}"] += 1
    return seen


def make(folder: Path, kind: str, s3: S3 | None = None, *, coordinate: bool) -> Place:
    """Make a target of a kind, or skip the test visibly."""
    if KINDS[kind].command[0] == "refs":
        pytest.importorskip("pyarrow")
    if kind == "icechunk":
        icechunk()
    return Place(folder, kind, s3, coordinate=coordinate)
