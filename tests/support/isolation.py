"""Calls of the libraries that tests see: of files that are read here, by this process."""

from __future__ import annotations

import pytest

from nczarr.formats.netcdf4 import frontend, isolation


def read_by_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the libraries read the header of every netCDF-4 file."""
    monkeypatch.setattr(frontend, "read_header", lambda *arguments: None)


def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process call the libraries, for every file, so that a test sees the calls."""
    monkeypatch.setattr(isolation, "_apart", True)
    read_by_library(monkeypatch)
