"""What we write is read by awkward0 itself, in one process of an interpreter that has it (NCZARR_AWKWARD0)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from nczarr.formats.awkward0.columns import Column
from nczarr.formats.awkward0.writing import serialize
from tests.columns import columns, items

pytestmark = pytest.mark.peer
READER = Path(__file__).with_name("read_awkward0.py")


@pytest.fixture(scope="session")
def awkward0() -> str:
    """The interpreter that NCZARR_AWKWARD0 names; awkward0 needs a Python that most machines do not have any more.

    Under NCZARR_REQUIRE_PEERS=1 it may be missing only where no python3.8 runs.
    """
    named = os.environ.get("NCZARR_AWKWARD0")
    if named:
        return named
    old = shutil.which("python3.8")
    runs = old is not None and subprocess.run([old, "-c", ""], capture_output=True, check=False).returncode == 0
    if runs and os.environ.get("NCZARR_REQUIRE_PEERS") == "1":
        pytest.fail("peer awkward0 is missing, and NCZARR_REQUIRE_PEERS=1 requires it where python3.8 runs")
    pytest.skip("peer awkward0 is not installed (NCZARR_AWKWARD0 names an interpreter that has it)")


def asked(interpreter: str, questions: Iterable[Any]) -> list[Any]:
    """The answers of one process."""
    lines = "".join(json.dumps(each) + "\n" for each in questions)
    ran = subprocess.run([interpreter, READER], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def written(obj: Any, **options: Any) -> dict[str, Any]:
    """What the reader is asked about an array that we write."""
    storage: dict[str, bytes] = {}
    serialize(obj, storage, **options)
    name = (options.get("name") or "") + (options.get("schemasuffix") or "")
    return {"name": name, "storage": {key: base64.b64encode(data).decode() for key, data in storage.items()}}


@pytest.mark.filterwarnings("ignore::nczarr.formats.awkward0.writing.LostPartsWarning")
@pytest.mark.parametrize("compression", [None, True, "default"])
def test_columns_of_all_kinds(awkward0: str, compression: Any) -> None:
    made: list[Column] = []

    @settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
    @given(columns())
    def collect(column: Column) -> None:
        made.append(column)

    collect()
    answers = asked(awkward0, (written(each, compression=compression) for each in made))
    wrong = [
        (column, answer, items(column))
        for column, answer in zip(made, answers, strict=True)
        if json.dumps(answer) != json.dumps({"value": json.loads(json.dumps(items(column)))})
    ]
    assert not wrong, wrong[0]
