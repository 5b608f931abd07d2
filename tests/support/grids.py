"""A grid with a coordinate reference system."""

from __future__ import annotations

WKT = 'GEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563]],ID["EPSG",4326]]'

_TEXT = """netcdf g {
dimensions: time = 2 ; lat = 3 ; lon = 4 ;
variables:
  double lat(lat) ; lat:units = "degrees_north" ;
  float lon(lon) ; lon:standard_name = "longitude" ;
  float v(time, lat, lon) ; v:grid_mapping = "crs" ;
  float w(lat, lon) ;
  float plain(time) ;
  int crs ; crs:grid_mapping_name = "latitude_longitude" ; crs:crs_wkt = "WKT" ;
  :Conventions = "CF-1.11" ;
data: lat = LATITUDES ; lon = 0.5, 1.5, 2.5, 3.5 ;
}
"""


def write_grid(latitudes: str = "30, 20, 10") -> str:
    """The dataset as CDL, with three latitudes."""
    escaped = WKT.replace('"', chr(92) + '"')
    return _TEXT.replace("WKT", escaped).replace("LATITUDES", latitudes)
