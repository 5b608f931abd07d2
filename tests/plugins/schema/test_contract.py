"""Contracts: rules in comments of a schema, templates of NCEI, values, and drafts from examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.plugins.schema.contract.draft import draft
from nczarr.plugins.schema.contract.rules import BadRuleError, parse_rules
from tests.conftest import run_command

SCHEMA = """// nczarr: extra-allowed
netcdf s {
types:
  byte enum state { good = 0, bad = 1 } ;
dimensions:
  time = UNLIMITED ;
  y = 3 ; // nczarr: any-length
  n = 4 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ; // nczarr: match (days|hours) since .*
  float lat(y) ; // nczarr: range -90 90
    lat:units = "degrees_north" ;
    lat:note = "any" ; // nczarr: optional; any-value
  short packed(y) ; // nczarr: optional; range 0 1
    packed:scale_factor = 0.1 ;
  // nczarr: optional; match [A-Z]+
  char id(y, n) ;
  state flag(y) ; // nczarr: one-of good
// a comment that is no rule
:title = "T" ; // nczarr: any-value
:license = "CC0" ; // nczarr: recommended; one-of "CC0", "CC BY; 4"
:lengths = 1, 2,
  3 ; // nczarr: range 0 4
}
"""

GOOD = """netcdf d {
types:
  byte enum state { good = 0, bad = 1 } ;
dimensions:
  time = UNLIMITED ;
  y = 2 ;
  n = 4 ;
  extra = 5 ;
variables:
  double time(time) ;
    time:units = "hours since 1970-01-01" ;
  float lat(y) ;
    lat:units = "degrees_north" ;
    lat:_FillValue = 999.f ;
  short packed(y) ;
    packed:scale_factor = 0.1 ;
  char id(y, n) ;
  state flag(y) ;
  int more(extra) ;
:title = "other" ;
:license = "CC BY; 4" ;
:lengths = 4 ;
data:
  lat = 90, 999 ;
  packed = 0, 10 ;
  id = "AB", "C" ;
  flag = good, good ;
}
"""

FAULTS = [
    ('hours since 1970-01-01"', 'weeks since 1970-01-01"', "unfit-value", "does not match"),
    ("lat = 90, 999", "lat = 90, 91", "unfit-value", "the value at (1) of `/lat` is `91.0`"),
    ("packed = 0, 10", "packed = 0, 11", "unfit-value", "of `/packed` is `1.1`"),
    ('id = "AB", "C"', 'id = "AB", "c"', "unfit-value", "of `/id` is `c`"),
    ("flag = good, good", "flag = good, bad", "unfit-value", "the value at (1) of `/flag` is `bad`"),
    (':license = "CC BY; 4"', ':license = "GPL"', "unfit-value", "is not among"),
    (':license = "CC BY; 4" ;', "", "missing-recommendation", "`license`"),
    (":lengths = 4", ":lengths = 5", "unfit-value", "from 0 to 4"),
    (':title = "other" ;', "", "missing-element", "`title`"),
    (':title = "other"', ":title = 4", "different-element", "the type of attribute `title`"),
    ("n = 4", "n = 5", "different-element", "dimension `/n`"),
    ("float lat(y)", "double lat(y)", "different-element", "the type of `/lat`"),
    ('lat:units = "degrees_north" ;', "", "missing-element", "attribute `units` of `/lat`"),
]


def check(tmp_path: Path, data: str, schema: str = SCHEMA, suffix: str = ".cdl") -> list[tuple[str, str]]:
    (tmp_path / "s.cdl").write_text(schema)
    path = tmp_path / f"d{suffix}"
    if suffix == ".cdl":
        path.write_text(data)
    else:
        nczarr.write(nczarr.from_cdl(data), path)
    found = nczarr.check(path, schema=tmp_path / "s.cdl", data=True)
    return [(one.code, one.message) for one in found]


@pytest.mark.parametrize("suffix", [".cdl", ".nc", ".zarr"])
def test_a_dataset_that_keeps_a_contract(suffix: str, tmp_path: Path) -> None:
    assert check(tmp_path, GOOD, suffix=suffix) == []


@pytest.mark.parametrize(("old", "new", "code", "words"), FAULTS)
@pytest.mark.parametrize("suffix", [".cdl", ".nc"])
def test_each_fault_is_found(suffix: str, old: str, new: str, code: str, words: str, tmp_path: Path) -> None:
    assert old in GOOD
    data = GOOD.replace(old, new).replace("_FillValue = 999.f", "_FillValue = 999.") if "double lat" in new else ""
    found = check(tmp_path, data or GOOD.replace(old, new), suffix=suffix)
    assert [one for one, _ in found] == [code]
    assert words in found[0][1]


def test_all_cells_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    contract = """netcdf r { dimensions: x = 6 ; variables: float t(x) ; // nczarr: range 150 350
    string s(x) ; // nczarr: one-of a, b
    }"""
    (tmp_path / "r.cdl").write_text(contract)
    data = 't = 1, 200, 1, 1, 2, _ ; s = "c", "a", "c", "d", "c", "b" ;'
    (tmp_path / "d.cdl").write_text(
        f"netcdf d {{ dimensions: x = 6 ; variables: float t(x) ; string s(x) ; data: {data} }}"
    )
    ran = run_command("check", "--schema", str(tmp_path / "r.cdl"), "--data", str(tmp_path / "d.cdl"))
    assert "3 further cells of `/t` do not fit" in ran.err
    assert "3 further cells of `/s` do not fit" in ran.err


def test_without_the_option_no_values_are_judged(tmp_path: Path) -> None:
    (tmp_path / "s.cdl").write_text(SCHEMA)
    (tmp_path / "d.cdl").write_text(GOOD.replace("lat = 90", "lat = 91"))
    assert nczarr.check(tmp_path / "d.cdl", schema=tmp_path / "s.cdl") == []


def test_messages_name_the_rule_also_in_sarif(tmp_path: Path) -> None:
    (tmp_path / "s.cdl").write_text(SCHEMA)
    (tmp_path / "d.cdl").write_text(GOOD.replace('license = "CC BY; 4"', 'license = "GPL"'))
    ran = run_command(
        *("check", str(tmp_path / "d.cdl"), "--schema", str(tmp_path / "s.cdl"), "--message-format", "sarif")
    )
    assert ran.status == 1
    result = json.loads(ran.err)["runs"][0]["results"][0]
    assert result["ruleId"] == "unfit-value"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 21
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"].endswith("s.cdl")
    assert related["region"]["startLine"] == 22


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("any-lenght", "did you mean `any-length`?"),
        ("match (", "not a regular expression"),
        ("match", "takes a regular expression"),
        ("range 1", "the least and the greatest"),
        ("range 2 1", "no number"),
        ("one-of", "takes values"),
        ("required please", "nothing behind it"),
    ],
)
def test_a_bad_rule(rule: str, words: str) -> None:
    with pytest.raises(BadRuleError, match=words.replace("?", r"\?")):
        parse_rules(rule)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ("netcdf s {\n:a = 1 ; // nczarr: any-length\n}", 2),
        ("netcdf s {\ndimensions: x = 1 ; // nczarr: any-value\n}", 2),
        ("netcdf s {\n:a = 1 ;\n}\n// nczarr: required", 4),
    ],
)
def test_a_rule_for_nothing_is_reported_at_its_place(schema: str, place: int, tmp_path: Path) -> None:
    (tmp_path / "s.cdl").write_text(schema)
    found = [one for one in nczarr.check(tmp_path / "s.cdl", schema=tmp_path / "s.cdl") if one.code == "bad-rule"]
    assert [one.message for one in nczarr.check(tmp_path / "s.cdl")] == [one.message for one in found]
    source = found[0].primary.span.source
    assert source is not None
    assert source.position(found[0].primary.span.start)[0] == place


TEMPLATE = """netcdf NCEI_point {
dimensions:
	obs = < dim1 >; //....... REQUIRED - Number of observations
variables:
	double time(obs) ;//........ Depending on the precision, the data type could be int or double instead of float.
		time:long_name = "" ; //....... RECOMMENDED - Provide a descriptive, long name for this variable.
		time:standard_name = "time" ; //........ REQUIRED    - Do not change
		time:units = "seconds since 1970-01-01 00:00:00 0:00" ; //... REQUIRED - Use approved units.
		time:calendar = "julian" ; //....... REQUIRED    - IF the calendar is not the default calendar
	float depth(obs) ;
		depth:units = "m" ; //..... REQUIRED
:featureType = "point" ; //....... REQUIRED - Do not change.
:keywords = "" ; //....... SUGGESTED - Separate keywords with commas.
}
"""


def test_a_template_of_ncei_is_read_as_it_is(tmp_path: Path) -> None:
    data = """netcdf d { dimensions: obs = 7 ; x = 2 ; variables: float time(obs) ; time:standard_name = "Time" ;
      time:units = "days since 1990-01-01" ; time:more = 1 ; int other(x) ; :featureType = "profile" ; }"""
    found = check(tmp_path, data, TEMPLATE)
    assert sorted(code for code, _ in found) == [
        *("different-element", "different-element", "missing-recommendation", "missing-recommendation")
    ]
    assert any("`standard_name`" in message for _, message in found)
    assert any("`featureType`" in message for _, message in found)


def test_a_draft_is_kept_by_all_examples(tmp_path: Path) -> None:
    texts = [
        'netcdf a { dimensions: x = 2 ; variables: float v(x) ; v:units = "K" ; v:n = 1 ; :title = "a" ; :c = "CF" ; }',
        'netcdf b { dimensions: x = 3 ; variables: float v(x) ; v:units = "K" ; v:n = 2 ; int w ; :title = "b" ; '
        ':c = "CF" ; }',
        'netcdf c { dimensions: x = 3 ; variables: float v(x) ; v:units = "degC" ; v:n = 5 ; :title = "c" ; :c = "CF" '
        "; group: g { :deep = 1 ; } }",
    ]
    report = Report()
    text = draft([nczarr.from_cdl(each).checked for each in texts], "product", report)
    assert report.errors == 0
    assert "x = 2 ; // nczarr: any-length" in text
    assert 'v:units = "K" ; // nczarr: one-of "K", "degC"' in text
    assert "int w ; // nczarr: optional" in text
    for number, each in enumerate(texts):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert check(folder, each, text) == []
    lacking = texts[0].replace(':c = "CF" ;', "")
    assert [code for code, _ in check(tmp_path, lacking, text)] == ["missing-element"]


def test_examples_that_contradict_each_other() -> None:
    report = Report()
    examples = [nczarr.from_cdl(f"netcdf d {{ dimensions: x = 1 ; variables: int v{each} ; }}") for each in ("(x)", "")]
    assert draft([each.checked for each in examples], "d", report) == ""
    assert [each.code for each in report.list_sorted()] == ["different-element"]


def test_the_command_drafts_from_several_datasets(tmp_path: Path) -> None:
    paths = []
    for number, length in enumerate((2, 3)):
        paths.append(str(tmp_path / f"{number}.nc"))
        nczarr.write(nczarr.from_cdl(f"netcdf d {{ dimensions: x = {length} ; variables: int v(x) ; }}"), paths[-1])
    ran = run_command("generate", "contract", *paths, "-o", str(tmp_path / "out"), "--name", "product")
    assert ran.status == 0, ran.err
    contract = tmp_path / "out" / "product.contract.cdl"
    assert "// nczarr: any-length" in contract.read_text()
    for path in paths:
        assert nczarr.check(path, schema=contract) == []
    assert run_command("generate", "c", *paths, "-o", str(tmp_path / "c")).status == 2


def test_a_placeholder_within_a_text_is_a_text(tmp_path: Path) -> None:
    schema = 'netcdf s { dimensions: x = < dim1 > ; // nczarr: any-length\n:note = "y = < dim2 > ;" ; }'
    assert check(tmp_path, 'netcdf d { dimensions: x = 7 ; :note = "y = < dim2 > ;" ; }', schema) == []


def test_rules_in_a_template_add_to_its_marks(tmp_path: Path) -> None:
    schema = TEMPLATE.replace("float depth(obs) ;", "float depth(obs) ; // nczarr: required; range 0 10")
    data = """netcdf d { dimensions: obs = 1 ; variables: float depth(obs) ; :featureType = "point" ;
      data: depth = 11 ; }"""
    found = {code for code, _ in check(tmp_path, data, schema)}
    assert found == {"unfit-value", "missing-element"}


def test_a_dimension_and_its_coordinate_have_rules_of_their_own(tmp_path: Path) -> None:
    schema = """netcdf s {
dimensions:
  x = 2 ; // nczarr: any-length
variables:
  double x(x) ; // nczarr: optional
}
"""
    assert check(tmp_path, "netcdf d { dimensions: x = 9 ; }", schema) == []
    assert [code for code, _ in check(tmp_path, "netcdf d { }", schema)] == ["missing-element"]  # the dimension


def test_a_draft_tells_a_dimension_from_its_coordinate() -> None:
    texts = [f"netcdf d {{ dimensions: x = {n} ; variables: double x(x) ; }}" for n in ("2", "UNLIMITED")]
    report = Report()
    assert "= 2 ; // nczarr: any-length" in draft([nczarr.from_cdl(each).checked for each in texts], "d", report)


def test_missing_members_of_enums_are_not_judged(tmp_path: Path) -> None:
    text = """netcdf e { types: byte enum q { good = 0, bad = 1, missing = -1 } ; dimensions: x = 3 ;
variables: q a(x) ; // nczarr: one-of good, bad
  q a:_FillValue = missing ; data: a = good, missing, VALUE ; }"""
    (tmp_path / "e.cdl").write_text(text.replace("VALUE", "bad"))
    schema = str(tmp_path / "e.cdl")
    assert run_command("check", schema, "--schema", schema, "--data").status == 0
    (tmp_path / "other.cdl").write_text(text.replace("VALUE", "bad").replace("bad = 1", "bad = 1, poor = 2"))
    (tmp_path / "data.cdl").write_text(text.replace("VALUE", "poor").replace("bad = 1", "bad = 1, poor = 2"))
    ran = run_command("check", str(tmp_path / "data.cdl"), "--schema", str(tmp_path / "other.cdl"), "--data")
    assert (ran.status, "is `poor`, which is not among" in ran.err) == (1, True)
