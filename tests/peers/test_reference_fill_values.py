"""References that we make state `_FillValue` as kerchunk does: as the fill value of the array alone.

xarray then masks what it masks in the file, and VirtualiZarr's parser opens them.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import missing_peer, run_command
from tests.support.peers import exactness
from tests.support.peers.references import others_interpreter

pytestmark = pytest.mark.peer

Peer = Callable[[str], ModuleType]
REAL = exactness.real_folder()
FILES = [subject.path for subject in exactness.real(REAL)] if REAL is not None else []
needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")

UNPARSED = {
    "bad_missing_data.nc": "its last chunk is missing: the grid of the parser has the chunks that are there",
    "vlstr_type.nc": "its strings are in the document, which the parser does not read",
}
"""Real files whose references the parser does not open, and why."""
MASKED = {
    "bad_missing_data.nc": ["temp", "latitude", "longitude"],
    "A1B_north_america.nc": ["latitude_longitude"],
    "E1_north_america.nc": ["latitude_longitude"],
    "ostia_monthly.nc": ["latitude_longitude"],
    "hybrid_height.nc": ["rotated_latitude_longitude"],
    "rotated_pole.nc": ["rotated_latitude_longitude"],
    "toa_brightness_stereographic.nc": ["stereographic"],
}
"""Variables without `_FillValue` whose unwritten chunks need a fill value, which xarray takes for `_FillValue`."""
REFUSED = {"bad_data_type.nc"}
"""Files that xarray does not open."""


def made(source: Path, folder: Path, metadata: str) -> Path:
    target = folder / f"{source.parent.name}-{source.name}.{metadata}.json"
    command = ["convert", str(source), str(target), "--to", "reference", "--metadata", metadata, "--inline", "0"]
    done = run_command(*command, "--allow-loss", "all")
    assert done.status == 0, done.err
    return target


def differences(source: Path, document: Path, xarray: ModuleType) -> Iterator[str]:
    """Return the differences between references of Zarr v2 and the file, as xarray reads both."""
    options: dict[str, Any] = {"fo": str(document), "remote_protocol": "file"}
    with (
        xarray.open_dataset(source, engine="netcdf4", decode_times=False) as wanted,
        xarray.open_dataset(
            "reference://", engine="zarr", consolidated=False, zarr_format=2, storage_options=options,
            decode_times=False,
        ) as found,
    ):  # fmt: skip
        for name, one in wanted.variables.items():
            other = found.variables[name]
            if one.dtype.kind not in "iuf":
                continue
            values = other.values.reshape(one.shape)  # NCZarr's scalars have one dimension
            if one.dtype != other.dtype or not np.array_equal(one.values, values, equal_nan=True):
                yield str(name)


@pytest.fixture
def source(tmp_path: Path, peer: Peer) -> Path:
    """Variables with and without `_FillValue`, complete or not, with the values of the defaults among them."""
    path = tmp_path / "fills.nc"
    netcdf = peer("netCDF4")
    default = netcdf.default_fillvals
    with netcdf.Dataset(path, "w") as file:
        file.createDimension("x", 6)
        for kind in ("i1", "u1", "i2", "i4", "u4", "i8", "f4", "f8"):
            values = [1, 2, default[kind], 4, 7, 6]
            for name, fill in (("plain", None), ("own", 7), ("default", default[kind]), ("never", False)):
                for compressed in (False, True):
                    made = file.createVariable(
                        f"{kind}_{name}_{'z' * compressed}", kind, ("x",), fill_value=fill, zlib=compressed,
                        chunksizes=(3,) if compressed else None,
                    )  # fmt: skip
                    made.set_auto_maskandscale(False)
                    made[:] = np.array(values, kind)
        file.createVariable("half_own", "i4", ("x",), fill_value=7, chunksizes=(3,))[:3] = [1, 2, 3]
        file.createVariable("nan", "f4", ("x",), fill_value=np.nan)[:] = [1, np.nan, 3, 4, 5, 6]
        packed = file.createVariable("packed", "i2", ("x",), fill_value=-9)
        packed.scale_factor = 0.5
        packed.set_auto_maskandscale(False)
        packed[:] = [1, -9, 3, 4, 5, 6]
        file.createVariable("scalar", "f8", (), fill_value=-1.0)[...] = 2.5
    return path


@pytest.mark.parametrize("metadata", ["zarr2", "nczarr"])
def test_xarray_sees_the_same_values_and_masks(metadata: str, source: Path, tmp_path: Path, peer: Peer) -> None:
    peer("zarr")
    document = made(source, tmp_path, metadata)
    assert list(differences(source, document, peer("xarray"))) == []
    entries = json.loads(document.read_text())["refs"]
    attributes = [json.loads(entries[key]) for key in entries if key.endswith(".zattrs")]
    assert not [each for each in attributes if "_FillValue" in each]


@needs_files
@pytest.mark.parametrize("path", FILES[3::12], ids=lambda path: path.name)
def test_xarray_sees_the_same_values_and_masks_of_real_files(path: Path, tmp_path: Path, peer: Peer) -> None:
    assert_masks(path, tmp_path, peer)


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_xarray_sees_the_same_values_and_masks_of_all_real_files(path: Path, tmp_path: Path, peer: Peer) -> None:
    assert_masks(path, tmp_path, peer)


def assert_masks(path: Path, folder: Path, peer: Peer) -> None:
    peer("zarr")
    xarray = peer("xarray")
    document = made(path, folder, "zarr2")
    if path.name in REFUSED:
        with pytest.raises(TypeError):
            list(differences(path, document, xarray))
    else:
        assert list(differences(path, document, xarray)) == MASKED.get(path.name, [])


def parsed(documents: list[Path]) -> list[dict[str, Any]]:
    """Return the sizes and dtypes that VirtualiZarr's parser finds in each document, or its error."""
    interpreter = others_interpreter()
    if interpreter is None:
        missing_peer("virtualizarr (NCZARR_KERCHUNK)")
        raise AssertionError
    script = Path(__file__).parents[1] / "support" / "peers" / "parse_virtualizarr.py"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    lines = "".join(f"{each}\n" for each in documents)
    done = subprocess.run(
        [interpreter, str(script)], input=lines, capture_output=True, text=True, check=True, env=environment
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("metadata", ["zarr2", "nczarr"])
def test_virtualizarr_opens_references(metadata: str, source: Path, tmp_path: Path, peer: Peer) -> None:
    netcdf = peer("netCDF4")
    (found,) = parsed([made(source, tmp_path, metadata)])
    with netcdf.Dataset(source) as file:
        wanted = {name: list(each.shape) for name, each in file.variables.items() if each.ndim}
    assert {name: shape for name, (shape, _) in found.items() if name != "scalar"} == wanted


@needs_files
def test_virtualizarr_opens_references_to_real_files(tmp_path: Path) -> None:
    some = FILES[3::12]
    answers = parsed([made(path, tmp_path, "nczarr") for path in some])
    assert {path.name for path, found in zip(some, answers, strict=True) if "error" in found} <= set(UNPARSED)


@pytest.mark.slow
@needs_files
def test_virtualizarr_opens_references_to_all_real_files(tmp_path: Path) -> None:
    answers = parsed([made(path, tmp_path, "nczarr") for path in FILES])
    assert {path.name for path, found in zip(FILES, answers, strict=True) if "error" in found} == set(UNPARSED)
