"""Data frames and series of pandas: written as what their `to_xarray` returns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr

pd = pytest.importorskip("pandas")
pytest.importorskip("xarray")


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_data_frame_is_a_dataset(suffix: str, tmp_path: Path) -> None:
    times = pd.date_range("2000-01-01", periods=3, name="time")
    frame = pd.DataFrame({"t": [1.5, np.nan, 3.0], "n": [1, 2, 3], "site": ["a", "b", "ü"]}, index=times)
    nczarr.write(frame, tmp_path / f"frame{suffix}")
    found = nczarr.open(tmp_path / f"frame{suffix}")
    assert set(found) == {"/t", "/n", "/site", "/time"}
    assert found["n"][:].tolist() == [1, 2, 3]
    assert np.array_equal(found["t"][:], frame["t"], equal_nan=True)
    assert [str(each) for each in found["site"][:]] == ["a", "b", "ü"]
    assert found["time"].shape == (3,)


def test_a_series_is_a_dataset(tmp_path: Path) -> None:
    series = pd.Series([1, 2], index=pd.Index([10, 20], name="x"), name="v")
    nczarr.write(series, tmp_path / "series.nc")
    found = nczarr.open(tmp_path / "series.nc")
    assert (found["v"][:].tolist(), found["x"][:].tolist()) == ([1, 2], [10, 20])
    assert nczarr.diff(series, found) == []


def test_another_object_of_pandas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not Index"):
        nczarr.write(pd.Index([1, 2]), tmp_path / "index.nc")
