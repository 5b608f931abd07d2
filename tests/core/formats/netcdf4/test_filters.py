"""Filters of netCDF-4 files that HDF5 has not, or has in combinations that no reader undoes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT, run_command
from tests.support.library import library

h5py = library("h5py")
netcdf = library("netCDF4")


@pytest.mark.slow
def test_a_filter_that_is_declared_and_never_used_stays(tmp_path: Path) -> None:
    source, target = tmp_path / "s.h5", tmp_path / "t.nc"
    with h5py.File(source, "w") as file:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_filter(32000, 1)
        file.create_dataset("v", (5,), dtype="i1", dcpl=made, chunks=(1,), maxshape=(5,))
    call = [sys.executable, "-m", "nczarr", "convert", str(source), str(target)]
    subprocess.run(call, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    with h5py.File(target) as file:
        assert file["v"].compression == "lzf"
        assert file["v"][...].tolist() == [0] * 5


@pytest.mark.parametrize("type_name", ["double", "int64", "float", "short", "byte"])
def test_szip_behind_a_checksum_is_readable_or_refused(type_name: str, tmp_path: Path) -> None:
    text = (
        f"netcdf t {{\ndimensions:\n  x = 64 ;\nvariables:\n  {type_name} v(x) ;\n    v:_ChunkSizes = 64 ;\n"
        '    v:_Fletcher32 = "true" ;\n    v:_Filter = "4,32,8" ;\ndata:\n  v = 1, 2, 3 ;\n}\n'
    )
    done = run_command("compile", "-", "-o", str(tmp_path / "t.nc"), stdin=text.encode())
    if type_name in ("double", "int64"):
        assert done.status == 1
        assert "fletcher32" in done.err
    else:
        assert done.status == 0
        with netcdf.Dataset(tmp_path / "t.nc") as file:
            assert np.ma.filled(file["v"][:3]).tolist() == [1, 2, 3]


@pytest.mark.slow
def test_texts_behind_zstd_are_read_without_the_python_library(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    with netcdf.Dataset(path, "w") as file:
        file.createDimension("x", 4)
        made = file.createVariable("s", str, ("x",), compression="zstd", chunksizes=(2,))
        made[:] = np.array(["a", "b", "c", "d"], object)
        assert made.filters()["zstd"]
    environment = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    code = "import sys, nczarr; print(list(nczarr.open(sys.argv[1])['s'][...]), 'netCDF4' in sys.modules)"
    call = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(call, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['a', 'b', 'c', 'd'] False\n", "")


@pytest.mark.parametrize("codec", ["zlib:4", "zstd:5"])
def test_codecs_of_the_command_line_are_for_strings_too(codec: str, tmp_path: Path) -> None:
    text = (
        "netcdf t {\ndimensions:\n  x = 6 ;\nvariables:\n  string s(x) ;\n  double d(x) ;\n"
        'data:\n  s = "a", "b", "c" ;\n  d = 1, 2 ;\n}\n'
    )
    target = tmp_path / "t.nc"
    assert run_command("compile", "-", "-o", str(target), "--codec", codec, stdin=text.encode()).status == 0
    name = codec.partition(":")[0]
    with netcdf.Dataset(target) as file:
        assert [file[each].filters()[name] for each in ("s", "d")] == [True, True]
        assert list(file["s"][:3]) == ["a", "b", "c"]


def test_filters_that_need_a_plugin_are_announced(tmp_path: Path) -> None:
    text = (
        "netcdf t {\ndimensions:\n  x = 6 ;\nvariables:\n  string s(x) ;\n  double d(x) ;\n"
        'data:\n  s = "a", "b", "c" ;\n  d = 1, 2 ;\n}\n'
    )
    target = tmp_path / "t.nc"
    done = run_command("compile", "-", "-o", str(target), "--codec", "zstd:5", stdin=text.encode())
    assert "warning[plugin-filter]: `/s` and 1 more: ncdump" in done.err
    assert "zstd (32015)" in done.err
    assert "note[pointer-filter]: `/s`: " in done.err
    plain = run_command("compile", "-", "-o", str(tmp_path / "p.nc"), "--codec", "/d=zlib:5", stdin=text.encode())
    assert plain.status == 0
    assert "-filter]" not in plain.err
    again = run_command("convert", str(target), str(tmp_path / "a.nc"))  # as readable as its source
    assert "-filter]" not in again.err
    assert run_command("convert", str(target), str(tmp_path / "a.zarr")).status == 0
    back = run_command("convert", str(tmp_path / "a.zarr"), str(tmp_path / "b.nc"))
    assert "warning[plugin-filter]" in back.err
