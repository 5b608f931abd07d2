"""Copies of the test's process."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from nczarr.arrays.execution.processes import can_fork

linux = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux")


def _run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process with one thread, which a runner of tests is not."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_process_with_threads_is_not_copied() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert not can_fork()
    stop.set()
    thread.join()


@linux
def test_a_copy_answers_and_keeps_no_file_or_handler(tmp_path: Path) -> None:
    script = """
        import fcntl, os, signal, sys
        from nczarr.arrays.execution.processes import ForkedProcess, can_fork
        signal.signal(signal.SIGTERM, lambda *_: print("handled by the copy", flush=True))
        lock = open(sys.argv[1], "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        def work(source, out):
            print("to standard error", flush=True)
            out.write(f"{sorted(map(int, os.listdir('/proc/self/fd')))[:3]}\\n".encode())
            out.flush()
            for line in source:
                out.write(line.upper())
                out.flush()
        assert can_fork()
        copy = ForkedProcess(work)
        assert copy.stdout.readline() == b"[0, 1, 2]\\n"
        lock.close()
        with open(sys.argv[1]) as other:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the copy does not hold the lock
        copy.stdin.write(b"text\\n")
        copy.stdin.flush()
        assert copy.stdout.readline() == b"TEXT\\n"
        os.kill(copy.pid, signal.SIGINT)
        assert copy.poll() is None
        os.kill(copy.pid, signal.SIGTERM)
        assert copy.wait(10) == -signal.SIGTERM
    """
    done = _run(script, str(tmp_path / "lock"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "to standard error\n")


@linux
def test_a_copy_ends_with_its_pipe() -> None:
    script = """
        from nczarr.arrays.execution.processes import ForkedProcess
        copy = ForkedProcess(lambda source, out: out.write(source.read()) and out.flush())
        copy.stdin.write(b"1")
        copy.stdin.close()
        assert copy.stdout.read() == b"1"
        assert copy.wait(10) == 0
    """
    done = _run(script)
    assert (done.returncode, done.stderr) == (0, "")
