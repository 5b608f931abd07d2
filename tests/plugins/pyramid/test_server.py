"""Maps of the server: drawn from the level that fits, in both layouts, and from level 0 in a small part."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.support.serving import serving

pytestmark = pytest.mark.plugin("serve")

SIDE = 1500


@pytest.mark.parametrize("nested", [False, True])
def test_the_fitting_level_is_drawn(nested: bool, tmp_path: Path) -> None:
    """The level is named, its means are the values, and a part is drawn from smaller cells."""
    xr = pytest.importorskip("xarray")
    values = np.add.outer(np.arange(float(SIDE)), np.arange(float(SIDE)))
    dataset = xr.Dataset({"v": (("y", "x"), values)}, {"y": np.arange(float(SIDE)), "x": np.arange(float(SIDE))})
    dataset.to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False, encoding={"v": {"chunks": (250, 250)}})
    target = tmp_path / ("p.zarr" if nested else "a.zarr")
    nczarr.pyramid(tmp_path / "a.zarr", target, "zarr3" if nested else None, levels=3)
    base = "0/" if nested else ""
    with serving(tmp_path) as served:
        page = served.get(f"/view/{target.name}?var={base}v")
        assert "Larger cells are shown: those of <code>/2/v</code>" in page.text
        members = json.loads(served.get(f"/view/{target.name}?var={base}v&format=json").text)
        assert members["level"] == "/2/v"
        means = values.reshape(SIDE // 4, 4, SIDE // 4, 4).mean((1, 3))
        assert np.array_equal(members["values"], means)
        part = served.get(f"/view/{target.name}?var={base}v&a0=0&b0=99&a1=0&b1=99&format=json")
        assert "level" not in json.loads(part.text)
        assert np.array_equal(json.loads(part.text)["values"], values[:100, :100])
