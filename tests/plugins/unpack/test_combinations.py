"""Files with packings of their own as one dataset: joined, appended, and named by aggregation variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.support.packings import packed

pytestmark = pytest.mark.plugin("combine")


def sources(tmp_path: Path) -> list[Path]:
    """Files with packings of their own."""
    more = "temp:valid_range = -100s, 100s ;"
    days = [
        packed("0.01", "292.17", more, "0, 1", "1, _, 3, 4, 5, 6"),
        packed("0.0173", "288.44", more, "2, 3", "-100, 7, 8, 9, _, 100"),
        packed("0.01", "288.75", more, "4", "1, 2, 3"),
    ]
    for number, day in enumerate(days):
        nczarr.write(day, tmp_path / f"day{number}.nc")
    return [tmp_path / f"day{number}.nc" for number in range(len(days))]


@pytest.mark.parametrize("target", ["all.zarr", "all.nc", "all.json", "all.nca"])
def test_files_with_packings_of_their_own_join(tmp_path: Path, target: str) -> None:
    days = sources(tmp_path)
    with pytest.raises(nczarr.CompileError, match=r"`repack=True`, or write the numbers .* with `unpack=True`"):
        nczarr.combine(days, tmp_path / target, along="t")
    done = nczarr.combine(days, tmp_path / target, along="t", unpack=True, verify=True)
    assert [one.message for one in done.diagnostics] == ["`/temp` is unpacked without `valid_range`"]
    wanted = []
    for day in days:
        nczarr.convert(day, tmp_path / "one.nc", unpack=True, overwrite=True)
        wanted.append(nczarr.open(tmp_path / "one.nc")["temp"][...])
    made = nczarr.open(tmp_path / target)["temp"]
    assert np.array_equal(made[...], np.concatenate(wanted), equal_nan=True)
    assert set(made.attributes) == {"_FillValue"}


def test_single_precision_joins_in_an_aggregation_file(tmp_path: Path) -> None:
    """Fragments are computed in the type of the result: rounding twice would give other numbers."""
    days = [packed("0.01f", "292.17f"), packed("0.0173f", "288.44f", times="2, 3")]
    for number, day in enumerate(days):
        nczarr.write(day, tmp_path / f"day{number}.nc")
    paths = [tmp_path / f"day{number}.nc" for number in range(2)]
    nczarr.combine(paths, tmp_path / "all.nca", along="t", unpack=True, verify=True)
    made = nczarr.open(tmp_path / "all.nca")["temp"]
    assert made.dtype == np.dtype("f4")
    assert made[3, 2] == np.float32(6) * np.float32(0.0173) + np.float32(288.44)


def test_cells_beyond_the_limits_of_a_fragment_are_missing_in_an_aggregation_file(tmp_path: Path) -> None:
    more = "temp:valid_max = 4s ;"
    for number, times in enumerate(("0, 1", "2, 3")):
        nczarr.write(packed(offset=f"27{number}.", more=more, times=times), tmp_path / f"day{number}.nc")
    paths = [tmp_path / f"day{number}.nc" for number in range(2)]
    nczarr.combine(paths, tmp_path / "all.nca", along="t", unpack=True)
    made = nczarr.open(tmp_path / "all.nca")["temp"][...]
    assert np.isnan(made[1, 1:]).all()
    assert made[3, 0] == 4 * 0.01 + 271
    with pytest.raises(nczarr.CompileError, match="unequal-target"):
        nczarr.combine(paths, tmp_path / "again.nca", along="t", unpack=True, verify=True)


@pytest.mark.parametrize("target", ["all.zarr", "all.nc"])
def test_packed_sources_extend_an_unpacked_target(tmp_path: Path, target: str) -> None:
    days = sources(tmp_path)
    nczarr.combine(days[:1], tmp_path / target, along="t", unpack=True)
    with pytest.raises(nczarr.CompileError, match="differs"):
        nczarr.append(days[1:], tmp_path / target, along="t")
    nczarr.append(days[1:], tmp_path / target, along="t", unpack=True, verify=True)
    nczarr.combine(days, tmp_path / "whole.zarr", along="t", unpack=True)
    made, whole = (nczarr.open(tmp_path / name)["temp"][...] for name in (target, "whole.zarr"))
    assert np.array_equal(made, whole, equal_nan=True)


def test_a_packed_target_stays_packed(tmp_path: Path) -> None:
    days = sources(tmp_path)
    nczarr.convert(days[0], tmp_path / "all.zarr")
    with pytest.raises(nczarr.CompileError, match=r"the type of `/temp` differs: short in `[^`]*all.zarr`, double in"):
        nczarr.append(days[1], tmp_path / "all.zarr", along="t", unpack=True)
    assert nczarr.open(tmp_path / "all.zarr")["temp"].dtype == np.dtype("i2")
