"""Labels of dimensions, which HDF5 has beside scales, are an attribute for the netCDF library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import run_command


@pytest.mark.parametrize("suffix", ["nc", "zarr", "ncs", "awkd", "cdl"])
@pytest.mark.parametrize("labels", [("row", "column"), ("row", "")])
def test_labels_come_back(
    labels: tuple[str, str], suffix: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    h5py = peer("h5py")
    source, between, back = tmp_path / "s.h5", tmp_path / f"t.{suffix}", tmp_path / "back.nc"
    with h5py.File(source, "w") as file:
        made = file.create_dataset("v", (2, 3), "<i4")
        for dimension, label in zip(made.dims, labels, strict=True):
            if label:
                dimension.label = label
    for one, other in ((source, between), (between, back)):
        done = (
            run_command("convert", str(one), str(other), "--to", "netcdf4")
            if other is back
            else run_command("convert", str(one), str(other))
        )
        assert (done.status, "warning" in done.err) == (0, False), done.err
    with h5py.File(back) as file:
        assert tuple(dimension.label for dimension in file["v"].dims) == labels
