"""xarray's own tests of backends and of trees: written by `nczarr.write`, read by the engine `nczarr`.

`test_xarray_suite.py` runs them in processes of their own: they import all that xarray may use.
Each class says where a file or store goes. `EXPECTED` lists the tests that fail, with their reasons: they test
something that `nczarr.write` or the engine does not offer, or demand what another library does.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nczarr

xr = importlib.import_module("xarray")
suite = importlib.import_module("xarray.tests.test_backends")
tree_suite = importlib.import_module("xarray.tests.test_backends_datatree")
_fixtures = importlib.import_module("xarray.tests.conftest")
simple_datatree, create_test_datatree = _fixtures.simple_datatree, _fixtures.create_test_datatree
time_unit, use_dask = _fixtures.time_unit, _fixtures.use_dask

pytestmark = pytest.mark.filterwarnings("ignore")


THEIR_WORDS = {
    "bad-name": "must be a string or None; '' : string must be length 1 or more",
    "unknown-encoding": "unexpected encoding, which must be castable",
    "undefined-group": "unexpected encoding group",
    "slash-in-name": "Forward slashes '/' are not allowed",
    "undefined-dimension": "Unlimited dimension(s) are declared in 'unlimited_dims-kwarg'",
}
"""Words of xarray's errors, which its tests look for, by our codes."""


def written(given: Any, path: Any = None, mode: str = "w", form: str | None = None, **options: Any) -> None:
    """Write a dataset or tree with the arguments of `to_netcdf` and `to_zarr` that have a meaning here."""
    for name in ("engine", "format", "invalid_netcdf", "auto_complex", "zarr_format", "write_inherited_coords"):
        options.pop(name, None)
    if path is None or mode not in ("w", "w-") or not options.pop("compute", True):
        raise NotImplementedError("nczarr.write makes new targets, at once")
    more = {name: options.pop(name) for name in ("encoding", "unlimited_dims", "group") if name in options}
    kind = None if form else "nc4"
    options.setdefault("allow_loss", ["lost-nil"])  # xarray writes missing texts as empty ones
    try:
        told = nczarr.write(given, os.fspath(path), form or "netcdf", kind=kind, overwrite=True, **more, **options)
        for each in told:
            if each.code == "unused-encoding":
                warnings.warn(
                    f"Unlimited dimension(s) are declared in 'dataset.encoding': {each.message}", stacklevel=2
                )
    except nczarr.CompileError as error:
        code = next(each.code for each in error.diagnostics if each.severity.value == "error")
        for kind_of_error in (NotImplementedError, TypeError):  # of xarray's coders
            if f"{kind_of_error.__name__}: " in str(error):
                raise kind_of_error(str(error)) from error
        if code == "bad-name" and "is empty" not in str(error):
            raise TypeError(f"{THEIR_WORDS[code]}: {error}") from error
        if code == "undefined-variable":
            raise KeyError(str(error)) from error
        raise ValueError(f"{THEIR_WORDS.get(code, '')}: {error}") from error


class Written:
    """Writing and reading of one kind of target."""

    engine = "nczarr"
    form: str | None = None

    @pytest.fixture(autouse=True)
    def _writers(self, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
        """Let `to_netcdf` of datasets and trees write by nczarr, in tests that call it themselves."""
        for name, reason in EXPECTED[type(self).__name__].items():
            if request.node.name == name or request.node.name.startswith(name + ("-" if "[" in name else "[")):
                request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

        def to_netcdf(given: Any, path: Any = None, mode: str = "w", **options: Any) -> None:
            written(given, path, mode, self.form, **options)

        for kind in (xr.Dataset, xr.DataArray, xr.DataTree):
            monkeypatch.setattr(kind, "to_netcdf", to_netcdf)

    def save(self, dataset: Any, path: Any, **options: Any) -> None:
        written(dataset, path, form=self.form, **options)

    @contextlib.contextmanager
    def open(self, path: Any, **options: Any) -> Iterator[Any]:
        with xr.open_dataset(path, engine=self.engine, **options) as dataset:
            yield dataset

    @contextlib.contextmanager
    def roundtrip(
        self, data: Any, save_kwargs: Any = None, open_kwargs: Any = None, allow_cleanup_failure: bool = False
    ) -> Iterator[Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ("t.zarr" if self.form else "t.nc")
            self.save(data, path, **(save_kwargs or {}))
            with self.open(path, **(open_kwargs or {})) as found:
                yield found


class TestNetCDF4(Written, suite.NetCDF4Base):
    pass


class Lazy(Written):
    """Writing of dask arrays."""

    def save(self, dataset: Any, path: Any, **options: Any) -> None:
        super().save(dataset.chunk(), path, **options)


class TestNetCDF4Lazy(Lazy, suite.NetCDF4Base):  # type: ignore[name-defined]
    pass


class TestNczarrLazy(Lazy, suite.CFEncodedBase):  # type: ignore[name-defined]
    form = "nczarr"


class TestClassicNetCDF(Written, suite.NetCDF3Only, suite.CFEncodedBase):
    form = "netcdf3"


class TestNczarr(Written, suite.CFEncodedBase):
    form = "nczarr"


class TestZarr2(Written, suite.CFEncodedBase):
    form = "zarr2"


class TestZarr3(Written, suite.CFEncodedBase):
    form = "zarr3"


class TestNetCDF4Tree(Written, tree_suite.NetCDFIOBase):
    pass


class TestNczarrTree(Written, tree_suite.NetCDFIOBase):
    form = "nczarr"


_APPENDS = "nczarr.write makes new targets and does not append to any (mode `a`)"
_STORES = "the test writes by a data store of xarray, which is a class of its own backends"
_LATER = "nczarr.write writes at once, to a path: neither `compute=False` nor a buffer in memory"
_UNLIMITED = "Zarr has no unlimited dimensions; NCZarr has"
_FLOATS = "float32 attributes are float64 in Zarr's JSON; xarray skips this for its own Zarr backend as well"

_COMMON = {
    "test_append_write": _APPENDS,
    "test_append_overwrite_values": _APPENDS,
    "test_append_with_invalid_dim_raises": _APPENDS,
    "test_write_store": _STORES,
}
_TREES = {
    "test_compute_false": _LATER,
    "test_roundtrip_via_memoryview": _LATER,
    "test_to_memoryview_compute_false": _LATER,
}
_PLAIN_ZARR = {
    **_COMMON,
    "test_encoding_unlimited_dims": _UNLIMITED,
    "test_roundtrip_mask_and_scale[dtype1": _FLOATS,
}

EXPECTED: dict[str, dict[str, str]] = {
    "TestNetCDF4": {
        **_COMMON,
        "test_write_groups": _APPENDS,
        "test_child_group_with_inconsistent_dimensions": _APPENDS,
    },
    "TestNetCDF4Lazy": {
        **_COMMON,
        "test_write_groups": _APPENDS,
        "test_child_group_with_inconsistent_dimensions": _APPENDS,
    },
    "TestNczarrLazy": _COMMON,
    "TestClassicNetCDF": _COMMON,
    "TestNczarr": _COMMON,
    "TestZarr2": _PLAIN_ZARR,
    "TestZarr3": {
        **_PLAIN_ZARR,
        "test_roundtrip_bytes_with_fill_value": "a fill value NUL of characters is the default of Zarr v3, not an "
        "attribute; xarray expects the failure of its own Zarr backend as well",
    },
    "TestNetCDF4Tree": _TREES,
    "TestNczarrTree": {
        **_TREES,
        "test_netcdf_encoding": "a store has `compressors`, not the key `zlib` of netCDF4-python",
        "test_no_redundant_dimensions": "the test opens the target as an HDF5 file",
    },
}
"""Failing tests by class and beginning of the name, and why."""
