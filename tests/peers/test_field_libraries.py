"""Stores of anndata, ome-zarr and xarray, converted from Zarr to Zarr, are read by their newest releases as before."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.peers import SCRIPTS, newest_python

RESULTS = 2 * 4 + 5 * 3
"""Two images in four formats; two stores of anndata, its archive, and two of xarray in three."""


@pytest.mark.long
def test_libraries_read_converted_stores(shared: Path, tmp_path: Path) -> None:
    script, archive = SCRIPTS / "field_libraries.py", shared / "data" / "zarr-field" / "anndata__adata.zarr.zip"
    command = [newest_python(), str(script), str(tmp_path), str(archive)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == f"{RESULTS} results\n", done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
