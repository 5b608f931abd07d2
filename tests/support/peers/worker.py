"""A peer in a process of its own: asked for one dataset after another, restarted when it crashes.

A reader is a script that answers each line `path` of its standard input with one pickled answer behind its length.
Answers are `Seen` datasets as plain dicts, so that nothing of the peer's own classes crosses over.
"""

from __future__ import annotations

import functools
import pickle
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MEMORY = 4 << 30
"""Bytes of address space that a reader may take; a file that is mapped counts whole."""


class Worker:
    """One reader process. `ask` returns what it saw, or {"error": why}; a crash is an error as well."""

    def __init__(self, script: str, memory: int = MEMORY, interpreter: str = sys.executable) -> None:
        self.script = script
        self.memory = memory
        self.interpreter = interpreter
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, path: str) -> dict[str, Any]:
        """What the reader sees at `path`."""
        if self._process is None or self._process.poll() is not None:
            command = [self.interpreter, "-W", "ignore", str(HERE / self.script)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                preexec_fn=functools.partial(_bounded, self.memory),
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(path.encode() + b"\n")
        self._process.stdin.flush()
        head = self._process.stdout.read(8)
        if len(head) < 8:
            status = self._process.wait()
            self._process = None
            return {"error": f"crash: status {status}"}
        answer: dict[str, Any] = pickle.loads(self._process.stdout.read(struct.unpack("<q", head)[0]))
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _bounded(memory: int) -> None:
    """A reader that runs away with memory is an error of its own, not of the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def serve(read: Callable[[str], dict[str, Any]]) -> None:
    """The reader's side: answer every line of standard input."""
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        try:
            answer = read(line.rstrip(b"\n").decode())
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        data = pickle.dumps(answer)
        out.write(struct.pack("<q", len(data)) + data)
        out.flush()
