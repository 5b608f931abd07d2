"""The check as a whole: places, versions, values that are read, sources without types, the missing library."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import Diagnostic
from nczarr.plugins.cf import coordinates
from nczarr.plugins.cf.check import find_version, label_word
from tests.conftest import run_command

TEXT = """netcdf t {
dimensions:
  x = 3 ;
  y = 2 ;
variables:
  float x(x) ;
    x:long_name = "x" ;
    x:units = "1" ;
  float v(y, x) ;
    v:long_name = "v" ;
    v:units = "1" ;
    v:flag_values = 1.f, 2.f ;
    v:flag_meanings = "good b@d wr!ng" ;
    v:missing_value = NaNf ;
    v:coordinates = "x z" ;
  :Conventions = "CF-1.8" ;
data:
  x = 1, 2, 2 ;
  v = 1, 2, 3, 4, 5, 6 ;
}
"""


@pytest.fixture
def text(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    peer("cf_units")
    path = tmp_path / "t.cdl"
    path.write_text(TEXT)
    return path


def check(path: Path, **options: Any) -> list[Diagnostic]:
    return nczarr.check(path, cf=True, select=["cf"], **options)


def test_places_in_a_text(text: Path) -> None:
    source = text.read_bytes()
    marked = [(found.code, source[found.primary.span.start : found.primary.span.end].decode()) for found in check(text)]
    assert marked == [
        ("cf-coordinates", "x"),
        ("cf-flags", '"good b@d wr!ng"'),
        ("cf-flags", "wr!ng"),
        ("cf-coordinates", "z"),
    ]


def test_places_in_a_store(text: Path, tmp_path: Path) -> None:
    store = tmp_path / "t.zarr"
    nczarr.convert(text, store)
    found = {(one.code, one.primary.key, one.primary.pointer) for one in check(store)}
    assert found == {
        ("cf-coordinates", "x/.zarray", None),
        ("cf-coordinates", "v/.zattrs", "/coordinates"),
        ("cf-flags", "v/.zattrs", "/flag_meanings"),
    }


def test_numbers_without_types(text: Path, tmp_path: Path) -> None:
    """A plain store has no types of numbers."""
    store = tmp_path / "t.zarr"
    nczarr.convert(text, store, "zarr3", allow_loss="all")
    document = json.loads((store / "v" / "zarr.json").read_text())
    assert math.isnan(document["attributes"]["missing_value"])
    assert {one.message for one in check(store)} == {one.message for one in check(text)}
    document["attributes"]["flag_values"] = ["a", "b"]
    (store / "v" / "zarr.json").write_text(json.dumps(document))
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    assert any("`flag_values` of `/v` has the type" in one.message for one in check(store))


def test_only_values_that_rules_are_about_are_read(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_paths = []
    opened = coordinates.reader_of
    monkeypatch.setattr(
        coordinates, "reader_of", lambda checked, path: read_paths.append(path) or opened(checked, path)
    )
    check(text)
    assert read_paths == ["/x"]


def test_long_arrays_are_not_read(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinates, "LARGEST", 2)
    assert "is not monotonic" not in str([one.message for one in check(text)])


def test_pieces_are_compared_across_their_ends(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinates, "BLOCK", 1)
    assert any("2 at index 1, 2 at 2" in one.message for one in check(text))
    text.write_text(TEXT.replace("x = 1, 2, 2", "x = 3, 2, 1"))
    assert not any("monotonic" in one.message for one in check(text))


@pytest.mark.parametrize(
    ("conventions", "version"),
    [
        ("CF-1.7", (1, 7)),
        ("ACDD-1.3, CF-1.11", (1, 11)),
        ("CF-1.0", (1, 6)),
        ("CF-1.99", (1, 13)),
        ("COARDS", (1, 13)),
        ("CF-1.x", (1, 13)),
    ],
)
def test_versions_of_datasets(text: Path, conventions: str, version: tuple[int, int]) -> None:
    text.write_text(TEXT.replace("CF-1.8", conventions))
    assert find_version(nczarr.open(text).checked) == version


def test_without_the_library_of_units(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cf_units", None)
    text.write_text(TEXT.replace('v:units = "1"', 'v:units = "metter"'))
    ran = run_command("check", "--cf", str(text), str(text))
    assert ran.err.count("warning[cf-unjudged]") == 1
    assert "pip install 'nczarr[cf]'" in ran.err
    assert "metter" not in ran.err


def test_name_of_a_file(text: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    for name, kind, faults in (("t.nc", "nc3", 0), ("t.nc3", "nc3", 1), ("t.nc4", "nc4", 1), ("t.cdl", "", 0)):
        if kind:
            nczarr.convert(text, tmp_path / name, "netcdf", kind=kind)
        assert sum("does not end in `.nc`" in one.message for one in check(tmp_path / name)) == faults


def test_words_of_rules_in_notes(text: Path) -> None:
    """The first word of a rule is in lower case, unless it is an abbreviation."""
    time = 'double time(time) ; time:units = "days since 2000-01-01" ;'
    variable = 'float v ; v:units = "metter" ; v:missing_value = 1 ; v:valid_min = "a" ;'
    text.write_text(f"netcdf a {{ dimensions: time = 2 ; variables: {time} {variable} }}")
    rules = {found.code: found.notes[0].split(": ", 1)[1] for found in check(text)}
    assert rules["cf-units"] == "UDUNITS recognises the units"
    assert rules["cf-missing-data"] == "`_FillValue` and `missing_value` have the type of their variable"
    assert rules["cf-calendar"] == "a time coordinate has a `calendar`"
    assert rules["cf-attribute"].startswith("attributes that")


def test_a_word_that_a_text_repeats_is_one_breach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], ModuleType]
) -> None:
    peer("cf_units")
    places: list[str] = []
    monkeypatch.setattr(
        "nczarr.plugins.cf.check.label_word", lambda node, word: (places.append(word), label_word(node, word))[1]
    )
    path = tmp_path / "r.cdl"
    path.write_text(
        'netcdf r { dimensions: x = 1 ; variables: float v(x) ; v:long_name = "v" ; v:units = "m" ; '
        f'v:coordinates = "{"a " * 500}b" ; :Conventions = "CF-1.13" ; }}'
    )
    assert [one.message for one in check(path)].count(
        "`coordinates` of `/v` names `a`, which does not exist (CF 5)"
    ) == 1
    assert places.count("a") == 1


@pytest.mark.long
def test_long_units_have_no_reference_datetime(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """The search for `since` begins at the first word alone: it took hours for a long text."""
    peer("cf_units")
    path = tmp_path / "u.cdl"
    path.write_text(
        'netcdf u { dimensions: x = 1 ; variables: float v(x) ; v:long_name = "v" ; '
        f'v:units = "{"x" * 300_000}" ; :Conventions = "CF-1.13" ; }}'
    )
    (found,) = check(path)
    assert found.code == "cf-units"
    assert len(found.message) < 1100


@pytest.mark.parametrize(
    ("type_name", "advice"),
    [("uint", "use a signed type"), ("int64", "use a 32-bit type"), ("uint64", "use a 32-bit type")],
)
def test_types_that_older_conventions_lack_have_another(type_name: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "t.cdl"
    path.write_text(f'netcdf t {{ variables: {type_name} v ; :Conventions = "CF-1.8" ; }}')
    ran = run_command("check", "--cf", str(path), "--select", "cf-data-type", "--message-format", "json")
    assert [json.loads(line)["helps"][0][: len(advice)] for line in ran.err.splitlines()] == [advice]
