"""Judges in processes of their own: one with the libraries of this environment, one with the newest zarr-python."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("judge.py")


class Judge:
    """One process that makes and reads files; started when it is first asked, and again after a crash."""

    def __init__(self, interpreter: str = sys.executable) -> None:
        self._interpreter = interpreter
        self._process: subprocess.Popen[bytes] | None = None

    def make(self, script: str, path: Path) -> None:
        """Run a script that writes `path`. Raises ValueError where its library refuses."""
        answer = self._ask("make", script, str(path))
        if answer is not None:
            raise ValueError(answer)

    def see(self, reader: str, path: Path) -> dict[str, dict[str, Any]]:
        """What a library reads at `path`. Raises ValueError where it refuses."""
        answer = self._ask("see", reader, str(path))
        if isinstance(answer, str):
            raise ValueError(answer)
        found: dict[str, dict[str, Any]] = answer
        return found

    def _ask(self, *request: str) -> Any:
        if self._process is None or self._process.poll() is not None:
            environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
            command = [self._interpreter, str(SCRIPT)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        data = pickle.dumps(request)
        self._process.stdin.write(struct.pack("<q", len(data)) + data)
        self._process.stdin.flush()
        head = self._process.stdout.read(8)
        if len(head) < 8:
            status = self._process.wait()
            self._process = None
            return f"error: the judge ended with status {status}"
        return pickle.loads(self._process.stdout.read(struct.unpack("<q", head)[0]))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
