"""Files that end too early: no client gets invented values, and the server's log names the dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.support.serving import Served, serving

TEXT = """netcdf cut {
dimensions: t = unlimited ; x = 4 ;
variables: int v(t, x) ; double t(t) ; float fixed(x) ;
data: v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ; t = 1, 2, 3 ; fixed = 1, 2, 3, 4 ;
}"""


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a netCDF-3 file that lacks its last 30 bytes: 16 of `v`, 14 of `t` and its end."""
    folder = tmp_path_factory.mktemp("cut")
    nczarr.write(nczarr.from_cdl(TEXT), folder / "cut.nc", kind="nc3")
    whole = (folder / "cut.nc").read_bytes()
    (folder / "cut.nc").write_bytes(whole[:-30])
    os.utime(folder / "cut.nc", (10**9, 10**9))  # it is not being written
    return folder


@pytest.fixture(scope="module")
def served_cut(cut: Path) -> Iterator[Served]:
    with serving(cut) as served:
        yield served


@pytest.mark.parametrize(
    "target",
    [
        "/zarr2/cut.nc/v/0.0",
        "/zarr3/cut.nc/v/c/0/0",
        "/dap2/cut.nc.ascii?v",
        "/dap2/cut.nc.dods?v[2:1:2][3:1:3]",
        "/dap4/cut.nc.dap?dap4.ce=/v",
        "/cdmremote/cut.nc?req=data&var=v",
        "/download/cut.nc?format=csv&var=v",
        "/view/cut.nc?format=json&var=v",
        "/erddap/griddap/cut.nc.csv?v",
    ],
)
def test_missing_values_are_refused(target: str, served_cut: Served) -> None:
    reply = served_cut.get(target)
    assert reply.status == 422
    assert "the file ends at byte" in reply.text


def test_values_that_are_there_are_served(served_cut: Served) -> None:
    assert served_cut.get("/zarr3/cut.nc/fixed/c/0").body == np.arange(1, 5, dtype=">f4").tobytes()
    assert "[1], 5, 6, 7, 8" in served_cut.get("/dap2/cut.nc.ascii?v[0:1:1][0:1:3]").text
    assert served_cut.get("/zarr3/cut.nc/zarr.json").status == 200
    assert served_cut.get("/browse/cut.nc").status == 200


def test_the_log_names_a_dataset_and_a_reason_once(cut: Path) -> None:
    with serving(cut) as served:
        for target in ("/zarr2/cut.nc/v/0.0", "/dap2/cut.nc.ascii?v", "/dap2/cut.nc.ascii?t", "/zarr2/none.nc/.zgroup"):
            served.get(target)
        served.end()
        assert served.process.stderr is not None
        log = served.process.stderr.read().splitlines()
    assert len(log) == 1
    assert log[0].startswith("422 cut.nc: error[unreadable-chunk]: the file ends at byte")
