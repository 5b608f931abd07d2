"""Processes that call functions for this one."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import time

import pytest

from nczarr.arrays.execution.processes import send
from nczarr.plugins.combine.process_pool import Processes


def test_results_are_in_order() -> None:
    with Processes(2) as processes:
        assert list(processes.results(operator.mul, ((number, 2) for number in range(20)))) == list(range(0, 40, 2))


def test_failures_are_raised_here() -> None:
    with Processes(2) as processes, pytest.raises(ZeroDivisionError):
        list(processes.results(operator.floordiv, [(1, 1), (1, 0), (1, 1)]))


def test_what_cannot_be_sent_back_is_a_failure() -> None:
    with Processes(1) as processes, pytest.raises(RuntimeError, match="pickle"):
        list(processes.results(open, [(os.devnull,)]))


def test_a_process_that_ends_is_an_error() -> None:
    with Processes(1) as processes, pytest.raises(OSError, match=r"ended unexpectedly \(status 3\)"):
        list(processes.results(os._exit, [(3,)]))


def test_a_process_whose_caller_is_killed_ends_in_silence() -> None:
    command = [sys.executable, "-m", "nczarr.arrays.execution.processes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        send(process.stdin, (operator.mul, (1, 2)))
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_no_process_is_left_behind() -> None:
    with Processes(2) as processes:
        results = processes.results(time.sleep, [(0,), (60,), (60,)])
        next(results)
        found = [each.pid for each in processes._all]
    for number in found:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
