"""Dataset with a calendar, a grid, chunks and gaps."""

from __future__ import annotations

from pathlib import Path

import nczarr

TEXT = """netcdf t {
dimensions: time = UNLIMITED ; lat = 3 ; lon = 4 ; level = 2 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ; time:calendar = "CALENDAR" ;
  float lat(lat) ; lat:units = "degrees_north" ;
  double lon(lon) ; lon:standard_name = "longitude" ;
  double level(level) ; level:positive = "down" ; level:units = "m" ;
  int v(time, lat, lon) ; v:_ChunkSizes = 2, 3, 4 ; v:long_name = "a quantity" ; v:units = "K" ;
  string names(level) ;
// global attributes:
  :title = "a test" ;
data:
  time = 0, 1, 2, 7, 8, 9, 30, 31 ;
  lat = -10, 0, 10 ;
  lon = LON ;
  level = 5, 10 ;
  v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24 ;
  names = "a", "b" ;
}"""


def make(folder: Path, form: str, *, calendar: str = "standard", lon: str = "0, 90, 180, 270") -> Path:
    path = folder / ("t.nc" if form == "netcdf4" else "t.zarr")
    data = nczarr.from_cdl(TEXT.replace("CALENDAR", calendar).replace("LON", lon))
    nczarr.write(data, path, form, codecs="zlib:1", allow_loss="all")
    return path
