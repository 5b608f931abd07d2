"""Markers of tests of xarray."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Know the markers of xarray's test suite, which test_xarray_suite.py runs."""
    for marker in ("flaky", "network", "skip_if_param", "skip_with_dask_array"):
        config.addinivalue_line("markers", f"{marker}: of xarray's own tests")
