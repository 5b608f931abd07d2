"""ERDDAP's grids: queries, grids of a dataset, tables, lists, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

import nczarr
from nczarr.plugins.serve.answers import RefusedRequestError
from nczarr.plugins.serve.protocols.erddap.grid import Grid, list_grids, make_grid
from nczarr.plugins.serve.protocols.erddap.query import parse_query
from tests.support.serving import Served, serving

SCHEMA = """netcdf d {
dimensions: time = UNLIMITED ; lat = 3 ; lon = 4 ; station = 2 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ; time:calendar = "%s" ;
  float lat(lat) ; lat:units = "degrees_north" ; lat:actual_range = 0.f, 90.f ;
  short lon(lon) ; lon:scale_factor = 0.5 ; lon:units = "degrees_east" ;
  short t(time, lat, lon) ; t:scale_factor = 0.5 ; t:add_offset = 10. ; t:_FillValue = -1s ; t:units = "K" ;
  t:actual_range = 10., 33.5 ;
  int64 big(time, lat, lon) ;
  float flat(lat, lon) ;
  string name(station) ;
  char letters(lat, lon) ;
  :title = "A grid" ;
data:
  time = 0, 1, 2, 3.5 ; lat = 60, 50, 40 ; lon = 0, 2, 4, 6 ;
  t = %s ;
  big = %s ;
  flat = 1, 2, NaN, 4, 5, 6, 7, 8, 9, 10, 11, 12.1 ;
  name = "a, \\"b\\"", "\u00fc" ;
group: g { variables: int inner(time) ; data: inner = 1, 2, 3, 4 ; }
}
"""
COUNT = 48
CELLS = ", ".join(map(str, range(COUNT)))


def text_of(calendar: str = "standard") -> str:
    cells = CELLS.replace("0, 1, 2, ", "0, _, 2, ", 1)
    return SCHEMA % (calendar, cells, ", ".join(str((1 << 60) + number) for number in range(COUNT)))


def grid_of(number: int = 0, calendar: str = "standard") -> Grid:
    checked = nczarr.from_cdl(text_of(calendar)).checked
    return make_grid(checked, list_grids(checked)[number], "d")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "inner").mkdir()
        for name in ("d.cdl", "inner/e.cdl"):
            (Path(folder) / name).write_text(text_of(), encoding="utf-8")
        with serving(Path(folder)) as found:
            yield found


def ask(served: Served, path: str, query: str = "") -> str:
    reply = served.get(f"/erddap/{path}" + (f"?{quote(query)}" if query else ""))
    assert reply.status == 200, reply.text
    return reply.text


def test_a_grid_for_each_list_of_dimensions() -> None:
    checked = nczarr.from_cdl(text_of()).checked
    assert list_grids(checked) == [("/time", "/lat", "/lon"), ("/lat", "/lon"), ("/station",), ("/time",)]
    grid = grid_of()
    assert grid.variables == ("t", "big")
    assert [axis.name for axis in grid.axes] == ["time", "lat", "lon"]
    assert grid_of(3).variables == ("inner",)


def test_times_are_seconds_and_packed_coordinates_numbers() -> None:
    grid = grid_of()
    time, lat, lon = grid.axes
    day = np.datetime64("2000-01-01", "s").astype("i8")
    assert time.is_time
    assert time.values.tolist() == [day, day + 86400, day + 2 * 86400, day + 3.5 * 86400]
    assert lat.values.tolist() == [60, 50, 40]
    assert lon.values.tolist() == [0, 1, 2, 3]
    attributes = {one.name: one.value for one in grid.checked.variables["/lat"].attributes}
    assert attributes["actual_range"].as_numbers() == (40.0, 60.0)
    assert "scale_factor" not in {one.name for one in grid.checked.variables["/lon"].attributes}


def test_times_of_other_calendars_keep_their_units() -> None:
    time = grid_of(calendar="360_day").axes[0]
    assert not time.is_time
    assert time.values.tolist() == [0, 1, 2, 3.5]


def test_a_dimension_without_coordinates_has_indices() -> None:
    (station,) = grid_of(2).axes
    assert station.values.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("query", "ranges"),
    [
        ("t[0][0][0]", (range(1), range(1), range(1))),
        ("t", (range(4), range(3), range(4))),
        ("t[last][last-1][0:last]", (range(3, 4), range(1, 2), range(4))),
        ("t[0:2:3][(50)][(0.6):(2)]", (range(0, 4, 2), range(1, 2), range(1, 3))),
        ("t[(2000-01-02):(2000-01-03T12:00:00Z)][(40):(60)][0]", (range(1, 3), range(3), range(1))),
        ("t[(2000-01-02 03:00)][(last)][(last-1)]", (range(1, 2), range(2, 3), range(2, 3))),
        ("t[(946684800):1:(last)][0][0]", (range(4), range(1), range(1))),
        ("t[(2000-01)][(42)][0]", (range(1), range(2, 3), range(1))),
        ("t[0][(55)][0]&.draw=lines", (range(1), range(1), range(1))),
        ("t[][0][2:0]", (range(4), range(1), range(3))),
        ("t[(2000-01-02T03):(2000-01-03T12Z)][0][0]", (range(1, 3), range(1), range(1))),
    ],
)
def test_ranges(query: str, ranges: tuple[range, ...]) -> None:
    assert parse_query(grid_of(), quote(query, safe="&")).ranges == ranges


def test_coordinates_alone() -> None:
    query = parse_query(grid_of(), "lat[0:1],time")
    assert (query.variables, query.coordinates) == ((), ("lat", "time"))
    assert query.ranges == (range(4), range(2), range(4))


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("u[0][0][0]", 404, "has no variable `u`"),
        ("bigg", 404, "did you mean `big`?"),
        ("t[0][0]", 400, "has 3 dimensions (time, lat, lon)"),
        ("t[0][0][0:1:2:3]", 400, "brackets have a bound"),
        ("t[0][0][x]", 400, "brackets have a bound"),
        ("t[0][0][0", 400, "is not a variable with brackets"),
        ("t[0][0][4]", 400, "the indices of `lon` are 0 to 3"),
        ("t[0][0][last-4]", 400, "the indices of `lon` are 0 to 3"),
        ("&time>=2000-01-02", 400, "`&time>=2000-01-02`: a grid is cut by brackets"),
        ("t&.draw=lines&lat<50", 400, "`&lat<50`"),
        ("t[0][0][0:0:2]", 400, "a stride is at least 1"),
        ("t[0][(70)][0]", 404, "Your query produced no matching results. (`(70)` is outside of `lat`: 40.0 to 60.0"),
        ("t[(1999-01-01)][0][0]", 404, "outside of `time`: 2000-01-01T00:00:00 to 2000-01-04T12:00:00"),
        ("t[(then)][0][0]", 400, "is not a date"),
        ("t[0][(north)][0]", 400, "is not a number"),
        ("t[(now-2fortnights)][0][0]", 400, "is not a date"),
        ("t[0][0][0],big[1][0][0]", 400, "the same ranges"),
        ("t[0][0][0],lat[0]", 400, "coordinates alone"),
        ("lat[0][0]", 400, "has one dimension"),
    ],
)
def test_refused_queries(query: str, status: int, words: str) -> None:
    with pytest.raises(RefusedRequestError) as caught:
        parse_query(grid_of(), quote(query, safe="&"))
    assert caught.value.status == status
    assert words in caught.value.text


def test_tables_say_the_same(served: Served) -> None:
    query = "t[(2000-01-01):(2000-01-02)][(60)][0:1],big[(2000-01-01):(2000-01-02)][(60)][0:1]"
    rows = list(csv.reader(io.StringIO(ask(served, "griddap/d.cdl.csv", query))))
    big = 1 << 60
    assert rows == [
        ["time", "lat", "lon", "t", "big"],
        ["UTC", "degrees_north", "degrees_east", "K", ""],
        ["2000-01-01T00:00:00Z", "60.0", "0.0", "10.0", str(big)],
        ["2000-01-01T00:00:00Z", "60.0", "1.0", "NaN", str(big + 1)],
        ["2000-01-02T00:00:00Z", "60.0", "0.0", "16.0", str(big + 12)],
        ["2000-01-02T00:00:00Z", "60.0", "1.0", "16.5", str(big + 13)],
    ]
    table = json.loads(ask(served, "griddap/d.cdl.json", query))["table"]
    assert table["columnNames"] == rows[0]
    assert table["columnTypes"] == ["String", "float", "double", "double", "long"]
    assert table["columnUnits"] == ["UTC", "degrees_north", "degrees_east", "K", None]
    values = [[*row[:1], *map(float, row[1:4]), int(row[4])] for row in rows[2:]]
    values[1][3] = None
    assert table["rows"] == values
    lines = [json.loads(line) for line in ask(served, "griddap/d.cdl.jsonlCSV", query).splitlines()]
    assert lines == values
    assert [json.loads(line) for line in ask(served, "griddap/d.cdl.jsonlCSV1", query).splitlines()] == [
        rows[0],
        *values,
    ]
    keyed = [json.loads(line) for line in ask(served, "griddap/d.cdl.jsonlKVP", query).splitlines()]
    assert [list(line.values()) for line in keyed] == values
    one = ask(served, "griddap/d.cdl.csvp", query).splitlines()
    assert one[0] == "time (UTC),lat (degrees_north),lon (degrees_east),t (K),big"
    assert one[1:] == ask(served, "griddap/d.cdl.csv0", query).splitlines()
    for end in ("", "p", "0"):
        tabs = ask(served, f"griddap/d.cdl.tsv{end}", query)
        assert tabs.replace("\t", ",") == ask(served, f"griddap/d.cdl.csv{end}", query)
    page = ask(served, "griddap/d.cdl.htmlTable", query)
    assert page.count("<tr>") == 6
    assert f"<td>{big + 13}</td>" in page


def test_texts_are_quoted(served: Served) -> None:
    rows = list(csv.reader(io.StringIO(ask(served, "griddap/d.cdl:station.csv0"))))
    assert rows == [["0", 'a, "b"'], ["1", "\u00fc"]]
    table = json.loads(ask(served, "griddap/d.cdl:station.json"))["table"]
    assert table["rows"] == [[0, 'a, "b"'], [1, "\u00fc"]]


def test_coordinates_of_unequal_lengths(served: Served) -> None:
    text = ask(served, "griddap/d.cdl.csv", "time[last],lat")
    assert text == "time,lat\nUTC,degrees_north\n2000-01-04T12:00:00Z,60.0\nNaN,50.0\nNaN,40.0\n"


def test_opendap_takes_values_of_coordinates(served: Served) -> None:
    by_value = ask(served, "griddap/d.cdl.asc", "t[(2000-01-02)][(60)][(0):(1)]")
    assert by_value == ask(served, "griddap/d.cdl.asc", "t[1][0][0:1]")
    assert "[0][0], 12, 13" in by_value
    assert "Int16 t[time = 4][lat = 3][lon = 4];" in ask(served, "griddap/d.cdl.dds")
    assert 'String units "seconds since 1970-01-01T00:00:00Z"' in ask(served, "griddap/d.cdl.das")
    assert "double time(time)" in ask(served, "griddap/d.cdl.ncHeader")


def range_of(dataset: nczarr.DatasetHandle, path: str) -> tuple[float, ...] | None:
    values = [one.value for one in dataset.checked.variables[path].attributes if one.name == "actual_range"]
    return tuple(values[0].as_numbers()) if values else None


def test_files_have_the_section(served: Served, tmp_path: Path) -> None:
    reply = served.get("/erddap/griddap/d.cdl.nc?" + quote("t[last][(50):(40)][0:2:3]"))
    assert reply.status == 200
    (tmp_path / "a.nc").write_bytes(reply.body)
    with nczarr.open(tmp_path / "a.nc") as part:
        assert sorted(part) == ["/lat", "/lon", "/t", "/time"]
        assert part["/t"][...].tolist() == [[[40, 42], [44, 46]]]
        assert part["/lat"][...].tolist() == [50, 40]
        assert [range_of(part, path) for path in ("/lat", "/lon", "/t")] == [(40, 50), (0, 2), None]
        assert range_of(part, "/time") == (np.datetime64("2000-01-04T12", "s").astype("i8"),) * 2
    whole = served.get("/erddap/griddap/d.cdl.nc")
    (tmp_path / "w.nc").write_bytes(whole.body)
    with nczarr.open(tmp_path / "w.nc") as part:
        assert [range_of(part, path) for path in ("/lat", "/lon", "/t")] == [(40, 60), (0, 3), (10, 33.5)]
    reply = served.get("/erddap/griddap/d.cdl.nc?lat%5B0%5D")
    (tmp_path / "b.nc").write_bytes(reply.body)
    with nczarr.open(tmp_path / "b.nc") as part:
        assert sorted(part) == ["/lat"]
        assert part["/lat"][...].tolist() == [60]
        assert range_of(part, "/lat") == (60, 60)


def test_info_lists_attributes(served: Served) -> None:
    rows = list(csv.reader(io.StringIO(ask(served, "info/inner/e.cdl/index.csv"))))
    assert rows[0] == ["Row Type", "Variable Name", "Attribute Name", "Data Type", "Value"]
    assert ["attribute", "NC_GLOBAL", "title", "String", "A grid"] in rows
    assert ["dimension", "lat", "", "float", "nValues=3, evenlySpaced=true, averageSpacing=-10"] in rows
    assert ["attribute", "lat", "actual_range", "float", "40.0, 60.0"] in rows
    assert ["variable", "t", "", "short", "time, lat, lon"] in rows
    names = [row["Variable Name"] for row in csv.DictReader(io.StringIO(ask(served, "info/d.cdl:lat:lon/index.csv")))]
    assert set(names) == {"NC_GLOBAL", "lat", "lon", "flat"}


@pytest.mark.parametrize("path", ["info/index.csv", "search/index.csv", "search/advanced.csv", "griddap/index.csv"])
def test_lists_of_datasets(path: str, served: Served) -> None:
    rows = list(csv.DictReader(io.StringIO(ask(served, path))))
    assert [row["Dataset ID"] for row in rows] == ["d.cdl", "inner/e.cdl"]
    assert rows[1]["griddap"] == f"{served.url}erddap/griddap/inner/e.cdl"
    assert rows[1]["Title"] == "A grid"
    second = served.get(f"/erddap/{path}?page=2&itemsPerPage=1").text
    assert [row["Dataset ID"] for row in csv.DictReader(io.StringIO(second))] == ["inner/e.cdl"]


def test_searches(served: Served) -> None:
    def names(query: str) -> list[str]:
        text = served.get(f"/erddap/search/index.csv?{query}").text
        return [row["Dataset ID"] for row in csv.DictReader(io.StringIO(text))]

    assert names("searchFor=inner/e") == ["inner/e.cdl"]
    assert names("searchFor=grid%20-inner/e") == ["d.cdl"]
    assert names("protocol=tabledap") == []
    assert served.get("/erddap/search/index.csv?searchFor=nowhere").status == 404
    refused = served.get("/erddap/search/advanced.csv?minLon=3&maxLon=(ANY)")
    assert refused.status == 400
    assert "not `minlon`" in refused.text


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("griddap/none.csv", 404, 'Currently unknown datasetID=none";'),
        ("griddap/d.cdl.png", 404, "`.png` is no type of file"),
        (
            "griddap/d.cdl:lat.csv",
            404,
            "there are `d.cdl:time`, `d.cdl:station`, `d.cdl:lat:lon`, `d",
        ),
        ("info/d.cdl/index.png", 404, "is no type of table"),
        ("info/none/index.csv", 404, 'Currently unknown datasetID=none";'),
        ("tabledap/d.cdl.csv", 404, "for grids"),
        ("search/index.csv?page=0", 400, "are numbers from 1 on"),
    ],
)
def test_refused_paths(path: str, status: int, words: str, served: Served) -> None:
    reply = served.get(f"/erddap/{path}")
    assert reply.status == status
    assert words in reply.text
    assert re.fullmatch(r'Error \{\n    code=(\d+);\n    message=(".*");\n\}\n', reply.text)


def test_constraints_of_tables_do_not_cut_a_grid(served: Served) -> None:
    for kind in ("csv", "nc", "dods", "dds", "asc"):
        reply = served.get(f"/erddap/griddap/d.cdl.{kind}?t[0][0][0]&time>=2000-01-02")
        assert (reply.status, "Bad Request: `&time>=2000-01-02`" in reply.text) == (400, True), kind


def test_opendap_knows_the_last_index(served: Served) -> None:
    last, number = (served.get(f"/erddap/griddap/d.cdl.asc?t{part}[0][0]") for part in ("[last]", "[3]"))
    assert (last.status, last.text) == (200, number.text)


def test_an_empty_dimension_has_no_indices() -> None:
    checked = nczarr.from_cdl("netcdf e { dimensions: x = 0 ; variables: int v(x) ; }").checked
    for part in ("0", "last", "(last)", "(3)"):
        with pytest.raises(RefusedRequestError, match="`x` is empty"):
            parse_query(make_grid(checked, ("/x",), "e"), f"v[{part}]")


def test_people_are_led_to_pages(served: Served) -> None:
    for path, place in (
        ("griddap/d.cdl.html", "/dap2/d.cdl"),
        ("griddap/inner/e.cdl", "/dap2/inner/e.cdl"),
        ("info/d.cdl/index.html", "/browse/d.cdl"),
        ("info/index.html", "/browse"),
    ):
        reply = served.get(f"/erddap/{path}")
        assert (reply.status, reply.headers["location"]) == (303, place)


ODD = {
    "plain.cdl": "dimensions: x = 2 ; variables: float v(x) ; data: v = 7, 8 ;",
    "empty.cdl": "dimensions: t = UNLIMITED ; x = 2 ; variables: double t(t) ; float v(t, x) ;",
    "blank.cdl": "dimensions: a\\ b = 2 ; variables: float a\\ b(a\\ b) ; int v\\ w(a\\ b) ; "
    "data: a\\ b = 1, 2 ; v\\ w = 3, 4 ;",
    "gaps.cdl": "dimensions: time = 3 ; variables: int time(time) ; float v(time) ; "
    'time:_FillValue = -1 ; time:valid_max = 5 ; time:units = "seconds since 2000-01-01" ; '
    "data: time = 1, _, 9 ; v = 1, 2, 3 ;",
}  # fmt: skip


@pytest.fixture(scope="module")
def odd() -> Iterator[Served]:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in ODD.items():
            (Path(folder) / name).write_text(f"netcdf d {{ {content} }}", encoding="utf-8")
        with serving(Path(folder)) as server:
            yield server


def test_values_have_a_line_of_units_even_without_units(odd: Served) -> None:
    assert ask(odd, "griddap/plain.cdl.csv") == "x,v\n,\n0,7.0\n1,8.0\n"  # clients skip the second line
    assert json.loads(ask(odd, "griddap/plain.cdl.json"))["table"]["columnUnits"] == [None, None]
    assert ask(odd, "info/plain.cdl/index.csv").splitlines()[1].startswith("dimension,x")


def test_a_missing_time_is_no_date(odd: Served) -> None:
    rows = ask(odd, "griddap/gaps.cdl.csv0").splitlines()
    assert rows == ["2000-01-01T00:00:01Z,1.0", "NaN,2.0", "2000-01-01T00:00:09Z,3.0"]


def test_names_with_blanks(odd: Served) -> None:
    assert ask(odd, "griddap/blank.cdl.csv0", "v w[(2)]") == "2.0,4\n"
    assert "a%20b = 1" in ask(odd, "griddap/blank.cdl.dds", "v w[(2)]")
    assert odd.get("/erddap/griddap/blank.cdl.nc").status == 200


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "status"), [("nc", 200), ("nc?t", 200), ("csv", 200), ("dods?t,x[(0)]", 400), ("dods?x[(0)]", 200)]
)
def test_empty_dimensions(odd: Served, query: str, status: int) -> None:
    assert odd.get(f"/erddap/griddap/empty.cdl.{query}").status == status
