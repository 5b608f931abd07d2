"""How a row is measured: whole processes, interleaved, outputs compared, one JSON line.

One round runs the peer and us once each, in turn; the first round is not counted. A ratio is the median of the
ratios of the rounds, never a quotient of two medians: other work on the machine then hits both sides of a ratio.

Outputs are set aside, and removed when all is measured. After the removal of many files ext4 looks past their inodes
for seconds whenever a file is made, which made the same work take from 1.5 to 14 seconds, and hits the quicker side.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS = [sys.executable, "-m", "nczarr"]


@dataclass(frozen=True)
class Run:
    """What one process took: seconds of wall clock and of processors, and the peak of its memory in bytes."""

    seconds: float
    work: float
    peak: int


def execute(command: Sequence[str], folder: Path) -> Run:
    """Run one process in a folder. Exits with its messages if it fails."""
    log = folder / "log.txt"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
    with log.open("wb") as out:
        start = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, out.fileno(), 2)]
        old = os.getcwd()
        os.chdir(folder)
        try:
            pid = os.posix_spawnp(command[0], list(command), environment, file_actions=actions)
        finally:
            os.chdir(old)
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}\n{log.read_text(errors='replace')[-2000:]}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


@dataclass(frozen=True)
class Side:
    """A command, and its outputs, which are set aside before each of its runs."""

    command: Sequence[str]
    outputs: Sequence[str] = ()

    def run(self, folder: Path) -> Run:
        """One run, with nothing of the one before in its way."""
        set_aside(folder, self.outputs)
        return execute(self.command, folder)


def set_aside(folder: Path, outputs: Sequence[str]) -> None:
    """Move outputs of a run out of the way of the next one."""
    for name in outputs:
        if (folder / name).exists():
            (folder / name).rename(folder / f"{name}.{time.monotonic_ns()}")


def apart(compare: Callable[[], str]) -> str:
    """Compare in a process of its own: what it takes in memory would count for the processes that we start later.

    Exits if the comparison fails.
    """
    readable, writable = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(writable, compare().encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writable)
    with open(readable, "rb") as pipe:
        said = pipe.read().decode()
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("benchmark: the outputs differ")
    return said


def show(line: dict[str, Any]) -> None:
    """Print a row with the Python that ran it: one built without optimisation is up to 1.7 times slower."""
    is_optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    built = "optimised" if is_optimised else "not optimised"
    print(json.dumps({**line, "python": f"{platform.python_version()}, {built}"}), flush=True)


def measure(
    row: str,
    goal: float,
    peer: Side,
    ours: Side,
    folder: Path,
    compare: Callable[[], str],
    rounds: int = 5,
    memory_goal: float | None = None,
    peak_goal: float | None = None,
) -> bool:
    """Run the rounds, compare the outputs, print the line. True if the outputs agree and the goals are met.

    `memory_goal`: of the ratio of peaks; `peak_goal`: bytes that our own may have.
    """
    pairs = [(peer.run(folder), ours.run(folder)) for _ in range(rounds + 1)][1:]
    ratio = statistics.median(mine.seconds / theirs.seconds for theirs, mine in pairs)
    memory = statistics.median(mine.peak / theirs.peak for theirs, mine in pairs)
    compared = apart(compare)
    peak = statistics.median(mine.peak for _, mine in pairs)
    met = ratio <= goal and (memory_goal is None or memory <= memory_goal) and (peak_goal is None or peak <= peak_goal)
    line = {
        "row": row,
        "ratio": round(ratio, 3),
        "goal": goal,
        "met": met,
        "peer_seconds": round(statistics.median(theirs.seconds for theirs, _ in pairs), 4),
        "our_seconds": round(statistics.median(mine.seconds for _, mine in pairs), 4),
        "work_ratio": round(statistics.median(mine.work / theirs.work for theirs, mine in pairs), 3),
        "memory_ratio": round(memory, 3),
        "memory_goal": memory_goal,
        "our_peak_mb": round(peak / 1e6, 1),
        "peak_goal_mb": None if peak_goal is None else round(peak_goal / 1e6, 1),
        "rounds": rounds,
        "compared": compared,
    }
    show(line)
    return met


def need(*peers: str) -> None:
    """Exit, saying so, if a peer's command or library is not installed."""
    missing = [peer for peer in peers if shutil.which(peer) is None and find_spec(peer) is None]
    if missing:
        raise SystemExit(f"benchmark: the peer {', '.join(missing)} is not installed")


def main(work: Callable[[Path, bool], bool]) -> None:
    """Run one row in a temporary folder; `--quick` asks for a small size. Status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=work.__doc__)
    parser.add_argument("--quick", action="store_true", help="a small input")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        met = work(Path(name), options.quick)
    sys.exit(0 if met else 1)
