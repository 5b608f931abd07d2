"""The reader of `make compare` (tools/compare.py) tells two netCDF files apart wherever libnetcdf does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

TEXT = """netcdf ocean {{
types:
  byte enum sky {{ clear = 0, cloudy = {cloudy} }} ;
  compound point {{ float lat ; int count(2) ; }} ;
  float(*) profile ;
dimensions:
  time = {time} ;
  x = 4 ;
variables:
  double temp(time, x) ;
    temp:_ChunkSizes = {chunks} ;
    temp:_DeflateLevel = {level} ;
    {attribute} ;
  sky cover(x) ;
  point places(x) ;
  profile casts(x) ;
  string names(x) ;
data:
  temp = {value}, 1, 2, 3 ;
  cover = clear, cloudy, clear, clear ;
  places = {{1, {{2, 3}}}}, {{1, {{2, {member}}}}}, {{1, {{2, 3}}}}, {{1, {{2, 3}}}} ;
  casts = {{1, 2}}, {{}}, {{{item}}}, {{4}} ;
  names = "a", {name}, "c", "d" ;
}}
"""
BASE = {
    "cloudy": "1", "time": "UNLIMITED", "chunks": "1, 4", "level": "5", "attribute": 'temp:units = "K"', "value": "0.",
    "member": "3", "item": "3", "name": '""',
}  # fmt: skip


def facts(folder: Path, reader: Worker, **changes: str) -> list[tuple[str, object]]:
    path = folder / f"{len(list(folder.iterdir()))}.nc"
    nczarr.write(nczarr.from_cdl(TEXT.format(**{**BASE, **changes})), path, kind="nc4")
    answer = reader.ask(str(path))
    assert "facts" in answer, answer
    found: list[tuple[str, object]] = answer["facts"]
    return found


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"cloudy": "2"}, "/: types"),
        ({"time": "1"}, "/: dimensions"),
        ({"chunks": "1, 2"}, "/temp: layout"),
        ({"level": "4"}, "/temp: filters"),
        ({"attribute": 'string temp:units = "K"'}, "/temp@units"),
        ({"attribute": 'temp:unit = "K"'}, "/temp@unit"),
        ({"attribute": "temp:_FillValue = -1."}, "/temp: fill value"),
        ({"value": "-0."}, "/temp: values"),
        ({"member": "4"}, "/places: values"),
        ({"item": "3, 4"}, "/casts: values"),
        ({"name": "NIL"}, "/names: values"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_difference_is_seen(
    changes: dict[str, str], where: str, tmp_path: Path, peer: Callable[[str], object]
) -> None:
    peer("netCDF4")
    reader = Worker("read_everything.py")
    before, same, after = facts(tmp_path, reader), facts(tmp_path, reader), facts(tmp_path, reader, **changes)
    reader.close()
    assert before == same
    assert where in {name for name, fact in after if (name, fact) not in before}
