"""Types of one structure, which the netCDF library takes for each other, are named where it matters."""

from __future__ import annotations

from pathlib import Path

import nczarr

SCHEMA = """netcdf t {{
types:
  ubyte enum a {{NO = 0, YES = 1}} ;
  ubyte enum b {{NO = 0, YES = 1}} ;
  {record}
variables:
  {variable} v ;
}}
"""


def losses(variable: str, target: Path, record: str = "") -> list[str]:
    source = target.with_suffix(".cdl")
    source.write_text(SCHEMA.format(variable=variable, record=record))
    return [f"{loss.kind} {loss.path}" for loss in nczarr.convert(source, target).losses]


def test_the_second_is_named_where_it_is_used(tmp_path: Path) -> None:
    assert losses("b", tmp_path / "t.nc") == ["type-name /b"]
    assert losses("record", tmp_path / "r.nc", "compound record {b flag ;} ;") == ["type-name /b"]


def test_the_second_is_named_where_another_type_uses_it(tmp_path: Path) -> None:
    """No variable has the list: it is a part of the dataset all the same, and becomes one of the first."""
    assert losses("a", tmp_path / "t.nc", "b(*) list ;") == ["type-name /b"]
    assert [str(each) for each in nczarr.diff(tmp_path / "t.cdl", tmp_path / "t.nc")] != []
    assert losses("a", tmp_path / "r.nc", "a(*) list ;") == []
    assert [str(each) for each in nczarr.diff(tmp_path / "r.cdl", tmp_path / "r.nc")] == []


def test_one_that_nothing_uses_loses_nothing(tmp_path: Path) -> None:
    assert losses("a", tmp_path / "t.nc") == []
    assert losses("record", tmp_path / "r.nc", "compound record {a flag ;} ;") == []
