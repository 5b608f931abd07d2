"""Unwritten cells of variables in no-fill mode have the same value and the same digest in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from tests.support.plugins import ABSENT

FORMS = {
    "zarr2": "o.zarr", "zarr3": "o.zarr3", "nczarr": "o.ncz2", "nczarr3": "o.ncz3",
    "netcdf4": "o.nc", "netcdf3": "c.nc", "reference": "o.json", "cdl": "o.cdl",
    **({} if "ncstream" in ABSENT else {"ncstream": "o.ncs"}),
    **({} if "zarr_drafts" in ABSENT else {"zarr3-2019": "o.draft"}),
}  # fmt: skip
"""Targets by format."""

VALUES = {
    "byte": "1b", "ubyte": "2ub", "short": "3s", "ushort": "4us", "int": "5", "uint": "6u", "int64": "7ll",
    "uint64": "8ull", "float": "1.5f", "double": "2.5", "char": '"x"', "string": '"txt"', "flag": "B",
    "raw": "0X0102", "pair": "{1, 2.5}",
}  # fmt: skip
"""A value of each type."""

TYPES = "types: byte enum flag {A = 0, B = 1} ; opaque(2) raw ; compound pair {int a ; float b ;} ;"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("type_name", VALUES)
def test_every_format_has_the_same_values(type_name: str, given: bool, declared: bool, tmp_path: Path) -> None:
    value = VALUES[type_name]
    fill = f"v:_FillValue = {value} ;" if declared else ""
    data = f"data: v = {value} ;" if given else ""
    schema = nczarr.from_cdl(
        f'netcdf d {{ {TYPES} dimensions: x = 3 ; variables: {type_name} v(x) ; {fill} v:_NoFill = "true" ; {data} }}'
    )
    written = 0
    for form, name in FORMS.items():
        try:
            nczarr.write(schema, tmp_path / name, form)
        except nczarr.CompileError:
            continue  # the format does not hold the type
        written += 1
        found = nczarr.open(tmp_path / name)
        differences = {one.kind for one in nczarr.diff(found, schema)}
        assert "values" not in differences, form
        assert differences or nczarr.digest(found) == nczarr.digest(schema), form
        if type_name not in ("raw", "pair"):
            assert found["v"][:].tolist() == schema["v"][:].tolist(), form
    assert written >= 4


@pytest.mark.parametrize(("fill", "value"), [("", -2147483647), ("a:_FillValue = -1 ;", -1)])
def test_other_readers_see_it(fill: str, value: int, tmp_path: Path, peer: object) -> None:
    schema = nczarr.from_cdl(f'netcdf d {{ dimensions: x = 2 ; variables: int a(x) ; {fill} a:_NoFill = "true" ; }}')
    netcdf4, zarr = peer("netCDF4"), peer("zarr")  # type: ignore[operator]
    for kind in ("nc3", "nc4"):
        nczarr.write(schema, tmp_path / f"{kind}.nc", kind=kind)
        with netcdf4.Dataset(tmp_path / f"{kind}.nc") as file:
            file.set_auto_mask(False)
            assert file["a"][:].tolist() == [value, value]
    for form in ("nczarr", "zarr2", "zarr3"):
        nczarr.write(schema, tmp_path / form, form)
        assert zarr.open(str(tmp_path / form))["a"][:].tolist() == [value, value]
