"""Aggregation variables are read as the arrays that they stand for."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr import CompileError
from nczarr.options import Following
from nczarr.plugins.combine.aggregation import fragments
from tests.conftest import run_command

WHOLE = """netcdf all {
dimensions: t = 5 ; x = 3 ; f_t = 2 ; f_x = 1 ; j = 2 ; i = 2 ; one = 1 ;
variables:
  double v ; v:units = "K" ; v:_FillValue = -9. ;
  v:aggregated_dimensions = "t x" ; v:aggregated_data = "map: m uris: u identifiers: w" ;
  double t ; t:units = "hours since 2000-01-01" ;
  t:aggregated_dimensions = "t" ; t:aggregated_data = "map: mt uris: ut identifiers: wt" ;
  double x(x) ;
  int m(j, i) ; string u(f_t, f_x) ; string w ;
  int mt(one, i) ; string ut(f_t) ; string wt(f_t) ;
data:
  x = 1, 2, 3 ;
  m = 2, 3, 3, _ ; u = "a.cdl", "parts/b.cdl" ; w = "v" ;
  mt = 2, 3 ; ut = "a.cdl", "parts/b.cdl" ; wt = "t", "/times" ;
}
"""
FIRST = """netcdf a { dimensions: t = 2 ; x = 3 ;
variables: double v(t, x) ; v:units = "K" ; v:_FillValue = -9. ; double t(t) ; t:units = "hours since 2000-01-01" ;
data: v = 1, 2, 3, 4, _, 6 ; t = 0, 6 ; }
"""
SECOND = """netcdf b { dimensions: n = 3 ; x = 3 ;
variables: float v(n, x) ; v:units = "degC" ; v:_FillValue = 99.f ;
  float times(n) ; times:units = "days since 2000-01-02" ;
data: v = 1, 2, 3, 4, _, 6, 7, 8, 9 ; times = 0, 0.5, 1 ; }
"""
VALUES = [[1, 2, 3], [4, -9, 6], [274.15, 275.15, 276.15], [277.15, -9, 279.15], [280.15, 281.15, 282.15]]
TIMES = [0, 6, 24, 36, 48]

T = "dimensions: t = 2 ; variables: "
"""Begin of a fragment with one dimension."""

FILL = 9.969209968386869e36

DAYS = '"days since 2000-01-01"'


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """An aggregation file with two fragments, of which one is not in the canonical form."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "a.cdl").write_text(FIRST)
    (tmp_path / "parts/b.cdl").write_text(SECOND)
    (tmp_path / "all.cdl").write_text(WHOLE)
    return tmp_path / "all.cdl"


def make(folder: Path, variable: str, fragment: str, dimensions: str = "t = 2 ;", name: str = "t") -> Path:
    """An aggregation file with one variable of one fragment, `fragment`: the content of its file."""
    (folder / "part.cdl").write_text(f"netcdf part {{ {fragment} }}")
    lengths = [word for word in dimensions.replace(";", "").replace("=", "").split() if word.isdigit()]
    ones = " ".join(f"f{number} = 1 ;" for number in range(len(lengths)))
    shape = ", ".join(f"f{number}" for number in range(len(lengths)))
    (folder / "one.cdl").write_text(
        f"""netcdf one {{ dimensions: {dimensions} {ones} j = {max(1, len(lengths))} ; i = 1 ;
        variables: {variable} v:aggregated_dimensions = "{name}" ;
        v:aggregated_data = "map: m uris: u identifiers: w" ;
        int m{"(j, i)" if lengths else ""} ; string u{f"({shape})" if lengths else ""} ; string w ;
        data: m = {", ".join(lengths) or "1"} ; u = "part.cdl" ; w = "v" ; }}"""
    )
    return folder / "one.cdl"


def test_values_have_the_type_units_and_missing_values_of_the_variable(whole: Path) -> None:
    pytest.importorskip("cf_units")
    dataset = nczarr.open(whole)
    assert dataset["v"].dtype == np.dtype("f8")
    np.testing.assert_allclose(dataset["v"][...], VALUES, rtol=1e-15)
    assert (dataset["v"][...] == -9).sum() == 2
    assert dataset["t"][...].tolist() == TIMES
    assert dataset["v"][2:4, 1].tolist() == pytest.approx([275.15, -9])


def test_variables_that_describe_fragments_are_hidden(whole: Path) -> None:
    dataset = nczarr.open(whole)
    assert set(dataset.checked.variables) == {"/v", "/t", "/x"}
    assert set(dataset.checked.dimensions) == {"/t", "/x"}
    assert set(dataset["v"].attributes) == {"units", "_FillValue"}


def test_a_handle_is_pickled(whole: Path) -> None:
    assert pickle.loads(pickle.dumps(nczarr.open(whole)))["t"][...].tolist() == TIMES
    kept = pickle.loads(pickle.dumps(nczarr.open(whole, aggregation="keep")))
    assert kept["t"].shape == ()


def test_keep_reads_the_variables_as_they_are_stored(whole: Path) -> None:
    dataset = nczarr.open(whole, aggregation="keep")
    assert dataset["v"].shape == ()
    assert dataset["u"][...].tolist() == [["a.cdl"], ["parts/b.cdl"]]
    assert run_command("convert", str(whole), str(whole.parent / "k.zarr"), "--aggregation", "keep").status == 0
    assert run_command("diff", str(whole), str(whole.parent / "k.zarr"), "--aggregation", "keep").status == 0
    assert run_command("dump", str(whole), "--aggregation", "keep").out.decode().count("aggregated_data") == 2


@pytest.mark.parametrize("command", [["dump", "-v", "t"], ["digest"], ["info"]])
def test_commands_expand(whole: Path, command: list[str]) -> None:
    ran = run_command(*command, str(whole))
    assert ran.status == 0, ran.err
    assert b"fragment" not in ran.out
    assert b"mt" not in ran.out


def test_opening_opens_no_fragment_and_a_cell_opens_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, opened = 300, []
    find = fragments.find_forbidden_link
    monkeypatch.setattr(
        fragments, "find_forbidden_link", lambda place, following: opened.append(place) or find(place, following)
    )
    for number in range(count):
        (tmp_path / f"{number}.cdl").write_text(f"netcdf f {{ variables: int v ; data: v = {number} ; }}")
    names = ", ".join(f'"{number}.cdl"' for number in range(count))
    (tmp_path / "all.cdl").write_text(
        f"""netcdf all {{ dimensions: t = {count} ; j = 1 ;
        variables: int v ; v:aggregated_dimensions = "t" ; v:aggregated_data = "map: m uris: u identifiers: w" ;
        int m(j, t) ; string u(t) ; string w ;
        data: m = {", ".join("1" * count)} ; u = {names} ; w = "v" ; }}"""
    )
    dataset = nczarr.open(tmp_path / "all.cdl")
    (reader,) = {source.reader for source in dataset.checked.parts["/v"][""].sources}
    assert opened == []
    assert dataset["v"][17] == 17
    assert opened == [str(tmp_path / "17.cdl")]
    assert dataset["v"][...].tolist() == list(range(count))
    assert len(reader._datasets) <= 64


@pytest.mark.long
def test_chunks_of_fragments_are_referenced(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.cdl").write_text(
            f"""netcdf {name} {{ dimensions: t = 4 ; x = 100 ; variables: float v(t, x) ; v:_ChunkSizes = 2, 100 ;
            v:_DeflateLevel = 1 ; data: v = {", ".join(map(str, range(400)))} ; }}"""
        )
        nczarr.convert(tmp_path / f"{name}.cdl", tmp_path / f"{name}.nc")
    (tmp_path / "all.cdl").write_text(
        """netcdf all { dimensions: t = 8 ; x = 100 ; f = 2 ; g = 1 ; j = 2 ;
        variables: float v ; v:aggregated_dimensions = "t x" ; v:aggregated_data = "map: m uris: u identifiers: w" ;
        int m(j, f) ; string u(f, g) ; string w ;
        data: m = 4, 4, 100, _ ; u = "a.nc", "b.nc" ; w = "v" ; }"""
    )
    nczarr.convert(tmp_path / "all.cdl", tmp_path / "all.json", variables=["v"])
    text = (tmp_path / "all.json").read_text()
    assert text.count('/a.nc",') == text.count('/b.nc",') == 2
    assert nczarr.diff(tmp_path / "all.cdl", tmp_path / "all.json") == []
    ran = run_command("convert", str(tmp_path / "all.cdl"), str(tmp_path / "all.zarr"), "--verify")
    assert "4 chunks (4 copied)" in ran.err


@pytest.mark.parametrize(
    ("variable", "fragment", "values"),
    [
        ("float v ;", T + "double v(t) ; data: v = 0.1, 2 ;", [np.float32(0.1), 2]),
        ("int v ;", T + "double v(t) ; data: v = 3, _ ;", [3, -2147483647]),
        ("double v ;", T + 'short v(t) ; v:scale_factor = 0.5 ; data: v = 3, _ ;', [1.5, FILL]),
        ("ubyte v ;", T + 'byte v(t) ; v:_Unsigned = "true" ; data: v = -1, 1 ;', [255, 1]),
        ("int v ; v:missing_value = 0 ;", T + "int v(t) ; v:missing_value = 5 ; data: v = 5, 6 ;", [-2147483647, 6]),
        ('byte v ; v:_Unsigned = "true" ;', T + 'byte v(t) ; v:_Unsigned = "true" ; data: v = -1, 1 ;', [-1, 1]),
        ("float v ;", T + "float v(t) ; data: v = NaN, 1 ;", [np.nan, 1]),
        ("char v ;", T + 'char v(t) ; data: v = "ab" ;', ["a", "b"]),
        ("string v ;", T + 'string v(t) ; data: v = "a", "bc" ;', ["a", "bc"]),
    ],
    ids=["rounded", "whole", "packed", "unsigned", "missing", "signed", "nan", "char", "string"],
)  # fmt: skip
def test_conversions(tmp_path: Path, variable: str, fragment: str, values: list[object]) -> None:
    read = nczarr.open(make(tmp_path, variable, fragment))["v"][...].tolist()
    np.testing.assert_array_equal([one.decode() if isinstance(one, bytes) else one for one in read], values)


@pytest.mark.parametrize(
    ("variable", "fragment", "message"),
    [
        ("int v ;", T + "double v(t) ; data: v = 0.5, 2 ;", "0.5 cannot become `int32`"),
        ("byte v ;", T + "int v(t) ; data: v = 300, 2 ;", "the value 300 cannot become `int8`"),
        ("float v ;", T + "double v(t) ; data: v = 1e300, 2 ;", "the value 1e+300 cannot"),
        ("float v ;", "dimensions: t = 3 ; variables: float v(t) ;", "has the shape [3], and its place [2]"),
        ("float v ;", T + "float w(t) ; data: w = 1, 2 ;", "it has no variable `v`"),
        ("float v ;", T + "string v(t) ;", "has type `string`, which cannot become `float`"),
        ('float v ; v:units = "m" ;', T + 'float v(t) ; v:units = "s" ;', "which cannot become `m`"),
        ("float v ;", T + "float v(u) ;", "dimension `u` is not defined"),
        (f"double v ; v:units = {DAYS} ;", T + f'double v(t) ; v:units = {DAYS} ; v:calendar = "360_day" ;',
         "dates of the calendar `360_day`, not `standard`"),
    ],
)  # fmt: skip
def test_fragments_that_do_not_fit(tmp_path: Path, variable: str, fragment: str, message: str) -> None:
    dataset = nczarr.open(make(tmp_path, variable, fragment))
    with pytest.raises(CompileError) as caught:
        dataset["v"][...]
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == ("unreadable-fragment" if "not defined" in message else "bad-fragment")
    assert message in diagnostic.message


def test_lacking_dimensions_have_length_1(tmp_path: Path) -> None:
    path = make(
        tmp_path,
        "float v ;",
        "dimensions: y = 3 ; variables: float v(y) ; data: v = 1, 2, 3 ;",
        "t = 1 ; y = 3 ; z = 1 ;",
        "t y z",
    )
    assert nczarr.open(path)["v"][...].tolist() == [[[1], [2], [3]]]
    assert nczarr.open(path)["v"][0, 1:, 0].tolist() == [2, 3]


def test_scalar(tmp_path: Path) -> None:
    assert nczarr.open(make(tmp_path, "int v ;", "variables: int v ; data: v = 7 ;", "", ""))["v"][...] == 7


def test_missing_and_unique_fragments(tmp_path: Path) -> None:
    (tmp_path / "a.cdl").write_text("netcdf a { dimensions: t = 2 ; variables: int v(t) ; data: v = 1, 2 ; }")
    (tmp_path / "all.cdl").write_text(
        """netcdf all { dimensions: t = 4 ; f = 2 ; j = 1 ;
        variables: int v ; v:_FillValue = -1 ; v:aggregated_dimensions = "t" ;
        v:aggregated_data = "identifiers: w map: m uris: u" ;
        string s ; s:aggregated_dimensions = "t" ; s:aggregated_data = "map: m unique_values: us" ;
        short n ; n:_FillValue = -1s ; n:aggregated_dimensions = "t" ; n:aggregated_data = "map: m unique_values: un" ;
        int m(j, f) ; string u(f) ; string w(f) ; string us(f) ; int un(f) ;
        data: m = 2, 2 ; u = "a.cdl", "" ; w = "v", "v" ; us = "x", "yz" ; un = 5, _ ; }"""
    )
    dataset = nczarr.open(tmp_path / "all.cdl")
    assert dataset["v"][...].tolist() == [1, 2, -1, -1]
    assert dataset["s"][...].tolist() == ["x", "x", "yz", "yz"]
    assert dataset["n"][...].tolist() == [5, 5, -1, -1]


def test_terms_of_drafts(tmp_path: Path) -> None:
    (tmp_path / "a.cdl").write_text("netcdf a { dimensions: t = 2 ; variables: int v(t) ; data: v = 1, 2 ; }")
    for number, terms in enumerate(
        (
            "location: m file: u format: x address: w",
            "shape: m location: u address: w",
            "shape: m location: u variable: w",
        )
    ):
        path = tmp_path / f"{number}.cdl"
        path.write_text(
            f"""netcdf all {{ dimensions: t = 2 ; f = 1 ; j = 1 ; variables: int v ; v:aggregated_dimensions = "t" ;
            v:aggregated_data = "{terms}" ; int m(j, f) ; string u(f) ; string w ; {"string x ;" * (number == 0)}
            data: m = 2 ; u = "a.cdl" ; w = "v" ; }}"""
        )
        assert nczarr.open(path)["v"][...].tolist() == [1, 2]
        assert list(nczarr.open(path).checked.variables) == ["/v"]


def test_names_are_found_in_enclosing_groups(tmp_path: Path) -> None:
    (tmp_path / "a b.cdl").write_text(
        "netcdf a { group: g { dimensions: t = 2 ; variables: int v(t) ; data: v = 1, 2 ; } }"
    )
    (tmp_path / "all.cdl").write_text(
        """netcdf all { dimensions: t = 2 ; f = 1 ; j = 1 ; variables: int m(j, f) ; char u(f, n) ; dimensions: n = 9 ;
        data: m = 2 ; u = "a%20b.cdl" ;
        group: h { variables: int v ; v:aggregated_dimensions = "t" ;
        v:aggregated_data = "map: m uris: /u identifiers: w" ; string w ; data: w = "/g/v" ; } }"""
        .replace("dimensions: t = 2 ;", "dimensions: n = 9 ; t = 2 ;").replace("dimensions: n = 9 ;\n", "\n")
    )  # fmt: skip
    dataset = nczarr.open(tmp_path / "all.cdl")
    assert dataset["/h/v"][...].tolist() == [1, 2]
    assert list(dataset.checked.variables) == ["/h/v"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("m = 2, 3, 3, _", "m = 2, 2, 3, _", "2 + 2 of fragments in `/m` do not add up to 5, the length of `/t`"),
        ("m = 2, 3, 3, _", "m = 2, 3, _, _", "0 of fragments in `/m` do not add up to 3"),
        ('"t x" ;', '"t y" ;', "there is no dimension `y`"),
        ("uris: u ", "uris: q ", "there is no variable `q`"),
        ("uris: u ", "", "has no feature `uris`"),
        ("map: m uris: u identifiers: w", "m, u and w", "not a list of pairs"),
        ("int m(j, i)", "float m(j, i)", "`/m` has type `float`, not integers"),
        ("int m(j, i)", "int m(one, i)", "has the shape [1, 2], not a row for each of 2 dimensions"),
        ("string u(f_t, f_x)", "string u(f_x)", "`/u` has the shape [1], and the map of fragments [2, 1]"),
        ("string u(f_t, f_x)", "int u(f_t, f_x)", "`/u` has type `int`, not texts"),
        ('w = "v" ;', 'w = "" ;', "`/w` names no variable of `a.cdl`"),
        ("m = 2, 3, 3, _ ;", "", "`/m` has no values"),
    ],
)
def test_faulty_instructions(whole: Path, old: str, new: str, message: str) -> None:
    text = WHOLE.replace(old, new)
    if "u(f_x)" in new:
        text = text.replace('u = "a.cdl", "parts/b.cdl" ; w', 'u = "a.cdl" ; w')
    if "int u" in new:
        text = text.replace('u = "a.cdl", "parts/b.cdl" ; w', "u = 1, 2 ; w")
    if "one, i" in new:
        text = text.replace("m = 2, 3, 3, _", "m = 2, 3")
    whole.write_text(text)
    with pytest.raises(CompileError) as caught:
        nczarr.open(whole)
    assert message in caught.value.diagnostics[0].message
    assert {each.code for each in caught.value.diagnostics} == {"bad-aggregation"}
    assert '`aggregation="keep"` reads the variable as it is stored' in str(caught.value)
    assert nczarr.open(whole, aggregation="keep")["v"].shape == ()


def test_fragments_outside_the_folder_are_forbidden(whole: Path) -> None:
    inside = whole.parent / "parts" / "all.cdl"
    inside.write_text(WHOLE.replace("a.cdl", "../a.cdl").replace("parts/b.cdl", "b.cdl"))
    with pytest.raises(CompileError) as caught:
        nczarr.open(inside)
    assert {each.code for each in caught.value.diagnostics} == {"forbidden-target"}
    allowed = nczarr.open(inside, following=Following(roots=(str(whole.parent),)))
    assert allowed["t"][...].tolist() == TIMES
    elsewhere = nczarr.open(inside, following=Following(base=str(whole.parent), roots=(str(whole.parent.parent),)))
    with pytest.raises(CompileError, match="unreadable-fragment"):
        elsewhere["t"][...]


def test_an_unreadable_fragment_ends_a_conversion(whole: Path) -> None:
    (whole.parent / "a.cdl").unlink()
    target = whole.parent / "out.zarr"
    ran = run_command("convert", str(whole), str(target))
    assert ran.status == 1
    assert "error[unreadable-fragment]: aggregation variable `/v`, fragment" in ran.err
    assert not target.exists()


def test_a_cut_opens_only_the_fragments_in_it(whole: Path) -> None:
    (whole.parent / "a.cdl").unlink()
    ran = run_command("convert", str(whole), str(whole.parent / "t.zarr"), "--var", "t", "--dim", "t=2:4")
    assert ran.status == 0, ran.err
    assert nczarr.open(whole.parent / "t.zarr")["t"][...].tolist() == TIMES[2:]


def test_fragments_of_some_size_are_chunks_until_they_are_opened(tmp_path: Path) -> None:
    """A view of the dataset that opens no fragment, such as that of a server, has a chunk for each."""
    text = """netcdf all { dimensions: t = 5 ; x = 20000 ; f = 3 ; j = 2 ;
        variables: int v ; v:aggregated_dimensions = "t x" ; v:aggregated_data = "map: m unique_values: u" ;
        int m(j, f) ; int u(f, g) ; dimensions: g = 1 ; data: m = 2, 2, 1, 20000, _, _ ; u = 7, 8, 9 ; }"""
    (tmp_path / "all.cdl").write_text(text.replace(" dimensions: g = 1 ;", "").replace("j = 2 ;", "j = 2 ; g = 1 ;"))
    dataset = nczarr.open(tmp_path / "all.cdl")
    assert dataset.checked.variables["/v"].storage.chunks == (2, 20000)
    assert dataset["v"][:, 5].tolist() == [7, 7, 8, 8, 9]


def test_a_fragment_may_be_an_aggregation_variable(tmp_path: Path) -> None:
    part = make(tmp_path, "int v ;", T + "int v(t) ; data: v = 1, 2 ;")
    (tmp_path / "more.cdl").write_text(part.read_text().replace("part.cdl", "one.cdl"))
    assert nczarr.open(tmp_path / "more.cdl")["v"][...].tolist() == [1, 2]


def test_a_circle_of_aggregation_files_is_an_error(tmp_path: Path) -> None:
    path = make(tmp_path, "int v ;", "")
    path.write_text(path.read_text().replace("part.cdl", "one.cdl"))
    with pytest.raises(CompileError, match="`v` is an aggregation variable itself"):
        nczarr.open(path)["v"][...]


def test_check_reports_faulty_instructions_and_opens_no_fragment(whole: Path) -> None:
    (whole.parent / "a.cdl").unlink()
    assert run_command("check", str(whole)).status == 0
    whole.write_text(WHOLE.replace("m = 2, 3, 3, _", "m = 2, 2, 3, _"))
    ran = run_command("check", str(whole))
    assert ran.status == 1
    assert "error[bad-aggregation]" in ran.err
    ran = run_command("check", str(whole), "--cf")
    assert "bad-aggregation" not in ran.err
    assert "[cf-aggregation]" in ran.err


@pytest.mark.parametrize("form", ["a.nc", "a.zarr", "a.zip", "a.json", "a.ncs"])
def test_fragments_have_any_format(tmp_path: Path, form: str) -> None:
    path = make(tmp_path, "float v ;", T + "float v(t) ; data: v = 1, 2 ;")
    nczarr.convert(tmp_path / "part.cdl", tmp_path / "part.nc")
    nczarr.convert(tmp_path / "part.nc", tmp_path / form)
    path.write_text(path.read_text().replace("part.cdl", form))
    assert nczarr.open(path)["v"][...].tolist() == [1, 2]


@pytest.mark.long
@pytest.mark.parametrize("cut", ["t=1:4:2", "t=4", "x=1:2", "t=0:1"])
def test_cuts_are_converted_as_they_are_read(whole: Path, cut: str) -> None:
    pytest.importorskip("cf_units")
    name, _, words = cut.partition("=")
    bounds = [int(word) for word in words.split(":")]
    chosen = slice(bounds[0], bounds[min(1, len(bounds) - 1)] + 1, bounds[2] if len(bounds) > 2 else 1)
    target = whole.parent / "cut.zarr"
    assert run_command("convert", str(whole), str(target), "--dim", cut, "--verify").status == 0
    values = nczarr.open(whole)["v"][...]
    np.testing.assert_array_equal(nczarr.open(target)["v"][...], values[chosen] if name == "t" else values[:, chosen])
