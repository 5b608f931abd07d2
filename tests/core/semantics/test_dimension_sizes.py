"""Lengths that no array has are refused, whichever format tells them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases


@pytest.mark.parametrize("size", [2**63, 2**64, 10**30])
@pytest.mark.parametrize("anonymous", [True, False])
def test_more_than_there_can_be(size: int, anonymous: bool) -> None:
    variable = {"name": "v", "type": "int", "dimensions": [size if anonymous else "/x"]}
    dimensions = [] if anonymous else [{"name": "x", "size": size}]
    document = {"ast": 1, "dataset": {"name": "d", "dimensions": dimensions, "variables": [variable]}}
    report = Report()
    source = Source("d.ast.json", json.dumps(document).encode())
    assert phases.read(source, report, Options()) is None
    assert [each.code for each in report.list_sorted()] == ["bad-dimension-size"]


def test_the_largest_length() -> None:
    text = f"dataset d 2.0.0 {{\n  dimension x {2**63 - 1}\n  variable v byte /x\n}}\n"
    report = Report()
    checked = phases.read(Source("d.ncz", text.encode()), report, Options())
    assert checked is not None
    assert checked.shapes == {"/v": (2**63 - 1,)}


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("grows", [True, False])
def test_two_dimensions_of_length_0_are_too_many_for_the_classic_model(
    first: int, grows: bool, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """The netCDF library makes a dimension of length 0 unlimited, and the classic model has one of these."""
    peer("netCDF4")
    dimensions = [{"name": "x", "size": first, "unlimited": grows}, {"name": "y", "size": 0}]
    variable = {"name": "v", "type": "int", "dimensions": ["/x", "/y"]}
    document = {"ast": 1, "dataset": {"name": "d", "dimensions": dimensions, "variables": [variable]}}
    (tmp_path / "d.ast.json").write_text(json.dumps(document), encoding="utf-8")
    if first and not grows:
        nczarr.convert(tmp_path / "d.ast.json", tmp_path / "d.nc", kind="nc7")
    else:
        with pytest.raises(nczarr.CompileError, match="`x` and `y` would both be unlimited"):
            nczarr.convert(tmp_path / "d.ast.json", tmp_path / "d.nc", kind="nc7")
        assert not (tmp_path / "d.nc").exists()


@pytest.mark.parametrize("kind", ["NETCDF4_CLASSIC", None])
def test_the_classic_model_in_hdf5_grows_along_any_dimension(
    kind: str | None, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """The netCDF library writes and reads such files; in classic files the unlimited dimension comes first."""
    netcdf = peer("netCDF4")
    if kind is None:
        variable = {"name": "v", "type": "int", "dimensions": [3, 0]}
        (tmp_path / "a.ast.json").write_text(json.dumps({"ast": 1, "dataset": {"name": "a", "variables": [variable]}}))
    else:
        with netcdf.Dataset(tmp_path / "a.nc", "w", format=kind) as made:
            made.createDimension("x", 3)
            made.createDimension("y", None)
            made.createVariable("v", "i4", ("x", "y"))[:] = [[1, 2], [3, 4], [5, 6]]
    source = next(tmp_path.iterdir())
    nczarr.convert(source, tmp_path / "b.nc", kind="nc7", verify=True)
    with netcdf.Dataset(tmp_path / "b.nc") as found:
        assert found.data_model == "NETCDF4_CLASSIC"
        assert found["v"][:].tolist() == ([[], [], []] if kind is None else [[1, 2], [3, 4], [5, 6]])
    with pytest.raises(nczarr.CompileError, match=r"must come first|has length 0"):
        nczarr.convert(source, tmp_path / "c.nc", kind="nc3")


@pytest.mark.parametrize("lengths", [(2**31, 2**31, 2), (2**32, 2**32), (2**40, 2**23), (2**62, 2, 0)])
def test_more_cells_than_there_can_be(lengths: tuple[int, ...]) -> None:
    found = Report()
    names = [f"d{axis}" for axis in range(len(lengths))]
    declared = " ; ".join(f"{name} = {length}" for name, length in zip(names, lengths, strict=True))
    text = f"netcdf t {{ dimensions: {declared} ; variables: short v({', '.join(names)}) ; }}"
    run = phases.read(Source("t.cdl", text.encode()), found, Options())
    assert [one.code for one in found.list_sorted() if one.severity == "error"] == ["oversized-array"]
    assert run is None
