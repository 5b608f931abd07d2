"""Two writers of one target, and writers that are killed: no committed record is lost, and none is half written.

A pair pauses one writer at a step, runs another to its end, and lets the first go on. A kill ends one at a step.
Writers append, overwrite, resume or combine.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import nczarr
from nczarr.stores.base import JOURNAL
from nczarr.stores.lock import SUFFIX
from tests.conftest import run_command
from tests.support.repositories import icechunk
from tests.support.s3 import S3
from tests.support.stepped import Ended, How, Running

WIDTH = 5

PATIENCE = 60.0
"""Seconds after which what a process should remove has stayed."""

REPEATED = 10
"""Kills of which one is followed by two further runs."""


class Kind(NamedTuple):
    """A kind of target."""

    suffix: str
    """End of its name."""
    options: tuple[str, ...]
    """Options of `convert` that make it."""
    is_reference: bool = False
    """True for a reference document."""


KINDS = {
    "zarr2": Kind(".zarr", ("--to", "zarr2", "--consolidated")),
    "zarr3": Kind(".zarr", ("--to", "zarr3", "--consolidated")),
    "nczarr": Kind(".zarr", ("--to", "nczarr")),
    "nczarr3-shards": Kind(".zarr", ("--to", "nczarr3", "--shards", "/v=8,3")),
    "netcdf4": Kind(".nc", ("--kind", "nc4")),
    "netcdf3": Kind(".nc", ("--kind", "nc3")),
    "json": Kind(".json", (), is_reference=True),
    "parquet": Kind(".parq", (), is_reference=True),
    "icechunk": Kind(".repository", ()),
}

REFUSALS = {
    "append": ("busy-target", "misplaced-records"),
    "overwrite": ("busy-target",),
    "resume": ("busy-target", "unequal-target", "target-exists"),  # in a bucket, an unfinished target of another source
    "combine": ("busy-target",),
}
"""Codes of refused runs by command."""

RESUMED = 0.6
"""Part of its steps that a run does before it is killed, and then resumed."""


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
    """A target that is made anew from what it was, local or in a bucket, and the command of its writers."""

    def __init__(self, folder: Path, kind: str, s3: S3 | None, *, coordinate: bool, command: str) -> None:
        self.kind = KINDS[kind]
        self.command = command
        self.folder = folder
        counts = (8, 8, 8) if self.kind.is_reference else (6, 7, 5)  # references need whole chunks
        starts = np.cumsum([0, *counts])
        self.counts = counts
        for number, name in enumerate(("base", "one", "other")):
            start = int(starts[1 if number else 0]) if coordinate else None
            made = records(counts[number], number, start=start)
            nczarr.write(made, folder / f"{name}.nc", kind="nc3" if kind == "netcdf3" else "nc4")
        self.saved = folder / "saved"
        self.saved.mkdir()
        name = f"t{self.kind.suffix}"
        self.scheme = "icechunk:" if kind == "icechunk" else ""
        self.s3 = s3
        self.place = str(folder / name) if s3 is None else s3.url(f"writers/{folder.name}/{name}")
        self.target = f"{self.scheme}{self.place}"
        if command == "resume":
            self._save_unfinished()
            return
        before = f"{self.scheme}{self.saved / name}"
        words = ["refs", "combine", "-o", before] if self.kind.is_reference else ["convert", "--to", "icechunk"]
        words = words if self.kind.is_reference or self.scheme else ["convert", *self.kind.options]
        source = str(folder / "base.nc")
        done = run_command(*words, source, *(["--along", "time"] if self.kind.is_reference else [before]))
        assert done.status == 0, done.err

    def _save_unfinished(self) -> None:
        """Save what a killed run leaves. Servers may keep empty folders, so steps are counted in another place."""
        target, name = self.target, f"t{self.kind.suffix}"
        self.target = f"{target.removesuffix(name)}first/{name}"
        if self.s3 is None:
            (self.folder / "first").mkdir()
        steps = self.run("one").steps
        self.target = target
        killed = self.run("one", how="kill", at=int(RESUMED * steps))
        assert killed.status == -9, killed
        system, folder = self._files()
        for path in system.find(folder):
            if self._is_ours(path) and not path.endswith(SUFFIX):
                system.get_file(path, self._made(self.saved / path.removeprefix(folder).lstrip("/")))
        assert list(self.saved.iterdir()), "nothing is left to resume"

    def _files(self) -> tuple[Any, str]:
        """Return the file system of the target, and the folder of the target in it."""
        import fsspec

        protocol = "file" if self.s3 is None else "s3"
        system = fsspec.filesystem(protocol, skip_instance_cache=True, use_listings_cache=False)
        return system, self.place.removeprefix("s3://").rpartition("/")[0]

    def _is_ours(self, path: str) -> bool:
        """Return whether a path is in the target or beside it, and not of the harness."""
        name = path.removeprefix(self._files()[1]).lstrip("/").partition("/")[0]
        return f"t{self.kind.suffix}" in name

    @staticmethod
    def _made(path: Path) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path)

    def clear(self) -> None:
        """Remove the target, and everything beside it."""
        system, folder = self._files()
        if self.s3 is not None:
            for path in system.find(folder):
                system.rm_file(path)
            return
        for path in self.folder.glob(f"*t{self.kind.suffix}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def reset(self) -> None:
        """Make the target as it was, and nothing beside it."""
        self.clear()
        system, folder = self._files()
        for path in sorted(self.saved.rglob("*")):
            name = path.relative_to(self.saved)
            if self.s3 is not None and path.is_file():
                system.pipe_file(f"{folder}/{name}", path.read_bytes())
            elif self.s3 is None and path.is_dir():
                (self.folder / name).mkdir()
            elif self.s3 is None:
                shutil.copy2(path, self.folder / name)

    def beside(self) -> list[str]:
        """Names in the folder of the target that a run has left."""
        system, folder = self._files()
        names = {path.removeprefix(folder).lstrip("/").partition("/")[0] for path in system.find(folder, withdirs=True)}
        return sorted(name for name in names if self._is_ours(f"{folder}/{name}") and name != f"t{self.kind.suffix}")

    def wait_for_removers(self) -> None:
        """Wait until the processes have ended that remove what killed runs were removing."""
        end = time.monotonic() + PATIENCE
        while any(".removed-" in name for name in self.beside()) and time.monotonic() < end:
            time.sleep(0.01)

    def arguments(self, source: str) -> list[str]:
        """Return the command line of the writer of a source."""
        path, single = str(self.folder / f"{source}.nc"), ["--workers", "1"]
        along = ["--along", "time"]
        if self.command == "combine":
            sources = [str(self.folder / "base.nc"), path]
            return ["refs", "combine", *sources, *along, "-o", self.target, "--overwrite", *single]
        if self.command != "append":
            return ["convert", path, self.target, *self.kind.options, f"--{self.command}", *single]
        if self.kind.is_reference:
            return ["refs", "append", self.target, path, *along, *single]
        return ["append", path, self.target, *along, *single]

    def start(self, source: str, *, how: How = "count", at: int = 0) -> Running:
        """Start the writer of a source."""
        return Running(str(self.folder), self.arguments(source), how=how, at=at)

    def run(self, source: str, *, how: How = "count", at: int = 0) -> Ended:
        """Run the writer of a source to its end."""
        return self.start(source, how=how, at=at).end()

    def read(self) -> np.ndarray | None:
        """Return the values of the target; None without a finished one."""
        system, _ = self._files()
        there = self.place.removeprefix("s3://")
        if self.command == "resume" and (not system.exists(there) or system.exists(f"{there}/{JOURNAL}")):
            return None
        with nczarr.open(self.target) as dataset:
            return np.asarray(dataset["v"][:])

    def state(self, *wrote: int) -> np.ndarray | None:
        """Return the values after these sources were written, in this order."""
        if self.command in ("append", "combine"):
            order = (0, *(wrote if self.command == "append" else wrote[-1:]))
            return np.concatenate([values(number, self.counts[number]) for number in order])
        if not wrote:
            return None if self.command == "resume" else values(0, self.counts[0])
        return values(wrote[-1], self.counts[wrote[-1]])

    def is_state(self, *wrote: int) -> bool:
        """Return whether the target holds what it has after these sources, in this order."""
        there, right = self.read(), self.state(*wrote)
        if there is None or right is None:
            return there is right
        return there.shape == right.shape and bool((there == right).all())

    def refuses(self, ended: Ended) -> bool:
        """Return whether a run says that it was refused."""
        codes = (f"error[{code}]" for code in REFUSALS[self.command])
        return ended.status in (1, 2) and any(code in ended.err for code in codes)


def stepped(steps: int, count: int) -> Iterator[int]:
    """Yield steps of a run from its last, every second one of its last third, where it commits; the others of all."""
    third, places = max(1, steps // 3), (count + 1) // 2
    for number in range(count):
        length, place = (third if number % 2 else steps), number // 2
        last = place * (length - 1) // max(1, places - 1) if places < length else place % length
        yield steps - last


def check_pairs(place: Place, pairs: int, *, coordinate: bool = False) -> Counter[str]:
    """Pause one run at steps of its way, run another beside it; return how often which of them wrote."""
    place.reset()
    steps = place.run("one").steps
    assert place.is_state(1)
    outcomes: Counter[str] = Counter()
    for number, at in enumerate(stepped(steps, pairs)):
        place.reset()
        paused = place.start("one", how="pause", at=at)
        paused.paused()
        is_same = place.command == "resume" and number % 4 < 2
        other = place.run("one" if is_same else "other")
        one = paused.end()
        text = f"step {at} of {steps}: {one}, {other}"
        assert one.status == 0 or place.refuses(one), text
        assert other.status == 0 or place.refuses(other), text
        assert "Traceback" not in one.err + other.err
        wrote = [n for n, ended in ((1, one), (1 if is_same else 2, other)) if ended.status == 0]
        assert wrote, text
        assert place.is_state(*wrote) or place.is_state(*reversed(wrote)), text
        assert not (coordinate and place.command == "append" and len(wrote) == 2), text
        assert [name for name in place.beside() if not (place.command == "resume" and ".partial-" in name)] == [], text
        codes = {code for code in REFUSALS[place.command] if code in one.err + other.err}
        outcomes[f"wrote {wrote}, refused {sorted(codes)}"] += 1
    return outcomes


def check_kills(place: Place, kills: int) -> Counter[str]:
    """Kill a run at steps of its way, and run it again; return how often it had written, and what the next said."""
    place.reset()
    steps = place.run("one").steps
    outcomes: Counter[str] = Counter()
    for number, at in enumerate(stepped(steps, kills)):
        place.reset()
        killed = place.run("one", how="kill", at=at)
        assert killed.status == -9, f"step {at} of {steps}: {killed}"
        before, after = place.is_state(), place.is_state(1)
        assert before or after, f"step {at} of {steps}"
        left = [name for name in place.beside() if ".partial-" in name or ".replaced-" in name]
        again = place.run("one")
        text = f"step {at} of {steps}: {again}, {left}"
        assert place.command == "resume" or all(name in again.err for name in left), text
        appended = place.command == "append"
        assert again.status == 0 or (appended and after and again.status == 1 and "misplaced-records" in again.err), (
            text
        )
        assert place.is_state(1), text
        if appended and number % REPEATED == 0:
            repeated = place.run("one")
            assert (repeated.status, "misplaced-records" in repeated.err) == (1, True), repeated
            assert place.is_state(1), text
        place.wait_for_removers()
        assert not [name for name in place.beside() if ".partial-" not in name and ".replaced-" not in name], text
        outcomes[f"{'after' if after else 'before'}, then {again.status}"] += 1
    outcomes["steps"] = steps
    return outcomes


def make(folder: Path, kind: str, s3: S3 | None = None, *, coordinate: bool, command: str = "append") -> Place:
    """Make a target of a kind and the command of its writers, or skip the test visibly."""
    if KINDS[kind].is_reference:
        pytest.importorskip("pyarrow")
    if kind == "icechunk":
        icechunk()
    return Place(folder, kind, s3, coordinate=coordinate, command=command)
