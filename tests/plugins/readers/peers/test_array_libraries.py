"""tensorstore, zarrs, xarray-tensorstore and GDAL read the arrays that `check --for` says they read, and no others.

Arrays: one for each type, codec, fill value, grid and oddity of a document, and those of the corpora and of what we
write of them. Truth is what zarr-python reads. `NCZARR_GDAL` names a Python with GDAL's module, by default Debian's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT, missing_peer
from tests.support.library import library
from tests.support.peers.array_matrix import make_matrix

zarr = library("zarr", reason="peer zarr is not installed")
pytestmark = [
    pytest.mark.peer,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        tuple(map(int, version("zarr").split(".")[:2])) < (3, 4), reason="rules are those of zarr-python 3.4"
    ),
]

HARMLESS = {"unconsolidated-store", "unnamed-dimension", "stale-consolidation", "hidden-attribute", "hidden-group"}
"""Findings about attributes, or about values that are read nevertheless."""

OPEN = {"rounded-integer"}
"""Findings about values that some chunks have, and others not."""

SCRIPT = ROOT / "tests" / "support" / "peers" / "array_readers.py"


class Row(NamedTuple):
    """One array of a store."""

    store: Path
    array: str
    version: int
    truth: Path | None
    """File with its values; None if zarr-python cannot read it."""


def rows_of(store: Path, folder: Path) -> list[Row]:
    """The arrays of a store, whose values become files."""
    rows = []
    for path in sorted(store.rglob("*")):
        if path.name not in (".zarray", "zarr.json") or path.parent == store:
            continue
        if path.name == "zarr.json" and b'"array"' not in path.read_bytes():
            continue
        version = 2 if path.name == ".zarray" else 3
        truth: Path | None = folder / f"{abs(hash(path))}.npy"
        try:
            np.save(str(truth), np.asarray(zarr.open_array(path.parent, mode="r")[...]), allow_pickle=True)
        except Exception:
            truth = None
        rows.append(Row(store, path.parent.relative_to(store).as_posix(), version, truth))
    return rows


@pytest.fixture(scope="module")
def rows(peer: Callable[[str], ModuleType], tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The arrays of the matrix."""
    peer("zarr")
    folder, truth = tmp_path_factory.mktemp("matrix"), tmp_path_factory.mktemp("truth")
    matrix = make_matrix(folder)
    assert len(matrix.made) > 100
    return [row for name in matrix.made for row in rows_of(folder / name, truth)]


@pytest.fixture(scope="module")
def corpus_rows(peer: Callable[[str], ModuleType], shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The arrays of the stores of the corpora, and of what we write of the CDL files there."""
    peer("zarr")
    truth, written = tmp_path_factory.mktemp("truth"), tmp_path_factory.mktemp("written")
    stores = {path.parent for name in (".zgroup", "zarr.json") for path in (shared / "data").rglob(name)}
    roots = sorted(path for path in stores if not any(parent in stores for parent in path.parents))
    for number, path in enumerate(sorted((shared / "data" / "cf").rglob("*.cdl"))[:40]):
        for form in ("zarr2", "zarr3"):
            target = written / f"{number}.{form}"
            try:
                nczarr.convert(path, target, form, allow_loss="all")
            except nczarr.CompileError:
                continue
            roots.append(target)
    return [row for root in roots for row in rows_of(root, truth)]


def python_of(reader: str) -> str:
    """The interpreter that has a library."""
    if reader != "gdal":
        return sys.executable
    named = os.environ.get("NCZARR_GDAL", "/usr/bin/python3")
    done = subprocess.run([named, "-c", "from osgeo import gdal; import numpy"], capture_output=True, check=False)
    if done.returncode:
        missing_peer("GDAL (NCZARR_GDAL names a Python with osgeo)")
    return named


def disagreements(reader: str, rows: list[Row], folder: Path) -> tuple[list[Any], int]:
    """Arrays that a library reads otherwise than we say; and how many it reads."""
    listing = folder / "rows.json"
    read = [row for row in rows if row.truth is not None]
    members = [{**row._asdict(), "store": str(row.store), "truth": str(row.truth)} for row in read]
    listing.write_text(json.dumps(members))
    command = [python_of(reader), str(SCRIPT), reader, str(listing)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout)
    assert len(answers) == len(read)
    said = {store: list_faulty(reader, store) for store in {row.store for row in rows}}
    wrong = []
    for row, answer in zip(read, answers, strict=True):
        faulty = said[row.store]
        codes = sorted({code for prefix, code in faulty if f"{row.array}/".startswith(prefix)})
        is_odd = reader == "tensorstore" and "\\" in row.array  # it takes a backslash for a slash
        is_odd |= "unable to decode time" in answer  # rules read no values
        if not is_odd and not OPEN.intersection(codes) and (answer == "equal") is bool(codes):
            wrong.append((row.store.name, row.array, answer, codes))
    return wrong, answers.count("equal")


def list_faulty(reader: str, store: Path) -> list[tuple[str, str]]:
    """What we say of a store: prefix of the arrays that are concerned, and code."""
    found = []
    release = {"gdal": "gdal@3.6"}.get(reader, reader)  # that of Debian 12
    for diagnostic in nczarr.check(store, readers=release):
        key = diagnostic.primary.key or ""
        if diagnostic.code not in HARMLESS:
            node = key[: key.rfind("/") + 1]
            if reader == "xarray-tensorstore":  # it opens all arrays of a group or none
                node = node[: node.rstrip("/").rfind("/") + 1]
            found.append((node, diagnostic.code))
    return found


@pytest.mark.sampled(6)
@pytest.mark.parametrize("reader", ["tensorstore", "zarrs", "xarray-tensorstore", "gdal"])
def test_every_kind_of_array(reader: str, rows: list[Row], peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    if reader != "gdal":
        peer(reader.replace("-", "_"))
    wrong, count = disagreements(reader, rows, tmp_path)
    assert not wrong
    assert count > 40


@pytest.mark.long
@pytest.mark.parametrize(
    "reader", ["tensorstore", "zarrs", pytest.param("xarray-tensorstore", marks=pytest.mark.slow), "gdal"]
)
def test_arrays_of_the_corpora(
    reader: str, corpus_rows: list[Row], peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    if reader != "gdal":
        peer(reader.replace("-", "_"))
    wrong, count = disagreements(reader, corpus_rows, tmp_path)
    assert not wrong
    assert count > 80
