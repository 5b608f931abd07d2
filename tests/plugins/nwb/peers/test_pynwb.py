"""Copies of NWB files are for pynwb and hdmf-zarr what their sources are."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT, missing_peer, run_command

pytestmark = [pytest.mark.peer, pytest.mark.program]

SCRIPT = ROOT / "tests" / "support" / "peers" / "nwb.py"
UNSAFE = {"NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE": "1"}
"""Without it some releases of numcodecs unpickle nothing: then hdmf-zarr exports nothing."""

Ask = Callable[..., str]


@pytest.fixture(scope="module")
def ask() -> Ask:
    """A function that runs the script of the peers."""
    named = os.environ.get("NCZARR_NWB", "")

    def run(*arguments: str, unsafe: bool = False) -> str:
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", *UNSAFE)}
        environment |= UNSAFE if unsafe else {}
        command = [named, "-W", "ignore", str(SCRIPT), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    if not named:
        missing_peer("pynwb and hdmf-zarr (NCZARR_NWB names their interpreter)")
    return run


@pytest.fixture(scope="module")
def sample(ask: Ask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of pynwb, and the store that hdmf-zarr has exported."""
    folder = tmp_path_factory.mktemp("nwb")
    ask("make", str(folder), unsafe=True)
    return folder


def describe(ask: Ask, *paths: Path) -> list[dict[str, Any]]:
    """Return the content of files as the peers read it."""
    return [json.loads(line) for line in ask("describe", *map(str, paths)).splitlines()]


def copy(source: Path, target: Path) -> Path:
    """Copy, and compare."""
    ran = run_command("nwb", str(source), str(target), "--verify")
    assert (ran.status, "error" in ran.err, "warning" in ran.err) == (0, False, False), ran.err
    return target


def test_a_file_and_its_copies(ask: Ask, sample: Path, tmp_path: Path) -> None:
    """Containers, values, links and references are equal in HDF5, in Zarr, and in HDF5 again."""
    store = copy(sample / "a.nwb", tmp_path / "a.nwb.zarr")
    source, zarr, back = describe(ask, sample / "a.nwb", store, copy(store, tmp_path / "b.nwb"))
    assert zarr == source
    assert back == source
    assert ["es", "linked"] in source["same time stamps"]
    assert len(source) > 30


def test_a_store_of_hdmf_zarr(ask: Ask, sample: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """A store that hdmf-zarr exported, with pickled references, has the content of its source."""
    source, copied = describe(ask, sample / "a.nwb", copy(sample / "a.nwb.zarr", tmp_path / "a.nwb"))
    assert copied == source
    h5py = peer("h5py")
    with h5py.File(tmp_path / "a.nwb") as file:
        link = file.get("acquisition/linked/timestamps", getlink=True)
        assert (type(link), link.path) == (h5py.SoftLink, "/acquisition/es/timestamps")
        assert file[file["units/electrodes"].attrs["table"]].name == "/general/extracellular_ephys/electrodes"
        rows = file["intervals/trials/timeseries"]
        assert [file[row["timeseries"]].name for row in rows] == [
            f"/acquisition/{name}" for name in ("es", "es", "linked")
        ]


def test_files_of_the_field(ask: Ask, shared: Path, tmp_path: Path) -> None:
    """Files of several releases of pynwb."""
    files = sorted((shared / "data" / "hdf5-field").glob("pynwb__*.nwb"))
    assert len(files) > 7
    for path in files:
        store = copy(path, tmp_path / f"{path.name}.zarr")
        source, zarr, back = describe(ask, path, store, copy(store, tmp_path / path.name))
        assert zarr == source, path.name
        assert back == source, path.name
