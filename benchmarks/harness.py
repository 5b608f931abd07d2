"""How a row is measured: whole processes, interleaved, outputs compared, one JSON line.

One round runs the peer and us once each, in turn; the first round is not counted. A ratio is the median of the
ratios of the rounds, never a quotient of two medians: other work on the machine then hits both sides of a ratio.

Outputs are set aside, and removed when all is measured. After the removal of many files ext4 looks past their inodes
for seconds whenever a file is made, which made the same work take from 1.5 to 14 seconds, and hits the quicker side.

A script states in `MEASURES` the folders of `nczarr` whose code its rows measure, and its peers by `need`. Each line
carries both, with a digest of the code: `report.py` marks rows that are older than the code.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import timeit
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS = [sys.executable, "-m", "nczarr"]

GOALS = {"memory_ratio": "memory_goal", "our_peak_mb": "peak_goal_mb"}
"""Figures that a line may have beside its own, and their goals."""

SHARED = ("numpy", "numcodecs", "zlib-ng")
"""Libraries of ours that decide about times."""

IS_QUICK = "--quick" in sys.argv
QUICK_ROUNDS = 1
"""Counted rounds with small inputs, whose figures are not recorded."""

RELEASES: dict[str, str] = {}
"""Releases of the peers that a script needs."""


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


def show(
    row: str,
    figures: Sequence[float],
    goal: float | None,
    *,
    unit: str = "",
    missed: Sequence[str] = (),
    decimals: int = 4,
    **more: Any,
) -> bool:
    """Print the line of a row: its figure with spread, goals, day, machine, releases and code. True if goals are met.

    `figures`: of the counted rounds; ratios, or amounts in `unit`. `missed`: further goals that the row missed, in
    words. `more`: members of the line; those of `GOALS` are judged too. `decimals`: digits that count.
    """
    digits = [float(f"{each:.{decimals}g}") for each in (statistics.median(figures), min(figures), max(figures))]
    line = {
        "row": row,
        "ratio": None if unit else digits[0],
        "spread": digits[1:],
        "goal": goal,
        **({"figure": digits[0], "unit": unit} if unit else {}),
        **({"missed": list(missed)} if missed else {}),
        **more,
        "rounds": len(figures),
    }
    line["met"] = goals_met(line)
    print(json.dumps({**line, **origin()}), flush=True)
    return bool(line["met"])


def goals_met(line: dict[str, Any]) -> bool:
    """Judge the figures of a line by its goals."""
    pairs = [(line.get(figure), line.get(goal)) for figure, goal in GOALS.items()]
    pairs.append((line["ratio"] if line.get("figure") is None else line["figure"], line.get("goal")))
    return not line.get("missed") and all(None in (figure, goal) or figure <= goal for figure, goal in pairs)


@functools.cache
def _constant_origin(script: str, measures: tuple[str, ...]) -> dict[str, Any]:
    return {
        "script": Path(script).name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": describe_machine(),
        "python": describe_python(),
        "measures": list(measures),
        "code": digest_code(Path(script), measures),
    }


def origin() -> dict[str, Any]:
    """Return where and of what a line was measured: members that all lines of a script share."""
    running = sys.modules["__main__"]
    found = _constant_origin(str(running.__file__), running.MEASURES)
    RELEASES.update((name, version(name)) for name in SHARED)
    return {
        **found,
        "releases": dict(sorted(RELEASES.items(), key=lambda each: each[0].lower())),
        **({"quick": True} if IS_QUICK else {}),
    }


def digest_code(script: Path, measures: Sequence[str], root: Path = ROOT) -> str:
    """Return a short digest of a script and of the sources in folders of the package."""
    folders = [root / "nczarr" / name for name in measures]
    hashed = hashlib.sha256(script.read_bytes())
    for path in sorted({path for folder in folders for path in folder.rglob("*.py")}):
        hashed.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return hashed.hexdigest()[:12]


def describe_machine() -> dict[str, Any]:
    """Return the number of processors, their family, and the system."""
    facts = Path("/proc/cpuinfo")
    lines = [line.split(":", 1) for line in facts.read_text().splitlines() if ":" in line] if facts.exists() else []
    stated = {name.strip(): text.strip() for name, text in reversed(lines)}
    names = [stated.get("model name") or platform.processor() or platform.machine()]
    if "cpu family" in stated:
        names.append(f"family {stated['cpu family']}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cores": cores, "processor": ", ".join(names), "system": f"{platform.system()} {platform.machine()}"}


def describe_python() -> dict[str, Any]:
    """Return the release of this Python, whether it was built with profiles, and the time of some work with objects.

    Without profiles it is up to twice as slow: `objects_ms` was 9.3 and 5.1 on one machine.
    """
    flags = " ".join(str(sysconfig.get_config_var(name) or "") for name in ("CONFIG_ARGS", "PY_CFLAGS", "CFLAGS"))
    # PGO_PROF_USE_FLAG names the compiler's flag in every build. Debian and Fedora build with profiles, and remove the
    # flags from what `sysconfig` tells; their install schemes give them away.
    is_packaged = not {"deb_system", "rpm_prefix"}.isdisjoint(sysconfig.get_scheme_names())
    is_optimised = "--enable-optimizations" in flags or "-fprofile-use" in flags or is_packaged
    return {
        "version": platform.python_version(),
        "optimised": is_optimised,
        "objects_ms": round(min(timeit.repeat(_use_objects, number=1, repeat=7)) * 1000, 1),
    }


def _use_objects() -> None:
    runs = {str(number): Run(0.0, 0.0, number) for number in range(10_000)}
    sorted(runs, key=lambda name: runs[name].peak)


def seconds_and_peaks(pairs: Sequence[tuple[Run, Run]]) -> dict[str, float]:
    """Return the medians of the seconds and the peaks of the peer and ourselves, as members of a line."""
    figures: dict[str, float] = {}
    for name, runs in zip(("peer", "our"), zip(*pairs, strict=True), strict=True):
        figures[f"{name}_seconds"] = round(statistics.median(run.seconds for run in runs), 4)
        figures[f"{name}_peak_mb"] = round(statistics.median(run.peak for run in runs) / 1e6, 1)
    return figures


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
    rounds = min(rounds, QUICK_ROUNDS) if IS_QUICK else rounds
    pairs = [(peer.run(folder), ours.run(folder)) for _ in range(rounds + 1)][1:]
    memory = statistics.median(mine.peak / theirs.peak for theirs, mine in pairs)
    compared = apart(compare)
    peak = statistics.median(mine.peak for _, mine in pairs)
    return show(
        row,
        [mine.seconds / theirs.seconds for theirs, mine in pairs],
        goal,
        peer_seconds=round(statistics.median(theirs.seconds for theirs, _ in pairs), 4),
        our_seconds=round(statistics.median(mine.seconds for _, mine in pairs), 4),
        work_ratio=round(statistics.median(mine.work / theirs.work for theirs, mine in pairs), 3),
        memory_ratio=round(memory, 3),
        memory_goal=memory_goal,
        our_peak_mb=round(peak / 1e6, 1),
        peak_goal_mb=None if peak_goal is None else round(peak_goal / 1e6, 1),
        compared=compared,
    )


def need(*peers: str) -> None:
    """Note the releases of peers. Exit, saying so, if the command or library of one is not installed."""
    missing = [peer for peer in peers if find_spec(peer) is None and shutil.which(peer) is None]
    if missing:
        raise SystemExit(f"benchmark: the peer {', '.join(missing)} is not installed")
    for peer in peers:
        RELEASES[peer] = release_of(peer)


def need_beside(variable: str, *peers: str) -> str:
    """Return the interpreter that a variable of the environment names, and note the releases of its libraries."""
    interpreter = os.environ.get(variable)
    if interpreter is None:
        raise SystemExit(f"benchmark: the peer {', '.join(peers)} is not installed ({variable} names an interpreter)")
    for peer in peers:
        ask = f"import importlib.metadata as m; print(m.version({peer!r}))"
        done = subprocess.run([interpreter, "-c", ask], capture_output=True, text=True, check=False)
        if not done.returncode:
            RELEASES[peer] = done.stdout.strip()
    return interpreter


def release_of(peer: str) -> str:
    """Return the release of a library, or what a command says of its own."""
    with contextlib.suppress(PackageNotFoundError):
        return version(peer)
    if shutil.which(peer) is None:
        return "unknown"
    word = "version" if peer == "openssl" else "--version"
    done = subprocess.run([peer, word], capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return found[0] if found else "unknown"


def main(work: Callable[[Path, bool], bool]) -> None:
    """Run one row in a temporary folder; `--quick` asks for a small size. Status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=work.__doc__)
    parser.add_argument("--quick", action="store_true", help="a small input")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        met = work(Path(name), options.quick)
    sys.exit(0 if met else 1)
