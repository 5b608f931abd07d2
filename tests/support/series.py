"""Series of small netCDF-4 files, one step of time each."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import nczarr

TEXT = """netcdf day {{
dimensions:
  time = UNLIMITED ;
  lat = 3 ;
  lon = 16 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ;
    time:_ChunkSizes = {chunk} ;
  float lat(lat) ;
  float lon(lon) ;
  float temp(time, lat, lon) ;
    temp:units = "K" ;
    temp:_ChunkSizes = 1, 3, 16 ;
    temp:_DeflateLevel = 1 ;
  int count(time) ;
    count:_ChunkSizes = 1 ;
data:
  time = {day} ;
  lat = 1, 2, 3 ;
  lon = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 ;
  temp = {values} ;
  count = {day} ;
}}
"""


def day(number: int, chunk: int = 1) -> nczarr.DatasetHandle:
    """One file: values tell of the day. `chunk`: chunk length of the coordinate."""
    values = ", ".join(str(100 * number + each) for each in range(48))
    return nczarr.from_cdl(TEXT.format(day=number, values=values, chunk=chunk))


@cache
def file_of(number: int, chunk: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        nczarr.write(day(number, chunk), f"{folder}/day.nc")
        return Path(folder, "day.nc").read_bytes()


def days(folder: Path, count: int, first: int = 0, chunk: int = 1) -> list[str]:
    """Write some files; return their paths in order."""
    folder.mkdir(exist_ok=True)
    found = []
    for number in range(first, first + count):
        path = folder / f"{number:05}.nc"
        path.write_bytes(file_of(number, chunk))
        found.append(str(path))
    return found


def content(path: Path) -> dict[str, bytes]:
    """Return the bytes of a document, or of all files of a folder."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}
