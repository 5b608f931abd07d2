"""Cells that were never written hold after every way what HDF5 shows for them: h5py and netCDF4 read the targets."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import Ran, run_command
from tests.support.peers.unwritten_files import LAYOUTS, SHAPE, Case, cases, make

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def h5py(peer: Callable[[str], ModuleType]) -> ModuleType:
    peer("netCDF4")
    return peer("h5py")


@pytest.fixture(scope="module")
def sparse(h5py: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with all cases."""
    path = tmp_path_factory.mktemp("sparse") / "a.h5"
    make(path, h5py)
    return path


def ran(*arguments: str) -> Ran:
    done = run_command(*arguments)
    assert done.status == 0, done.err
    return done


SAVE = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
path, target, library = sys.argv[1:]
found = {}
if library == "h5py":
    import h5py
    with h5py.File(path) as file:
        found = {name: each[...] for name, each in file.items() if isinstance(each, h5py.Dataset)}
else:
    import netCDF4
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        found = {name: each[...] for name, each in file.variables.items()}
np.savez(target, **{name: np.asarray(values) for name, values in found.items()})
"""


def shown(path: Path, library: str) -> dict[str, Any]:
    """What a library shows of a file: in a process whose memory holds no zeros where it was not set."""
    target = path.with_suffix(f".{library}.npz")
    command = [sys.executable, "-c", SAVE, str(path), str(target), library]
    subprocess.run(command, check=True, env={**os.environ, "MALLOC_PERTURB_": "85"})
    with np.load(target, allow_pickle=False) as found:
        return dict(found)


def elements(values: Any) -> list[bytes]:
    """Elements without gaps, little-endian."""
    dtype = values.dtype
    if dtype.names is not None:
        packed = np.empty(values.shape, [(name, dtype[name].newbyteorder("<")) for name in dtype.names])
        for name in dtype.names:
            packed[name] = values[name]
        values = packed
    values = values.astype(values.dtype.newbyteorder("<"))
    return [each.tobytes() for each in values.reshape(-1)]


def wrong(source: Path, target: Path, kept: Callable[[Any], Any] = lambda values: values) -> Iterator[str]:
    """What differs where values are defined; where they are not the target has one value."""
    expected = shown(source, "h5py")
    for library in ("h5py", "netcdf4"):
        found = shown(target, library)
        for case in cases():
            if case.name not in found:
                assert case.type == "opaque", case.name  # which netCDF4-python passes over
                continue
            values, defined = kept(expected[case.name]), kept(case.defined)
            if elements(values[defined]) != elements(found[case.name][defined]):
                yield f"{library}: {case.name}"
            if len(set(elements(found[case.name][~defined]))) > 1:
                yield f"{library}: {case.name}: not one value where none is defined"


def sections(box: str, every: list[Case]) -> list[str]:
    return [word for case in every for word in ("--section", f"{case.name}({box})")]


STORES = (("nczarr", ".zarr"), ("nczarr3", ".zarr"), ("zarr3", ".zarr"), ("ncstream", ".ncs"), ("awkward0", ".awkd"))


@pytest.mark.slow
def test_netcdf_to_netcdf(sparse: Path, tmp_path: Path) -> None:
    ran("convert", str(sparse), str(tmp_path / "b.nc"))
    assert list(wrong(sparse, tmp_path / "b.nc")) == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--codec", "zlib:1"), ("--chunks", "y=3,x=13")])
def test_other_chunks_and_codecs(sparse: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    ran("convert", str(sparse), str(tmp_path / "b.nc"), *options)
    assert list(wrong(sparse, tmp_path / "b.nc")) == []


@pytest.mark.slow
@pytest.mark.parametrize(("form", "suffix"), STORES)
def test_through_a_store(sparse: Path, tmp_path: Path, form: str, suffix: str) -> None:
    between = str(tmp_path / f"b{suffix}")
    ran("convert", str(sparse), between, "--to", form, "--allow-loss", "all")
    ran("convert", between, str(tmp_path / "c.nc"))
    assert list(wrong(sparse, tmp_path / "c.nc")) == []


@pytest.mark.slow
@pytest.mark.parametrize("metadata", ["nczarr", "nczarr3", "zarr3"])
def test_through_references(sparse: Path, tmp_path: Path, metadata: str) -> None:
    between = str(tmp_path / "b.json")
    ran("convert", str(sparse), between, "--metadata", metadata, "--allow-loss", "all")
    ran("convert", between, str(tmp_path / "c.nc"))
    assert list(wrong(sparse, tmp_path / "c.nc")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "kept"),
    [("1:8,3:11", np.s_[1:9, 3:12]), ("1:8:2,3:11:3", np.s_[1:9:2, 3:12:3]), ("4:7,5:9", np.s_[4:8, 5:10])],
)
def test_sections(sparse: Path, tmp_path: Path, box: str, kept: Any) -> None:
    ran("convert", str(sparse), str(tmp_path / "b.nc"), *sections(box, cases()))
    assert list(wrong(sparse, tmp_path / "b.nc", lambda values: values[kept])) == []


@pytest.mark.slow
def test_combined_along_a_dimension(sparse: Path, tmp_path: Path) -> None:
    ran("refs", "combine", str(sparse), str(sparse), "--along", "y", "--unsorted", "-o", str(tmp_path / "b.nc"))
    assert list(wrong(sparse, tmp_path / "b.nc", lambda values: np.concatenate((values, values)))) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["b.nc", "b.json"])
def test_stacked(sparse: Path, tmp_path: Path, target: str) -> None:
    stacked = [word for case in cases() for word in ("--along", case.name)]
    made = tmp_path / target
    ran("refs", "combine", str(sparse), str(sparse), "--new-dim", "n", *stacked, "-o", str(made), "--allow-loss", "all")
    if target == "b.json":
        made = tmp_path / "c.nc"
        ran("convert", str(tmp_path / target), str(made))
    assert list(wrong(sparse, made, lambda values: np.stack((values, values)))) == []


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(sparse: Path, tmp_path: Path) -> None:
    made = []
    for perturbed in ("0", "85", "170"):
        target = tmp_path / f"{perturbed}.nc"
        command = [sys.executable, "-m", "nczarr", "convert", str(sparse), str(target), "-q"]
        subprocess.run(command, check=True, env={**os.environ, "MALLOC_PERTURB_": perturbed})
        made.append(target.read_bytes())
    assert made[0] == made[1] == made[2]


@pytest.mark.slow
def test_references_declare_the_fill_value_of_hdf5(sparse: Path, tmp_path: Path, h5py: ModuleType) -> None:
    ran("convert", str(sparse), str(tmp_path / "b.json"), "--metadata", "zarr2", "--allow-loss", "all")
    entries = json.loads((tmp_path / "b.json").read_text())["refs"]
    seen = set()
    with h5py.File(sparse) as file:
        for case in cases():
            if case.type not in ("i4", "big", "f8") or case.time == "never":
                continue
            document = entries[f"{case.name}/.zarray"]
            document = json.loads(document) if isinstance(document, str) else document
            chunks = math.prod(-(-length // each) for length, each in zip(SHAPE, document["chunks"], strict=True))
            if sum(key.startswith(f"{case.name}/") and key[-1].isdigit() for key in entries) < chunks:
                assert document["fill_value"] == file[case.name].fillvalue, case.name
                seen.add((case.fill, case.layout))
    assert seen == {(fill, layout) for fill in ("zeros", "own") for layout in LAYOUTS}
