"""HDF5 texts of fixed length: their NULs and fill values are kept, and closing their file harms nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.conftest import ROOT, run_command
from tests.support.library import library

h5py = library("h5py")
library("netCDF4")

READ = """
import sys
import nczarr
for name in sys.argv[1:]:
    for _ in range(5):
        found = nczarr.open(name)
        for variable in found:
            found[variable][...]
print("done")
"""


def made(path: Path, version: str, block: int, dtype: Any, fill: Any) -> None:
    """Make a file with fill values in every place of a header, of which one has blocks that follow."""
    with h5py.File(path, "w", libver=version, userblock_size=block) as file:
        plain = file.create_dataset("v", (4,), dtype=dtype, fillvalue=fill)
        for number in range(12):
            plain.attrs[f"a{number}"] = "x" * 20
        grown = file.create_dataset("g/v", (4,), dtype=dtype, fillvalue=fill, chunks=(2,), maxshape=(None,))
        grown[0] = fill
        file["n"] = [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["earliest", "v110", "latest"])
@pytest.mark.parametrize("block", [0, 512])
def test_fill_values_that_the_library_would_free(version: str, block: int, tmp_path: Path) -> None:
    paths = []
    kinds = [("S3", b"abc"), ("S16", b"abcdefgh" * 2), ("<f2", 1.5), (np.longdouble, 1.5), ("S8", b"a")]
    for number, (dtype, fill) in enumerate(kinds):
        paths.append(tmp_path / f"{number}.h5")
        made(paths[-1], version, block, dtype, fill)
        with h5py.File(paths[-1]) as file:
            found = nczarr.open(paths[-1])
            assert found["n"][...].tolist() == [1, 2]
            for name in ("v", "g/v") if str(dtype).startswith("S") else ():
                assert [each.encode() for each in found[name][...]] == file[name][...].tolist()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MALLOC_PERTURB_": "77"}
    call = [sys.executable, "-c", READ, *map(str, paths)]
    assert subprocess.run(call, env=environment, check=True, capture_output=True, text=True).stdout == "done\n"


def test_nuls_within_texts_are_kept_or_announced(tmp_path: Path) -> None:
    source = tmp_path / "s.h5"
    with h5py.File(source, "w") as file:
        file["a"] = np.array([b"a\0b", b"x\0", b""], "S5")
        file["s"] = np.bytes_(b"q\0z")
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        file.create_dataset("c", data=np.array([b"a\0b"], "S3"), dcpl=compact)
    found = nczarr.open(source)
    assert list(found["a"][...]) == ["a\0b", "x", ""]
    assert found["s"][...] == "q\0z"
    assert list(found["c"][...]) == ["a\0b"]
    with pytest.raises(CompileError, match="cut-string"):
        nczarr.convert(source, tmp_path / "t.nc")


def test_a_text_that_a_nul_ends_ends_at_the_first_one(tmp_path: Path) -> None:
    source = tmp_path / "s.h5"
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(5)
    kind.set_strpad(h5py.h5t.STR_NULLTERM)
    with h5py.File(source, "w") as file:
        space = h5py.h5s.create_simple((2,))
        dataset = h5py.h5d.create(file.id, b"v", kind, space)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([b"a\0b", b"cd"], "S5"), kind)
    assert list(nczarr.open(source)["v"][...]) == ["a", "cd"]


def test_attributes_with_a_nul_inside_are_read_whole(tmp_path: Path) -> None:
    source = tmp_path / "s.h5"
    with h5py.File(source, "w") as file:
        file.attrs["group"] = np.array([b"a\0b", b"ccc"], "S3")
        file.attrs["whole"] = np.array([b"a", b"ccc"], "S3")
        made = file.create_dataset("g/v", data=1)
        made.attrs["variable"] = np.array([b"x\0y\0"] * 2, "S4")
    with nczarr.open(source) as found:
        dataset = found.dataset
    assert [each.value.data for each in dataset.attributes] == [(b"a\0b", b"ccc"), (b"a", b"ccc")]
    assert dataset.groups[0].variables[0].attributes[0].value.data == (b"x\0y", b"x\0y")
    done = run_command("convert", str(source), str(tmp_path / "t.nc"), "--to", "netcdf4")
    assert done.status == 1
    assert "cut-string" in done.err
    assert run_command("convert", str(source), str(tmp_path / "t.zarr")).status == 0
    with nczarr.open(tmp_path / "t.zarr") as found:
        assert found.dataset.attributes == dataset.attributes
