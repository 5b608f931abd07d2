"""Commands that write a target, by command and kind of target, and the state in which a run leaves it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nczarr
from nczarr.stores.directory import GROWING
from tests.conftest import run_command

KINDS = {
    "nc3": ("t.nc", ["--kind", "nc3", "--header-pad", "1KiB"]),
    "nc4": ("t.nc", ["--kind", "nc4"]),
    "nczarr": ("t.zarr", ["--to", "nczarr"]),
    "zarr2": ("t.zarr", ["--to", "zarr2", "--consolidated"]),
    "zarr3": ("t.zarr", ["--to", "zarr3"]),
    "nczarr3": ("t.zarr", ["--to", "nczarr3", "--shards", "/v=4,3"]),
    "zip": ("t.zip", ["--to", "zarr2"]),
    "json": ("t.json", []),
    "parquet": ("t.parq", []),
}
"""Name and options of a target by kind."""

REFERENCES = ("json", "parquet")
STORES = ("nczarr", "zarr2", "zarr3", "nczarr3")
FILES = ("nc3", "nc4")
MIGRATED = {"nczarr": "zarr3", "zarr2": "nczarr", "zarr3": "nczarr3", "nczarr3": "zarr3"}

COMMANDS = {
    "convert": tuple(KINDS),
    "overwrite": tuple(KINDS),
    "combine": tuple(KINDS),
    "append": (*FILES, *STORES, *REFERENCES),
    "rechunk": ("nc4", *STORES, "zip"),
    "edit": (*FILES, *STORES, "zip", "json"),
    "undo": (*FILES, *STORES, "zip", "json"),
    "migrate": STORES,
    "restore": STORES,
}
"""Kinds of targets that each command writes."""

SCENARIOS = [(command, kind) for command, kinds in COMMANDS.items() for kind in kinds]

LOCK = ".nczarr-lock"

RECOVER = "--recover"
"""Option by which messages complete a change."""

Content = dict[str, bytes | None]
"""Bytes of files by path; None: a folder."""


class State(NamedTuple):
    """Target of a scenario after a run."""

    name: str
    """`old`, `new`, `old or new` where only documents differ, or `other`: the content of the target."""
    left: list[str]
    """Names beside the target, and of unfinished files in it, that should not be there."""
    missing: list[str]
    """Names beside the target that should be there."""


class Scenario:
    """A command that writes a target, in a folder that is made as it was for each run."""

    def __init__(self, folder: Path, command: str, kind: str) -> None:
        self.command, self.kind = command, kind
        self.here = folder / "here"
        self._saved = folder / "saved"
        self.name, self._options = KINDS[kind]
        self.target = self.here / self.name
        self.here.mkdir(parents=True)
        file = "nc3" if kind == "nc3" else "nc4"
        for name, start in (("base.nc", 0), ("more.nc", 4)):
            nczarr.write(_records(start), self.here / name, kind=file)
        self._make()
        shutil.copytree(self.here, self._saved)
        self._old = self._look()
        self._new: tuple[Content, str | None, list[str]] = ({}, None, [])

    def _make(self) -> None:
        """Write what is there before the command. Its paths are those in `here`."""
        write = ["convert", str(self.here / "base.nc"), str(self.target), *self._options]
        before = {
            "undo": [write, ["edit", str(self.target), "--set", '@title="a longer title"']],
            "restore": [write, ["migrate", str(self.target), "--to", MIGRATED.get(self.kind, ""), *LOSSES]],
        }
        needs_target = self.command in ("overwrite", "append", "edit", "migrate")
        for words in before.get(self.command, [write] if needs_target else []):
            done = run_command(*words)
            assert done.status == 0, (words, done)

    @property
    def words(self) -> list[str]:
        """Command line, in the folder."""
        name, options, alone = self.name, self._options, ["--workers", "1"]
        along = ["--along", "time"]
        undo = f"{name}.undo-1.json"
        return {
            "convert": ["convert", "more.nc", name, *options, *alone],
            "overwrite": ["convert", "more.nc", name, *options, "--overwrite", *alone],
            "combine": ["combine", "base.nc", "more.nc", name, *along, *options, *alone],
            "append": ["append", "more.nc", name, *along, *alone],
            "rechunk": ["rechunk", "base.nc", name, *options[:2], "--chunks", "/v=4,1", *alone],
            "edit": ["edit", name, "--set", '@title="a longer title"'],
            "undo": ["edit", name, "--undo", undo],
            "migrate": ["migrate", name, "--to", MIGRATED.get(self.kind, ""), *LOSSES],
            "restore": ["migrate", name, "--undo", undo],
        }[self.command]

    @property
    def recovery(self) -> list[str]:
        """Command that completes a change, as messages of status 4 say."""
        return ["edit", self.name, RECOVER]

    def reset(self) -> None:
        """Make the folder as it was."""
        shutil.rmtree(self.here)
        shutil.copytree(self._saved, self.here)

    def learn(self) -> None:
        """Take the folder as a run without failures leaves it."""
        self._new = self._look()
        assert self._new[1] != self._old[1] or self.command in ("rechunk", "migrate", "restore")

    def _look(self) -> tuple[Content, str | None, list[str]]:
        return _content(self.target), self.digest(), sorted(path.name for path in self.here.iterdir())

    def digest(self) -> str | None:
        """Return the digest of the target; None if it does not exist."""
        return nczarr.digest(self.target) if self.target.exists() else None

    def state(self) -> State:
        """Compare the target with what it was and with what it becomes."""
        content, names = _content(self.target), sorted(path.name for path in self.here.iterdir())
        growing = sorted(path for path in content if GROWING in path)  # readers and later writers know what it is
        content = {path: data for path, data in content.items() if path not in growing}
        name = next((name for name, was in (("old", self._old), ("new", self._new)) if content == was[0]), "")
        if not name:
            digest = self.digest()
            equal = [name for name, was in (("old", self._old), ("new", self._new)) if digest == was[1]]
            name = " or ".join(equal) or f"other: {digest}"
        expected = self._old[2] if name == "old" else self._new[2]
        return State(name, sorted({*names} - {*expected}) + growing, sorted(set(expected) - set(names)))


LOSSES = ("--allow-loss", "all")


def _content(path: Path) -> Content:
    if not path.is_dir():
        return {"": path.read_bytes()} if path.exists() else {}
    return {
        str(each.relative_to(path)): each.read_bytes() if each.is_file() else None
        for each in _walk(path)
    }  # fmt: skip


def _walk(path: Path) -> Iterator[Path]:
    for each in path.iterdir():
        yield each
        if each.is_dir():
            yield from _walk(each)


def _records(start: int) -> nczarr.DatasetHandle:
    built = nczarr.DatasetBuilder("t")
    time, x = built.dimension("time", 4, unlimited=True), built.dimension("x", 3)
    built.attribute("title", "t")
    built.variable("time", "double", [time], chunks=(4,)).attribute("units", "days since 2000-01-01")
    built.variable("v", "int", [time, x], chunks=(2, 3)).attribute("units", "K")
    records = np.arange(start, start + 4)
    return built.finish(data={"/time": records.astype("f8"), "/v": records[:, None] * 10 + np.arange(3)})
