"""Flat datasets beside those of netcdf-flattener and cfdm: names, dimensions, attributes, lists that lead back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.plugins.flatten.group_map import LISTS, RECORD
from nczarr.plugins.flatten.restoring import UNFOUND
from tests.conftest import ROOT, missing_peer

pytestmark = [pytest.mark.peer, pytest.mark.program]

SCRIPT = ROOT / "tests" / "support" / "peers" / "flatteners.py"
LIBRARIES = ("netcdf_flattener", "cfdm")
LONG = "g" * 124

CASES = {
    "names": """dimensions: lat = 2 ; t = UNLIMITED ; variables: double lat(lat) ; int crs ; :title = 'root' ;
group: a { dimensions: x = 2 ; lat = 3 ; u = UNLIMITED ; variables: float v(t, lat, x) ; int lat(lat) ; float w(u) ;
    string s(x) ; :title = 'a' ; :numbers = 1, 2 ;
  group: b { dimensions: z = 5 ; variables: int a__b(z) ; int q__x ; int other(x, z) ; :a__b = 1. ; }
  group: empty { } }""",
    "long": f"group: {LONG} {{ group: {LONG} {{ dimensions: x = 2 ; variables: int v(x) ; v:bounds = 'w' ; int w ;"
            f" int abcd ; int abcde ; int abcdef ; :abc = 1 ; :abcd = 1 ; :abcde = 1 ; :abcdef = 1 ; }} }}",
    "references": """dimensions: lat = 2 ; only = 3 ; variables: double lat(lat) ; lat:bounds = '/bnds' ;
  int bnds(lat) ;
group: m { dimensions: mx = 3 ; variables: int p ; int q ; int s ; int mx(mx) ; mx:compress = 'mx only' ;
  float v(lat, mx) ; v:coordinates = 'lat mx p ../bnds' ; v:cell_methods = 'lat: mx: mean p: point (interval: 1 day)' ;
    v:ancillary_variables = 'q  missing' ; v:cell_measures = 'area: p volume: nothing' ; v:grid_mapping = 's: lat mx' ;
    v:formula_terms = 'a: p b: /m/n/y' ; v:geometry = 'q' ; v:sample_dimension = 'mx' ; v:history = 'lat p' ;
  float w ; w:grid_mapping = 's' ; w:climatology = 'bnds' ; w:instance_dimension = 'only' ; w:nodes = 'p' ;
    w:node_coordinates = 'p q' ; w:node_count = 'p' ; w:part_node_count = 'q' ; w:interior_ring = 's' ;
    w:flag_meanings = 'p q' ; w:external_variables = 'p' ; w:cell_methods = 'time: mean area: sum within p' ;
  group: n { dimensions: x = 3 ; variables: double x(x) ; int y(x) ; y:coordinates = 'x p ../q /m/n2/far' ;
    y:cell_methods = '../mx: mean x: max' ; int z(x) ; z:coordinates = 'y lat' ; z:bounds = 'bnds' ; }
  group: n2 { variables: int far ; } }""",
    "lateral": """dimensions: d = 2 ; variables: int r ; r:coordinates = 'd' ;
group: m { variables: int p(d) ; p:coordinates = 'd' ;
  group: n { variables: int d(d) ; int q ; q:coordinates = 'd' ; } }
group: z { variables: int far(d) ; far:coordinates = 'd' ; far:bounds = 'd' ; }""",
}  # fmt: skip
"""Datasets that both read; what they read otherwise is in the README of the plugin."""

NEWER = """dimensions: lat = 2 ; only = 3 ; group: m { dimensions: mx = 3 ; variables: int p ; int q ; int top ;
  int v ; v:tie_point_mapping = 'mx: p lat lat: q only' ; v:interpolation_parameters = 'a: p b: q' ; v:mesh = 'top' ;
    v:edge_dimension = 'only' ; v:face_dimension = 'mx' ; v:face_node_connectivity = 'q' ; v:face_coordinates = 'p q' ;
    v:edge_face_connectivity = 'p' ; v:coordinate_interpolation = 'p: q' ; v:aggregated_dimensions = 'mx only' ;
  int w ; w:quantization = 'q' ; w:dimensions = 'mx lat' ; }"""
"""Attributes that cfdm alone knows."""

FAULTS = {
    "cell_methods": ("p: t: mean p: sum", "m__p: t: mean m__p: sum"),
    "compress": ("mx /m/mx", "m__mx m__mx"),
    "ancillary_variables": ("./q n/../q", "m__q m__q"),
    "coordinates": (" p", " m__p"),
    "bounds_tie_points": ("q", "m__q"),
}
"""Texts that both lose or refuse, and what they are here."""


@pytest.fixture(scope="module")
def flatten() -> Callable[[str, Path], dict[str, Any]]:
    """A function that lets a library flatten a file."""
    named = os.environ.get("NCZARR_CFA", "")
    there = json.loads(subprocess.check_output([named, SCRIPT], text=True)) if named else []

    def ask(library: str, path: Path) -> dict[str, Any]:
        if library not in there and (library != "cfdm" or not there):
            missing_peer("netcdf_flattener (NCZARR_CFA names its interpreter)")
        if library not in there:
            pytest.skip("this cfdm flattens no files: releases before 1.13.3 do")
        answer: dict[str, Any] = json.loads(
            subprocess.run([named, SCRIPT, library, path], check=True, capture_output=True, text=True).stdout
        )
        return answer

    return ask


def write(text: str, path: Path) -> DatasetHandle:
    """Write a dataset of groups to a file; return it flat."""
    data = nczarr.from_cdl("netcdf d { %s }".replace("%s", text.replace("'", '"')))
    nczarr.write(data, path)
    return data.with_tree(nczarr.flatten_groups(data.dataset))


def describe(flat: DatasetHandle, library: str) -> dict[str, Any]:
    """A flat dataset in the form of the script; the lists have the names of a library."""
    spelled = {own: cfdm if library == "cfdm" else own for own, cfdm in LISTS.values()}
    return {
        "dimensions": {one.name: [one.size, one.unlimited] for one in flat.dataset.dimensions},
        "variables": {
            path[1:]: [[str(axis)[1:] for axis in one.dimensions], plain(flat[path].attributes)]
            for path, one in flat.checked.variables.items()
        },
        "attributes": {
            spelled.get(name, name): value for name, value in plain(flat.attributes).items() if name != RECORD
        },
    }


def plain(attributes: Any) -> dict[str, Any]:
    """Attributes as JSON has them."""
    return {
        name: value.tolist() if hasattr(value, "tolist") else [*value] if isinstance(value, tuple) else value
        for name, value in attributes.items()
    }


def simplify(theirs: dict[str, Any]) -> dict[str, Any]:
    """The answer of a library without the types of variables, and without marks of names that it did not find."""
    every = {
        name: [axes, {key: text.replace(UNFOUND, "") if isinstance(text, str) else text for key, text in own.items()}]
        for name, (_, axes, own) in theirs["variables"].items()
    }
    return {**theirs, "variables": every}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", [*CASES, "newer"])
def test_flat_datasets_are_theirs(
    case: str, library: str, flatten: Callable[[str, Path], dict[str, Any]], tmp_path: Path
) -> None:
    if case == "newer" and library != "cfdm":
        pytest.skip("netcdf-flattener does not know these attributes")
    flat = write(NEWER if case == "newer" else CASES[case], tmp_path / "own.nc")
    theirs = simplify(flatten(library, tmp_path / "own.nc"))
    ours = describe(flat, library)
    for variable in ours["variables"].values():
        for name, text in variable[1].items():
            if name in ("ancillary_variables", "cell_measures") and isinstance(text, str):
                variable[1][name] = " ".join(text.split())  # theirs have one blank between names
    assert ours == theirs


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("attribute", FAULTS)
def test_what_they_lose_stays(
    attribute: str, library: str, flatten: Callable[[str, Path], dict[str, Any]], tmp_path: Path
) -> None:
    """They still do otherwise, or end with an error: the README says so."""
    text, wanted = FAULTS[attribute]
    own = "dimensions: t = 1 ; group: m { dimensions: mx = 2 ; variables: int p ; int q ; int v ;"
    more = " v:coordinates = 'p' ;" if attribute == "cell_methods" else ""
    flat = write(f"{own} v:{attribute} = '{text}' ;{more} group: n {{ }} }}", tmp_path / "own.nc")
    assert flat["m__v"].attributes[attribute] == wanted
    try:
        theirs = flatten(library, tmp_path / "own.nc")["variables"]["m__v"][2][attribute]
    except subprocess.CalledProcessError:
        return
    assert theirs.replace(UNFOUND, "") != wanted
