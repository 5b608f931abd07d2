"""Levels of what has grown along a reduced dimension, beside a pyramid of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError


def lines(first: int, count: int, columns: int = 5) -> Any:
    """Some lines of a scan."""
    values = np.arange(first * columns, (first + count) * columns, dtype="f8") ** 1.5
    text = f"""netcdf d {{ dimensions: y = UNLIMITED ; x = {columns} ; nv = 2 ;
      variables: double y(y) ; y:bounds = "y_bnds" ; double y_bnds(y, nv) ; double t(y, x) ; t:_FillValue = -1. ;
      data: y = {", ".join(str(one + 0.5) for one in range(first, first + count))} ;
      y_bnds = {", ".join(f"{one}, {one + 1}" for one in range(first, first + count))} ;
      t = {", ".join(map(repr, values.tolist()))} ; }}"""
    return nczarr.from_cdl(text)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("boundary", ["pad", "trim"])
@pytest.mark.parametrize("lengths", [(8, 1), (9, 1), (9, 3), (11, 1), (12, 9)])
@pytest.mark.parametrize("nested", [False, True])
def test_levels_follow_each_line(nested: bool, lengths: tuple[int, int], boundary: Any, tmp_path: Path) -> None:
    """Also where a level becomes no longer, and its last cell alone changes."""
    first, more = lengths
    source = tmp_path / "s.zarr"
    target = tmp_path / "p.zarr" if nested else source
    nczarr.write(lines(0, first), source, "zarr3", chunks={"y": 3, "x": 2})
    nczarr.pyramid(source, target, "zarr3" if nested else None, levels=3, boundary=boundary, along="y")
    for _ in range(2):
        nczarr.append(lines(first, more), source, along="y")
        first += more
        nczarr.pyramid(source, target, update=True)
        nczarr.pyramid(
            lines(0, first), tmp_path / "whole.zarr", "zarr3", levels=3, boundary=boundary, along="y", overwrite=True
        )
        found, expected = nczarr.open(target), nczarr.open(tmp_path / "whole.zarr")
        for level in (1, 2, 3):
            for name in ("t", "y", "y_bnds"):
                path = f"/{level}/{name}"
                assert np.array_equal(found[path][:], expected[path][:]), path


def test_what_was_computed_twice_is_not_verified(tmp_path: Path) -> None:
    nczarr.write(lines(0, 9), tmp_path / "s.zarr", "zarr3", chunks={"y": 3})
    nczarr.pyramid(tmp_path / "s.zarr", levels=1)
    nczarr.append(lines(9, 1), tmp_path / "s.zarr", along="y")
    with pytest.raises(CompileError, match="along one dimension that is not reduced"):
        nczarr.pyramid(tmp_path / "s.zarr", update=True, verify=True)


def test_a_source_that_is_shorter_now(tmp_path: Path) -> None:
    nczarr.pyramid(lines(0, 9), tmp_path / "p.zarr", "zarr3", levels=1)
    with pytest.raises(CompileError, match="has the length 9, and would have 8"):
        nczarr.pyramid(lines(0, 8), tmp_path / "p.zarr", update=True)
