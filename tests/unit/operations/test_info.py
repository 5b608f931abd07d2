"""Facts about datasets: sizes, gaps, missing chunks, requests; the item of a catalogue; the checksum of a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.operations.zarr_checksum import compute_checksum
from nczarr.stores.memory import MemoryStore
from tests.conftest import run_command

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


def facts_of(path: Path) -> dict[str, Any]:
    ran = run_command("info", str(path), "--json")
    assert (ran.status, ran.err) == (0, "")
    facts: dict[str, Any] = json.loads(ran.out)
    assert facts == nczarr.info(path)
    return facts


@pytest.mark.parametrize("form", ["netcdf4", "zarr2", "zarr3", "nczarr"])
def test_sizes_chunks_and_gaps(form: str, tmp_path: Path) -> None:
    facts = facts_of(make(tmp_path, form))
    variables = {entry["path"]: entry for entry in facts["variables"]}
    values = variables["/v"]
    assert (values["shape"], values["chunks"], values["grid"]) == ([8, 3, 4], [2, 3, 4], 4)
    assert values["size"] == 8 * 3 * 4 * 4
    if form == "netcdf4":
        assert values["missing"] == 3
    else:
        documents = (".zarray", ".zattrs", "zarr.json")
        chunks = [file for file in (tmp_path / "t.zarr" / "v").rglob("*") if file.is_file()]
        chunks = [file for file in chunks if file.name not in documents]
        assert values["missing"] == 4 - len(chunks)
        assert values["stored"] == sum(file.stat().st_size for file in chunks)
    assert variables["/names"]["size"] is None
    time = next(entry for entry in facts["coordinates"] if entry["path"] == "/time")
    assert (time["values"]["first"], time["values"]["last"]) == ("2000-01-01", "2000-02-01")
    assert time["values"]["gaps"] == ["2000-01-03 to 2000-01-08", "2000-01-10 to 2000-01-31"]
    assert facts["title"] == "a test"
    if form == "netcdf4":
        assert facts["stored"] == (tmp_path / "t.nc").stat().st_size
        assert facts["opening"]["requests"] == 1
    else:
        assert facts["opening"] is None


def test_the_screen(tmp_path: Path) -> None:
    ran = run_command("info", str(make(tmp_path, "netcdf4")))
    text = ran.out.decode()
    assert f"{tmp_path / 't.nc'}: netcdf4, netCDF-4, " in text
    assert "  time   8 values: 2000-01-01 to 2000-02-01, step 1 to 21 days" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "gap: 2000-01-10 to 2000-01-31" in text
    assert "v: 3 of 4 chunks missing" in text


@pytest.mark.parametrize("columns", [40, 80, 120, 300])
def test_lines_fit_the_terminal(columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    path = make(tmp_path, "netcdf4")
    nczarr.edit(path, rename={"/v": "a_very_long_name_of_a_variable_" * 5})
    lines = run_command("info", str(path)).out.decode().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  variable"))
    assert max(map(len, lines[start:])) <= max(80, min(columns, 120))


def test_months_have_no_gaps(tmp_path: Path) -> None:
    data = nczarr.from_cdl(
        'netcdf t { dimensions: time = 6 ; variables: int time(time) ; time:units = "days since 2001-01-01" ;'
        " data: time = 0, 31, 59, 90, 120, 151 ; }"
    )
    nczarr.write(data, tmp_path / "t.nc")
    assert facts_of(tmp_path / "t.nc")["coordinates"][0]["values"]["gaps"] == []


@pytest.mark.parametrize(
    ("lon", "box", "kind"),
    [
        ("0, 90, 180, 270", [0.0, -10.0, -90.0, 10.0], "MultiPolygon"),
        ("-20, -10, 0, 10", [-20.0, -10.0, 10.0, 10.0], "Polygon"),
        ("200, 210, 220, 230", [-160.0, -10.0, -130.0, 10.0], "Polygon"),
        ("0, 120, 240, 359.5", [-180.0, -10.0, 180.0, 10.0], "Polygon"),
    ],
)
def test_item_of_a_catalogue(lon: str, box: list[float], kind: str, tmp_path: Path) -> None:
    item = json.loads(run_command("info", str(make(tmp_path, "zarr3", lon=lon)), "--stac").out)
    assert item["type"] == "Feature"
    assert item["bbox"] == box
    assert item["geometry"]["type"] == kind
    properties = item["properties"]
    assert properties["datetime"] is None
    assert properties["start_datetime"] == "2000-01-01T00:00:00Z"
    assert properties["end_datetime"] == "2000-02-01T00:00:00Z"
    cube = properties["cube:dimensions"]
    assert cube["lat"] == {"type": "spatial", "axis": "y", "extent": [-10.0, 10.0], "reference_system": 4326}
    assert cube["level"] == {"type": "spatial", "axis": "z", "extent": [5.0, 10.0], "unit": "m"}
    assert cube["time"]["type"] == "temporal"
    assert properties["cube:variables"]["v"] == {
        "type": "data",
        "dimensions": ["time", "lat", "lon"],
        "description": "a quantity",
        "unit": "K",
    }
    assert item["assets"]["data"]["type"] == "application/vnd+zarr"


def test_days_that_no_year_has(tmp_path: Path) -> None:
    """The 30th of February of 360-day calendars becomes the last day of that month."""
    path = make(tmp_path, "netcdf4", calendar="360_day")
    facts = facts_of(path)
    assert facts["coordinates"][0]["values"]["last"] == "2000-02-02"
    data = nczarr.from_cdl(
        'netcdf t { dimensions: time = 2 ; variables: int time(time) ; time:units = "days since 2001-02-29" ;'
        ' time:calendar = "360_day" ; data: time = 0, 1 ; }'
    )
    nczarr.write(data, tmp_path / "f.nc")
    item = json.loads(run_command("info", str(tmp_path / "f.nc"), "--stac").out)
    assert item["properties"]["end_datetime"] == "2001-02-28T00:00:00Z"


def test_the_checksum_is_that_of_zarr_checksum(tmp_path: Path) -> None:
    """The text was computed by zarr_checksum 0.4 for the same files."""
    store = MemoryStore({"zarr.json": b"a", "g/zarr.json": b"bcd", "g/c/0": b"xyz1", "g/c/10": b"", "g/c/2": b"q"})
    assert compute_checksum(store) == "60659b4f2be6747f9e006051252ae051-5--9"
    path = make(tmp_path, "zarr3")
    ran = run_command("info", str(path), "--checksum", "zarr")
    files = [file for file in path.rglob("*") if file.is_file()]
    total = sum(file.stat().st_size for file in files)
    assert ran.out.decode().endswith(f"-{len(files)}--{total}  {path}\n")
    refused = run_command("info", str(make(tmp_path, "netcdf4")), "--checksum", "zarr")
    assert (refused.status, "error[unknown-format]" in refused.err) == (1, True)


def test_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.nc").write_bytes(b"noise")
    ran = run_command("info", str(tmp_path / "x.nc"))
    assert (ran.status, ran.out) == (1, b"")
    assert "error[unknown-format]" in ran.err
    assert run_command("info", str(tmp_path / "missing.nc")).status == 3


def test_infinite_coordinates(tmp_path: Path) -> None:
    text = "netcdf t { dimensions: x = 2 ; variables: double x(x) ; data: x = 1, Infinity ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.nc")
    ran = run_command("info", str(tmp_path / "t.nc"), "--stac")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["properties"]["cube:dimensions"]["x"]["extent"] == [1.0, 1.0]
