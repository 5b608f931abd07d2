"""Lists in stores, read by Awkward 2 with the script of docs/awkward0.md, which is all that it needs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from tests.conftest import ROOT

pytestmark = pytest.mark.peer

PAGE = (ROOT / "docs" / "awkward0.md").read_text(encoding="utf-8")
SCRIPT = next(each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "schema.json" in each)
LINES = 20

CDL = """netcdf r { types: float(*) row ; row(*) rows ; compound pt { int x ; double y(2) ; } ; pt(*) pts ;
  compound ev { int id ; row w ; row two(2) ; } ;
dimensions: n = 3 ; m = 2 ;
variables: row a(n) ; rows b(n) ; pts c(n) ; ev d(m) ; row e(n, m) ; e:_ChunkSizes = 1, 2 ;
data: a = {1, 2}, {}, {3} ; b = {{1, 2}, {3}}, {}, {{}, {4}} ; c = {{1, {2, 3}}}, {}, {{4, {5, 6}}} ;
  d = {1, {1, 2}, {{3}, {4, 5}}}, {2, {}, {{}, {6}}} ; e = {1}, {}, {2, 3}, {}, {}, {4} ;
group: g { variables: row a(n) ; data: a = {9}, {}, {8, 7} ; } }"""

EXPECTED: dict[str, Any] = {
    "a": [[1, 2], [], [3]],
    "b": [[[1, 2], [3]], [], [[], [4]]],
    "c": [[{"x": 1, "y": [2, 3]}], [], [{"x": 4, "y": [5, 6]}]],
    "d": [{"id": 1, "w": [1, 2], "two": [[3], [4, 5]]}, {"id": 2, "w": [], "two": [[], [6]]}],
    "e": [[1], [], [2, 3], [], [], [4]],
    "g/a": [[9], [], [8, 7]],
}


def test_the_script_is_short() -> None:
    assert sum(1 for line in SCRIPT.splitlines() if line.strip()) == LINES


@pytest.mark.parametrize("form", ["nczarr", "nczarr3", "zarr2", "zarr3"])
@pytest.mark.parametrize("codecs", ["none", "deflate:4"])
def test_awkward_reads_lists_from_the_store_alone(
    form: str, codecs: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("awkward")
    dataset = nczarr.from_cdl(CDL)
    nczarr.write(dataset, tmp_path / "s.zarr", format=form, codecs=codecs, allow_loss=["all"])
    script = tmp_path / "read.py"
    script.write_text(SCRIPT, encoding="utf-8")
    for name, values in EXPECTED.items():
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "s.zarr"), name],
            capture_output=True, text=True, check=False, cwd=tmp_path, env={"PATH": ""},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert ast.literal_eval(done.stdout) == values, name
