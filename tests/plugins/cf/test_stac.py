"""The item of a catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command
from tests.support.dated_grid import make


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
    facts = nczarr.info(path)
    assert facts["coordinates"][0]["values"]["last"] == "2000-02-02"
    data = nczarr.from_cdl(
        'netcdf t { dimensions: time = 2 ; variables: int time(time) ; time:units = "days since 2001-02-29" ;'
        ' time:calendar = "360_day" ; data: time = 0, 1 ; }'
    )
    nczarr.write(data, tmp_path / "f.nc")
    item = json.loads(run_command("info", str(tmp_path / "f.nc"), "--stac").out)
    assert item["properties"]["end_datetime"] == "2001-02-28T00:00:00Z"


def test_infinite_coordinates(tmp_path: Path) -> None:
    text = "netcdf t { dimensions: x = 2 ; variables: double x(x) ; data: x = 1, Infinity ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.nc")
    ran = run_command("info", str(tmp_path / "t.nc"), "--stac")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["properties"]["cube:dimensions"]["x"]["extent"] == [1.0, 1.0]
