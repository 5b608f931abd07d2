"""Every erroneous file of the shared corpus: accepted, warned of, or refused at exactly that place with that code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_command, shared_folder

OUR_NAMES: dict[str, str] = {}
"""Codes of the corpus that have another name with us."""

_shared = shared_folder()
_folder = Path() if _shared is None else _shared / "data" / "cdl-errors"
CASES: list[dict[str, Any]] = [] if _shared is None else json.loads((_folder / "index.json").read_text())["files"]


def test_corpus_is_there(shared: Path) -> None:
    """Skips visibly where the cases below are none for want of the data."""
    assert len(CASES) == 131


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_case(case: dict[str, Any]) -> None:
    ran = run_command("check", "--message-format", "json", "--kind", case["kind"], str(_folder / case["file"]))
    found = [json.loads(line) for line in ran.err.splitlines()]
    places = [(each["severity"], each["code"], each["line"], each["column"]) for each in found]
    code = OUR_NAMES.get(case["code"], case["code"])
    if case["expected"] == "accept":
        assert ran.status == 0
        assert not [place for place in places if place[0] == "error"]
        return
    assert ran.status == (1 if case["expected"] == "error" else 0)
    assert (case["expected"], code, case["line"], case["column"]) in places
    assert all(place[1] != "internal-error" for place in places)
    # One defect: whatever else is said must not be an error about another line.
    assert {line for severity, _, line, _ in places if severity == "error"} <= {case["line"]}
    if case["expected"] == "warning":
        assert "error" not in {place[0] for place in places}
