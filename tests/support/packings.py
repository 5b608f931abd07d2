"""Datasets with a packed variable."""

from __future__ import annotations

import nczarr
from nczarr.api.handle import DatasetHandle

PACKED = """netcdf packed {{
dimensions: t = UNLIMITED ; x = 3 ;
variables:
  double t(t) ;
  short temp(t, x) ;
    temp:scale_factor = {scale} ; temp:add_offset = {offset} ; temp:_FillValue = -32768s ;
    {more}
  int count(x) ; count:_FillValue = -1 ;
data:
  t = {times} ;
  temp = {values} ;
  count = 1, _, 3 ;
}}"""


def packed(
    scale: str = "0.01", offset: str = "273.15", more: str = "", times: str = "0, 1", values: str = "1, _, 3, 4, 5, 6"
) -> DatasetHandle:
    """A dataset with one packed variable."""
    return nczarr.from_cdl(PACKED.format(scale=scale, offset=offset, more=more, times=times, values=values))
