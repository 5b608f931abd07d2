"""Integers whose attribute `_Unsigned` says the other sign, in the documents and values of DAP2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.plugins.opendap.dap2.das_writer import write_das
from nczarr.plugins.opendap.dap2.declarations import Mapping, dds, mapping, select
from nczarr.plugins.opendap.dap2.values import ascii_response, response

TEXT = """netcdf t {
types: byte enum sky { clear = 0, cloudy = -56 } ;
dimensions: x = 3 ;
variables:
  byte x(x) ; x:_Unsigned = "true" ; x:missing_value = -3b ;
  byte v(x) ; v:_Unsigned = "True" ; v:_FillValue = -1b ; v:valid_range = 0s, 255s ; v:other = -1b ;
  byte one ; one:_Unsigned = "true" ;
  ubyte low ; low:_Unsigned = "false" ; low:_FillValue = 255UB ;
  short h(x) ; h:_Unsigned = "true" ; h:flag_values = -56s, 5s ;
  uint w ; w:_Unsigned = "false" ;
  sky e(x) ; e:_Unsigned = "true" ;
  byte odd ; odd:_Unsigned = 1b ;
data: x = -3, -2, -1 ; v = -56, 5, _ ; one = -56 ; low = 200 ; h = -56, 5, 6 ; w = 4294967295 ;
  e = clear, cloudy, clear ; odd = -56 ;
}
"""

PLAIN = ("x", "v", "one", "low", "h", "w")
"""Variables that come back whole."""


@pytest.fixture
def known() -> Mapping:
    return mapping(nczarr.from_cdl(TEXT).checked, "t.nc")


def test_documents_have_the_numbers_that_are_meant(known: Mapping) -> None:
    text, attributes = dds(known, tuple(known.nodes.values())), write_das(known)
    for declaration in ("Byte v[x = 3];", "Byte one;", "Int16 low;", "UInt16 h[x = 3];", "Int32 w;", "Byte e[x = 3];"):
        assert declaration in text, declaration
    assert "Int16 odd;" in text
    for line in (
        "Byte missing_value 253;", "Byte _FillValue 255;", "Int16 valid_range 0, 255;", "Int16 other -1;",
        "Int16 _FillValue -1;", "UInt16 flag_values 65480, 5;", 'String _nczarr_type "byte", "_FillValue";',
    ):  # fmt: skip
        assert line in attributes, line
    values = b"".join(ascii_response(known, select(known, "v.v,one,low,e.e"))).decode()
    for line in ("200, 5, 255\n", "one, 200\n", "low, -56\n", "0, 200, 0\n"):
        assert line in values, line


def test_our_reader_restores_types_and_attributes(known: Mapping, tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(b"".join(response(known, tuple(known.nodes.values()))))
    (tmp_path / "t.das").write_text(write_das(known), encoding="utf-8")
    truth = nczarr.from_cdl(TEXT)
    with nczarr.open(tmp_path / "t.dods") as found:
        for name in PLAIN:
            one, other = truth[name], found[name]
            assert (one.dtype, one[...].tolist()) == (other.dtype, other[...].tolist()), name
            assert one.attributes.keys() == other.attributes.keys(), name
            for key in one.attributes.keys() - {"other"}:  # a byte is wider, as ever
                assert np.array_equal(one.attributes[key], other.attributes[key]), (name, key)
                assert getattr(one.attributes[key], "dtype", None) == getattr(other.attributes[key], "dtype", None)
        assert (found["e"].dtype, found["e"][...].tolist()) == (np.dtype("i1"), [0, -56, 0])
        assert (found["odd"].dtype, found["odd"][()]) == (np.dtype("i2"), -56)


@pytest.mark.parametrize("told", ['String _nczarr_type "ushort";', 'String _nczarr_type "x";', "Int32 _nczarr_type 1;"])
def test_a_type_that_is_not_sent_so_stays_an_attribute(known: Mapping, told: str, tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(b"".join(response(known, select(known, "one"))))
    (tmp_path / "t.das").write_text(f"Attributes {{ one {{ {told} }} }}", encoding="utf-8")
    with nczarr.open(tmp_path / "t.dods") as found:
        assert (found["one"].dtype, found["one"][()]) == (np.dtype("u1"), 200)
        assert "_nczarr_type" in found["one"].attributes


def test_attributes_of_the_server_are_left_out() -> None:
    text = 'netcdf t { variables: byte v ; v:_Unsigned = "true" ; v:_nczarr_type = "int" ; }'
    attributes = write_das(mapping(nczarr.from_cdl(text).checked, "t.nc"))
    assert 'String _nczarr_type "byte";' in attributes
    assert "/v@_nczarr_type: the server has an attribute of this name" in attributes
