"""Responses of DAP2, read by the reader of `.dods`, and by hand where the bytes matter."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.plugins.opendap.common.words import ConstraintError
from nczarr.plugins.opendap.dap2.das_writer import write_das
from nczarr.plugins.opendap.dap2.declarations import Mapping, dds, mapping, select
from nczarr.plugins.opendap.dap2.values import InexactError, UnprintableError, ascii_response, map_sendable, response
from tests.conftest import ROOT

TEXT = """netcdf t {
types:
  compound point { int x ; float y(2) ; char c(3) ; } ;
  int(*) list ;
  ubyte enum sky { clear = 0, cloudy = 200 } ;
  opaque(3) three ;
dimensions: a = 2 ; b = 3 ; len = 5 ; none = UNLIMITED ;
variables:
  int a(a) ; double b(b) ; float grid(a, b) ; byte low(b) ; ubyte high(b) ; int64 big(a) ;
  char name(a, len) ; string s(a) ; point p(a) ; list l(a) ; sky e(a) ; three o(a) ; int empty(none) ; short one ;
  grid:many = "x" ; grid:quote = "a\\"b\\\\" ; grid:f = 0.1f, NaNf ; int ü(a) ;
data:
  a = 10, 20 ; b = 0.5, 1.5, 2.5 ; grid = 1, 2, 3, 4, 5, 6 ; low = -1, 0, 127 ; high = 255, 0, 1 ; big = -5, 7 ;
  name = "ab", "cdefg" ; s = "one", "" ; p = {1, {1.5, 2.5}, "abc"}, {2, {3.5, 4.5}, "d"} ; l = {1, 2}, {3} ;
  e = clear, cloudy ; o = 0X010203, 0XFFFEFD ; one = -3 ; ü = 1, 2 ;
group: g { variables: int v(a) ; v:k = 1 ; :t = "in g" ; data: v = 3, 4 ; }
}
"""


def known(text: str = TEXT) -> Mapping:
    return mapping(nczarr.from_cdl(text).checked, "t.nc")


def body(expression: str, text: str = TEXT) -> bytes:
    found = known(text)
    return b"".join(response(found, select(found, expression)))


def read(expression: str, tmp_path: Path, text: str = TEXT) -> Any:
    (tmp_path / "t.dods").write_bytes(body(expression, text))
    (tmp_path / "t.das").write_text(write_das(known(text)), encoding="utf-8")
    return nczarr.open(tmp_path / "t.dods")


def test_values_come_back(tmp_path: Path) -> None:
    truth = nczarr.from_cdl(TEXT)
    with read("", tmp_path) as found:
        for name in ("a", "b", "grid", "low", "high", "big", "one", "e"):
            assert found[f"/{name}"][...].tolist() == truth[f"/{name}"][...].tolist(), name
        assert found["/g%2fv"][...].tolist() == [3, 4]
        assert found["/o"][...].tolist() == [[1, 2, 3], [255, 254, 253]]
    text = dds(known(), select(known(), ""))
    assert "empty" not in text
    assert " l[" not in text


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("grid[1][0:2:2]", [[4.0, 6.0]]),
        ("grid[*][2]", [[3.0], [6.0]]),
        ("grid%5B0:1%5D%5B1%5D", [[2.0], [5.0]]),
    ],
)
def test_hyperslabs(expression: str, wanted: list[Any], tmp_path: Path) -> None:
    with read(expression, tmp_path) as found:
        assert found["/grid"][...].tolist() == wanted
    with read(f"{expression.replace('grid', 'grid.grid', 1)},one", tmp_path) as found:
        assert found["/grid"][()]["grid"].tolist() == wanted


def test_bytes_of_each_type() -> None:
    assert body("one").endswith(b"\nData:\n" + struct.pack(">i", -3))
    assert body("high.high").endswith(struct.pack(">II", 3, 3) + bytes([255, 0, 1, 0]))
    assert body("low.low[1:2]").endswith(struct.pack(">IIii", 2, 2, 0, 127))
    assert body("name.name").endswith(struct.pack(">II2s2xI5s3x", 2, 2, b"ab", 5, b"cdefg"))
    assert body("s.s").endswith(struct.pack(">II3sxI", 2, 3, b"one", 0))
    record = (
        struct.pack(">iIIffI3sx", 1, 2, 2, 1.5, 2.5, 3, b"abc"),
        struct.pack(">iIIffI1s3x", 2, 2, 2, 3.5, 4.5, 1, b"d"),
    )
    assert body("p").endswith(struct.pack(">I", 2) + b"".join(record))
    assert body("p[1].x").endswith(struct.pack(">Ii", 1, 2))
    assert body("p.y[1]").endswith(struct.pack(">IIIfIIf", 2, 1, 1, 2.5, 1, 1, 4.5))
    assert body("o[1][0:2:2]").endswith(struct.pack(">II2B2x", 2, 2, 255, 253))


def test_documents() -> None:
    found = known()
    text = write_das(found)
    assert 'String quote "a\\"b\\x5c";' in text
    assert "Float32 f 0.10000000149011612, NaN;" in text
    assert "Int32 DODS.strlen 5;" in text
    assert "/l: DAP2 has no lists" in text
    assert "/empty: it has a dimension of length 0" in text
    assert 'g {\n        String t "in g";' in text
    assert 'g_v {\n        Int32 k 1;\n        String _nczarr_names "/g/v", "/a";' in text
    declared = dds(found, select(found, "grid,_%C3%BC"))
    assert declared.count("Grid {") == 2
    assert "Int32 _%C3%BC[a = 2];" in declared


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nothing", "no variable"), ("gird", "did you mean `grid`"), ("grid[0]", "1 brackets for 2"),
        ("grid[2][0]", "indices of a dimension end at 1"), ("grid[1:0][0]", "empty"), ("grid[0:0:1][0]", "stride"),
        ("grid[-1][0]", "brackets contain"), ("grid[0][0", "not a projection"), ("grid.x", "no member"),
        ("grid[0][0].a", "brackets belong"), ("one[0]", "brackets"), ("a.a", "has no members"), ("p.q", "no member"),
        ("a&b>1", "selections"), ("mean(a)", "functions"), (",", "not a projection"), ("a,,b", "not a projection"),
        ("a[0],a[1]", "requested twice"), ("a" + "[0]" * 500, "brackets"), (",".join(["a"] * 1001), "at most"),
        ("a[99999999999999999999]", "brackets contain"),
    ],
)  # fmt: skip
def test_wrong_expressions(expression: str, message: str) -> None:
    with pytest.raises(ConstraintError, match="(?s)" + message.replace("[", r"\[")):
        select(known(), expression)


def test_members_of_one_variable_are_joined() -> None:
    declared = dds(known(), select(known(), "grid.grid[0][0],grid.a[0],p.x,p.c"))
    assert declared.count("Structure {") == 2


def test_inexact_integers_are_refused() -> None:
    text = "netcdf t { variables: int64 v ; v:k = 9007199254740993LL ; data: v = 9007199254740993LL ; }"
    with pytest.raises(InexactError, match="9007199254740993"):
        body("v", text)
    with pytest.raises(InexactError, match="9007199254740993"):
        b"".join(ascii_response(known(text), select(known(text), "v")))
    assert "/v@k: its 64-bit integers are no doubles" in write_das(known(text))


BEYOND = """netcdf t {
types: compound pair { int a ; int64 b ; }
dimensions: x = 2 ; y = 4097 ;
variables: int64 x(x) ; int v(x) ; int64 w(x) ; pair p(x) ; pair q ; int64 large(y) ; uint64 u ;
data: x = 1, 9007199254740993 ; v = 1, 2 ; w = 3, -9007199254740992 ; p = {1, 2}, {3, 9007199254740993} ; q = {1, 2} ;
}"""


def test_small_variables_that_dap2_cannot_send_are_left_out() -> None:
    """libnetcdf requests all small variables at once."""
    found = map_sendable(nczarr.from_cdl(BEYOND).checked, "t")
    assert list(found.nodes) == ["v", "w", "q", "large"]
    assert found.left_out["/x"] == "it has the int64 value 9007199254740993, which no type of DAP2 holds; use DAP4"
    assert list(found.left_out) == ["/x", "/p", "/u"]
    assert found.nodes["v"].kind == "element"  # its coordinate variable is left out
    assert b"".join(response(found, select(found, "v,w,q")))
    with pytest.raises(ConstraintError, match="`p` is left out: it has the int64 value 9007199254740993"):
        select(found, "p")
    with pytest.raises(InexactError, match="/large"):
        b"".join(response(found, select(found, "")))


def test_names_that_clients_read_otherwise_are_said() -> None:
    """DAP2 has no letters beyond ASCII, and libnetcdf refuses names that begin with an escape."""
    text = write_das(known('netcdf t { variables: int v ; v:é = "a" ; v:aé = "b" ; v:_b = 1 ; }'))
    assert [line for line in text.splitlines() if "clients read" in line] == [
        '        String _nczarr_left_out "/v@é: clients read the name `_é`";'
    ]


def test_long_strings_have_their_length() -> None:
    text = f'netcdf t {{ variables: string v ; data: v = "{"x" * 100}" ; }}'
    assert "Int32 DODS.strlen 100;" in write_das(known(text))


def test_text_response() -> None:
    found = known()
    text = b"".join(ascii_response(found, select(found, "grid[0][0:1],name,one"))).decode()
    assert "grid.grid[1][2]\n[0], 1.0, 2.0\n" in text
    assert 'name[2]\n"ab", "cdefg"\n' in text
    assert "one, -3\n" in text
    with pytest.raises(UnprintableError):
        b"".join(ascii_response(found, select(found, "p")))


@pytest.mark.parametrize("name", ["01-station", "02-grid-groups", "04-cmip", "06-strings", "11-levels"])
def test_samples_are_read_by_our_reader(name: str, tmp_path: Path) -> None:
    with nczarr.open(ROOT / "samples" / f"{name}.cdl") as truth:
        found = mapping(truth.checked, name)
        (tmp_path / "t.dods").write_bytes(b"".join(response(found, tuple(found.nodes.values()))))
        (tmp_path / "t.das").write_text(write_das(found), encoding="utf-8")
        with nczarr.open(tmp_path / "t.dods") as back:
            by_name = {each.replace("%2f", "/").removeprefix("/"): each for each in back}
            for fqn in truth:
                if truth[fqn].dtype.kind in "iuf" and truth[fqn].size:
                    assert np.array_equal(back[by_name[fqn[1:]]][...], truth[fqn][...], equal_nan=True), fqn


def test_variables_are_in_definition_order() -> None:
    """libnetcdf requests grids last, and misreads answers in another order than that of the declarations."""
    assert [node.name for node in select(known(), "one,grid.grid,b,a")] == ["a", "b", "grid", "one"]


def test_rows_of_text_come_in_parts() -> None:
    """A row of a long dimension is never held whole."""
    found = known("netcdf t { dimensions: x = 40000 ; y = 2 ; variables: int v(x) ; int w(y, x) ; }")
    parts = list(ascii_response(found, select(found, "v,w")))
    assert max(map(len, parts)) < 400_000
    text = b"".join(parts).decode()
    assert text.count("-2147483647, ") == 3 * 39_999
    assert text.count("-2147483647\n") == 3
    assert text.count("\n[1], -2147483647, ") == 1
