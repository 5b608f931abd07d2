"""CDM Remote Feature: samples in every form of CF's appendix H, grids, and wrong requests."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.request import urlopen
from xml.etree import ElementTree

import numpy as np
import pytest

import nczarr
from nczarr import ncstream
from tests.support import sampled_files
from tests.support.sampled_files import ALTITUDES, FORMS, LATITUDES, LONGITUDES, NAMES, Row
from tests.support.serving import Reply, Served, Shelf, serving

GRID = """netcdf grid {
dimensions: time = 4 ; lev = 3 ; lat = 3 ; lon = 8 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ; time:calendar = "noleap" ; time:standard_name = "time" ;
  float lev(lev) ; lev:units = "hPa" ; lev:positive = "down" ;
  double lat(lat) ; lat:units = "degrees_north" ;
  double lon(lon) ; lon:units = "degrees_east" ;
  short t(time, lev, lat, lon) ; t:scale_factor = 0.5 ; t:add_offset = 10. ; t:_FillValue = -1s ; t:units = "K" ;
  int s(lat, lon) ; s:long_name = "surface" ;
data:
  time = 0, 1, 2, 59 ; lev = 1000, 850, 500 ; lat = 30, 40, 50 ; lon = 0, 45, 90, 135, 180, 225, 270, 315 ;
  s = %s ; t = %s ;
}"""

CURVED = """netcdf curved {
dimensions: y = 2 ; x = 3 ;
variables:
  double lat(y, x) ; lat:units = "degrees_north" ;
  double lon(y, x) ; lon:units = "degrees_east" ;
  int v(y, x) ; v:coordinates = "lat lon" ;
data: lat = 1, 2, 3, 4, 5, 6 ; lon = 11, 12, 13, 14, 15, 16 ; v = 1, 2, 3, 4, 5, 6 ;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    for name in ("uvicorn", "netCDF4", "google.protobuf"):
        peer(name)
    root = tmp_path_factory.mktemp("features")
    for name in FORMS:
        sampled_files.write(root, name)
    numbers = ", ".join("_" if number == 5 else str(number) for number in range(4 * 3 * 3 * 8))
    (root / "grid.cdl").write_text(GRID % (", ".join(map(str, range(24))), numbers))
    (root / "curved.cdl").write_text(CURVED)
    (root / "plain.cdl").write_text("netcdf plain { dimensions: n = 2 ; variables: int v(n) ; data: v = 1, 2 ; }")
    (root / "placeless.cdl").write_text(
        'netcdf p { dimensions: n = 2 ; variables: int v(n) ; :featureType = "point" ; }'
    )
    return root


@pytest.fixture(scope="module")
def features(folder: Path) -> Iterator[Served]:
    with serving(folder) as served:
        yield served


def ask(served: Served | Shelf, name: str, query: str) -> Reply:
    return served.get(f"/cdmrfeature/{name}?{query}")


def points(served: Served | Shelf, name: str, query: str = "req=data") -> list[Row]:
    reply = ask(served, name, query)
    assert reply.status == 200, reply.text
    assert reply.headers["content-type"] == "application/octet-stream"
    _, found = sampled_files.decode_points(reply.body)
    keys = ("=station_name", "=profile", "=trajectory")
    return [
        Row(one["time"], one["lat"], one["lon"], str(next((one[key] for key in keys if key in one), "")), one["=temp"])
        for one in found
    ]


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_the_appendix(name: str, features: Served, tmp_path: Path) -> None:
    kind, _ = FORMS[name]
    rows = sampled_files.write(tmp_path, name)
    told = ask(features, f"{name}.nc", "req=featureType")
    assert (told.status, told.text, told.headers["content-type"].split(";")[0]) == (200, kind, "text/plain")
    assert points(features, f"{name}.nc") == rows
    assert points(features, f"{name}.nc", "all") == rows, "netCDF-Java's words for everything"


def test_a_collection_says_what_rows_hold(features: Served) -> None:
    collection, found = sampled_files.decode_points(ask(features, "contiguous.nc", "req=data").body)
    assert (collection.name, collection.timeUnit, collection.altUnit) == ("contiguous.nc", sampled_files.TIMES, "m")
    said = [(member.name, member.units, member.desc) for member in collection.members]
    assert said == [("station_name", "", "station"), ("temp", "K", "temperature")]
    assert [one["alt"] for one in found] == [ALTITUDES[0]] * 2 + [ALTITUDES[2]] * 3


def test_places_and_times_are_chosen(features: Served, tmp_path: Path) -> None:
    for name in ("orthogonal", "transposed", "contiguous", "indexed", "incomplete"):
        rows = sampled_files.write(tmp_path, name)
        across = points(features, f"{name}.nc", "req=data&west=160&east=-160&south=-90&north=90")
        assert across == [row for row in rows if row.station != "gamma"], "a box across 180 degrees"
        box = points(features, f"{name}.nc", "req=data&west=0&east=190&south=0&north=90")
        assert box == [row for row in rows if row.latitude > 0 and row.station != "beta"]
        some = points(features, f"{name}.nc", "stn=beta,gamma")
        assert some == [row for row in rows if row.station != "alpha"]
        assert points(features, f"{name}.nc", "stns=nobody") == []
        times = "time_start=2020-01-01T01:00:00Z&time_end=2020-01-01T03:00:00.000Z"
        assert points(features, f"{name}.nc", times) == [row for row in rows if 1 <= row.time <= 3]
        assert points(features, f"{name}.nc", "time_start=2020-01-01T02:00:00") == [
            row for row in rows if row.time >= 2
        ]
    assert len(points(features, "single.nc", "stn=only")) == 3
    assert points(features, "single.nc", "stn=other") == []


def test_variables_are_chosen(features: Served) -> None:
    for query in ("var=alt,temp", "var=alt&var=temp"):
        collection, found = sampled_files.decode_points(ask(features, "indexed.nc", f"req=data&{query}").body)
        assert [member.name for member in collection.members] == ["alt", "temp"]
        assert [one["=alt"] for one in found] == [ALTITUDES[at] for at in (2, 0, 1, 2)]


def test_stations_are_listed(features: Served) -> None:
    for name in ("orthogonal", "contiguous", "indexed", "incomplete"):
        [(kind, listed)] = sampled_files.decode(ask(features, f"{name}.nc", "req=stations").body)
        assert kind == "StationList"
        assert [(one.id, one.lat, one.lon, one.alt) for one in listed.stations] == [
            *zip(NAMES, LATITUDES, LONGITUDES, ALTITUDES, strict=True)
        ]
    [(_, listed)] = sampled_files.decode(ask(features, "indexed.nc", "req=stations&stn=beta").body)
    assert [one.id for one in listed.stations] == ["beta"]
    assert ask(features, "trajectories.nc", "req=stations").status == 400


@pytest.mark.parametrize("word", ["header", "capabilities"])
def test_capabilities(word: str, features: Served) -> None:
    root = ElementTree.fromstring(ask(features, "contiguous.nc", f"req={word}").text)
    place = f"{features.url}cdmrfeature/contiguous.nc"
    assert (root.tag, root.get("location")) == ("capabilities", place)
    dataset = root.find("featureDataset")
    assert dataset is not None
    assert dataset.attrib == {"type": "station", "url": place}
    assert root.findtext("TimeUnit") == sampled_files.TIMES
    assert root.findtext("AltitudeUnits") == "m"
    assert [float(root.findtext(f"LatLonBox/{side}", "")) for side in ("west", "east", "south", "north")] == [
        -170.5, 170, -20, 40.25,
    ]  # fmt: skip
    span = (root.findtext("TimeSpan/begin"), root.findtext("TimeSpan/end"))
    assert span == ("2020-01-01T00:00:00Z", "2020-01-05T03:00:00Z")
    variables = {one.get("name"): one for one in root.findall("variable")}
    assert {name: one.get("type") for name, one in variables.items()} == {"station_name": "char", "temp": "float"}
    attributes = {one.get("name"): one.get("value") for one in variables["temp"].findall("attribute")}
    assert attributes["units"] == "K"


def test_streams_are_datasets(features: Served, tmp_path: Path) -> None:
    """A stream of points is converted by its URL, as `nczarr convert URL out.nc` does."""
    target = tmp_path / "points.nc"
    nczarr.convert(f"{features.url}cdmrfeature/indexed.nc?req=data", target)
    with nczarr.open(target) as found:
        assert found["/obs"][:]["temp"].tolist() == [10, 11, 12, 13]


def test_rows_have_every_type(shelf: Shelf) -> None:
    """Packed numbers are unpacked, missing floats are NaN; enums, texts and small arrays keep their values."""
    (shelf.folder / "a.cdl").write_text(
        """netcdf a {
types: byte enum e_t {no = 0, yes = 1} ;
dimensions: obs = 2 ; w = 2 ;
variables:
  int time(obs) ; time:units = "s" ; time:standard_name = "time" ;
  float lat(obs) ; lat:units = "degrees_north" ;
  float lon(obs) ; lon:units = "degrees_east" ;
  short p(obs) ; p:scale_factor = 0.5 ; p:_FillValue = -1s ; p:coordinates = "time lat lon" ;
  float f(obs, w) ; f:_FillValue = -9.f ; f:coordinates = "time lat lon" ;
  byte u(obs) ; u:_Unsigned = "true" ; u:coordinates = "time lat lon" ;
  e_t e(obs) ; e:coordinates = "time lat lon" ;
  string x(obs) ; x:coordinates = "time lat lon" ;
  uint64 big(obs) ; big:coordinates = "time lat lon" ;
  :featureType = "Point" ;
data: time = 1, 2 ; lat = 1, 2 ; lon = 3, 4 ; p = 3, -1 ; f = 1, -9, 2, 3 ; u = -1, 5 ; e = yes, no ; x = "é", NIL ;
  big = 18446744073709551615, 1 ;
}"""
    )
    _, (one, two) = sampled_files.decode_points(ask(shelf, "a.cdl", "req=data").body)
    assert ask(shelf, "a.cdl", "time_start=2020-01-01").status == 400
    assert (one["=p"], one["=u"], one["=e"], one["=x"], one["=big"]) == (1.5, 255, 1, "é", 2**64 - 1)
    assert one["=f"].tolist()[0] == 1
    assert np.isnan([one["=f"][1], two["=p"]]).all()
    assert (two["=x"], two["=f"].tolist()) == ("", [2, 3])


def test_large_files_are_read_in_blocks(shelf: Shelf) -> None:
    """Chunks are decoded once, and blocks end within rows of an orthogonal array."""
    import netCDF4

    with netCDF4.Dataset(shelf.folder / "a.nc", "w") as file:
        file.featureType = "timeSeries"
        sampled_files.declare_stations(file)
        file.createDimension("time", 300_001)
        sampled_files.declare_times(file, ("time",), np.arange(300_001))
        sampled_files.declare_data(file, ("station", "time"), np.arange(900_003).reshape(3, -1))
    rows = points(shelf, "a.nc", "req=data&stn=gamma&time_start=2054-03-23")
    assert [row.value for row in rows] == list(range(600_002 + rows_before(2054), 900_003))


def rows_before(year: int) -> int:
    """Hours from 2020-01-01 to March 23 of a year."""
    return int((np.datetime64(f"{year}-03-23") - np.datetime64("2020-01-01")) / np.timedelta64(1, "h"))


def test_counts_and_indices_are_not_trusted(shelf: Shelf) -> None:
    """Samples of instances that are not there are left out, whatever counts and indices say."""
    text = """netcdf a {
dimensions: n = 3 ; obs = 4 ;
variables:
  int64 %s ;
  int name(n) ; name:cf_role = "trajectory_id" ;
  double time(obs) ; time:units = "s" ; time:standard_name = "time" ;
  double lat(n) ; lat:units = "degrees_north" ;
  double lon(n) ; lon:units = "degrees_east" ;
  int v(obs) ; v:coordinates = "time lat lon" ;
  :featureType = "trajectory" ;
data: %s ; name = 1, 2, 3 ; time = 0, 1, NaN, 3 ; lat = 1, 2, 3 ; lon = 1, 2, _ ; v = 0, 1, 2, 3 ;
}"""
    (shelf.folder / "counts.cdl").write_text(
        text % ('size(n) ; size:sample_dimension = "obs"', "size = -5, 9223372036854775807, 9223372036854775807")
    )
    (shelf.folder / "indices.cdl").write_text(
        text % ('at(obs) ; at:instance_dimension = "n"', "at = 9223372036854775807, -9223372036854775807, 0, 1")
    )
    for name, values in (("counts.cdl", []), ("indices.cdl", [3])):
        _, found = sampled_files.decode_points(ask(shelf, name, "req=data").body)
        assert [one["=v"] for one in found if name == "indices.cdl"] == values
        assert len(found) <= 4
        assert ask(shelf, name, "req=data&stn=1,2").status == 200


@pytest.mark.long
def test_memory_is_that_of_a_block(tmp_path: Path) -> None:
    import netCDF4

    count = 2_000_000
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.featureType = "timeSeries"
        sampled_files.declare_stations(file)
        file.createDimension("obs", count)
        declared = [count // 2, count // 4, count // 4]
        sampled_files.declare(file, "row_size", ("station",), declared, "i4", sample_dimension="obs")
        sampled_files.declare_times(file, ("obs",), np.arange(count))
        sampled_files.declare_data(file, ("obs",), np.arange(count))
    with serving(tmp_path) as served:
        ask(served, "a.nc", "req=featureType")
        before = served.resident()
        with urlopen(f"{served.url}cdmrfeature/a.nc?req=data") as reply:
            size = sum(len(piece) for piece in iter(lambda: reply.read(1 << 20), b""))
        assert size > 50 * count
        assert served.resident() - before < 100 << 20


# ---- grids -----------------------------------------------------------------------------------------------------------


def messages(reply: Reply) -> list[Any]:
    assert reply.status == 200, reply.text
    return list(ncstream.read_messages(io.BytesIO(reply.body)))


T = np.arange(288).reshape(4, 3, 3, 8) * 0.5 + 10
T[0, 0, 0, 5] = np.nan


def test_headers_of_grids(features: Served) -> None:
    assert ask(features, "grid.cdl", "req=featureType").text == "GRID"
    assert ask(features, "curved.cdl", "req=FEATURETYPE").text == "CURVILINEAR"
    [header] = messages(ask(features, "grid.cdl", "req=header"))
    said = header.message
    assert [(one.name, one.dataType, one.coordSys) for one in said.grids] == [
        (b"t", 6, b"time lev lat lon"), (b"s", 3, b"lat lon"),
    ]  # fmt: skip
    axes = {one.name: one for one in said.coordAxes}
    assert [(name, one.axisType, one.nvalues) for name, one in axes.items()] == [
        (b"time", 2, 4), (b"lev", 9, 3), (b"lat", 6, 3), (b"lon", 7, 8),
    ]  # fmt: skip
    assert (axes[b"lon"].spacing, axes[b"lon"].startValue, axes[b"lon"].resolution) == (0, 0, 45)
    assert header.axes["time"].tolist() == [0, 1, 2, 59]
    assert (said.latlonRect.startx, said.latlonRect.incx, said.latlonRect.starty, said.latlonRect.incy) == (
        0,
        315,
        30,
        20,
    )
    assert (said.dateRange.calendar, said.dateRange.end - said.dateRange.start) == (2, 59 * 86_400_000)
    assert not {b"scale_factor", b"_FillValue"} & {one.name for one in said.grids[0].atts}
    coordinates = messages(ask(features, "grid.cdl", "req=coord&var=lev,lon"))
    assert [(one.name, one.values.tolist()) for one in coordinates] == [
        ("lev", [1000, 850, 500]), ("lon", list(range(0, 360, 45))),
    ]  # fmt: skip


PARTS = {
    "var=t": (T, {}),
    "var=t&north=45&south=35&west=-100&east=100": (T[:, :, 1:2, [6, 7, 0, 1, 2]], {"lon": [-90, -45, 0, 45, 90]}),
    "var=t&north=90&south=-90&west=80&east=100": (T[:, :, :, 2:3], {"lon": [90]}),
    "var=t&latitude=41&longitude=-1": (T[:, :, 1:2, 0:1], {"lat": [40], "lon": [0]}),
    "var=t&time_start=2000-01-02&time_end=2000-01-03T00:00:00Z": (T[1:3], {"time": [1, 2]}),
    "var=t&time=2000-03-01T00:00:00": (T[3:], {"time": [59]}),
    "var=t&vertCoord=800&timeStride=3": (T[::3, 1:2], {"lev": [850]}),
    "var=t&horizStride=2": (T[:, :, ::2, ::2], {}),
    "var=t&minx=40&maxx=100&miny=40": (T[:, :, 1:, 1:3], {}),
    "var=t&temporal=all": (T, {}),
}


@pytest.mark.parametrize("query", PARTS)
def test_parts_of_grids(query: str, features: Served) -> None:
    wanted, axes = PARTS[query]
    [data] = messages(ask(features, "grid.cdl", f"req=data&{query}"))
    assert np.array_equal(data.values["t"], wanted, equal_nan=True)
    [array] = data.message.geoArray
    assert (list(array.axisName), array.coordSysName) == ([b"time", b"lev", b"lat", b"lon"], b"time lev lat lon")
    for name, values in axes.items():
        [axis] = [one for one in data.message.coordAxes if one.name == name.encode()]
        regular = [axis.startValue + number * axis.resolution for number in range(axis.nvalues)]
        assert data.axes.get(name, np.array(regular)).tolist() == values


def test_several_grids_and_curved_ones(features: Served) -> None:
    [data] = messages(ask(features, "grid.cdl", "req=data&var=s&var=t&vertCoord=500"))
    assert data.values["s"].tolist() == np.arange(24).reshape(3, 8).tolist()
    assert data.values["t"].shape == (4, 1, 3, 8)
    [data] = messages(ask(features, "curved.cdl", "req=data&var=v&south=1.5&north=3.5&west=0&east=20"))
    assert data.values["v"].tolist() == [[2, 3]]
    assert data.axes["lat"].tolist() == [2, 3]
    [data] = messages(ask(features, "curved.cdl", "req=data&var=v&latitude=5.1&longitude=15"))
    assert data.values["v"].tolist() == [[5]]


# ---- refusals --------------------------------------------------------------------------------------------------------

WRONG = {
    ("plain.cdl", "req=featureType"): (404, "neither `featureType` of CF nor a grid"),
    ("placeless.cdl", "req=featureType"): (422, "no variable has coordinates of time, latitude and longitude"),
    ("missing.nc", "req=featureType"): (404, "no such dataset"),
    ("point.nc", "req=cdl"): (400, "`req` must be one of featureType, header"),
    ("point.nc", "req=coord"): (400, "`req` must be one of"),
    ("grid.cdl", "req=stations"): (400, "`req` must be one of"),
    ("point.nc", "req=data&var=tmp"): (400, "there is no `tmp`"),
    ("point.nc", "req=data&stn=a"): (400, "no variable has `cf_role`"),
    ("point.nc", "req=data&north=1"): (400, "a box has four sides"),
    ("point.nc", "req=data&north=1&south=2&west=0&east=1"): (400, "ascending order"),
    ("point.nc", "req=data&north=x&south=2&west=0&east=1"): (400, "`north` must be a number"),
    ("point.nc", "req=data&time_start=tomorrow"): (400, "is not a date"),
    ("point.nc", "req=data&time_start=2021-01-01&time_end=2020-01-01"): (400, "`time_start` is behind `time_end`"),
    ("point.nc", "req=data&time=2021-01-01"): (400, "`time` is not for samples"),
    ("grid.cdl", "req=data"): (400, "`var` is missing; there are t, s"),
    ("grid.cdl", "req=data&var=q"): (400, "there is no `q`"),
    ("grid.cdl", "req=data&var=t&latitude=1"): (400, "`latitude` and `longitude`"),
    ("grid.cdl", "req=data&var=t&time_start=2010-01-01"): (400, "no coordinate of `time`"),
    ("grid.cdl", "req=data&var=t&time_duration=P1D"): (400, "instead of `time_duration`"),
    ("grid.cdl", "req=data&var=t&horizStride=0"): (400, "a number from 1 on"),
    ("grid.cdl", "req=coord&var=x"): (400, "there is no `x`"),
    ("curved.cdl", "req=data&var=v&minx=1"): (400, "a curvilinear grid is cut by"),
}


@pytest.mark.parametrize("asked", WRONG, ids=" ".join)
def test_wrong_requests(asked: tuple[str, str], features: Served) -> None:
    status, words = WRONG[asked]
    reply = ask(features, *asked)
    assert (reply.status, words in reply.text) == (status, True), reply.text


def test_limits(folder: Path) -> None:
    with serving(folder, "--max-response", "100") as served:
        assert ask(served, "grid.cdl", "req=data&var=t").status == 413
        assert ask(served, "point.nc", "req=data").status == 413


def test_the_protocol_is_there(features: Served) -> None:
    assert features.get("/cdmrfeature/point.nc").headers["content-description"] == "ncstream"
    catalog = ElementTree.fromstring(features.get("/catalog/catalog.xml").text)
    services = [one.attrib for one in catalog.iter() if one.get("serviceType") == "cdmrFeature"]
    assert [one["base"] for one in services] == ["/cdmrfeature/"] * 2
