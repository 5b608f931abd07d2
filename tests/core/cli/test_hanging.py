"""Damaged HDF5 files in which the C library loops forever are refused, and signals end a command that waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, run_command
from tests.support.hanging_file import hanging
from tests.support.signals import hear_interrupts

INTERRUPTED = 130
"""Exit status of a command that a signal ends while it waits for the guard process."""

HANGS = """
import sys
from nczarr.__main__ import process
from nczarr.formats.netcdf4 import frontend, isolation


def spin():
    while True:
        pass


frontend.HeaderModel = lambda path: isolation.call(path, spin)
sys.argv = ["nczarr", "convert", "f.h5", "t.zarr"]
process()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_command_that_hangs_in_the_library(number: signal.Signals, tmp_path: Path) -> None:
    hanging(tmp_path / "f.h5")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    call = [sys.executable, "-c", HANGS]
    with subprocess.Popen(call, cwd=tmp_path, env=environment, preexec_fn=hear_interrupts) as running:
        try:
            guard = _spinning(running)
            begun = time.monotonic()
            running.send_signal(number)
            assert running.wait(10) == INTERRUPTED
            assert time.monotonic() - begun < 5
        finally:
            running.kill()
    assert [each.name for each in tmp_path.iterdir()] == ["f.h5"]
    deadline = time.monotonic() + 10
    while Path(f"/proc/{guard}").exists():  # it looks for its parent now and then
        assert time.monotonic() < deadline, "the guard process goes on"
        time.sleep(0.05)


def test_a_group_without_end_is_refused(tmp_path: Path) -> None:
    hanging(tmp_path / "f.h5")
    ran = run_command("check", str(tmp_path / "f.h5"))
    assert ran.status == 1
    assert "unreadable-file" in ran.err


def _spinning(running: subprocess.Popen[bytes]) -> int:
    """Wait until the guard of a process has used more processor time than its start takes; return its number."""
    tick = os.sysconf("SC_CLK_TCK")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert running.poll() is None, "the file does not hang"
        for child in Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            if (int(fields[11]) + int(fields[12])) / tick > 0.6:
                return int(child)
        time.sleep(0.05)
    raise AssertionError("no guard works")


LATE = """
import signal, sys, time
from threading import Event, Thread
from nczarr import __main__
from nczarr.arrays.execution import library_lock
from nczarr.stores.open import write_beside

def hang():
    with library_lock.LOCK:
        print("held", flush=True)
        time.sleep(60)

__main__.hear_signals()
with write_beside(sys.argv[1]) as unfinished:
    open(unfinished.path, "w").close()
    Thread(target=hang).start()
    try:
        Event().wait()
    finally:
        Event().wait()  # as a pool that waits for its threads
"""


@pytest.mark.slow
def test_what_a_thread_hangs_at_leaves_no_target(tmp_path: Path) -> None:
    """The main thread hears the signal here, and waits for the other one for ever."""
    call = [sys.executable, "-c", LATE, str(tmp_path / "t.nc")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == b"held\n"
            assert len(list(tmp_path.iterdir())) == 1
            running.terminate()
            assert running.wait(10) == 128 + signal.SIGTERM
        finally:
            running.kill()
    assert not list(tmp_path.iterdir())
