"""Texts behind a shuffle: stores that netCDF-C reads, and those that it wrote itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr

READ = """
import json, sys, netCDF4
with netCDF4.Dataset(f"file://{sys.argv[1]}#mode={sys.argv[2]},file") as data:
    print(json.dumps({name: data[name][...].tolist() for name in data.variables}, default=bytes.decode))
"""
WRITE = """
import sys, netCDF4, numpy as np
with netCDF4.Dataset(f"file://{sys.argv[1]}#mode=nczarr,file", "w") as data:
    data.createDimension("x", 12)
    data.createDimension("n", 20)
    c = data.createVariable("c", "S1", ("x", "n"), compression="zlib", shuffle=True)
    c[:] = np.array([list("abcdefghijklmnopqrst")] * 12, "S1")
    s = data.createVariable("s", str, ("x",), compression="zlib", shuffle=True)
    for number in range(12):
        s[number] = f"text {number}"
    i = data.createVariable("i", "i4", ("x",), compression="zlib", shuffle=True)
    i[:] = range(12)
"""
LETTERS = ["abcdefghijklmnopqrst", "uvwxyzABCDEFGHIJKLMN", "OPQRSTUVWXYZ01234567", "89abcdefghijklmnopqr"]
WORDS = {length: [f"{number}{LETTERS[number]}"[:length] for number in range(4)] for length in (1, 2, 5, 8, 16, 21)}
CHAINS = {
    "deflate": '_Shuffle = "true" ; {0}:_DeflateLevel = 4',
    "shuffle-alone": '_Shuffle = "true"',
    "checksum": '_Shuffle = "true" ; {0}:_DeflateLevel = 1 ; {0}:_Fletcher32 = "true"',
    "zstd": '_Filter = "2,1|32015,3"',
    "blosc": '_Filter = "2,1|32001,0,0,0,0,5,1,1"',
}


def dataset(chain: str) -> nczarr.DatasetHandle:
    names = ["c", "b", *(f"s{length}" for length in WORDS)]
    storage = "".join(f"    {name}:{CHAINS[chain].format(name)} ;\n" for name in names)
    texts = "".join(f"  string s{length}(x) ;\n" for length in WORDS)
    quoted = {length: ", ".join(f'"{each}"' for each in words) for length, words in WORDS.items()}
    data = "".join(f"  s{length} = {words} ;\n" for length, words in quoted.items())
    letters = ", ".join(f'"{each}"' for each in LETTERS)
    return nczarr.from_cdl(
        "netcdf t {\ndimensions:\n  x = 4 ;\n  n = 20 ;\n  y = 64 ;\nvariables:\n  char c(x, n) ;\n  byte b(y) ;\n"
        f"{texts}{storage}data:\n  c = {letters} ;\n  b = {', '.join(map(str, range(64)))} ;\n{data}}}\n"
    )


def library(path: Path, mode: str = "nczarr") -> dict[str, Any]:
    """What netCDF-C sees, in a process of its own."""
    ran = subprocess.run([sys.executable, "-c", READ, str(path), mode], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.sampled(5)
@pytest.mark.parametrize("form", ["nczarr", "zarr2"])
@pytest.mark.parametrize("chain", CHAINS)
def test_netcdf_c_reads_texts_that_were_shuffled(
    chain: str, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("netCDF4")
    nczarr.write(dataset(chain), tmp_path / "t.nc", "netcdf4")
    variables = ["c", "b", *(f"s{length}" for length in WORDS)] if form == "nczarr" else ["c", "b"]
    done = nczarr.convert(tmp_path / "t.nc", tmp_path / "t.zarr", form, allow_loss=["all"], variables=variables)
    assert done.copied_chunks == 2  # a shuffle of single bytes moves none
    seen = library(tmp_path / "t.zarr", "nczarr" if form == "nczarr" else "zarr")
    assert ["".join(row) for row in seen["c"]] == LETTERS
    assert seen["b"] == list(range(64))
    for length, words in WORDS.items() if form == "nczarr" else ():
        assert seen[f"s{length}"] == words


@pytest.mark.parametrize("chain", CHAINS)
def test_zarr_python_reads_them(chain: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    nczarr.write(dataset(chain), tmp_path / "t.zarr", "nczarr")
    group = zarr.open_group(tmp_path / "t.zarr", mode="r")
    assert [b"".join(row).decode() for row in group["c"][...]] == LETTERS
    for length, words in WORDS.items():
        assert [each.decode() for each in group[f"s{length}"][...]] == words


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
@pytest.mark.parametrize("chain", CHAINS)
def test_the_filters_come_back(
    chain: str, form: str, tmp_path: Path, shared: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("netCDF4")
    nczarr.write(dataset(chain), tmp_path / "t.nc", "netcdf4")
    nczarr.convert(tmp_path / "t.nc", tmp_path / "t.zarr", form)
    done = nczarr.convert(tmp_path / "t.zarr", tmp_path / "again.nc", "netcdf4")
    assert done.copied_chunks >= 2
    assert nczarr.diff(tmp_path / "t.nc", tmp_path / "again.nc", storage=True) == []
    ran = subprocess.run(
        [sys.executable, shared / "tools" / "nc-same", tmp_path / "t.nc", tmp_path / "again.nc"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


@pytest.mark.slow
def test_strings_that_netcdf_c_shuffled(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """It writes the element size 0, and means the size of its pointers."""
    peer("netCDF4")
    subprocess.run([sys.executable, "-c", WRITE, str(tmp_path / "w.zarr")], check=True)
    seen = nczarr.open(tmp_path / "w.zarr")
    assert seen["s"][...].tolist() == [f"text {number}" for number in range(12)]
    assert np.array_equal(seen["c"][...], np.array([list("abcdefghijklmnopqrst")] * 12, "S1"))
    assert seen["i"][...].tolist() == list(range(12))
    nczarr.convert(tmp_path / "w.zarr", tmp_path / "again.zarr", "nczarr", verify=True)
    assert library(tmp_path / "again.zarr") == library(tmp_path / "w.zarr")
