"""Edited files as other readers see them: as a file that was made with the new header, and as before after an undo."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import nczarr
from tests.conftest import run_command
from tests.support.edited import by_h5py, by_ncdump, by_netcdf4, by_xarray

pytestmark = pytest.mark.peer

CLASSIC = """netcdf a {
dimensions:
  time = UNLIMITED ; x = 3 ; y = 2 ; spare = 7 ;
variables:
  int v(x) ;
    v:a = 1, 2 ;
    v:b = 3s ;
    v:remark = "a rather long remark, so that the header has room" ;
  double x(x) ;
    x:units = "m" ;
  float area(y, x) ;
    area:long_name = "area" ;
    area:units = "m2" ;
    area:_FillValue = -1.f ;
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  float temp(time, x) ;
    temp:units = "C" ;
    temp:scale_factor = 2. ;
    temp:valid_range = 0.f, 100.f ;
  :title = "Hello" ;
  :history = "made" ;
data:
  v = 1, 2, 3 ;
  x = 10, 20, 30 ;
  area = 1, 2, 3, 4, 5, 6 ;
  time = 0, 1 ;
  temp = 1, 2, 3, 4, 5, 6 ;
}
"""

DEEP = """netcdf a {
types:
  byte enum flag {no = 0, yes = 1} ;
dimensions:
  time = UNLIMITED ; x = 3 ; y = 2 ; z = 4 ; spare = 7 ; more = UNLIMITED ;
variables:
  double x(x) ;
    x:units = "m" ;
  float temp(time, x) ;
    temp:units = "C" ;
    temp:comment = "abc" ;
    temp:_FillValue = 9.f ;
    string temp:names = "a", "b" ;
    temp:_DeflateLevel = 5 ;
  int y(x) ;
    y:a = 1 ;
  int z(z, x) ;
    z:b = 1 ;
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  flag ok(x) ;
    flag ok:first = yes ;
  string text(x) ;
  int scalar ;
    scalar:grid_mapping_name = "none" ;
  float w(z) ;
  :title = "Hello" ;
data:
  x = 10, 20, 30 ;
  temp = 1, 2, 3, 4, 5, 6 ;
  y = 1, 2, 3 ;
  z = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ;
  time = 0, 1 ;
  ok = yes, no, yes ;
  text = "a", "bc", "def" ;
  scalar = 5 ;
  w = 1, 2, 3, 4 ;
group: g {
  dimensions:
    y = 5 ;
  variables:
    float w(y, x) ;
      w:units = "K" ;
    double y(y) ;
  :level = 1 ;
  data:
    y = 1, 2, 3, 4, 5 ;
  group: h {
    variables:
      int inner(y, x) ;
  }
}
}
"""


class Edit(NamedTuple):
    """One edit, and what it makes of the CDL."""

    arguments: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...]


def cut(text: str, start: str, end: str) -> str:
    """The text from one phrase to another."""
    return text[text.index(start) : text.index(end)]


EDITS = {
    "set text": Edit(("--set", '/temp@units="K"'), (('temp:units = "C"', 'temp:units = "K"'),)),
    "set longer": Edit(
        ("--delete", "/v@remark", "--set", "/v@a=1s, 2s, 3s"),
        (
            ('    v:remark = "a rather long remark, so that the header has room" ;\n', ""),
            ("v:a = 1, 2", "v:a = 1s, 2s, 3s"),
        ),
    ),
    "delete global": Edit(("--delete", "@history"), (('  :history = "made" ;\n', ""),)),
    "rename attribute": Edit(("--rename", "/temp@scale_factor=factor"), (("temp:scale_factor", "temp:factor"),)),
    "rename variable": Edit(("--rename", "/temp=t2"), (("temp(", "t2("), ("temp:", "t2:"), ("  temp =", "  t2 ="))),
    "rename coordinate": Edit(
        ("--rename", "/time=t"),
        (
            ("time = UNLIMITED", "t = UNLIMITED"),
            ("time(time)", "t(t)"),
            ("time:", "t:"),
            ("(time", "(t"),
            ("  time =", "  t ="),
        ),
    ),
    "rename dimension": Edit(
        ("--rename", "dim:/x=lon"), ((" x = 3", " lon = 3"), ("(x)", "(lon)"), (", x)", ", lon)"))
    ),
    "rename variable of dimension": Edit(
        ("--rename", "var:/x=lon"), (("double x(", "double lon("), ("x:units", "lon:units"), ("  x = 10", "  lon = 10"))
    ),
    "become coordinate": Edit(
        ("--rename", "var:/x=xx", "--rename", "/v=x"),
        (
            ("double x(", "double xx("),
            ("x:units", "xx:units"),
            ("  x = 10", "  xx = 10"),
            ("int v(", "int x("),
            ("v:", "x:"),
            ("  v = 1", "  x = 1"),
        ),
    ),
    "exchange": Edit(
        ("--rename", "var:/v=x", "--rename", "var:/x=v"),
        (
            ("int v(", "int TMP("),
            ("v:", "TMP:"),
            ("  v = 1", "  TMP = 1"),
            ("double x(", "double v("),
            ("x:units", "v:units"),
            ("  x = 10", "  v = 10"),
            ("TMP", "x"),
        ),
    ),
    "remove variable": Edit(
        ("--delete", "/area"),
        (
            (cut(CLASSIC, "  float area", "  double time(time)"), ""),
            ("  area = 1, 2, 3, 4, 5, 6 ;\n", ""),
        ),
    ),
    "remove dimension": Edit(("--delete", "dim:/spare"), ((" spare = 7 ;", ""),)),
    "lengthen dimension": Edit((), ((" spare = 7 ;", " spare = 9 ;"),)),
    "fill value": Edit(("--set", "/area@_FillValue=2"), (("_FillValue = -1.f", "_FillValue = 2.f"),)),
}
"""Edits of classic datasets."""


def replace(text: str, edit: Edit) -> str:
    """The CDL afterwards."""
    for old, new in edit.replaced:
        assert old in text
        text = text.replace(old, new)
    return text


def compile_cdl(text: str, path: Path, kind: str) -> Path:
    ran = run_command("compile", "-", "-o", str(path), "--kind", kind, stdin=text.encode())
    assert ran.status == 0, ran.err
    return path


@pytest.fixture
def readers_of_files(peer: Callable[[str], ModuleType]) -> None:
    for name in ("netCDF4", "h5py", "xarray"):
        peer(name)


def check(tmp_path: Path, old: Path, edited: Path, expected: Path, kind: str) -> None:
    """Compare an edited file with the expected one by all readers, and undo the edit."""
    assert nczarr.diff(edited, expected) == []
    assert by_netcdf4(edited) == by_netcdf4(expected)
    if shutil.which("ncdump"):
        assert by_ncdump(edited) == by_ncdump(expected)
    engines = ("netcdf4", "h5netcdf") if kind in ("nc4", "nc7") else ("netcdf4", "scipy")
    for engine in engines:
        if kind != "nc5" or engine != "scipy":
            assert by_xarray(edited, engine).identical(by_xarray(expected, engine))
    if kind in ("nc4", "nc7"):
        assert by_h5py(edited) == by_h5py(expected)
    ran = run_command("edit", str(edited), "--undo", f"{edited}.undo-1.json")
    assert ran.status == 0, ran.err
    assert edited.read_bytes() == old.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "edited.nc",
        "edited.nc.undo-1.json",
        "expected.nc",
        "old.nc",
    ]


SIMPLE = [name for name, edit in EDITS.items() if edit.replaced]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5", "nc7", "nc4"])
@pytest.mark.parametrize("name", SIMPLE)
def test_edit(name: str, kind: str, tmp_path: Path, readers_of_files: None) -> None:
    edit = EDITS[name]
    old = compile_cdl(CLASSIC, tmp_path / "old.nc", kind)
    new = replace(CLASSIC, edit)
    expected = compile_cdl(new, tmp_path / "expected.nc", kind)
    edited = tmp_path / "edited.nc"
    shutil.copy(old, edited)
    header = ("--header", "-") if not edit.arguments else ()
    stdin = new.partition("data:")[0] + "}" if header else ""
    ran = run_command("edit", str(edited), *edit.arguments, *header, stdin=stdin.encode())
    assert ran.status == 0, ran.err
    check(tmp_path, old, edited, expected, kind)


GROUP = cut(DEEP, "group: g {", "}\n}\n}\n") + "}\n}\n"

ADDED_VARIABLES = """  float w(z) ;
  short added(fixed2, x) ;
    added:units = "m" ;
    added:_FillValue = 3s ;
  float grown(more2, x) ;
  string names2(x) ;
  char letter ;
"""

ADDED_GROUP = """  group: new {
    dimensions:
      q = 2 ;
    variables:
      int nv(q, x) ;
    :t = "x" ;
  }
"""

DEEP_EDITS = {
    "group": Edit(("--rename", "/g=gg"), (("group: g", "group: gg"),)),
    "inner group": Edit(("--rename", "/g/h=deep"), (("group: h", "group: deep"),)),
    "inner coordinate": Edit(
        ("--rename", "/g/y=k"),
        (
            ("    y = 5 ;", "    k = 5 ;"),
            ("w(y, x)", "w(k, x)"),
            ("double y(y)", "double k(k)"),
            ("    y = 1, 2, 3, 4, 5", "    k = 1, 2, 3, 4, 5"),
            ("inner(y, x)", "inner(k, x)"),
        ),
    ),
    "dimension beside a variable": Edit(("--rename", "dim:/y=yy"), ((" y = 2 ;", " yy = 2 ;"),)),
    "variable beside a dimension": Edit(
        ("--rename", "var:/y=yy"), (("int y(x)", "int yy(x)"), ("y:a", "yy:a"), ("  y = 1, 2, 3 ;", "  yy = 1, 2, 3 ;"))
    ),
    "coordinate of two dimensions": Edit(
        ("--rename", "/z=zz"),
        ((" z = 4", " zz = 4"), ("z(z, x)", "zz(zz, x)"), ("z:b", "zz:b"), ("  z = 1", "  zz = 1"), ("w(z)", "w(zz)")),
    ),
    "variable loses its dimension": Edit(
        ("--rename", "var:/z=zz"), (("int z(z, x)", "int zz(z, x)"), ("z:b", "zz:b"), ("  z = 1", "  zz = 1"))
    ),
    "dimension loses its variable": Edit(
        ("--rename", "dim:/z=zz"), ((" z = 4", " zz = 4"), ("(z, x)", "(zz, x)"), ("w(z)", "w(zz)"))
    ),
    "variable becomes coordinate": Edit(
        ("--rename", "var:/z=old", "--rename", "/w=z"),
        (
            ("int z(z, x)", "int old(z, x)"),
            ("z:b", "old:b"),
            ("  z = 1", "  old = 1"),
            ("float w(z)", "float z(z)"),
            ("  w = 1, 2, 3, 4 ;\ngroup", "  z = 1, 2, 3, 4 ;\ngroup"),
        ),
    ),
    "new variable of a dimension's name": Edit(
        ("--rename", "/scalar=more"), (("int scalar", "int more"), ("scalar:", "more:"), ("  scalar =", "  more ="))
    ),
    "remove variable": Edit(
        ("--delete", "/ok"), (("  flag ok(x) ;\n    flag ok:first = yes ;\n", ""), ("  ok = yes, no, yes ;\n", ""))
    ),
    "remove coordinate": Edit(
        ("--delete", "/time"),
        (('  double time(time) ;\n    time:units = "days since 2000-01-01" ;\n', ""), ("  time = 0, 1 ;\n", "")),
    ),
    "remove group": Edit(("--delete", "/g"), ((GROUP, ""),)),
    "remove dimension": Edit(("--delete", "dim:/more"), ((" more = UNLIMITED ;", ""),)),
    "spare becomes unlimited": Edit((), ((" spare = 7 ;", " spare = UNLIMITED ;"),)),
    "unlimited becomes fixed": Edit((), ((" more = UNLIMITED ;", " more = 3 ;"),)),
    "type": Edit(("--rename", "type:/flag=state"), (("enum flag", "enum state"), ("flag ok", "state ok"))),
    "enum attribute": Edit(
        ("--set", "/flag /ok@second=no, yes"), (("ok:first = yes ;", "ok:first = yes ; flag ok:second = no, yes ;"),)
    ),
    "replace in place": Edit(("--set", '/temp@units="Kelvin"'), (('temp:units = "C"', 'temp:units = "Kelvin"'),)),
    "strings": Edit(("--set", 'string /temp@names="é","","c"'), (('"a", "b" ;', '"é", "", "c" ;'),)),
    "empty text": Edit(("--set", "char /temp@comment="), (('temp:comment = "abc"', "char temp:comment = "),)),
    "order": Edit(
        (),
        (
            (
                '    temp:units = "C" ;\n    temp:comment = "abc" ;\n',
                '    temp:comment = "abc" ;\n    temp:units = "C" ;\n',
            ),
        ),
    ),
    "numbers": Edit(
        ("--set", "@n=1b,2b", "--set", "@big=5ull", "--set", "/g@level=2.5f"),
        ((':title = "Hello" ;', ':title = "Hello" ; :n = 1b, 2b ; :big = 5ull ;'), (":level = 1", ":level = 2.5f")),
    ),
    "additions": Edit(
        (),
        (
            (" more = UNLIMITED ;", " more = UNLIMITED ; more2 = UNLIMITED ; fixed2 = 6 ;"),
            ("  float w(z) ;\n", ADDED_VARIABLES),
            ("  group: h {", ADDED_GROUP + "  group: h {"),
        ),
    ),
}
"""Edits of netCDF-4 datasets."""

REORDERED = {
    "variable loses its dimension", "dimension loses its variable", "variable becomes coordinate", "remove coordinate",
    "spare becomes unlimited", "unlimited becomes fixed", "additions", "new variable of a dimension's name",
    "empty text",
}  # fmt: skip
"""Edits after which the dimensions, or the groups, have another order than in a new file."""


def sort_names(description: object) -> object:
    """A description whose dimensions and groups are sorted."""
    if not isinstance(description, dict):
        return description
    groups = sorted(((name, sort_names(item)) for name, item in description["groups"]), key=lambda pair: pair[0])
    return {**description, "dimensions": sorted(description["dimensions"]), "groups": groups}


@pytest.mark.long
@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", DEEP_EDITS)
def test_deep_edit(name: str, tmp_path: Path, readers_of_files: None) -> None:
    edit = DEEP_EDITS[name]
    old = compile_cdl(DEEP, tmp_path / "old.nc", "nc4")
    new = replace(DEEP, edit)
    expected = compile_cdl(new, tmp_path / "expected.nc", "nc4")
    edited = tmp_path / "edited.nc"
    shutil.copy(old, edited)
    ran = run_command("edit", str(edited), *(edit.arguments or ("--header", "-")), stdin=without_data(new).encode())
    assert ran.status == 0, ran.err
    assert nczarr.diff(edited, expected) == []
    one, other = by_netcdf4(edited), by_netcdf4(expected)
    if name in REORDERED:
        one, other = sort_names(one), sort_names(other)
    assert one == other
    if name not in REORDERED and shutil.which("ncdump"):
        assert by_ncdump(edited) == by_ncdump(expected)
    for engine in ("netcdf4", "h5netcdf"):
        for group in (None, "g"):
            if not (group and name in ("group", "remove group")):
                assert by_xarray(edited, engine, group).identical(by_xarray(expected, engine, group))
    if name != "remove coordinate":  # the library leaves the scale of an unlimited dimension empty
        assert by_h5py(edited) == by_h5py(expected)
    ran = run_command("edit", str(edited), "--undo", f"{edited}.undo-1.json")
    assert ran.status == 0, ran.err
    assert edited.read_bytes() == old.read_bytes()


def without_data(text: str) -> str:
    """A header: the text without its data sections."""
    return re.sub(r"^ *data:\n(?:.*? = .*;\n)+", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5"])
def test_a_header_with_room(kind: str, tmp_path: Path, readers_of_files: None) -> None:
    plain, padded = (tmp_path / name for name in ("old.nc", "padded.nc"))
    compile_cdl(CLASSIC, plain, kind)
    assert run_command("convert", str(plain), str(padded), "--header-pad", "5000").status == 0
    assert by_netcdf4(padded) == by_netcdf4(plain)
    ran = run_command("edit", str(padded), "--set", '@history="' + "z" * 4000 + '"', "--rename", "/temp=temperature")
    assert ran.status == 0, ran.err
    shown, text = by_netcdf4(padded), dict(by_netcdf4(padded)["attributes"])["history"]
    assert (text, [item[0] for item in shown["variables"]][-1]) == (("str", "z" * 4000), "temperature")


@pytest.mark.parametrize("version", ["earliest", "v108", "v110", "latest"])
def test_versions_of_hdf5_stay(version: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """Files of h5py, without order of creation and with old or new headers, keep their superblock."""
    h5py, path = peer("h5py"), tmp_path / "a.h5"
    with h5py.File(path, "w", libver=(version, "latest")) as file:
        file["x"] = [1.0, 2.0]
        file["x"].make_scale("x")
        file["v"] = [1, 2]
        file["v"].dims[0].attach_scale(file["x"])
        file["v"].attrs["units"] = "m"
        file["v"].attrs["b"] = 1
    old = path.read_bytes()
    for edit in (("--set", '/v@units="kilometre"'), ("--rename", "/x=y"), ("--rename", "var:/x=y"), ("--delete", "/x")):
        ran = run_command("edit", str(path), *edit, "--undo-file", str(tmp_path / "undo.json"))
        assert ran.status == 0, ran.err
        assert path.read_bytes()[8] == old[8], "the version of the superblock"
        with h5py.File(path) as file:
            scale = "y" if edit[1] == "/x=y" else "x"
            assert [item.name for item in file["v"].dims[0].values()] == [f"/{scale}"]
            assert list(file["v"]) == [1, 2]
        assert run_command("edit", str(path), "--undo", str(tmp_path / "undo.json")).status == 0
        (tmp_path / "undo.json").unlink()
        assert path.read_bytes() == old


@pytest.mark.slow
def test_what_hdf5_refuses(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """An object takes 65,535 attributes in the order of creation, and an old header no long ones."""
    h5py, path = peer("h5py"), tmp_path / "a.h5"
    with h5py.File(path, "w", libver=("earliest", "v108"), track_order=True) as file:
        file["plain"] = [1, 2]
        file.create_dataset("full", data=[1, 2], track_order=True)
        space, kind = h5py.h5s.create(h5py.h5s.SCALAR), h5py.h5t.NATIVE_INT32
        file["full"].attrs["units"] = "m"  # without any attribute, HDF5 counts from 0 again
        for _ in range(65534):
            h5py.h5a.create(file["full"].id, b"a", kind, space)
            h5py.h5a.delete(file["full"].id, b"a")
    old = path.read_bytes()
    for edit in ("/full@b=1", '/plain@b="' + "z" * 70000 + '"'):
        ran = run_command("edit", str(path), "--set", edit)
        assert (ran.status, "uneditable-target" in ran.err) == (2, True)
    assert path.read_bytes() == old


FIXED = """netcdf a {
dimensions:
  x = 3 ; y = 2 ;
variables:
  short v(x) ;
    v:remark = "a rather long remark, so that the header has room for the variables" ;
  int w(y, x) ;
data:
  v = 1, 2, 3 ;
  w = 1, 2, 3, 4, 5, 6 ;
}
"""


@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5"])
def test_new_variables_of_a_classic_file(kind: str, tmp_path: Path, readers_of_files: None) -> None:
    """They are filled, at the end of the file; one of a new unlimited dimension has no records."""
    new = FIXED.replace(f"    {cut(FIXED, 'v:remark', '  int w')}", "    v:a = 1b ;\n").replace(
        "y = 2 ;", "y = 2 ; t = UNLIMITED ;"
    )
    new = new.replace(
        "(y, x) ;\n", "(y, x) ;\n  byte b(x) ;\n    b:_FillValue = 7b ;\n  double e(x) ;\n  float r(t, x) ;\n"
    )
    old = compile_cdl(FIXED, tmp_path / "old.nc", kind)
    padded = tmp_path / "edited.nc"
    assert run_command("convert", str(old), str(padded), "--header-pad", "300").status == 0
    before = padded.read_bytes()
    expected = compile_cdl(new, tmp_path / "expected.nc", kind)
    ran = run_command("edit", str(padded), "--header", "-", stdin=without_data(new).encode())
    assert ran.status == 0, ran.err
    assert nczarr.diff(padded, expected) == []
    assert by_netcdf4(padded) == by_netcdf4(expected)
    import netCDF4

    with netCDF4.Dataset(padded, "a") as dataset:  # the library extends the file where it should
        dataset["r"][0] = [1, 2, 3]
    assert nczarr.open(padded)["r"][:].tolist() == [[1, 2, 3]]
    assert [item for item in nczarr.diff(padded, expected) if item.path in ("/v", "/w", "/b", "/e")] == []
    padded.write_bytes(before)
    assert run_command("edit", str(padded), "--header", "-", stdin=without_data(new).encode()).status == 0
    assert run_command("edit", str(padded), "--undo", f"{padded}.undo-2.json").status == 0
    assert padded.read_bytes() == before


def test_a_large_group_moves_few_links(tmp_path: Path, readers_of_files: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.edit.netcdf4 import editor

    monkeypatch.setattr(editor, "MOST_MOVED", 2)
    edited = compile_cdl(DEEP, tmp_path / "edited.nc", "nc4")
    ran = run_command("edit", str(edited), "--rename", "/x=lon", "--rename", "/temp=t", "--delete", "/text")
    assert ran.status == 0, ran.err
    shown = by_netcdf4(edited)
    assert [item[0] for item in shown["variables"]] == ["y", "z", "time", "ok", "scalar", "w", "lon", "t"]
    expected = (
        DEEP.replace("double x(x)", "double lon(x)").replace("x:units", "lon:units").replace("  x = 10", "  lon = 10")
    )
    expected = expected.replace(" x = 3", " lon = 3").replace("(x)", "(lon)").replace(", x)", ", lon)")
    expected = expected.replace("temp(", "t(").replace("temp:", "t:").replace("  temp =", "  t =")
    expected = expected.replace("  string text(lon) ;\n", "").replace('  text = "a", "bc", "def" ;\n', "")
    assert nczarr.diff(edited, compile_cdl(expected, tmp_path / "expected.nc", "nc4")) == []


def test_a_fill_value_of_records_is_refused(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """HDF5's own fill value stays as it is, and libnetcdf fills later records with it."""
    with peer("netCDF4").Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", None)
        file.createVariable("v", "f4", ("t",), fill_value=-9)[:] = [1, 2]
    before = (tmp_path / "a.nc").read_bytes()
    ran = run_command("edit", str(tmp_path / "a.nc"), "--set", "/v@_FillValue=-8.f")
    assert (ran.status, "error[data-edit]" in ran.err) == (1, True)
    assert (tmp_path / "a.nc").read_bytes() == before


def test_an_object_with_two_names_keeps_its_attributes(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py, path = peer("h5py"), tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["v"], file["single"] = [1, 2], [3, 4]
        file["w"], file["soft"] = file["v"], h5py.SoftLink("/v")
    old = path.read_bytes()
    ran = run_command("edit", str(path), "--set", "/v@a=1")
    assert ran.status == 1
    assert "attributes of `/v` are those of `/soft`, `/w` too" in ran.err
    assert path.read_bytes() == old
    assert run_command("edit", str(path), "--set", "/single@a=1").status == 0
    with h5py.File(path) as file:
        assert (list(file["single"].attrs), list(file["v"].attrs)) == (["a"], [])
