"""URLs of services of OPeNDAP without the prefix that reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from tests.support.serving import serving


@pytest.mark.parametrize(("service", "prefix"), [("dap2", "dap2"), ("dap4", "dap4"), ("erddap/griddap", "dap2")])
def test_the_error_names_the_prefix(service: str, prefix: str, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "a.cdl").write_text("netcdf a { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    with serving(tmp_path) as served:
        url = f"{served.url}{service}/a.cdl"
        with pytest.raises(FileNotFoundError, match=f"stands `{prefix}:`"):
            nczarr.open(url)
        if service == prefix:
            assert nczarr.open(f"{prefix}:{url}")["v"][...].tolist() == [1, 2]
