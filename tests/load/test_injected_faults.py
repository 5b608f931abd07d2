"""One failure at each call of the file system that a command makes: the exit status says what the target is.

The help topic `exit-status` has the rules. A lock or an unfinished file may stay whose own call
failed: the next run takes or removes it. What messages of status 4 say completes the change.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.forked_runs import Outcome, Runner
from tests.support.proof import PART, PARTS
from tests.support.scenarios import LOCK, RECOVER, SCENARIOS, Scenario, State

ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES)

SAMPLE = 12
"""Points of a scenario in the gate."""


def judge(outcome: Outcome, state: State) -> str:
    """Return what is wrong with the end of a run; empty if it is right."""
    if any(word in outcome.err for word in ("Traceback", "internal-error", "fault of nczarr")):
        return "a fault of nczarr"
    expected = {0: "new", 1: "old", 2: "old", 3: "old", 4: "new"}.get(outcome.status, "no such status")
    if state.name != expected:
        return f"the target is {state.name}"
    if outcome.status == 4 and "incomplete-change" not in outcome.err:
        return "the message says nothing"
    left = [name for name in state.left if not (outcome.call.endswith(name) or _is_lock(name, outcome.call))]
    if outcome.status == 4:
        left = [name for name in left if name not in outcome.err]
    return f"left {left}, missing {state.missing}" if left or state.missing else ""


def _is_lock(name: str, call: str) -> bool:
    return name.endswith(LOCK) and call.endswith(LOCK)


def check(folder: Path, runner: Runner, command: str, kind: str, choose: Callable[[int], range]) -> int:
    """Let chosen calls of a command fail; return how many did."""
    scenario = Scenario(folder / command, command, kind)
    whole = runner.run(scenario.here, scenario.words)
    assert whole.status == 0, whole
    scenario.learn()
    wrong = []
    points = choose(whole.count)
    for at in points:
        scenario.reset()
        outcome = runner.run(scenario.here, scenario.words, at=at, error=ERRORS[at % len(ERRORS)])
        if outcome.status == 4 and RECOVER in outcome.err:
            done = runner.run(scenario.here, scenario.recovery)
            assert done.status == 0, (outcome, done)
        if fault := judge(outcome, scenario.state()):
            wrong.append(f"{at} {errno.errorcode[ERRORS[at % len(ERRORS)]]} {outcome}: {fault}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(points)} points", *wrong])
    return len(points)


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "kind"), [("overwrite", "nc4"), ("append", "zarr3"), ("edit", "nczarr"), ("combine", "json")]
)
def test_some_failures(tmp_path: Path, failing_runner: Runner, command: str, kind: str) -> None:
    check(tmp_path, failing_runner, command, kind, lambda count: range(1, count + 1, -(-count // SAMPLE)))


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kind"), SCENARIOS)
def test_all_failures(tmp_path: Path, failing_runner: Runner, command: str, kind: str) -> None:
    print(command, kind, check(tmp_path, failing_runner, command, kind, lambda count: range(PART, count + 1, PARTS)))
