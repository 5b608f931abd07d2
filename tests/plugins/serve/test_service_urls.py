"""URLs of services of OPeNDAP without the prefix that reads them."""

from __future__ import annotations

import pytest

import nczarr
from tests.support.serving import Shelf


@pytest.mark.parametrize(("service", "prefix"), [("dap2", "dap2"), ("dap4", "dap4"), ("erddap/griddap", "dap2")])
def test_the_error_names_the_prefix(service: str, prefix: str, shelf: Shelf) -> None:
    pytest.importorskip("aiohttp")
    (shelf.folder / "a.cdl").write_text("netcdf a { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    url = f"{shelf.served.url}{service}/{shelf.folder.name}/a.cdl"
    with pytest.raises(FileNotFoundError, match=f"stands `{prefix}:`"):
        nczarr.open(url)
    if service == prefix:
        assert nczarr.open(f"{prefix}:{url}")["v"][...].tolist() == [1, 2]
