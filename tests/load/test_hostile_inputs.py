"""Inputs that declare enormous sizes, in processes with little memory: each ends with a result or a diagnostic."""

from __future__ import annotations

import math
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.support import hostile_inputs, hostile_stores
from tests.support.forked_runs import Outcome, Runner, forked_runs
from tests.support.hostile_inputs import Input, write_inputs, write_kind
from tests.support.proof import part

if TYPE_CHECKING:
    from tests.support.serving import Served

ROOM = 300 << 20
"""Bytes of address space beyond those of the started process."""

WORK = 2.0
"""Seconds of processor time of a command."""

WAIT, WAIT_OF_ENDLESS = 30, 10
"""Seconds after which a command is ended."""

COMMANDS = ("info", "dump", "check", "convert")

PRINTED = "as many values as the shape has are printed"
ENDLESS = {(kind, "dump"): PRINTED for kind in ("types_and_shapes", "cfa", "hdf5", "notation_and_ast")}
"""Kinds and commands with long work in bounded memory, with the reason: a signal may end the run."""

SLOW = {
    "hdf5": "HDF5 does not return from some damaged headers: a guard process is ended after five seconds",
    "generators": "a million references, each of which is checked in two microseconds; ten millions are allowed",
}
"""Kinds of which a command may take longer, with the reason."""

ROUTES = (
    "/browse/{}", "/zarr2/{}/.zmetadata", "/zarr3/{}/zarr.json", "/zarr2/{}/v/0", "/zarr3/{}/v/c/0", "/dap2/{}.dds",
    "/dap4/{}.dmr", "/cdmremote/{}?req=header", "/cdmremote/{}?req=data&var=v",
)  # fmt: skip

HEALTHY = 1.0
"""Seconds for an answer of `/healthz`."""

SERVED = 800 << 20
"""Bytes of memory of all processes of a server that may use 300 MB for answers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("h5py", "netCDF4", "pyarrow", "numcodecs"):
        pytest.importorskip(name)
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def inputs(folder: Path) -> list[Input]:
    return write_inputs(folder)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with forked_runs(tmp_path_factory.mktemp("runs")) as found:
        yield found


def judge(source: Input, command: str, outcome: Outcome) -> str:
    """Return what is wrong with the end of a command; empty if it is right."""
    if any(word in outcome.err for word in ("Traceback", "internal-error", "fault of nczarr")):
        return "a fault of nczarr"
    if outcome.status == -signal.SIGALRM and (source.kind, command) in ENDLESS:
        return ""
    if outcome.status not in (0, 1, 2, 3):
        return "no such status"
    if outcome.status and "error[" not in outcome.err:
        return "no diagnostic"
    return "" if outcome.seconds <= WORK or source.kind in SLOW else "too much work"


def run(runner: Runner, folder: Path, source: Input, command: str, *, memory: int = ROOM) -> Outcome:
    """Run a command of a source."""
    seconds = WAIT_OF_ENDLESS if (source.kind, command) in ENDLESS else WAIT
    target = folder / "target.zarr"
    more = [str(target), "--overwrite", "--allow-loss", "all"] if command == "convert" else []
    try:
        return runner.run(folder, [command, source.name, *more], memory=memory, seconds=seconds)
    finally:
        for path in folder.glob("*target.zarr*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


SAMPLED = (
    hostile_stores.shard_indexes, hostile_stores.types_and_shapes, hostile_stores.json_documents,
    hostile_stores.references, hostile_inputs.cdl, hostile_inputs.awkward0,
)  # fmt: skip
"""Kinds that need no good datasets, and are made soon."""


@pytest.mark.long
def test_a_sample(runner: Runner, tmp_path: Path) -> None:
    wrong = []
    for function in SAMPLED:
        for source in write_kind(function, tmp_path, tmp_path, most=2):
            outcome = run(runner, tmp_path, source, "info")
            if fault := judge(source, "info", outcome):
                wrong.append(f"{source.name}: {fault}: {outcome}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [function.__name__ for function in (*hostile_stores.KINDS, *hostile_inputs.KINDS)])
def test_commands(runner: Runner, folder: Path, inputs: list[Input], kind: str) -> None:
    for command in COMMANDS:  # what they import is not counted
        for path in sorted((folder / "good").glob("a.*")):
            run(runner, folder, Input("", f"good/{path.name}"), command, memory=0)
    chosen = [source for source in inputs if source.kind == kind]
    wrong = []
    for source in chosen:
        for command in COMMANDS:
            outcome = run(runner, folder, source, command)
            if fault := judge(source, command, outcome):
                wrong.append(f"{command} {source.name}: {fault}: {outcome}")
    print(kind, len(chosen))
    assert not wrong, "\n".join([f"{len(wrong)} of {len(chosen) * len(COMMANDS)}", *wrong])


class Watch:
    """Memory of all processes of a server, and the longest time of `/healthz`."""

    def __init__(self, served: Served) -> None:
        self.memory = 0
        self.slowest = 0.0, ""
        """Seconds, and the path that was asked for meanwhile."""
        self.asked = ""
        self._served = served
        self._ended = threading.Event()

    def look(self) -> None:
        """Ask and measure until it is ended."""
        client = type(self._served)(self._served.process, self._served.url)
        while not self._ended.wait(0.05):
            start, status = time.monotonic(), 0
            with suppress(OSError):
                status = client.get("/healthz").status
            seconds = time.monotonic() - start if status == 200 else math.inf
            self.slowest = max(self.slowest, (seconds, f"{self.asked}, then status {status} of /healthz"))
            self.memory = max(self.memory, sum(map(_peak, _descendants(self._served.process.pid))))

    @contextmanager
    def looking(self) -> Iterator[Watch]:
        """Look during the block."""
        thread = threading.Thread(target=self.look)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()


def _descendants(process: int) -> list[int]:
    found = [process]
    for each in found:
        with suppress(OSError):  # it has ended
            found += map(int, Path(f"/proc/{each}/task/{each}/children").read_text(encoding="ascii").split())
    return found


def _peak(process: int) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    return 0


@pytest.mark.slow
def test_a_server(folder: Path, inputs: list[Input]) -> None:
    pytest.importorskip("uvicorn")
    from tests.support.serving import serving

    statuses: Counter[int] = Counter()
    wrong = []
    with serving(folder, "--memory", "300MB", "--timeout", "10") as served, Watch(served).looking() as watch:
        for source in part(inputs):
            for route in ROUTES:
                watch.asked = path = route.format(quote(source.name))
                answer = served.get(path)
                statuses[answer.status] += 1
                if answer.status == 500:
                    wrong.append(path)
    print(statuses, f"{watch.memory >> 20} MiB", watch.slowest)
    assert not wrong, "\n".join(wrong)
    assert watch.slowest[0] <= HEALTHY, watch.slowest
    assert watch.memory <= SERVED
