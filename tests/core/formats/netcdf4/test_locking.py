"""The C libraries are called with their lock alone: threads read and write files side by side."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.formats.netcdf4 import hdf5 as hdf5_functions
from nczarr.formats.netcdf4.hdf5 import Hdf5
from nczarr.formats.netcdf4.library import Library
from tests.conftest import ROOT
from tests.support.isolation import read_here
from tests.support.library import library

library("netCDF4")

SAMPLES = ["02-grid-groups", "04-cmip", "05-every-type", "06-strings"]

THREADS = """
import sys, threading, nczarr
source, folder = sys.argv[1:]
errors = []
def work(number):
    try:
        for turn in range(12):
            target = f"{folder}/{number}-{turn}.nc"
            nczarr.convert(source, target)
            with nczarr.open(target) as found:
                assert found["/v"][...].sum() == 4950
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[each.start() for each in threads]
[each.join() for each in threads]
sys.exit(repr(errors) if errors else 0)
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the functions that are called, with `!` in front of those that are called without the lock."""
    found: list[str] = []

    def noted(name: str) -> None:
        found.append(name if LOCK._own._is_owned() else f"!{name}")  # type: ignore[attr-defined]

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Library, name: str, *arguments: Any) -> Any:
            noted(name)
            return function(self, name, *arguments)

        return call

    for name in ("do", "call", "make"):
        monkeypatch.setattr(Library, name, watched(getattr(Library, name)))
    plain = Hdf5.__getattr__

    def function_of(self: Hdf5, name: str) -> Callable[..., Any]:
        function = plain(self, name)

        def call(*arguments: Any) -> Any:
            noted(name)
            return function(*arguments)

        setattr(self, name, call)
        return call

    read_here(monkeypatch)
    monkeypatch.setattr(Hdf5, "__getattr__", function_of)
    monkeypatch.setattr(hdf5_functions, "_made", {})
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_all_calls_have_the_lock(name: str, calls: list[str], tmp_path: Path) -> None:
    target, copy = tmp_path / "a.nc", tmp_path / "b.nc"
    nczarr.convert(ROOT / "samples" / f"{name}.cdl", target)
    nczarr.convert(target, copy, codecs="zlib:1")
    nczarr.convert(target, tmp_path / "c.zarr", format="nczarr")
    assert not nczarr.diff(target, copy)
    nczarr.digest(target)
    assert {"nc_create", "H5Fopen", "nc_close"} <= set(calls)
    assert not {each for each in calls if each.startswith("!")}


def test_calls_of_an_extension_have_the_lock(calls: list[str], tmp_path: Path) -> None:
    text = (
        "netcdf t {{ dimensions: t = UNLIMITED ; variables: int t(t) ; double v(t) ; string s(t) ; "
        'data: t = {0} ; v = {0} ; s = "{0}" ; }}'
    )
    for number in range(2):
        nczarr.write(nczarr.from_cdl(text.format(number)), tmp_path / f"{number}.nc")
    nczarr.append(tmp_path / "1.nc", tmp_path / "0.nc", along="t")
    assert not {each for each in calls if each.startswith("!")}


@pytest.mark.long
def test_threads_write_and_read_files(tmp_path: Path) -> None:
    text = 'netcdf t { dimensions: x = 100 ; variables: int v(x) ; string s ; v:_ChunkSizes = 7 ; data: s = "a" ; v = '
    (tmp_path / "t.cdl").write_text(text + ", ".join(map(str, range(100))) + " ; }")
    done = subprocess.run([sys.executable, "-c", THREADS, tmp_path / "t.cdl", tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
