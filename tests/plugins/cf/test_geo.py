"""Zarr's conventions CF, `proj:` and `spatial:`: what is declared, taken away by our reader, and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.plugins.cf.geo_attributes import ENTRIES
from tests.conftest import run_command
from tests.support.grids import WKT, write_grid


def attributes_of(store: Path, name: str = "") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((store / name / "zarr.json").read_text())
    attributes: dict[str, Any] = document["attributes"]
    return attributes


def write(folder: Path, latitudes: str = "30, 20, 10") -> Path:
    nczarr.convert(
        nczarr.from_cdl(write_grid(latitudes)), folder / "g.zarr", format="zarr3", declare="geo", allow_loss="all"
    )
    return folder / "g.zarr"


def test_declarations(tmp_path: Path) -> None:
    store = write(tmp_path)
    assert attributes_of(store)["zarr_conventions"] == [ENTRIES["CF"]]
    cells = {
        "spatial:dimensions": ["lat", "lon"],
        "spatial:shape": [3, 4],
        "spatial:transform": [1.0, 0.0, 0.0, 0.0, -10.0, 35.0],
        "spatial:bbox": [0.0, 5.0, 4.0, 35.0],
    }
    declared = attributes_of(store, "v")
    assert declared.pop("zarr_conventions") == [ENTRIES["proj:"], ENTRIES["spatial:"]]
    assert declared == {"grid_mapping": "crs", "proj:code": "EPSG:4326", "proj:wkt2": WKT, **cells}
    assert attributes_of(store, "w") == {"zarr_conventions": [ENTRIES["spatial:"]], **cells}
    assert attributes_of(store, "plain") == {}


def test_our_reader_takes_them_away(tmp_path: Path) -> None:
    store = write(tmp_path)
    assert nczarr.diff(nczarr.from_cdl(write_grid()), store) == []
    document = json.loads((store / "v" / "zarr.json").read_text())
    foreign = {"uuid": "2dc8d146-3932-4e08-8542-06aa0e826508", "name": "other:"}
    document["attributes"]["zarr_conventions"].append(foreign)
    document["attributes"]["other:a"] = 1
    (store / "v" / "zarr.json").write_text(json.dumps(document))
    with nczarr.open(store) as found:
        names = {attribute.name for attribute in found.checked.variables["/v"].attributes}
    assert names == {"grid_mapping", "other:a", "zarr_conventions"}


def test_what_cannot_be_declared_is_said(tmp_path: Path) -> None:
    (tmp_path / "g.cdl").write_text(write_grid("30, 20, 5"))
    ran = run_command("convert", str(tmp_path / "g.cdl"), str(tmp_path / "g.zarr"), "--to", "zarr3", "--declare", "geo")
    assert ran.status == 0
    assert ran.err.count("warning[undeclared-grid]") == 2
    assert "`/v` declares no `spatial:`: the values of `/lat` are not evenly spaced" in ran.err
    assert "zarr_conventions" not in attributes_of(tmp_path / "g.zarr", "w")
    assert attributes_of(tmp_path / "g.zarr", "v")["zarr_conventions"] == [ENTRIES["proj:"]]
    (tmp_path / "h.cdl").write_text(write_grid().replace('"crs"', '"elsewhere"'))
    ran = run_command("convert", str(tmp_path / "h.cdl"), str(tmp_path / "h.zarr"), "--to", "zarr3", "--declare", "geo")
    assert "`/v` declares no `proj:`: there is no variable `elsewhere`" in ran.err
    ran = run_command("convert", str(tmp_path / "g.cdl"), str(tmp_path / "g.nc"), "--declare", "geo")
    assert ran.status == 1
    assert "cannot declare conventions of Zarr v3" in ran.err


def check(store: Path, change: dict[str, Any]) -> list[str]:
    document = json.loads((store / "v" / "zarr.json").read_text())
    for name, value in change.items():
        if value is None:
            del document["attributes"][name]
        else:
            document["attributes"][name] = value
    (store / "v" / "zarr.json").write_text(json.dumps(document))
    return [diagnostic.message for diagnostic in nczarr.check(store, readers="geo")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"zarr_conventions": []}, "has `proj:code`, and no entry of its convention"),
        (
            {"zarr_conventions": {}},
            "`zarr_conventions` of `/v` is no list: Conventions of Zarr demand a list of entries",
        ),
        ({"zarr_conventions": [{"name": "x"}]}, "does not say of which convention it is"),
        ({"zarr_conventions": [{**ENTRIES["proj:"], "version": "1"}, ENTRIES["spatial:"]]}, "has the member `version`"),
        (
            {"proj:code": "4326"},
            '`proj:code` of `/v` is `"4326"`: Conventions of Zarr demand a code such as `EPSG:4326`',
        ),
        ({"proj:wkt2": 5}, "`proj:wkt2` of `/v`"),
        ({"proj:code": None, "proj:wkt2": None}, "neither `proj:code` nor `proj:wkt2` nor `proj:projjson`"),
        ({"spatial:transform": [1, 2, 3]}, "`spatial:transform` of `/v`"),
        ({"spatial:transform": None}, "has no `spatial:transform`: Conventions of Zarr demand it"),
        ({"spatial:transform": None, "spatial:transform_type": "rpc"}, ""),
        ({"spatial:dimensions": ["y", "x"]}, "`spatial:dimensions` of `/v`"),
        ({"spatial:bbox": [0, "a", 1, 2]}, "`spatial:bbox` of `/v`"),
        ({"spatial:shape": [4, 3]}, "is `[4, 3]`: Conventions of Zarr demand the lengths of `spatial:dimensions`"),
        ({"spatial:registration": "cell"}, "`spatial:registration` of `/v`"),
        ({"spatial:registration": "node"}, ""),
    ],
)
def test_checks(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    messages = check(write(tmp_path), change)
    assert any(words in message for message in messages) if words else not messages
