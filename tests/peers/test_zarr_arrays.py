"""Every array that zarr-python can write is read with the values that zarr-python reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import missing_peer
from tests.support.peers import SCRIPTS

pytestmark = pytest.mark.peer

FEWEST = 108
"""Cases that every tested release makes."""


@pytest.fixture(scope="module", params=["old", "newest"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The stores of one release, and the names of its cases."""
    interpreter = sys.executable if request.param == "old" else os.environ.get("NCZARR_NEWEST")
    if interpreter is None:
        pytest.skip("NCZARR_NEWEST names no interpreter")
    folder = tmp_path_factory.mktemp("arrays")
    command = [interpreter, "-W", "ignore", str(SCRIPTS / "make_zarr_arrays.py"), str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        missing_peer(f"zarr ({ran.stderr[-500:]})")
    cases: dict[str, str | None] = json.loads(ran.stdout.splitlines()[-1])["cases"]
    return folder, [name for name, failed in cases.items() if failed is None]


def plain(values: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and values in a form that both libraries share: bytes of numbers, lists of byte strings."""
    found = np.asarray(values)
    if found.dtype.kind in "SUOT":
        texts = [each.encode() if isinstance(each, str) else bytes(each) for each in found.ravel().tolist()]
        return found.shape, texts
    if found.dtype.kind in "Mm":
        found = found.astype("<i8")
    if found.dtype.kind == "f":
        found = found.astype("<f8")  # a half is a float of the model
    return found.shape, found.astype(found.dtype.newbyteorder("<")).tobytes()


def test_values_are_those_that_zarr_python_reads(made: tuple[Path, list[str]]) -> None:
    folder, names = made
    unlike = {}
    for name in names:
        wanted = np.load(folder / f"{name}.npy", allow_pickle=True)
        try:
            found = nczarr.open(folder / f"{name}.zarr")["v"][...]
            if plain(found) != plain(wanted):
                unlike[name] = "other values"
        except (nczarr.CompileError, KeyError) as error:
            unlike[name] = str(error)
    assert unlike == {}
    assert len(names) >= FEWEST


@pytest.mark.slow
def test_a_conversion_keeps_the_values(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, names = made
    for number, name in enumerate(names):
        target = tmp_path / f"{number}.zarr"
        nczarr.convert(folder / f"{name}.zarr", target, "nczarr3" if number % 2 else "nczarr", verify=True)
        assert nczarr.diff(folder / f"{name}.zarr", target) == [], name
