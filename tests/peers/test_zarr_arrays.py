"""Every array that zarr-python can write is read with the values that zarr-python reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import missing_peer
from tests.support.peers import SCRIPTS, newest_python
from tests.support.proof import part

pytestmark = pytest.mark.peer

FEWEST = 120
"""Cases that every tested release makes."""

FEWEST_PAIRS = 550
"""Pairs of types, codecs and layouts that every tested release makes."""


def _interpreter(release: str) -> str:
    return sys.executable if release == "old" else newest_python()


@pytest.fixture(scope="module", params=["old", "newest"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """The stores of one release, the names of its cases, and the interpreter."""
    return stores(_interpreter(request.param), tmp_path_factory)


@pytest.fixture(scope="module", params=["old", "newest"])
def paired(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """The same for all pairs of types, codecs and layouts."""
    return stores(_interpreter(request.param), tmp_path_factory, "pairs")


def stores(
    interpreter: str, tmp_path_factory: pytest.TempPathFactory, *cases_wanted: str
) -> tuple[Path, list[str], str]:
    folder = tmp_path_factory.mktemp("arrays")
    command = [interpreter, "-W", "ignore", str(SCRIPTS / "make_zarr_arrays.py"), str(folder), *cases_wanted]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        missing_peer(f"zarr ({ran.stderr[-500:]})")
    cases: dict[str, str | None] = json.loads(ran.stdout.splitlines()[-1])["cases"]
    return folder, [name for name, failed in cases.items() if failed is None], interpreter


def little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind == "T" else dtype.newbyteorder("<")


def _field(values: Any) -> Any:
    """A field of a record: texts as arrays of bytes or code points."""
    if values.dtype.kind not in "SU":
        return values
    width = "S1" if values.dtype.kind == "S" else "u4"
    little = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return little[..., None].view(width) if values.dtype.itemsize > 1 else little


def plain(values: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and values in a form that both libraries share: bytes of numbers, lists of byte strings."""
    found = np.asarray(values)
    if found.dtype.kind in "SUOT":
        texts = [each.encode() if isinstance(each, str) else bytes(each) for each in found.ravel().tolist()]
        return found.shape, texts
    if found.dtype.names is not None:
        return found.shape, [plain(_field(found[name]))[1] for name in found.dtype.names]
    if found.dtype.kind == "c":  # a compound of r and i
        return found.shape, [plain(found.real)[1], plain(found.imag)[1]]
    if found.dtype.kind in "Mm":
        found = found.astype("<i8")
    if found.dtype.kind == "f":
        found = found.astype("<f8")  # a half is a float of the model
    return found.shape, found.astype(found.dtype.newbyteorder("<")).tobytes()


@pytest.mark.long
def test_values_are_those_that_zarr_python_reads(made: tuple[Path, list[str], str]) -> None:
    check_values(*made)
    assert len(made[1]) >= FEWEST


@pytest.mark.slow
def test_pairs_of_types_codecs_and_layouts(paired: tuple[Path, list[str], str], tmp_path: Path) -> None:
    check_values(*paired)
    check_written_back(*paired, tmp_path)
    assert len(paired[1]) >= FEWEST_PAIRS


def check_values(folder: Path, names: list[str], _: str) -> None:
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


@pytest.mark.slow
def test_a_conversion_keeps_the_values(made: tuple[Path, list[str], str], tmp_path: Path) -> None:
    folder, names, _ = made
    for number, name in enumerate(part(names)):
        target = tmp_path / f"{number}.zarr"
        nczarr.convert(folder / f"{name}.zarr", target, "nczarr3" if number % 2 else "nczarr", verify=True)
        assert nczarr.diff(folder / f"{name}.zarr", target) == [], name


@pytest.mark.long
def test_what_is_written_back_is_read_as_before(made: tuple[Path, list[str], str], tmp_path: Path) -> None:
    """The same release reads the same types and values from a store of the same version that we wrote."""
    check_written_back(*made, tmp_path)


def check_written_back(folder: Path, names: list[str], interpreter: str, tmp_path: Path) -> None:
    for name in names:
        nczarr.convert(
            folder / f"{name}.zarr", tmp_path / f"{name}.zarr", "zarr2" if name.startswith("v2") else "zarr3"
        )
    command = [interpreter, "-W", "ignore", str(SCRIPTS / "read_zarr_arrays.py"), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    read: dict[str, str | None] = json.loads(ran.stdout.splitlines()[-1])
    unlike = {name: failed for name, failed in read.items() if failed is not None}
    assert unlike == {}
    for name in names:
        wanted, found = (np.load(each / f"{name}.npy", allow_pickle=True) for each in (folder, tmp_path))
        if little(wanted.dtype) != little(found.dtype):
            unlike[name] = f"{wanted.dtype} became {found.dtype}"
        elif wanted.shape != found.shape or plain(wanted) != plain(found):
            unlike[name] = "other values"
    assert unlike == {}
    assert len(read) == len(names)
