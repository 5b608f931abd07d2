"""Lists in stores, read by Awkward 2 with the script of docs/reference/formats/awkward0.md alone."""

from __future__ import annotations

import ast
import base64
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.conftest import ROOT
from tests.support.peers import corpus
from tests.support.peers.asked_awkward0 import asked

pytestmark = pytest.mark.peer

PAGE = (ROOT / "docs" / "reference" / "formats" / "awkward0.md").read_text(encoding="utf-8")
SCRIPT = next(
    each for each in re.findall(r"```python no-run\n(.*?)```", PAGE, re.DOTALL) if "import json, pathlib" in each
)
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
    assert sum(1 for line in SCRIPT.splitlines() if line.strip() and not line.startswith("#")) == LINES


@pytest.mark.long
@pytest.mark.sampled(8)
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


# ---- awkward0 itself, over the corpus ------------------------------------------------------------------------------
def plain(value: Any) -> Any:
    """Values of a variable as lists, dictionaries, numbers, bytes and None; texts are their bytes."""
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.void):
        if value.dtype.names is None:
            return value.tobytes()
        return {name: plain(value[name]) for name in value.dtype.names}
    if isinstance(value, np.floating):
        return float(value).hex()
    value = value.item() if isinstance(value, np.generic) else value
    return value.encode() if isinstance(value, str) else value


def unmarked(value: Any) -> Any:
    """The same of what the reader of awkward0 prints."""
    match value:
        case {"float": text}:
            return text
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"record": members}:
            return {name: unmarked(each) for name, each in members}
        case list():
            return [unmarked(each) for each in value]
    return value.encode() if isinstance(value, str) else value


def cells(handle: Any, path: str) -> list[Any]:
    """The values of a variable as a document has them: those of lists flat, in C order."""
    found = plain(handle[path][...])
    if not handle[path].shape:
        return [found]
    for _ in handle[path].shape[1:]:
        found = [each for row in found for each in row]
    return list(found)


@pytest.fixture(scope="module")
def ragged(shared: Path) -> dict[str, Any]:
    """The datasets of the corpus that have documents, by name."""
    found = {"ours": nczarr.from_cdl(CDL)}
    for path in corpus.files(shared):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if "(*)" not in text.replace(" ", ""):
            continue
        with contextlib.suppress(CompileError):
            found[path.stem] = nczarr.from_cdl(text)
    return found


def test_awkward0_reads_the_lists_of_every_store(ragged: dict[str, Any], awkward0: str) -> None:
    questions, expected = [], []
    for name, handle in ragged.items():
        for form in ("nczarr", "nczarr3", "zarr3-2019"):
            keys = handle.to_keys(form)
            storage = {key: base64.b64encode(data).decode() for key, data in keys.items()}
            for key in keys:
                if key.endswith("/.awkward0/schema.json"):
                    path = json.loads(keys[key])["metadata"]["variable"]
                    questions.append({"name": key, "storage": storage})
                    expected.append((name, form, path, cells(handle, path)))
    assert len(questions) > 50
    for answer, (name, form, path, values) in zip(asked(awkward0, questions), expected, strict=True):
        assert "value" in answer, (name, form, path, answer)
        assert unmarked(answer["value"]) == values, (name, form, path)


def test_awkward0_reads_records_as_tables(ragged: dict[str, Any], awkward0: str, tmp_path: Path) -> None:
    questions, expected = [], []
    for name, handle in ragged.items():
        nczarr.write(handle, tmp_path / f"{name}.zarr", tables=True)
        root = tmp_path / f"{name}.zarr"
        keys = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        storage = {key: base64.b64encode(data).decode() for key, data in keys.items()}
        for key in keys:
            if key.endswith("/.awkward0/schema.json"):
                questions.append({"name": key, "storage": storage})
                expected.append((name, key, cells(handle, json.loads(keys[key])["metadata"]["variable"])))
    for answer, (name, key, values) in zip(asked(awkward0, questions), expected, strict=True):
        assert "value" in answer, (name, key, answer)
        assert unmarked(answer["value"]) == values, (name, key)


def test_awkward0_reads_archives(ragged: dict[str, Any], awkward0: str, tmp_path: Path) -> None:
    for name, handle in ragged.items():
        nczarr.write(handle, tmp_path / f"{name}.awkd")
    answers = asked(awkward0, ({"file": str(tmp_path / f"{name}.awkd")} for name in ragged))
    for (name, handle), answer in zip(ragged.items(), answers, strict=True):
        assert "value" in answer, (name, answer)
        found = unmarked(answer["value"])
        found = found if isinstance(found, dict) else {"": found}
        assert len(found) == len(handle), name
        for path in handle:
            if handle[path].type in VLENS:
                assert found[path.lstrip("/")] == cells(handle, path), (name, path)


VLENS = ("/row", "/rows", "/pts")


def test_our_reader_reads_them_too(ragged: dict[str, Any]) -> None:
    for name, handle in ragged.items():
        keys = handle.to_keys("nczarr")
        for key in keys:
            if key.endswith("/.awkward0/schema.json"):
                path = json.loads(keys[key])["metadata"]["variable"]
                column = nczarr.awkward0.columns(keys, key)
                assert [_hex(each) for each in nczarr.awkward0.items(column)] == cells(handle, path), (name, path)


def _hex(value: Any) -> Any:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return [_hex(each) for each in value]
    if isinstance(value, dict):
        return {name: _hex(each) for name, each in value.items()}
    return value
