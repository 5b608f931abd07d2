"""Responses of DAP4, read by the reader of `.dap`."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.plugins.opendap.common.words import ConstraintError
from nczarr.plugins.opendap.dap4.writer import dmr, response, select
from tests.conftest import ROOT

TEXT = """netcdf t {
types:
  int(*) list ; list(*) lists ; opaque(3) three ;
  compound point { int x ; float y(2) ; three o ; } ;
  compound odd { string s(2) ; list l ; char c(2) ; } ;
  ubyte enum sky { clear = 0, cloudy = 200 } ;
dimensions: a = 2 ; b = 3 ; none = UNLIMITED ;
variables:
  int a(a) ; float grid(a, b) ; byte low(b) ; uint64 big(a) ; char c(a, b) ; string s(a) ; list l(a) ; lists ll(a) ;
  three o(a) ; point p(a) ; odd q(a) ; sky e(a) ; int empty(none) ; grid:f = 0.1f, NaNf ; grid:t = "a<&\\"b" ;
data:
  a = 10, 20 ; grid = 1, 2, 3, 4, 5, 6 ; low = -1, 0, 127 ; big = 18446744073709551615ULL, 1 ; c = "ab", "xyz" ;
  s = "one", "" ; l = {1, 2}, {3} ; ll = {{1}, {2, 3}}, {{}} ; o = 0X010203, 0XFFFEFD ;
  p = {1, {1.5, 2.5}, 0X010203}, {2, {3.5, 4.5}, 0X040506} ; q = {{"a", "bc"}, {1, 2}, "xy"}, {{"", "d"}, {}, "z"} ;
  e = clear, cloudy ;
group: g { variables: int v(a) ; :t = "in g" ; data: v = 3, 4 ; }
}
"""


def body(expression: str = "", text: str = TEXT, **options: bool) -> bytes:
    checked = nczarr.from_cdl(text).checked
    return b"".join(response(checked, select(checked, expression), "t.nc", **options))


def read(data: bytes, tmp_path: Path) -> Any:
    (tmp_path / "t.dap").write_bytes(data)
    return nczarr.open(tmp_path / "t.dap")


@pytest.mark.parametrize("checksums", [True, False])
def test_every_type_comes_back(checksums: bool, tmp_path: Path) -> None:
    truth = nczarr.from_cdl(TEXT)
    with read(body(checksums=checksums), tmp_path) as found:
        assert list(found) == list(truth)
        for fqn in truth:
            assert str(found[fqn][...]) == str(truth[fqn][...]), fqn
        assert found["/grid"].attributes["t"] == 'a<&"b'
        assert found["/grid"].attributes["f"].tolist()[0] == np.float32(0.1)


def test_slices(tmp_path: Path) -> None:
    truth = nczarr.from_cdl(TEXT)
    with read(body("/grid[1][0:2:2];a;/g/v[1];/l[1];/q[1:1];s[0:]"), tmp_path) as found:
        assert set(found) == {"/a", "/grid", "/l", "/q", "/s", "/g/v"}
        assert found["/grid"][...].tolist() == [[4.0, 6.0]]
        assert found["/g/v"][...].tolist() == [4]
        assert found["/l"][...][0].tolist() == [3]
        assert str(found["/q"][...]) == str(truth["/q"][1:2])
        assert found["/s"].shape == (2,)


def test_bytes() -> None:
    data = body("/a")
    values = struct.pack("<2i", 10, 20)
    end = struct.pack("<I", zlib.crc32(values))
    assert data.endswith(struct.pack(">I", 5 << 24 | 12) + values + end)
    assert data[0] == 4
    length = int.from_bytes(data[1:4], "big")
    assert data[4:9] == b"<?xml"
    assert data[4 + length - 2 : 4 + length] == b"\r\n"
    assert body("/a", checksums=False).endswith(struct.pack(">I", 13 << 24 | 8) + values)


def test_long_values_have_several_chunks(tmp_path: Path) -> None:
    text = "netcdf t { dimensions: x = 5000000 ; variables: double v(x) ; byte w ; data: w = 7 ; }"
    with read(body("", text), tmp_path) as found:
        assert found["/w"][()] == 7
        assert found["/v"].shape == (5000000,)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nothing", "no variable"), ("/gird", "did you mean `/grid`"), ("grid[0]", "1 slices for 2"),
        ("grid[2][0]", "no section"), ("grid[1:0][0]", "no section"), ("grid[0:0:1][0]", "no section"),
        ("grid[-1][0]", "slices are"), ("grid[0][0", "is not a variable"), ("p.x", "no variable"),
        ("p[0].x", "sent whole"), ("a[0];a[1]", "requested twice"), (";".join(["a"] * 1001), "at most"),
        ("/aa=[0]", "no dimension"), ("/a=[9]", "no section"), ("/a=[x]", "slices are"),
        ("/a=[0];/a=[1]", "two slices"),
        ("/a=[0][1]", "no variable"), ("a=", "no variable"),
    ],
)  # fmt: skip
def test_wrong_expressions(expression: str, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        select(nczarr.from_cdl(TEXT).checked, expression)


def test_slices_of_dimensions(tmp_path: Path) -> None:
    """They hold where a variable has no slice of its own; the variables go on to share the dimension."""
    with read(body("/a=[1];grid;p;q;/g/v"), tmp_path) as found:
        assert found["/grid"][...].tolist() == [[4, 5, 6]]
        assert found["/grid"].dims == ("a", "b")
        assert found["/g/v"][...].tolist() == [4]
        assert found["/p"][...].tolist()[0][0] == 2
        assert found.checked.dimensions["/a"].size == 1
    with read(body("a=[0:1]; /b = [0:2:2]; grid[][]; grid; low[0:1]; s[1]"), tmp_path) as found:
        assert found["/grid"][...].tolist() == [[1, 3], [4, 6]]
        assert found["/low"][...].tolist() == [-1, 0]
        assert found["/s"][...].tolist() == [""]
        assert found.checked.variables["/low"].dimensions == (2,)
    with read(body("b=[2]"), tmp_path) as found:
        assert (found["/low"][...].tolist(), found["/a"][...].tolist()) == ([127], [10, 20])


def test_losses_are_listed() -> None:
    text = 'netcdf t { types: int(*) l ; variables: l :a = {1} ; char v ; v:b = "x\\001" ; v:c = "y\\000" ; }'
    checked = nczarr.from_cdl(text).checked
    found = dmr(checked, select(checked, ""), "t")
    assert "/@a: attributes are numbers and texts" in found
    assert "/v@b: characters that XML does not hold are replaced" in found
    assert "/v@c: NULs at the end" in found


RECORDS = """netcdf t {
types:
  compound even { int a ; float b ; }
  compound gaps { byte a ; double b ; }
  compound outer { int a ; gaps g ; }
  compound row { int a ; short b(2) ; }
  row(*) rows ;
  compound one { int a ; short b(1) ; short c ; }
  compound text { byte a ; string b ; }
  opaque(3) raw ;
  compound bytes { raw a ; int b ; }
dimensions: x = 2 ;
variables:
  even a(x) ; gaps b(x) ; gaps c ; outer d(x) ; row e(x) ; rows f(x) ; one g(x) ; text h(x) ; bytes i(x) ;
}"""


def test_records_that_libnetcdf_misreads_are_listed() -> None:
    checked = nczarr.from_cdl(RECORDS).checked
    found = dmr(checked, select(checked, ""), "t")
    assert re.findall(r"/(\w+): (libnetcdf[ 0-9.]*) reads other values", found) == [
        ("b", "libnetcdf 4.9.0"),
        ("d", "libnetcdf 4.9.0"),
        ("e", "libnetcdf"),
        ("f", "libnetcdf"),
    ]
    assert "libnetcdf" not in dmr(checked, select(checked, "/a;/b[0]"), "t")


@pytest.mark.parametrize(
    "name", ["01-station", "02-grid-groups", "03-compound-vlen", "04-cmip", "05-every-type", "11-levels"]
)
def test_samples(name: str, tmp_path: Path) -> None:
    with nczarr.open(ROOT / "samples" / f"{name}.cdl") as truth:
        made = b"".join(response(truth.checked, select(truth.checked, ""), name))
        with read(made, tmp_path) as found:
            assert list(found) == list(truth)
            for fqn in truth:
                assert str(found[fqn][...]) == str(truth[fqn][...]), fqn


FLOATS = """netcdf t { dimensions: x = 1 ; variables:
float a(x) ; a:_FillValue = -9999.f ; a:r = 0.1f, Infinityf ;
float b(x) ; b:_FillValue = 1.e20f ; b:missing_value = 5.f ;
float c(x) ; c:_FillValue = 7.f ; c:missing_value = 7. ;
float d(x) ; d:_FillValue = NaNf ; d:missing_value = "none" ;
data: a = 1 ; b = 2 ; c = 3 ; d = 4 ; }"""


def test_floats_are_doubles_for_other_clients_only(tmp_path: Path) -> None:
    """libnetcdf damages Float32; `missing_value` repeats a fill value that it damages."""
    truth = nczarr.from_cdl(FLOATS)
    text = dmr(truth.checked, select(truth.checked, ""), "t.nc")
    assert text.count('name="missing_value"') == 4
    assert [line.strip() for line in text.splitlines() if "nczarr:count" in line or "-9999" in line] == [
        "<Value>-9999.0</Value>",
        '<Attribute name="missing_value" type="Float64" nczarr:count="0">',
        "<Value>-9999.0</Value>",
        '<Attribute name="missing_value" type="Float64" nczarr:type="float" nczarr:count="1">',
    ]
    assert 'name="r" type="Float64" nczarr:type="float"' in text
    with read(body(text=FLOATS), tmp_path) as found:
        for one, other in zip(found.checked.variables.values(), truth.checked.variables.values(), strict=True):
            assert one.attributes == other.attributes
