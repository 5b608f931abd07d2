"""The type of an attribute that says none: as ncgen has it where ncgen keeps the values."""

from __future__ import annotations

import pytest

import nczarr


@pytest.mark.parametrize(
    ("values", "type_name"),
    [
        ("4294967295", "uint"),
        ("4294967296", "uint64"),
        ("+9223372036854775807", "uint64"),
        ("-4294967296", "int64"),
        ("4294967296ll", "int64"),
        ("1, 4294967296", "uint64"),
        ("-1, 4294967296", "int64"),
        ("-1, 3000000000", "int64"),
    ],
)
def test_large_integers(values: str, type_name: str) -> None:
    dataset = nczarr.from_cdl(f"netcdf t {{ :a = {values} ; }}").dataset
    assert dataset.attributes[0].value.type == type_name


@pytest.mark.parametrize("values", ["-1, 9223372036854775808", "-1, 1ull"])
def test_no_type_holds_both(values: str) -> None:
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.from_cdl(f"netcdf t {{ :a = {values} ; }}")
    assert [item.code for item in caught.value.diagnostics] == ["value-range"]
