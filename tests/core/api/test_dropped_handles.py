"""A handle that is dropped without being closed leaves no file open."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

import nczarr

CYCLES = 10


@pytest.mark.sampled(18)
@pytest.mark.parametrize("suffix", ["nc", "zip", "json", "zarr", "ncs", "awkd", "dmrpp"])
@pytest.mark.parametrize("way", ["handle", "variable", "cycle"])
def test_descriptors_stay_few(suffix: str, way: str, tmp_path: Path) -> None:
    (tmp_path / "t.cdl").write_text("netcdf t { dimensions: x = 3 ; variables: int v(x) ; data: v = 1, 2, 3 ; }")
    nczarr.convert(tmp_path / "t.cdl", tmp_path / "s.nc", kind="nc4")
    target = tmp_path / f"t.{suffix}"
    nczarr.convert(tmp_path / "s.nc", target)

    def drop() -> None:
        handle = nczarr.open(target)
        variable = handle["/v"]
        if way == "variable":
            del handle
        assert variable[...].tolist() == [1, 2, 3]
        if way == "cycle":
            circle: list[object] = [variable]
            circle.append(circle)

    drop()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(CYCLES):
        drop()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) - before < 3
