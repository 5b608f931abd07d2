"""Metadata of GeoZarr and OME-Zarr: what is written, what `check` finds, and what the validators of others say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from tests.conftest import run_command

SCENE = """netcdf scene {
dimensions:
  time = 2 ; lat = 5 ; lon = 6 ;
variables:
  double time(time) ;
    time:units = "hours since 2000-01-01" ;
  double lat(lat) ;
    lat:units = "degrees_north" ;
  double lon(lon) ;
    lon:units = "degrees_east" ;
  int crs ;
    crs:grid_mapping_name = "latitude_longitude" ;
    crs:crs_wkt = "GEOGCRS[\\"WGS 84\\",ID[\\"EPSG\\",4326]]" ;
  float t(time, lat, lon) ;
    t:grid_mapping = "crs" ;
data:
  time = 0, 6 ;
  lat = 45, 44, 43, 42, 41 ;
  lon = 0.5, 1.5, 2.5, 3.5, 4.5, 5.5 ;
  t = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30 ;
}
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A pyramid with the metadata of both."""
    path = tmp_path / "p.zarr"
    nczarr.pyramid(nczarr.from_cdl(SCENE), path, "zarr3", levels=2, convention=["geo", "ome"])
    return path


def attributes_of(path: Path) -> dict[str, Any]:
    return json.loads((path / "zarr.json").read_text())["attributes"]


def test_multiscales_and_grids(scene: Path) -> None:
    """Cells twice as large begin at the same corner; the last row lies half beyond the source."""
    members = attributes_of(scene)
    layout = members["multiscales"]["layout"]
    assert [entry["asset"] for entry in layout] == ["0", "1", "2"]
    assert layout[1]["derived_from"] == "0"
    assert layout[1]["transform"] == {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}
    assert members["multiscales"]["resampling_method"] == "average"
    assert [entry["spatial:shape"] for entry in layout] == [[5, 6], [3, 3], [2, 2]]
    assert layout[2]["spatial:transform"] == [4.0, 0.0, 0.0, 0.0, -4.0, 45.5]
    grid = attributes_of(scene / "1/t")
    assert grid["spatial:bbox"] == [0.0, 39.5, 6.0, 45.5]
    assert grid["proj:code"] == "EPSG:4326"
    assert {entry["name"] for entry in grid["zarr_conventions"]} == {"proj:", "spatial:"}


def test_images(scene: Path) -> None:
    """Scales are positive; places along a descending coordinate are distances from its first cell."""
    (image,) = attributes_of(scene)["ome"]["multiscales"]
    assert [axis["type"] for axis in image["axes"]] == ["time", "space", "space"]
    assert image["axes"][0] == {"name": "time", "type": "time", "unit": "hour"}
    assert [dataset["path"] for dataset in image["datasets"]] == ["0/t", "1/t", "2/t"]
    scale, translation = image["datasets"][2]["coordinateTransformations"]
    assert scale == {"type": "scale", "scale": [6.0, 4.0, 4.0]}
    assert translation == {"type": "translation", "translation": [0.0, 1.5, 2.0]}


def test_attributes_of_a_source_are_scaled(tmp_path: Path) -> None:
    """A source that states its grid by itself keeps its own statement, scaled."""
    text = SCENE.replace('t:grid_mapping = "crs" ;', """string t:spatial\\:dimensions = "lat", "lon" ;
      t:spatial\\:transform = 1., 0., 0., 0., -1., 45.5 ; t:spatial\\:shape = 5, 6 ;""")  # fmt: skip
    nczarr.pyramid(nczarr.from_cdl(text), tmp_path / "p.zarr", "zarr3", levels=1)
    grid = attributes_of(tmp_path / "p.zarr/1/t")
    assert grid["spatial:transform"] == [2.0, 0.0, 0.0, 0.0, -2.0, 45.5]
    assert grid["spatial:shape"] == [3, 3]


def test_levels_of_an_array_layout(tmp_path: Path) -> None:
    """Beside the arrays of a store, each variable has a chain of arrays; level 0 stays as it is."""
    nczarr.write(nczarr.from_cdl(SCENE), tmp_path / "a.zarr", "zarr3")
    before = (tmp_path / "a.zarr/t/zarr.json").read_bytes()
    nczarr.pyramid(tmp_path / "a.zarr", levels=1, convention=["geo", "ome"])
    members = attributes_of(tmp_path / "a.zarr")
    assert [entry["asset"] for entry in members["multiscales"]["layout"]] == ["t", "1/t"]
    assert members["multiscales"]["layout"][1]["transform"]["scale"] == [1.0, 2.0, 2.0]
    assert [each["path"] for each in members["ome"]["multiscales"][0]["datasets"]] == ["t", "1/t"]
    assert (tmp_path / "a.zarr/t/zarr.json").read_bytes() == before
    assert checked(tmp_path / "a.zarr", "geo") == checked(tmp_path / "a.zarr", "ome") == (0, "")


def checked(path: Path, name: str) -> tuple[int, str]:
    ran = run_command("check", str(path), "--for", name)
    return ran.status, ran.err


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the attributes of the root."""
    document = json.loads((path / "zarr.json").read_text())
    edit(document["attributes"])
    document.pop("consolidated_metadata", None)
    (path / "zarr.json").write_text(json.dumps(document))


def test_nothing_to_say(scene: Path) -> None:
    assert checked(scene, "geo") == checked(scene, "ome") == (0, "")


def entry_of(members: dict[str, Any], number: int) -> dict[str, Any]:
    found: dict[str, Any] = members["multiscales"]["layout"][number]
    return found


GEO: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda one: one["multiscales"].pop("layout"), "has no list `layout` of levels"),
    (lambda one: entry_of(one, 1).pop("asset"), "level 1 of `/` has no `asset`"),
    (lambda one: entry_of(one, 1).update(asset="../1"), "level 1 of `/` has no `asset`"),
    (lambda one: entry_of(one, 2).update(asset="7"), "level `7` of `/` does not exist"),
    (lambda one: entry_of(one, 1).pop("transform"), "has `derived_from` and no `transform`"),
    (lambda one: entry_of(one, 1)["transform"].update(scale=["2"]), "`scale` of level `1` of `/` is no list"),
    (lambda one: entry_of(one, 2).update(derived_from="9"), "is derived from `9`, which is no level"),
    (lambda one: entry_of(one, 1)["transform"].update(scale=[3.0, 2.0]), "has the scale [3.0, 2.0], but `/1/t`"),
    (lambda one: entry_of(one, 1).update({"spatial:shape": [2, 3]}), "has `spatial:shape` [2, 3]"),
    (lambda one: one.pop("zarr_conventions"), "has `multiscales`, and no entry of its convention"),
]


@pytest.mark.parametrize(("edit", "message"), GEO)
def test_broken_levels(edit: Callable[[dict[str, Any]], object], message: str, scene: Path) -> None:
    change(scene, edit)
    status, text = checked(scene, "geo")
    assert (status, message in text) == (1, True), text


def image_of(members: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = members["ome"]["multiscales"][0]
    return found


def transformations_of(members: dict[str, Any], number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = image_of(members)["datasets"][number]["coordinateTransformations"]
    return found


OME: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda one: one.pop("ome"), "no group has `ome` with `multiscales`"),
    (lambda one: one["ome"].update(version="0.4"), "`version` of `/` is `0.4`"),
    (lambda one: one["ome"].update(multiscales={}), "`multiscales` of `/` is no list"),
    (lambda one: image_of(one).pop("axes"), "has no list `axes` with names"),
    (lambda one: image_of(one).pop("datasets"), "has no `datasets`"),
    (lambda one: image_of(one)["axes"].reverse(), "has axes in the order space, space, time"),
    (lambda one: image_of(one)["axes"][1].update(type="time"), "has axes of the types time, time, space"),
    (lambda one: image_of(one)["axes"][1].update(name="lon"), "has the axes time, lon, lon"),
    (lambda one: image_of(one)["datasets"][1].update(path="1/u"), "has the path `1/u`"),
    (lambda one: transformations_of(one, 1).pop(0), "has at `1/t` the transformations translation"),
    (lambda one: transformations_of(one, 1)[0].update(scale=[1, 2]), "a `scale` that is no list of 3 numbers"),
    (lambda one: transformations_of(one, 1)[0].update(scale=[1, -2, 2]), "the scale [1.0, -2.0, 2.0]"),
    (lambda one: transformations_of(one, 1)[0].update(scale=[6.0, 4.0, 2.0]), "has the scale [6.0, 4.0, 2.0] and"),
    (lambda one: image_of(one)["datasets"][1].update(path="1/lat"), "has 3 axes, and `/1/lat` 1"),
]


@pytest.mark.parametrize(("edit", "message"), OME)
def test_broken_images(edit: Callable[[dict[str, Any]], object], message: str, scene: Path) -> None:
    change(scene, edit)
    status, text = checked(scene, "ome")
    assert (status, message in text) == (1, True), text


def test_a_group_of_labels_has_no_version(scene: Path) -> None:
    """As ome-zarr-py 0.18 writes it."""
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"labels": ["cells"]}}}
    (scene / "labels").mkdir()
    (scene / "labels/zarr.json").write_text(json.dumps(document))
    change(scene, lambda one: None)
    assert checked(scene, "ome") == (0, "")


def test_images_are_of_zarr_v3(tmp_path: Path) -> None:
    nczarr.pyramid(nczarr.from_cdl(SCENE), tmp_path / "p.zarr", "zarr2", levels=1, convention="ome")
    assert "the store is of Zarr v2" in checked(tmp_path / "p.zarr", "ome")[1]
    nczarr.write(nczarr.from_cdl(SCENE), tmp_path / "a.nc")
    assert "does not support the format" in checked(tmp_path / "a.nc", "ome")[1]


def test_validators_of_others(scene: Path) -> None:
    """ome-zarr-models, zarr-cm and xarray take the store."""
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(scene), mode="r")
    found = []
    try:
        from ome_zarr_models.v05 import Image
    except ImportError:
        pass
    else:
        found.append("ome_zarr_models")
        image = Image.from_zarr(group)
        assert [axis.name for axis in image.attributes.ome.multiscales[0].axes] == ["time", "lat", "lon"]
    try:
        import zarr_cm
    except ImportError:
        pass
    else:
        found.append("zarr_cm")
        for place, convention in (("", zarr_cm.multiscales), ("1/t", zarr_cm.spatial), ("1/t", zarr_cm.proj)):
            document = json.loads((scene / place / "zarr.json").read_text())
            assert convention.validate_node_metadata(document)
    if not found:
        pytest.skip("neither ome-zarr-models nor zarr-cm is installed")


def test_xarray_opens_the_tree(scene: Path) -> None:
    xr = pytest.importorskip("xarray")
    tree = xr.open_datatree(scene, engine="zarr", consolidated=False)
    assert {name: dict(node.sizes) for name, node in tree.children.items()} == {
        "0": {"time": 2, "lat": 5, "lon": 6},
        "1": {"time": 2, "lat": 3, "lon": 3},
        "2": {"time": 2, "lat": 2, "lon": 2},
    }
