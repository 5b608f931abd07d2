"""Names in attributes, roles of variables, and instances of ragged arrays."""

from __future__ import annotations

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.cf.view import CFDataset

GROUPS = """netcdf t {
dimensions:
  x = 2 ;
variables:
  float x(x) ;
  float z ;
group: a {
  variables:
    float v(x) ;
    float z ;
  group: inner {
    variables:
      float w(x) ;
  }
}
group: b {
  dimensions:
    y = 3 ;
  variables:
    float y(y) ;
    float aux(y) ;
}
}
"""

RAGGED = """netcdf t {
dimensions:
  station = 2 ;
  profile = 3 ;
  obs = 9 ;
variables:
  int station_index(profile) ;
    station_index:instance_dimension = "station" ;
  int row_size(profile) ;
    row_size:sample_dimension = "obs" ;
  float t(obs) ;
    t:coordinates = "lat" ;
  float lat(station) ;
  float lat_bounds(station, profile) ;
    lat:bounds = "lat_bounds" ;
  int crs ;
    crs:grid_mapping_name = "latitude_longitude" ;
}
"""


def view(text: str) -> CFDataset:
    checked = phases.read(Source("t.cdl", text.encode()), Report(), Options())
    assert checked is not None
    return CFDataset(checked)


@pytest.mark.parametrize(
    ("name", "group", "path"),
    [
        ("z", "/a/inner", "/a/z"),
        ("z", "/b", "/z"),
        ("x", "/a/inner", "/x"),
        ("/a/v", "/b", "/a/v"),
        ("../v", "/a/inner", "/a/v"),
        ("../../b/aux", "/a/inner", "/b/aux"),
        ("inner/w", "/a", "/a/inner/w"),
        ("./v", "/a", "/a/v"),
        ("y", "/a", "/b/y"),  # a coordinate variable, by lateral search
        ("aux", "/a", None),  # an auxiliary one is not searched
        ("v", "/", None),
        ("../../../v", "/a", None),
    ],
)
def test_names_are_resolved(name: str, group: str, path: str | None) -> None:
    variable = view(GROUPS).resolve(name, group)
    assert (None if variable is None else variable.path) == path


def test_elements_belong_to_instances_on_two_levels() -> None:
    dataset = view(RAGGED)
    assert dataset.find_instances(dataset.variables["/t"]) == {"/profile", "/station"}


def test_roles() -> None:
    dataset = view(RAGGED)
    assert [variable.path for variable in dataset.data] == ["/t"]
    variables = dataset.variables
    assert dataset.holds_coordinates(variables["/lat"])
    assert dataset.is_boundary(variables["/lat_bounds"])
    assert dataset.is_container(variables["/crs"])
    assert dataset.is_structure(variables["/row_size"])
    assert dataset.suggest("latt", "/") == ("did you mean `lat`?",)
