"""Reading of HDF5 files in the process of the test."""

from __future__ import annotations

import pytest

from nczarr.formats.netcdf4 import isolation


def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process call the libraries, so that a test sees the calls."""
    monkeypatch.setattr(isolation, "_apart", True)
