"""Our client of DAP2 against our server: equal to the file."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from tests.support.library import library
from tests.support.serving import serving

library("aiohttp")
library("uvicorn")

CDL = """netcdf a {
dimensions:
  time = UNLIMITED ;
  lat = 3 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  float lat(lat) ;
  short t(time, lat) ;
    t:scale_factor = 0.5 ;
    t:_FillValue = -1s ;
    t:flags = 1, 2 ;
  int one ;
  :title = "served \\"here\\"" ;
data:
  time = 1, 2 ;
  lat = -1.5, 0, 1.5 ;
  t = 1, 2, _, 4, 5, 6 ;
  one = 7 ;
}
"""


@pytest.mark.long
def test_a_dataset_is_equal_to_its_file(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl(CDL), tmp_path / "a.nc", kind="nc3")
    with serving(tmp_path) as served:
        url = f"dap2:{served.url.rstrip('/')}/dap2/a.nc"
        assert nczarr.diff(tmp_path / "a.nc", url) == []
        assert nczarr.open(url)["/t"][1:, ::2].tolist() == [[4, 6]]
