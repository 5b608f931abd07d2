"""The quick look at variables, its pictures, and downloads of sections."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import Physical, physical
from nczarr.plugins.serve.pages import chart, picture, plane
from nczarr.plugins.serve.pages.markup import STATIC_FILES, number_text
from nczarr.plugins.serve.pages.plane import BUDGET, MOST_CELLS, Scale, ShownAxis, axis_of, read, view_of
from nczarr.plugins.serve.resources import Limits
from nczarr.plugins.serve.value_streams import cost
from tests.support.serving import Served, Shelf, serving

PACKED = """netcdf p {
dimensions:
  t = 3 ; y = 2 ; x = 4 ; n = 5 ;
variables:
  double t(t) ; t:units = "days since 2001-01-01" ; t:calendar = "360_day" ;
  float y(y) ; y:units = "m" ; y:positive = "down" ;
  float x(x) ;
  short packed(t, y, x) ;
    packed:scale_factor = 0.5 ; packed:add_offset = 10. ; packed:_FillValue = -99s ;
    packed:missing_value = -98s ; packed:valid_range = -50s, 100s ; packed:units = "K" ;
  byte small(x) ; small:_Unsigned = "true" ; small:_FillValue = -1b ; small:valid_max = -3b ;
  ubyte signed(x) ; signed:_Unsigned = "false" ; signed:_FillValue = 255UB ; signed:valid_max = 100UB ;
  int plain(x) ;
  float holes(x) ;
  string words(n) ;
  char letters(n) ;
  int alone ;
  int64 large(x) ;
data:
  t = 0, 30, 59 ;
  y = 5, 50 ;
  x = 40, 30, 20, 10 ;
  packed = 1, 2, 3, 4, 5, 6, 7, 8, 0, -99, -98, -51, 101, 100, -50, 0, 9, 9, 9, 9, 9, 9, 9, 9 ;
  small = 1, -1, -2, -3 ;
  signed = 1, 255, 254, 101 ;
  plain = 1, _, 3, 4 ;
  holes = 1, NaN, Infinity, -2 ;
  words = "a", "=1+1", "<script>", "", _ ;
  letters = "hello" ;
  alone = 7 ;
  large = 9007199254740993, 2, 3, 4 ;
}
"""


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("looked")
    (root / "p.cdl").write_text(PACKED, encoding="utf-8")
    with serving(root) as served:
        yield served


def seen(served: Served, query: str) -> Any:
    reply = served.get(f"/view/p.cdl?format=json&{query}")
    assert reply.status == 200, reply.text
    return json.loads(reply.body)


def test_values_are_unpacked_and_missing_ones_left_out(looked: Served) -> None:
    told = seen(looked, "var=/packed&x=2&y=1&i0=1")
    assert told["values"] == [[10.0, None, None, None], [None, 60.0, -15.0, 10.0]]
    assert told["statistics"]["Missing"] == "4 (50.0%)"
    assert (told["statistics"]["Minimum"], told["statistics"]["Maximum"]) == ("-15", "60")
    assert told["title"] == "packed (K)"
    assert told["x"]["values"] == [40, 30, 20, 10]
    assert (told["x_backward"], told["y_backward"]) == (True, False)
    assert seen(looked, "var=small")["values"] == [1, None, None, 253]
    assert seen(looked, "var=signed")["values"] == [1, None, -2, None]
    assert seen(looked, "var=plain")["values"] == [1, None, 3, 4]
    holes = seen(looked, "var=holes")
    assert holes["values"] == [1, None, None, -2]
    assert (holes["statistics"]["Missing"], holes["statistics"]["Maximum"]) == ("1 (25.0%)", "inf")
    assert seen(looked, "var=large")["statistics"]["Maximum"] == "9007199254740993"


def test_times_are_dates_of_their_calendar(looked: Served) -> None:
    told = seen(looked, "var=/packed&x=0&y=none&i1=1&i2=2")
    assert told["x"]["labels"] == ["2001-01-01", "2001-02-01", "2001-02-30"]
    assert told["shape"] == [3]
    page = looked.get("/view/p.cdl?var=/packed&i0=2").text
    assert "2001-02-30" in page


def test_numbers_agree_with_xarray(looked: Served, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray = peer("xarray")
    nczarr.convert(looked_path(looked, tmp_path), str(tmp_path / "p.nc"))
    with xarray.open_dataset(tmp_path / "p.nc", decode_times=False) as data:
        for index in range(3):
            told = np.array(seen(looked, f"var=/packed&i0={index}")["values"], "f8")
            wanted = data["packed"][index].where(lambda v: (v >= -15) & (v <= 60)).to_numpy()  # xarray has no ranges
            np.testing.assert_array_equal(told, wanted)
        np.testing.assert_array_equal(np.array(seen(looked, "var=/small")["values"][:2], "f8"), data["small"][:2])


def looked_path(served: Served, folder: Path) -> str:
    (folder / "p.cdl").write_text(PACKED, encoding="utf-8")
    return str(folder / "p.cdl")


@pytest.mark.parametrize("path", ["packed", "small", "plain", "holes", "words", "letters", "alone", "large", "t", "x"])
def test_every_variable_has_a_page(path: str, looked: Served) -> None:
    reply = looked.get(f"/view/p.cdl?var=/{path}")
    assert reply.status == 200
    assert "<script>" not in reply.text
    assert re.search(r"style=|<style|\son\w+=", reply.text) is None


def test_other_values_are_texts(looked: Served) -> None:
    page = looked.get("/view/p.cdl?var=words").text
    assert "&lt;script&gt;</td>" in page
    assert "hello" in looked.get("/view/p.cdl?var=letters").text
    assert '<p class="value">7</p>' in looked.get("/view/p.cdl?var=alone").text
    assert looked.get("/view/p.cdl?var=words&format=json").status == 400


@pytest.mark.long
def test_variables_without_values_have_pages(shelf: Shelf) -> None:
    text = "netcdf e { dimensions: n = UNLIMITED ; m = 3 ; variables: char c(n, m) ; string s(n) ; int i(n) ; "
    (shelf.folder / "e.cdl").write_text(text + "double n(n) ; float f(m, n) ; int whole(m, m) ; }", encoding="utf-8")
    for name in ("c", "s", "i", "n", "f"):
        reply = shelf.get(f"/view/e.cdl?var={name}")
        assert (reply.status, "There are no values" in reply.text) == (200, True), name
        assert shelf.get(f"/download/e.cdl?var={name}&format=csv").status == 200
    told = json.loads(shelf.get("/view/e.cdl?var=whole&format=json").body)  # fill values everywhere
    assert told["statistics"] == {"Values": "9", "Missing": "9 (100.0%)"}
    assert shelf.get("/view/e.cdl?var=whole").status == 200
    assert "no values" in shelf.get("/browse/e.cdl").text


def test_a_new_variable_leaves_the_axes_of_the_old_one(looked: Served) -> None:
    assert looked.get("/view/p.cdl?var=/plain&of=/packed&x=2&y=1&i0=2").status == 200
    assert looked.get("/view/p.cdl?var=/plain&x=2").status == 400


@pytest.mark.parametrize(
    "query",
    ["var=nothing", "var=", "x=9", "x=a", "x=1&y=1", "y=-1", "i0=3", "i0=x", "a2=3&b2=1", "b2=4", "format=gif", "x=%00",
     "i0=99999999999999999999999", "x=2.0", "var=%FF%FE", "x=%C2%B2"],
)  # fmt: skip
def test_views_that_are_none(query: str, looked: Served) -> None:
    var = "" if query.startswith("var") else "var=/packed&"
    reply = looked.get(f"/view/p.cdl?{var}{query}")
    assert (reply.status, reply.headers["content-type"]) == (400, "text/plain; charset=utf-8"), reply.text


def decoded(data: bytes) -> tuple[Any, list[tuple[int, int, int]], bytes]:
    """The indices, palette and transparencies of a PNG file, read by the specification."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    found, place = {}, 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert struct.unpack(">I", data[place + 8 + length : place + 12 + length]) == (zlib.crc32(kind + body),)
        found[kind], place = body, place + 12 + length
    assert list(found) == [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"]
    columns, rows, *rest = struct.unpack(">IIBBBBB", found[b"IHDR"])
    assert rest == [8, 3, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(found[b"IDAT"]), "u1").reshape(rows, columns + 1)
    assert not lines[:, 0].any()
    colours = [tuple(found[b"PLTE"][each : each + 3]) for each in range(0, len(found[b"PLTE"]), 3)]
    return lines[:, 1:], colours, found[b"tRNS"]


def test_pictures_are_png_files(looked: Served) -> None:
    reply = looked.get("/view/p.cdl?var=/packed&i0=1&format=png")
    assert reply.headers["content-type"] == "image/png"
    cells, colours, transparent = decoded(reply.body)
    assert cells.shape == (2, 4)
    assert (cells == 0).tolist() == [[True, True, True, False], [False, False, False, True]]  # x falls, y is a depth
    assert (cells.max(), cells.min(), cells[1].tolist()[2]) == (255, 0, 255)
    assert (len(colours), transparent) == (256, b"\0")
    assert colours[1] == (0x44, 0x01, 0x54)
    assert colours[-1] == (0xFD, 0xE7, 0x25)
    assert looked.get("/view/p.cdl?var=/plain&format=png").status == 400


def test_colours_become_lighter() -> None:
    colours = np.frombuffer(picture.palette("viridis"), "u1").reshape(-1, 3).astype("f8")
    light = colours @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) > -0.6).all()
    values = np.array([0.0, 1.0, 0.5, np.nan, -np.inf, np.inf, 2.0])
    assert picture.indices(values, 0, 1).tolist() == [1, 255, 128, 0, 1, 255, 255]
    assert picture.indices(np.array([3.0, np.nan]), 3, 3).tolist() == [128, 0]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3.3, 1e9), (1e-300, 2e-300), (-1e308, 1e307), (5, 5), (99.9, 100.1)]
)
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = chart.list_round_numbers(low, high)
    assert 1 <= len(found) <= 12
    assert all(low - 1e-9 * abs(high - low) <= each <= high + 1e-9 * abs(high - low) for each in found)
    assert all(-1e-9 <= each.share <= 1 + 1e-9 for each in chart.value_ticks(low, high))


@pytest.mark.long
def test_long_axes_are_decimated_and_said_to_be(shelf: Shelf) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(shelf.folder / "d.nc", "w") as file:
        file.createDimension("y", 3000)
        file.createDimension("x", 2000)
        file.createVariable("v", "f4", ("y", "x"), zlib=True, chunksizes=(100, 100))[:] = np.arange(6e6).reshape(
            3000, 2000
        )
    checked = nczarr.open(shelf.folder / "d.nc").checked
    view = view_of(checked, {"var": "/v"}, Limits())
    assert [len(each) <= MOST_CELLS for each in view.ranges] == [True, True]
    assert view.decimated
    np.testing.assert_array_equal(read(checked, view), np.arange(6e6).reshape(3000, 2000)[::7, ::5])
    assert view.cost == 24_000_000
    small = view_of(checked, {"var": "/v", "a0": "5", "b0": "9", "a1": "0", "b1": "99"}, Limits())
    assert (small.ranges, small.cost, small.decimated) == ((range(5, 10), range(100)), 40_000, False)
    assert axis_of(checked, small, 0).title == "y, index"
    assert "every 7th value along <code>y</code>" in shelf.get("/view/d.nc?var=v").text


@pytest.mark.long
def test_large_chunks_are_refused_or_read_in_fewer_places(shelf: Shelf) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(shelf.folder / "big.nc", "w") as file:
        for name, length in (("t", 1000), ("y", 1000), ("x", 1000)):
            file.createDimension(name, length)
        file.createVariable("slow", "f4", ("t", "y", "x"), zlib=True, chunksizes=(1, 1000, 1000))
        file.createVariable("huge", "f4", ("t", "y", "x"), zlib=True, chunksizes=(400, 1000, 1000))
        file.createVariable("plain", "f4", ("y", "x"), contiguous=True)
    checked = nczarr.open(shelf.folder / "big.nc").checked
    assert cost(checked, "/slow", (range(1000), range(1), range(1))) == 4_000_000_000
    line = view_of(checked, {"var": "/slow", "x": "0", "y": "none"}, Limits())
    assert line.cost <= 256 << 20
    assert len(line.ranges[0]) < 100
    assert view_of(checked, {"var": "/slow"}, Limits()).cost <= BUDGET
    assert cost(checked, "/plain", (range(0, 1000, 100), range(1000))) < 5_000_000
    reply = shelf.get("/view/big.nc?var=/huge")
    assert reply.status == 413
    assert "1600000000 bytes" in reply.text
    assert "its chunks are large" in reply.text
    assert shelf.get("/view/big.nc?var=/slow&i0=3").status == 200


def test_physical_of_odd_attributes() -> None:
    made = nczarr.from_cdl(
        "netcdf o { variables: int a ; a:scale_factor = NaN ; a:missing_value = 1e30, 5. ; a:valid_range = 1 ; "
        'a:_FillValue = 3 ; byte b ; float c ; c:units = "days since nothing" ; }'
    ).checked
    assert physical(made, "/a")._replace(label="") == Physical(missing=(3, 5))
    assert physical(made, "/b").missing == ()
    assert physical(made, "/c").times is None


def download(served: Served | Shelf, query: str, name: str = "p.cdl") -> Any:
    reply = served.get(f"/download/{name}?{query}")
    assert reply.status == 200, reply.text
    return reply


@pytest.mark.parametrize("suffix", ["nc", "cdl", "zip"])
def test_downloads_are_the_section_with_its_coordinates(suffix: str, looked: Served, tmp_path: Path) -> None:
    reply = download(looked, f"var={quote('/packed(1:2, 0, 0:3:2)')}&format={suffix}")
    assert reply.headers["content-disposition"] == f'attachment; filename="p-packed.{suffix}"'
    path = tmp_path / f"got.{suffix}"
    path.write_bytes(reply.body)
    wanted = tmp_path / f"wanted.{suffix}"
    nczarr.convert(
        looked_path(looked, tmp_path), str(wanted), variables=["/packed", "/t", "/y", "/x"],
        sections=["/packed(1:2, 0:0, 0:3:2)"],
    )  # fmt: skip
    assert nczarr.diff(str(path), str(wanted)) == []
    assert nczarr.open(str(path))["/packed"][...].tolist() == [[[0, -98]], [[9, 9]]]


def test_whole_datasets_are_downloaded(looked: Served, tmp_path: Path) -> None:
    (tmp_path / "got.nc").write_bytes(download(looked, "format=nc").body)
    assert nczarr.diff(str(tmp_path / "got.nc"), looked_path(looked, tmp_path)) == []


def test_csv_has_dates_and_physical_values(looked: Served) -> None:
    reply = download(looked, f"var={quote('/packed(1, :, 0:1)')}&format=csv")
    rows = list(csv.reader(io.StringIO(reply.text, newline="")))
    assert rows == [
        ["t", "y (m)", "x", "packed (K)"],
        ["2001-02-01", "5", "40", "10.0"],
        ["2001-02-01", "5", "30", ""],
        ["2001-02-01", "50", "40", ""],
        ["2001-02-01", "50", "30", "60.0"],
    ]  # fmt: skip
    words = list(csv.reader(io.StringIO(download(looked, "var=words&format=csv").text, newline="")))
    assert words[3] == ["2", "<script>"]
    assert download(looked, "var=alone&format=csv").text == "alone\r\n7\r\n"
    assert download(looked, "var=large&format=csv").text.endswith("9007199254740993\r\n30,2\r\n20,3\r\n10,4\r\n")


def test_times_of_csv_have_one_form(shelf: Shelf) -> None:
    """Midnight has a time of day where other times have one: pandas reads the column as dates."""
    pandas = pytest.importorskip("pandas")
    text = """netcdf h { dimensions: time = 3 ; variables: double time(time) ; time:units = "%s since 1970-01-01" ;
        double seen(time) ; seen:units = "%s since 1970-01-01" ; float v(time) ; data: time = 0, 1, 2.5 ;
        seen = 0, 1, 2 ; v = 1, 2, 3 ; }"""
    for unit, form in (("hours", "%Y-%m-%d %H:%M"), ("days", "%Y-%m-%d %H:%M"), ("seconds", "%Y-%m-%d %H:%M:%S.%f")):
        nczarr.write(nczarr.from_cdl(text % (unit, unit)), shelf.folder / f"{unit}.nc")
        answer = shelf.get(f"/download/{unit}.nc?var=v;seen&format=csv").text
        table = pandas.read_csv(io.StringIO(answer))
        times = pandas.to_datetime(table["time"], format=form)
        expected = pandas.to_timedelta([0, 1, 2.5], unit=unit) + pandas.Timestamp(0)
        assert times.tolist() == expected.tolist(), answer
        seen = pandas.to_datetime(table.iloc[:, 2], format="%Y-%m-%d %H:%M:%S")
        assert seen.tolist() == (pandas.to_timedelta([0, 1, 2], unit=unit) + pandas.Timestamp(0)).tolist()


def test_both_of_one_shape_share_a_table(looked: Served) -> None:
    rows = list(csv.reader(io.StringIO(download(looked, "var=plain;holes&format=csv").text, newline="")))
    assert rows[:3] == [["x", "plain", "holes"], ["40", "1", "1"], ["30", "", ""]]
    assert looked.get("/download/p.cdl?var=plain;packed&format=csv").status == 400
    assert looked.get("/download/p.cdl?format=csv").status == 400


@pytest.mark.parametrize("query", ["format=exe", "var=nothing", "var=packed(9,0,0)", "var=packed(", "var=packed(0)"])
def test_downloads_that_are_none(query: str, looked: Served) -> None:
    assert looked.get(f"/download/p.cdl?{query}").status == 400


def test_attributes_of_json_are_text_in_files(shelf: Shelf) -> None:
    store = shelf.folder / "j.zarr"
    nczarr.convert(nczarr.from_cdl("netcdf j { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"), store)
    attributes = json.loads((store / ".zattrs").read_text()) | {"multiscales": {"a": 1}}
    (store / ".zattrs").write_text(json.dumps(attributes))
    (store / ".zmetadata").unlink(missing_ok=True)
    for suffix, value in (("nc", {"a": 1}), ("cdl", '{"a": 1}')):  # `_nczarr_json` of files says that it is JSON
        (shelf.folder / f"got.{suffix}").write_bytes(download(shelf, f"var=v&format={suffix}", "j.zarr").body)
        got = nczarr.open(shelf.folder / f"got.{suffix}")
        assert (got["v"][...].tolist(), got.attributes["multiscales"]) == ([1, 2], value)


@pytest.mark.long
def test_downloads_have_a_limit(tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(tmp_path / "d.nc", "w") as file:
        file.createDimension("x", 300_000)
        file.createVariable("v", "f4", ("x",))[:] = 1
    with serving(tmp_path, "--max-response", "1MB") as served:
        for query in ("format=nc", "var=v&format=csv", "var=v&format=zip", f"var={quote('v(0:99999)')}&format=cdl"):
            assert served.get(f"/download/d.nc?{query}").status == 413, query
        assert served.get(f"/download/d.nc?var={quote('v(0:99999)')}&format=nc").status == 200


@pytest.mark.parametrize("query", [{}, {"x": "0", "y": "1"}, {"y": "none"}, {"a0": "17", "b0": "918", "a1": "3"}])
def test_an_array_that_is_mostly_unwritten(
    query: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only stored chunks are read, and one cell that is in none; the values are those that h5py reads."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        made = file.create_dataset("v", (1000, 1200), "i4", chunks=(10, 10), fillvalue=-5, compression="gzip")
        for row, column in ((0, 0), (403, 711), (995, 1190), (400, 20)):
            made[row : row + 5, column : column + 12] = row + column
    checked = phases.read_path(str(tmp_path / "s.h5"), Report(), Options())
    assert checked is not None
    seen = plane.view_of(checked, {"var": "v", **query}, Limits())
    calls: list[object] = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return read_outer(*arguments)

    monkeypatch.setattr(plane, "read_outer", counted)
    found = plane.read(checked, seen)
    with h5py.File(tmp_path / "s.h5") as file:
        whole = file["v"][...]
    keys = (slice(each.start, each.stop, each.step) for each in seen.ranges)
    truth = whole[tuple(key if axis in seen.shown else key.start for axis, key in enumerate(keys))]
    assert np.array_equal(found, truth.T if query.get("x") == "0" else truth)
    assert len(calls) <= 10


def test_the_cost_of_a_huge_array_is_that_of_its_stored_chunks(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        made = file.create_dataset("v", (10**7, 10**7), "f8", chunks=(1000, 1000), compression="gzip")
        made[5_000_000, 5_000_000] = 1
    checked = phases.read_path(str(tmp_path / "s.h5"), Report(), Options.of(max_size=2**63))
    assert checked is not None
    seen = plane.view_of(checked, {}, Limits())
    assert seen.cost == 8_000_000
    assert [len(each) for each in seen.ranges] == [480, 480]


def axis(values: Any, units: str = "", **attributes: Any) -> ShownAxis:
    return ShownAxis("a", np.asarray(values, "f8"), Physical(units=units), **attributes)


def test_labels_neither_overlap_nor_vanish() -> None:
    uneven = axis([1, 2, 5, 10, 30, 70, 100, 250, 500, 700, 850, 1000])
    for ticks in (chart.cell_ticks(uneven), chart.cell_ticks(axis([1, 2, 3, 1000]))):
        assert len(ticks) >= 4
        assert (np.diff([each.share for each in ticks]) > 0.1).all()
    long = [chart.Tick(share, "2000-01-01 12:00") for share in (0, 0.2, 0.25, 0.5, 0.75, 1)]
    assert [each.share for each in chart.space_ticks(long, 90)] == [0, 0.5, 0.75]
    assert [each.share for each in chart.space_ticks(long, 38)] == [0, 0.75]
    assert [each.label for each in chart.point_ticks(axis([0, 1, 2]), np.array([0, 0.5, 1]))] != []


def labels_of(ticks: list[chart.Tick]) -> list[float]:
    return [float(each.label) for each in ticks]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (np.arange(-179, 180, 2), [-180, -120, -60, 0, 60, 120, 180]),
        (np.arange(0, 360, 2.5), [0, 60, 120, 180, 240, 300]),
        (np.arange(359.5, 0, -1), [0, 60, 120, 180, 240, 300, 360]),
        (np.arange(-180, 180.1, 0.25), [-180, -120, -60, 0, 60, 120, 180]),
        (np.linspace(100, 290, 96), [120, 150, 180, 210, 240, 270]),
        (np.arange(-89, 90, 2), [-90, -60, -30, 0, 30, 60, 90]),
        (np.arange(0.5, 90), [0, 15, 30, 45, 60, 75, 90]),
        (np.linspace(-12.2, 31.7, 200), [-10, 0, 10, 20, 30]),
        (np.linspace(33.1, 46.3, 50), [34, 36, 38, 40, 42, 44, 46]),
        (np.linspace(-3.05, 3.05, 50), [-3, -2, -1, 0, 1, 2, 3]),
        (np.linspace(9.61, 9.92, 60), [9.65, 9.7, 9.75, 9.8, 9.85, 9.9]),
    ],
)
def test_ticks_of_degrees_are_parts_of_a_turn(values: Any, wanted: list[float]) -> None:
    degrees = axis(values, "degrees_east")
    found = chart.cell_ticks(degrees)
    assert sorted(labels_of(found)) == wanted
    step = values[1] - values[0]
    for tick, label in zip(found, labels_of(found), strict=True):  # the first cell begins half a step before its value
        assert tick.share * len(values) == pytest.approx((label - values[0]) / step + 0.5, abs=1e-6)
    line = labels_of(chart.point_ticks(degrees, np.linspace(0, 1, len(values))))
    assert set(line) <= set(wanted)
    assert len(line) >= len(wanted) - 2  # the halves of the outer cells are beyond a line
    plain = labels_of(chart.cell_ticks(axis(np.arange(-179, 180, 2), "m")))
    assert plain == [-100, 0, 100]


def test_scripts_have_the_steps_of_degrees(shelf: Shelf) -> None:
    text = 'netcdf d { dimensions: lon = 3 ; z = 2 ; variables: float lon(lon) ; lon:units = "degrees_east" ; '
    text += "float v(z, lon) ; data: lon = 0, 120, 240 ; v = 1, 2, 3, 4, 5, 6 ; }"
    (shelf.folder / "d.cdl").write_text(text, encoding="utf-8")
    told = json.loads(shelf.get("/view/d.cdl?var=v&format=json").body)
    assert told["x"]["steps"] == list(chart.DEGREES)
    assert "steps" not in told["y"]


def test_flat_planes_have_few_labels_at_the_side() -> None:
    x, y = axis(np.arange(-170, 180, 10), "degrees_east"), axis(np.arange(-30, 31, 4), "degrees_north")
    made = chart.plane(x, y, np.arange(35.0 * 16).reshape(16, 35), Scale(), "", "")
    places = sorted(float(each["place"].removesuffix("%")) for each in made["up"])
    assert len(places) >= 2
    assert np.diff(places).min() / 100 * made["height"] >= chart.LINE


def spans(labels: list[dict[str, Any]], width: int, anchor: str) -> list[tuple[float, float]]:
    """Return the first and last place of labels below a frame of so many characters."""
    found = []
    for each in labels:
        if each[anchor] != "wide":
            place, length = float(each["place"].removesuffix("%")) / 100 * width, len(each["text"])
            start = place - {"start": 0, "middle": length / 2, "end": length}[each[anchor]]
            found.append((start, start + length))
    return found


@pytest.mark.parametrize("values", [np.arange(0, 48) * 3600.0, np.arange(0, 40) * 3590.0, np.arange(500) * 86400.0])
@pytest.mark.parametrize(("width", "anchor"), [(chart.WIDE, "anchor"), (chart.NARROW, "narrow")])
def test_labels_of_times_stay_apart_and_below_the_frame(values: Any, width: int, anchor: str) -> None:
    made = nczarr.from_cdl('netcdf o { variables: double t ; t:units = "seconds since 2024-02-28 12:00" ; }').checked
    times = ShownAxis("t", values, physical(made, "/t"))
    labels = chart.plane(times, axis(np.arange(9)), np.zeros((9, len(values))), Scale(), "", "")["right"]
    found = spans(labels, width, anchor)
    assert found != []
    assert all(after[0] - before[1] >= 1 for before, after in itertools.pairwise(found))
    assert found[0][0] >= -chart.OVERHANG - 1e-9
    assert found[-1][1] <= width + chart.OVERHANG + 1e-9


def test_labels_of_times_are_round() -> None:
    made = nczarr.from_cdl('netcdf o { variables: double t ; t:units = "hours since 2024-02-28 12:00" ; }').checked

    def labels(values: Any) -> list[str]:
        return [each.label for each in chart.cell_ticks(ShownAxis("t", np.asarray(values, "f8"), physical(made, "/t")))]

    assert [each for each in labels(np.arange(48)) if each.endswith("12:00") or len(each) == 10] == [
        "2024-02-28 12:00", "2024-02-29", "2024-02-29 12:00", "2024-03-01",
    ]  # fmt: skip
    days = labels(12 + 24 * np.arange(366))
    assert [each[-5:] for each in days if each.endswith("-01")] == ["03-01", "05-01", "08-01", "10-01", "01-01"]


def test_calls_for_round_times_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = nczarr.from_cdl('netcdf o { variables: double t ; t:units = "hours since 2024-02-28" ; }').checked
    calls: list[int] = []

    def text(self: ShownAxis, place: int) -> str:
        calls.append(place)
        return f"{place:06}"

    monkeypatch.setattr(ShownAxis, "text", text)
    times = ShownAxis("t", np.arange(100_000.0), physical(made, "/t"))
    chart.cell_ticks(times)
    chart.point_ticks(times, np.linspace(0, 1, 100_000))
    assert 0 < len(calls) <= 2 * chart.TICKS * (2 * chart.REACH + 2)


@pytest.mark.parametrize(("var", "wanted"), [("packed", ["X axis", "Y axis"]), ("words2", ["Axis"])])
def test_axes_have_their_usual_names(var: str, wanted: list[str], shelf: Shelf) -> None:
    text = PACKED.replace("string words(n)", "string words2(y, x) ; string words(n)")
    (shelf.folder / "p.cdl").write_text(text, encoding="utf-8")
    page = shelf.get(f"/view/p.cdl?var={var}").text
    assert re.findall(r'<label for="[xy]">([^<]+)</label>', page) == wanted


def test_missing_cells_are_named_where_they_are(looked: Served) -> None:
    legend = re.compile(r'<p class="missing"><span class="swatch"></span>missing</p>')
    assert [len(legend.findall(looked.get(f"/view/p.cdl?var=packed&i0={each}").text)) for each in (0, 1, 2)] == [
        0,
        1,
        0,
    ]
    assert legend.search(looked.get("/view/p.cdl?var=plain").text) is None  # a line has a gap


def luminance(colour: str) -> float:
    """The relative luminance of a colour (WCAG 2.2)."""
    shares = np.frombuffer(bytes.fromhex(colour.removeprefix("#")), "u1") / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_missing_cells_differ_from_palettes_and_pages() -> None:
    style = (STATIC_FILES / "pages.css").read_text(encoding="utf-8")
    rule = re.search(r"\.chart\.plane \.frame, \.chart \.swatch \{[^}]*background: ([^;]*);", style)
    assert rule is not None
    names = re.findall(r"var\((--[a-z-]+)\)", rule[1])
    assert len(set(names)) == 2
    greys = [re.findall(rf"{name}: (#[0-9a-f]{{6}})", style) for name in dict.fromkeys(names)]
    assert [len(each) for each in greys] == [1, 1]  # one for both schemes
    backs = re.findall(r"--(?:back|panel): (#[0-9a-f]{6})", style)
    assert len(backs) == 4
    ends = [colour for each in picture.PALETTES.values() for colour in (each.split()[0], each.split()[-1])]
    for grey in (each[0] for each in greys):
        assert np.ptp(np.frombuffer(bytes.fromhex(grey[1:]), "u1").astype("i4")) <= 16
        for other in (*backs, *ends):
            darker, lighter = sorted((luminance(grey), luminance(other)))
            assert (lighter + 0.05) / (darker + 0.05) >= 1.5, (grey, other)


def test_dates_and_missing_values_have_no_units(shelf: Shelf) -> None:
    text = 'netcdf d { variables: int t ; t:units = "days since 2000-01-01" ; float gone ; gone:units = "m" ; '
    (shelf.folder / "d.cdl").write_text(text + 'float part ; part:units = "1" ; data: t = 31 ; part = 0.5 ; }', "utf-8")
    pages = [shelf.get(f"/view/d.cdl?var={name}").text for name in ("t", "gone", "part")]
    found = [re.findall(r'<p class="value">([^<]*)</p>', page) for page in pages]
    assert found == [["2000-02-01"], ["missing"], ["0.5"]]


def test_numbers_have_short_exponents() -> None:
    found = [number_text(each) for each in (2e6, -1.5e13, 3e-12, 1e-5, 1e100, 0.5, 123456.0)]
    assert found == ["2e6", "-1.5e13", "3e-12", "1e-5", "1e100", "0.5", "123456"]
    assert [float(number_text(each)) for each in (2e6, 3e-12)] == [2e6, 3e-12]


def test_projected_planes_have_one_scale() -> None:
    x, y = axis(np.arange(100) * 25.0, "km"), axis(np.arange(140) * 25.0, "km")
    assert chart.plane(x, y, np.zeros((140, 100)), Scale(), "", "")["height"] == 1400
    deep = axis(np.arange(140) * 0.02, "km")  # a section through the sea
    assert chart.plane(x, deep, np.zeros((140, 100)), Scale(), "", "")["height"] == 1000
    assert chart.plane(x, axis(np.arange(140) * 25.0, "m"), np.zeros((140, 100)), Scale(), "", "")["height"] == 1000


def test_degrees_have_one_length() -> None:
    x, y = axis(np.arange(-170, 180, 10), "degrees_east"), axis(np.arange(0, 41, 2), "degrees_north")
    made = chart.plane(x, y, np.zeros((21, 35)), Scale(), "", "")
    assert made["height"] == 200  # flat pictures have a least height, this one would have 120
    half = chart.plane(x, axis(np.arange(-85, 90, 10), "degreeN"), np.zeros((18, 35)), Scale(), "", "")
    assert half["height"] == 514
    assert half["coast"] != ""
    assert chart.plane(x, axis(np.arange(18), "m"), np.zeros((18, 35)), Scale(), "", "")["coast"] == ""


@pytest.mark.parametrize("longitudes", [np.arange(-179.5, 180), np.arange(0.5, 360), np.arange(359.5, 0, -1)])
def test_coastlines_are_where_they_are(longitudes: Any) -> None:
    """The southern tip of Africa is at 20 E, 35 S; no land is near 0 E, 45 S."""
    x, y = axis(longitudes, "degrees_east"), axis(np.arange(-89.5, 90), "degrees_north")
    points = np.concatenate(list(chart.coast_paths(x, y)))
    assert ((points >= 0) & (points <= 1)).all()

    def distance(east: float, north: float) -> float:
        place = (
            chart.cell_shares(x, np.array([east % 360 if longitudes.max() > 180 else east])),
            chart.cell_shares(y, np.array([north])),
        )
        return float(np.hypot(*(np.ptp(a.values) * (points[:, n] - place[n]) for n, a in enumerate((x, y)))).min())

    assert distance(20, -34.8) < 1
    assert distance(-5.4, 36) < 1
    assert distance(1, -45) > 8


@pytest.mark.long
def test_colours_are_chosen(looked: Served) -> None:
    first = looked.get("/view/p.cdl?var=packed")
    other = looked.get("/view/p.cdl?var=packed&palette=blue-red&low=-10&high=40")
    assert (first.status, other.status) == (200, 200)
    assert '<option value="blue-red" selected>' in other.text
    assert 'name="low" value="-10.0"' in other.text
    later = looked.get("/view/p.cdl?var=packed&palette=blue-red&low=-10&high=40&i0=1")
    bars = [re.findall(r'class="right".*?</svg>\s*</svg>', each.text, re.DOTALL) for each in (other, later)]
    assert bars[0] == bars[1] != []
    for wrong in ("palette=none", "low=5&high=5", "low=x", "high=inf"):
        assert looked.get(f"/view/p.cdl?var=packed&{wrong}").status == 400
    assert Scale("blue-red").range_of(np.array([-3.0, np.nan, 1])) == (-3, 3)
    assert Scale("viridis", low=0).range_of(np.array([-3.0, np.nan, 1])) == (0, 1)
    assert Scale(high=-5).range_of(np.array([-3.0, 1])) == (-5, -5)


def test_a_place_is_chosen_by_its_index(looked: Served) -> None:
    """A name of a dimension is no parameter: it would be ignored, and the first plane be taken for another."""
    told = seen(looked, "var=packed&i0=1&a1=0&b1=1")
    assert told["indices"] == [[1, 1], [0, 1], [0, 3]]
    assert told["values"] != seen(looked, "var=packed&a1=0&b1=1")["values"]
    answer = looked.get("/view/p.cdl?format=json&var=packed&t=1")
    assert answer.status == 400
    assert "the place along `t` is chosen by its index: `i0=0`, `a0=0&b0=9`" in html.unescape(answer.text)
    assert looked.get("/view/p.cdl?format=json&var=plain&x=0").status == 200, "`x` is a parameter of its own"
