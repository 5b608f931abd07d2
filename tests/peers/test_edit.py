"""Edited files as other readers see them: as a file that was made with the new header, and as before after an undo."""

from __future__ import annotations

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
    "exchange": Edit(("--rename", "/x=y", "--rename", "dim:/y=x"), ()),
    "remove variable": Edit(("--delete", "/area"), ()),
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
