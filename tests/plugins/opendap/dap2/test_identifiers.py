"""Identifiers of DAP2: no two read alike, and our reader restores the names of groups and anonymous dimensions."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr.plugins.opendap.dap2.das_writer import write_das
from nczarr.plugins.opendap.dap2.declarations import Mapping, dds, mapping, select
from nczarr.plugins.opendap.dap2.values import response

TEXT = """netcdf t {
types: opaque(4) raw ; opaque(2) pair ;
dimensions: x = 2 ; dim_4 = 3 ; g_n = 5 ;
variables: int g_v(x) ; raw o(x) ; raw q ; pair r(dim_4) ; int _%u(x) ; char c(x) ;
  g_v:_nczarr_names = "/h/v" ;
data: g_v = 1, 2 ; o = 0X01020304, 0X05060708 ; q = 0X0A0B0C0D ; _%u = 9, 8 ;
group: g { dimensions: n = 3 ; variables: int v(n) ; int n(n) ; int w(n, x) ; char c(n) ; :title = "one" ;
  data: v = 3, 4, 5 ; n = 7, 8, 9 ; c = "abc" ;
  group: v_2 { variables: int a(n) ; :title = "inner" ; data: a = 1, 2, 3 ; } }
group: g_v { variables: int b ; data: b = 6 ; }
}
"""


@pytest.fixture
def known() -> Mapping:
    return mapping(nczarr.from_cdl(TEXT.replace("group: g_v {", "group: k {")).checked, "t.nc")


def test_names_of_the_root_are_theirs(known: Mapping) -> None:
    text = dds(known, tuple(known.nodes.values()))
    for declaration in (
        "Int32 g_v[x = 2];", "Int32 g_v_2[g_n_2 = 3];", "Int32 g_n_2[g_n_2 = 3];", "Int32 g_v_2_a[g_n_2 = 3];",
        "Byte o[x = 2][dim_4_2 = 4];", "Byte q[dim_4_2 = 4];", "Byte r[dim_4 = 3][dim_2 = 2];",
    ):  # fmt: skip
        assert declaration in text, declaration
    assert "/g_v@_nczarr_names" in write_das(known)
    assert known.left_out == {}


def test_our_reader_restores_them(known: Mapping, tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(b"".join(response(known, tuple(known.nodes.values()))))
    (tmp_path / "t.das").write_text(write_das(known), encoding="utf-8")
    with nczarr.open(tmp_path / "t.dods") as found:
        assert list(found.variables) == [
            "g_v", "o", "q", "r", "_%u", "c", "g%2fv", "g%2fn", "g%2fw", "g%2fc", "g%2fv_2%2fa", "k%2fb",
        ]  # fmt: skip
        assert found["/g_v"][...].tolist() == [1, 2]
        assert (found["/g%2fv"].dimensions, found["/g%2fv"][...].tolist()) == (("/g%2fn",), [3, 4, 5])
        assert found["/g%2fw"].dimensions == ("/g%2fn", "/x")
        assert (found["/g%2fc"].dimensions, found["/g%2fc"][...].tolist()) == (("/g%2fn",), [b"a", b"b", b"c"])
        assert found["/o"].dimensions == ("/x", 4)
        assert found["/r"].dimensions == ("/dim_4", 2)
        assert not any("_nczarr_names" in each.attributes for each in found.variables.values())
        assert found.attributes["g.title"] == "one"
        assert found.attributes["g%2fv_2.title"] == "inner"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("g_v_2[0:1]", "g%2Fv[0:1]"), ("g_v_2[0:1]", "g%252Fv[0:1]"), ("g_v_2.g_n_2[1]", "g%2Fv.g%2Fn[1]"),
        ("g_v_2_a", "g/v_2/a"), ("k_b", "k%2fb"),
    ],
)  # fmt: skip
def test_old_spellings_are_accepted(known: Mapping, new: str, old: str) -> None:
    assert select(known, old) == select(known, new)


@pytest.mark.parametrize("names", ['"/a/b"', '"g/v", "/g/x"', '"/y", "/x"', '"/g/v", "/g/\\"', "1"])
def test_a_wrong_attribute_stays(names: str, tmp_path: Path) -> None:
    """Of another length, without a FQN, with the name of another variable: nothing is renamed."""
    text = nczarr.from_cdl("netcdf t { dimensions: x = 2 ; variables: int v(x) ; int y(x) ; data: v = 1, 2 ; }")
    known = mapping(text.checked, "t.nc")
    kind = "Int32" if names == "1" else "String"
    (tmp_path / "t.dods").write_bytes(b"".join(response(known, tuple(known.nodes.values()))))
    (tmp_path / "t.das").write_text(f"Attributes {{ v {{ {kind} _nczarr_names {names}; }} }}", encoding="utf-8")
    with nczarr.open(tmp_path / "t.dods") as found:
        assert list(found.variables) == ["v", "y"]
        assert found["/v"][...].tolist() == [1, 2]
