"""A dask cluster of separate processes on the loopback address: a scheduler and workers, each ended by its own id.

They know nothing of remote stores: what they need to reach one comes with a run.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from tests.conftest import ROOT

STARTING = 60.0
"""Seconds that a process may take until it is ready, on a busy machine."""


class Cluster:
    """The processes, and their logs in `folder`. `front`: a folder that workers import from before all others."""

    def __init__(
        self, folder: Path, workers: int = 2, *, front: Path | None = None, largest: int | None = None
    ) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        place = folder / "scheduler.json"
        self._start("scheduler", ["scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place)])
        self._wait(place.exists)
        self._wait(lambda: place.read_text().endswith("}"))
        self.url: str = json.loads(place.read_text())["address"]
        for number in range(workers):
            self.add(f"worker{number}", front=front, largest=largest)

    def add(self, name: str, *, front: Path | None = None, largest: int | None = None) -> None:
        """Start a worker with one thread, and wait until the scheduler knows it. `largest`: bytes of its files."""
        options = ["--no-nanny", "--nthreads", "1", "--name", name, "--local-directory", str(self.folder / name)]
        self._start(name, ["worker", self.url, *options], front=front, largest=largest)
        self._wait(lambda: "Registered to" in self.log(name))

    def _start(self, name: str, arguments: list[str], *, front: Path | None = None, largest: int | None = None) -> None:
        paths = [*([str(front)] if front else []), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment = {**kept, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        if largest is not None:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"  # Python does not notice that it writes half a module
        kind, *rest = arguments

        def limit() -> None:
            if largest is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{kind}", *rest, "--no-dashboard"],
                stdout=log, stderr=log, env=environment, preexec_fn=limit, cwd=self.folder,
            )  # fmt: skip

    def _wait(self, ready: object) -> None:
        assert callable(ready)
        end = time.monotonic() + STARTING
        while not ready():
            assert time.monotonic() < end, {name: self.log(name) for name in self.processes}
            time.sleep(0.02)

    def log(self, name: str) -> str:
        """What a process has said."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    @property
    def logs(self) -> str:
        """What all have said."""
        return "".join(self.log(name) for name in self.processes)

    def kill(self, name: str) -> None:
        """End a process as a lost machine does."""
        process = self.processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for name in self.processes:
            self.kill(name)
