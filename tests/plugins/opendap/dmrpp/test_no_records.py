"""Documents of files without records are read: nothing is asked of a file that has no chunk."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr

SCHEMA = "netcdf a { dimensions: t = UNLIMITED ; n = 3 ; variables: char v(t, n) ; int w(t) ; float x(n) ; }"


@pytest.mark.parametrize("kind", ["nc3", "nc5", "nc4", "nc7"])
def test_a_file_without_records(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.cdl").write_text(SCHEMA)
    nczarr.convert(tmp_path / "a.cdl", tmp_path / "a.nc", kind=kind)
    nczarr.convert(tmp_path / "a.nc", tmp_path / "a.dmrpp", variables=["v", "w"], verify=True)
    with nczarr.open(tmp_path / "a.dmrpp") as found:
        assert found["/v"].shape == (0, 3)
        assert found["/w"][...].tolist() == []
