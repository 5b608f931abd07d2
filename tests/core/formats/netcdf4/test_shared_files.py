"""Files that other code of the process has open: HDF5 shares their state."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from tests.conftest import ROOT

OTHERS = """
import sys
import netCDF4
import nczarr

theirs = netCDF4.Dataset(sys.argv[1])
assert theirs["s"][0] == "a"
for _ in range(20):
    ours = nczarr.open(sys.argv[1])
    assert list(ours["s"][...]) == ["a", "b", "none"]
    assert [list(each) for each in ours["l"][...]] == [[1], [2, 3], []]
assert theirs["s"][1] == "b"
theirs.close()
assert nczarr.open(sys.argv[1])["s"][1] == ours["s"][1] == "b"
print("done")
"""

CDL = """netcdf a {
types: int(*) list ;
dimensions: x = UNLIMITED ;
variables: string s(x) ; s:_FillValue = "none" ; list l(x) ;
data: s = "a", "b", _ ; l = {1}, {2, 3}, {} ;
}
"""


@pytest.fixture
def path(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    peer("netCDF4")
    (tmp_path / "a.cdl").write_text(CDL)
    nczarr.convert(tmp_path / "a.cdl", tmp_path / "a.nc")
    return tmp_path / "a.nc"


def test_a_file_that_is_open_elsewhere_is_read(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", OTHERS, str(path)], env=environment, check=False, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


def test_a_file_that_was_read_can_be_written(path: Path, peer: Callable[[str], ModuleType]) -> None:
    library = peer("netCDF4")
    ours = nczarr.open(path)
    assert list(ours["s"][...]) == ["a", "b", "none"]
    with library.Dataset(path, "a") as theirs:
        theirs["s"][0] = "c"
    assert nczarr.open(path)["s"][0] == "c"
    with library.Dataset(path, "w") as theirs:
        theirs.title = "new"
    assert nczarr.open(path).attributes["title"] == "new"


def test_a_file_that_is_being_written_is_read(path: Path, peer: Callable[[str], ModuleType]) -> None:
    with peer("netCDF4").Dataset(path, "a") as theirs:
        theirs["s"][0] = "c"
        theirs.sync()
        assert list(nczarr.open(path)["s"][...]) == ["c", "b", "none"]
