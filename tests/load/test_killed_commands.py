"""Commands that are killed at a call of the file system: the target reads as before or after, and the way on is open.

`test_writers.py` kills appends, conversions that overwrite or resume, and `refs combine`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nczarr.diagnostics.report import CompileError
from tests.support.forked_runs import Runner
from tests.support.proof import share
from tests.support.scenarios import RECOVER, SCENARIOS, Scenario

UNFINISHED = "unfinished-edit"

KILLS = 8
"""Kills of each scenario, of which there are forty."""

KILLED = [pair for pair in SCENARIOS if pair[0] in ("convert", "rechunk", "edit", "undo", "migrate", "restore")]


def check_kills(folder: Path, runner: Runner, command: str, kind: str, kills: int) -> Counter[str]:
    """Kill a command at some of its calls; return how often the target read as what, and how the next run ended."""
    scenario = Scenario(folder / command, command, kind)
    whole = runner.run(scenario.here, scenario.words)
    assert whole.status == 0, whole
    scenario.learn()
    outcomes: Counter[str] = Counter()
    for number in range(kills):
        at = whole.count - number * whole.count // kills
        scenario.reset()
        killed = runner.run(scenario.here, scenario.words, at=at)
        assert killed.status == -9, killed
        before = _read(scenario)
        assert before in ("old", "new", "old or new", UNFINISHED), (killed.call, before)
        again = runner.run(scenario.here, scenario.words)
        if RECOVER in again.err:
            recovered = runner.run(scenario.here, scenario.recovery)
            assert recovered.status == 0, (killed.call, again, recovered)
            again = runner.run(scenario.here, scenario.words)
        text = f"{killed.call}: {before}, then {again}"
        assert "internal-error" not in again.err, text
        assert again.status == 0 or ("new" in before and again.status in (1, 2)), text
        assert scenario.state().name == "new", (text, scenario.state())
        outcomes[f"{before}, then {again.status}"] += 1
    return outcomes


def _read(scenario: Scenario) -> str:
    """Return what the target reads as; the code of an error if its bytes are a mixture, which is not read."""
    try:
        return scenario.state().name
    except CompileError as error:
        return ", ".join(diagnostic.code for diagnostic in error.diagnostics)


@pytest.mark.long
@pytest.mark.parametrize(("command", "kind"), [("edit", "zarr3"), ("undo", "nczarr")])
def test_some_kills(tmp_path: Path, failing_runner: Runner, command: str, kind: str) -> None:
    check_kills(tmp_path, failing_runner, command, kind, KILLS // 2)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kind"), KILLED)
def test_kills(tmp_path: Path, failing_runner: Runner, command: str, kind: str) -> None:
    print(command, kind, check_kills(tmp_path, failing_runner, command, kind, max(2, share(KILLS))))
