"""Maps by the day, of which tests make pyramids."""

from __future__ import annotations

from typing import Any

import nczarr

SHAPE = (64, 96)


def day(first: int, count: int, fill: str = "t:_FillValue = -1.f ;") -> Any:
    """Some maps, whose values tell of which time they are."""
    rows, columns = SHAPE
    times = range(first, first + count)
    text = f"""netcdf d {{ dimensions: time = UNLIMITED ; lat = {rows} ; lon = {columns} ;
      variables: double time(time) ; time:units = "days since 2000-01-01" ;
      double lat(lat) ; lat:units = "degrees_north" ; double lon(lon) ; lon:units = "degrees_east" ;
      float t(time, lat, lon) ; {fill} data: time = {", ".join(map(str, times))} ;
      lat = {", ".join(map(str, range(rows)))} ; lon = {", ".join(map(str, range(columns)))} ;
      t = {", ".join(str(1000 * time + cell % 997) for time in times for cell in range(rows * columns))} ; }}"""
    return nczarr.from_cdl(text)
