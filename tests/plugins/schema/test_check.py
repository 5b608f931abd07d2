"""`check --schema`: where a dataset does not follow a schema, at its place there and with that of the schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nczarr
from tests.conftest import Ran, run_command

SCHEMA = """netcdf s {
types:
  byte enum state { off = 0, on = 1 } ;
dimensions:
  time = UNLIMITED ;
  x = 3 ;
variables:
  float temp(time, x) ;
    temp:units = "K" ;
  state flag(x) ;
// global attributes:
  :title = "T" ;
group: g {
  variables:
    int n(x) ;
  }
}
"""


def check(tmp_path: Path, text: str, *options: str, schema: str = SCHEMA, suffix: str = ".cdl") -> Ran:
    (tmp_path / "s.cdl").write_text(schema)
    (tmp_path / "a.cdl").write_text(text)
    if suffix != ".cdl":
        made = run_command("compile", str(tmp_path / "a.cdl"), "-o", str(tmp_path / f"a{suffix}"))
        assert made.status == 0, made.err
    return run_command("check", str(tmp_path / f"a{suffix}"), "--schema", str(tmp_path / "s.cdl"), *options)


def found(ran: Ran) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in ran.err.splitlines()]
    return [(line["code"], line["message"].partition("; the schema")[0]) for line in lines]


@pytest.mark.parametrize("suffix", [".cdl", ".nc", ".zarr"])
def test_a_dataset_that_follows(suffix: str, tmp_path: Path) -> None:
    ran = check(tmp_path, SCHEMA.replace("group: g", "data:\n  temp = 1, 2, 3, 4, 5, 6 ;\ngroup: g"), suffix=suffix)
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ("  float temp(time, x) ;\n    temp:units = \"K\" ;\n", "", "missing-element", "variable `/temp` is missing"),
        ('    temp:units = "K" ;\n', "", "missing-element", "attribute `units` of `/temp` is missing"),
        ('  :title = "T" ;\n', "", "missing-element", "attribute `title` of group `/` is missing"),
        ("group: g {\n  variables:\n    int n(x) ;\n  }\n", "", "missing-element", "group `/g` is missing"),
        ("    int n(x) ;\n", "    short n(x) ;\n", "different-element", "the type of `/g/n` is `short`"),
        ("temp(time, x)", "temp(x)", "different-element", "the shape of `/temp` is `(/x)`"),
        ("x = 3", "x = 4", "different-element", "the length of dimension `/x` is 4"),
        ("x = 3", "x = UNLIMITED", "different-element", "dimension `/x` is unlimited"),
        ("time = UNLIMITED", "time = 7", "fixed-dimension", "dimension `/time` is fixed"),
        ("on = 1", "on = 2", "different-element", "type `/state` is `byte enum {off = 0, on = 2}`"),
        ('units = "K"', 'units = "C"', "different-element", 'attribute `units` of `/temp` is `"C"`'),
        ("temp:units", "string temp:units", "different-element", 'attribute `units` of `/temp` is `"K"` (string, 1)'),
        ("    int n(x) ;\n", "    int n(x) ;\n    int m ;\n", "extra-element", "variable `/g/m` is not in the schema"),
        ('  :title = "T" ;\n', '  :title = "T" ;\n  :more = 1 ;\n', "extra-element",
         "attribute `more` of group `/` is not in the schema"),
    ],
)  # fmt: skip
def test_one_difference(old: str, new: str, code: str, message: str, tmp_path: Path) -> None:
    assert old in SCHEMA
    ran = check(tmp_path, SCHEMA.replace(old, new), "--message-format", "json")
    assert found(ran) == [(code, message)]
    assert ran.status == (1 if code in ("missing-element", "different-element") else 0)


def test_places_of_both(tmp_path: Path) -> None:
    ran = check(tmp_path, SCHEMA.replace("float temp", "double temp"))
    assert f"  --> {tmp_path}/a.cdl:8:10\n" in ran.err
    assert f"::: {tmp_path}/s.cdl:8:9\n" in ran.err
    assert "the type of `/temp` is `double`; the schema requires `float` at" in ran.err


def test_the_place_in_a_store_is_a_member(tmp_path: Path) -> None:
    ran = check(tmp_path, SCHEMA.replace('units = "K"', 'units = "C"'), "--message-format", "json", suffix=".zarr")
    line = json.loads(ran.err)
    assert (line["key"], line["pointer"]) == ("temp/.zattrs", "/units")


def test_the_place_in_a_file_is_an_offset(tmp_path: Path) -> None:
    schema = 'netcdf s {\n  :a = "x" ;\n}\n'
    ran = check(tmp_path, schema.replace("x", "y"), "--message-format", "json", schema=schema, suffix=".nc")
    assert json.loads(ran.err)["offset"] > 0


def test_near_names(tmp_path: Path) -> None:
    ran = check(tmp_path, SCHEMA.replace(" temp(", " tmep(").replace("temp:", "tmep:"))
    assert "help: did you mean `/tmep`, which is in the dataset but not in the schema?" in ran.err


def test_strict_takes_what_is_extra_for_an_error(tmp_path: Path) -> None:
    ran = check(tmp_path, SCHEMA.replace("    int n(x) ;\n", "    int n(x) ;\n    int m ;\n"), "--strict")
    assert ran.status == 1


def test_a_schema_that_is_in_error(tmp_path: Path) -> None:
    ran = check(tmp_path, SCHEMA, schema="netcdf s {\nvariables:\n  int v(nope) ;\n}\n")
    assert ran.status == 1
    assert "undefined-dimension" in ran.err


def test_sarif_has_both_places(tmp_path: Path) -> None:
    ran = check(tmp_path, SCHEMA.replace("float temp", "double temp"), "--message-format", "sarif")
    result = json.loads(ran.err)["runs"][0]["results"][0]
    assert result["ruleId"] == "different-element"
    assert len(result["relatedLocations"]) == 1


def test_findings_in_files_of_hdf5_name_their_file(tmp_path: Path) -> None:
    """Their nodes have no place."""
    text = 'netcdf s { dimensions: x = 2 ; variables: int a(x) ; a:units = "UNIT" ; }'
    (tmp_path / "schema.cdl").write_text(text.replace("UNIT", "K"))
    for name in ("one.nc", "two.nc"):
        nczarr.write(nczarr.from_cdl(text.replace("UNIT", "C")), tmp_path / name, "netcdf4")
    names = [str(tmp_path / "one.nc"), str(tmp_path / "two.nc")]
    schema = ("--schema", str(tmp_path / "schema.cdl"))
    said = run_command("check", *names, *schema).err
    assert [f"of `{name}`" in said for name in names] == [True, True]
    lines = run_command("check", *names, *schema, "--message-format", "json").err.splitlines()
    assert [json.loads(line)["file"] for line in lines] == names
