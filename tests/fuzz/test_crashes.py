"""A conversion that ends in the middle: killed, or refused by the system. The target is absent or complete, never half.

What is killed leaves an unfinished sibling behind, which nobody takes for the target; what fails cleans up.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT, run_command

SOURCES = ("t.zarr", "t.nc")
TARGETS = ("out.zarr", "out.zip", "out.nc")

SLOW_METADATA = """
    import sys, time
    from nczarr.stores.directory import DirectoryTarget
    from nczarr.stores.base import is_metadata

    put = DirectoryTarget.put
    def slowly(self, key, data):
        if is_metadata(key):
            print("metadata", flush=True)
            time.sleep(0.02)
        put(self, key, data)
    DirectoryTarget.put = slowly
    from nczarr.__main__ import main
    sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A dataset of several variables, as a store and as a file."""
    pytest.importorskip("netCDF4")
    folder = tmp_path_factory.mktemp("sources")
    b = nczarr.DatasetBuilder("t")
    b.dimension("time", 40)
    b.dimension("x", 500)
    data = {}
    for number in range(6):
        path = f"/v{number}"
        b.variable(path[1:], "double", ["time", "x"], chunks=(5, 500)).attribute("units", "K")
        data[path] = np.random.default_rng(number).random((40, 500))
    nczarr.write(b.finish(data=data), folder / "t.zarr", codecs="zlib:1")
    nczarr.convert(folder / "t.zarr", folder / "t.nc")
    return folder


def is_whole(target: Path, sources: Path) -> bool:
    return not nczarr.diff(sources / "t.zarr", target)


def leftovers(folder: Path, target: str) -> list[str]:
    return [name for name in os.listdir(folder) if name != target]


def killed(sources: Path, folder: Path, source: str, target: str, wait: Callable[[Any], None], script: str) -> bool:
    """Kill a conversion after a while; whether the target is there, whole."""
    command = [sys.executable, "-c", textwrap.dedent(script), "convert", str(sources / source), str(folder / target)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    process = subprocess.Popen(
        [*command, "-q"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    wait(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    for name in leftovers(folder, target):
        assert ".partial-" in name or name == f".{target}.nczarr-lock", name  # the lock itself ended with its process
    there = (folder / target).exists()
    if there:
        assert is_whole(folder / target, sources)
    again = run_command("convert", str(sources / source), str(folder / target), "--overwrite", "-q")
    assert again.status == 0, again.err  # what is left behind is in nobody's way
    assert is_whole(folder / target, sources)
    return there


def _kills(sources: Path, tmp_path: Path, count: int) -> list[bool]:
    pick = random.Random(5)
    found = []
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        source, target = SOURCES[number % 2], TARGETS[number % 3]
        seconds = pick.uniform(0.1, 0.8)
        script = SLOW_METADATA.replace("time.sleep(0.02)", "pass").replace('print("metadata", flush=True)', "pass")
        found.append(killed(sources, folder, source, target, lambda process, s=seconds: time.sleep(s), script))  # type: ignore[misc]
    return found


def _kills_in_metadata(sources: Path, tmp_path: Path, count: int) -> list[bool]:
    pick = random.Random(6)
    found = []
    for number in range(count):
        folder = tmp_path / f"m{number}"
        folder.mkdir()
        lines = pick.randrange(1, 12)

        def wait(process: Any, lines: int = lines) -> None:
            for _ in range(lines):
                assert process.stdout.readline() == "metadata\n"
            time.sleep(pick.uniform(0, 0.02))

        found.append(killed(sources, folder, SOURCES[number % 2], "out.zarr", wait, SLOW_METADATA))
    return found


@pytest.mark.slow
def test_killed_at_some_moments(sources: Path, tmp_path: Path) -> None:
    _kills(sources, tmp_path, 3)
    assert not any(_kills_in_metadata(sources, tmp_path, 2))


@pytest.mark.slow
def test_killed_at_fifty_moments(sources: Path, tmp_path: Path) -> None:
    _kills(sources, tmp_path, 50)
    assert not any(_kills_in_metadata(sources, tmp_path, 15))


CALLS = ("open", "write", "mkdir", "rename", "replace", "copy_file_range", "close")


class Failing:
    """Functions of the system, of which the n-th call under a folder fails."""

    def __init__(self, number: int, folder: str) -> None:
        self.left = number
        self.folder = folder
        self.failed = False
        self.files: set[int] = set()

    def count(self, file: object) -> None:
        """Raises OSError when it is the n-th call's turn."""
        self.left -= 1
        if self.left == 0:
            self.failed = True
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(file))

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            file = arguments[1 if name == "copy_file_range" else 0] if arguments else None
            if isinstance(file, int):
                ours = file in self.files
            else:
                ours = isinstance(file, str) and file.startswith(self.folder)
            if name == "close":
                self.files.discard(file)  # type: ignore[arg-type]
            if ours:
                if name == "close" and self.left == 1:
                    function(*arguments)  # the descriptor is gone all the same
                self.count(str(file))
            found = function(*arguments, **keywords)
            if name == "open" and ours:
                self.files.add(found)
            return found

        return call


def failing_open(failing: Failing) -> Callable[..., Any]:
    """`open`, whose files fail where the system would: below their buffers."""
    plain = open

    class Raw(io.FileIO):
        def write(self, data: Any) -> int:
            failing.count(self.name)
            return super().write(data)

        def close(self) -> None:
            was_open = not self.closed
            super().close()
            if was_open:
                failing.count(self.name)

    def call(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
        if not (isinstance(file, str) and file.startswith(failing.folder) and "x" in mode):
            return plain(file, mode, *arguments, **keywords)
        failing.count(file)
        raw = Raw(file, mode.replace("b", ""))
        return io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)

    return call


@pytest.mark.slow
@pytest.mark.parametrize("target", ["out.zarr", "out.zip", "out.cdl"])
def test_every_call_of_the_system_fails_in_turn(
    sources: Path, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 2000):
        folder = tmp_path / str(number)
        folder.mkdir()
        failing = Failing(number, str(folder))
        with monkeypatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, failing.wrap(name, getattr(os, name)))
            patch.setattr(builtins, "open", failing_open(failing))
            done = run_command("convert", str(sources / "t.zarr"), str(folder / target), "--var", "v0", "-q")
        if not failing.failed:
            assert done.status == 0
            assert os.listdir(folder) == [target]
            break
        assert done.status in (0, 3), done.err
        if not done.status:  # what the system said when nothing hung on it any more
            assert os.listdir(folder) == [target]
            assert not nczarr.diff(sources / "t.zarr", folder / target, variables=["v0"])
            continue
        assert os.listdir(folder) == [], f"call {number}"
        assert "unreachable-file" in done.err
        assert ".partial-" not in done.err
    assert number > 4


LIMITED = """
    import resource, signal, sys
    sys.dont_write_bytecode = True  # Python does not notice that it writes half a file
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
    from nczarr.__main__ import main
    sys.exit(main(sys.argv[2:]))
"""


def limits(size: int, count: int) -> Iterator[int]:
    """Sizes of files at which the system refuses to write on."""
    yield from (0, 1, 100, 4096)
    yield from (size * part // count for part in range(1, count))


def _limited(sources: Path, tmp_path: Path, target: str, count: int) -> None:
    whole = tmp_path / f"whole{Path(target).suffix}"
    nczarr.convert(sources / "t.zarr", whole)
    largest = max((f.stat().st_size for f in whole.rglob("*") if f.is_file()), default=0) or whole.stat().st_size
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    for limit in limits(largest, count):
        folder = tmp_path / f"{target}{limit}"
        folder.mkdir()
        command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(limit), "convert", str(sources / "t.zarr")]
        done = subprocess.run(
            [*command, str(folder / target), "-q"], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 3, (limit, done.returncode, done.stderr)
        assert "unreachable-file" in done.stderr
        assert "Traceback" not in done.stderr
        assert os.listdir(folder) == [], limit


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_full_disk(sources: Path, tmp_path: Path, target: str) -> None:
    _limited(sources, tmp_path, target, 1)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_disk_that_is_full_at_any_size(sources: Path, tmp_path: Path, target: str) -> None:
    _limited(sources, tmp_path, target, 40)
