"""A dataset whose variables name each other, and what each of them brings along."""

from __future__ import annotations

CDL = """netcdf a {
dimensions: time = 4 ; lat = 3 ; lon = 2 ; nv = 2 ; lev = 2 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ; time:bounds = "time_bnds" ;
  double time_bnds(time, nv) ;
  float lat(lat) ; lat:bounds = "lat_bnds" ;
  float lat_bnds(lat, nv) ;
  float lon(lon) ;
  double lev(lev) ; lev:formula_terms = "a: ha b: hb ps: ps" ;
  double ha(lev) ;
  double hb(lev) ;
  float ps(time, lat, lon) ;
  float a ;
  float area(lat, lon) ;
  int crs ; crs:grid_mapping_name = "latitude_longitude" ;
  float height ;
  float q(time, lat, lon) ;
  float tas(time, lat, lon) ; tas:coordinates = "height" ; tas:cell_measures = "area: area" ;
    tas:grid_mapping = "crs" ; tas:ancillary_variables = "q missing" ;
  float wind(time, lat) ; wind:grid_mapping = "crs: lat lon" ;
  float ta(time, lev, lat, lon) ;
  float other(nv) ;
:Conventions = "CF-1.7" ;
data:
 time = 0, 1, 2, 3 ;
 lat = -10, 0, 10 ;
group: g { variables: float u(time) ; }
}
"""

BROUGHT: dict[str, set[str]] = {
    "tas": {"area", "crs", "height", "lat", "lat_bnds", "lon", "q", "tas", "time", "time_bnds"},
    "ta": {"ha", "hb", "lat", "lat_bnds", "lev", "lon", "ps", "ta", "time", "time_bnds"},
    "lat": {"lat", "lat_bnds"},
    "wind": {"wind", "crs", "time", "time_bnds", "lat", "lat_bnds", "lon"},
    "other": {"other"},
    "u": {"g/u", "time", "time_bnds"},
}
"""Selected variables by a requested name."""
