"""References that we make, opened by other libraries in their own ways: xarray, zarr-python, fsspec's lazy mapper."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import run_command, shared_folder

pytestmark = pytest.mark.peer

Peer = Callable[[str], ModuleType]
SHARED = shared_folder()
FORMS = {"zarr2": 2, "nczarr": 2, "zarr3": 3, "nczarr3": 3}


@pytest.fixture
def source(tmp_path: Path, peer: Peer) -> Path:
    """A file with coordinates, packed values, texts, filters in netCDF's order, chunks that were never written."""
    path = tmp_path / "a.nc"
    with peer("netCDF4").Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 7)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = np.arange(6)
        file.createVariable("x", "f4", ("x",))[:] = np.linspace(0, 1, 7)
        packed = file.createVariable(
            "packed", "i2", ("time", "x"), zlib=True, fletcher32=True, chunksizes=(2, 7), fill_value=-9
        )
        packed.scale_factor, packed.add_offset = 0.5, 10.0
        packed.set_auto_maskandscale(False)
        packed[:4] = np.arange(28).reshape(4, 7)
        file.createVariable("sparse", "f4", ("time", "x"), chunksizes=(3, 7))[:3] = 1.5
        file.createVariable("name", str, ("x",))[:] = np.array([f"station {each}" for each in range(7)], object)
        group = file.createGroup("g")
        group.createVariable("inside", "i4", ("x",))[:] = np.arange(7)
    return path


def made(source: Path, name: str, metadata: str, *options: str) -> Path:
    target = source.with_name(name)
    command = ["convert", str(source), str(target), "--to", "reference", "--metadata", metadata, "--allow-loss", "all"]
    done = run_command(*command, *options)
    assert done.status == 0, done.err
    return target


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize("metadata", FORMS)
@pytest.mark.parametrize("options", [(), ("--inline", "0"), ("--inline", "1000000")])
def test_xarray_opens_references(metadata: str, options: tuple[str, ...], source: Path, peer: Peer) -> None:
    xarray = peer("xarray")
    peer("zarr")
    document = made(source, "refs.json", metadata, *options)
    with (
        xarray.open_dataset(source, engine="netcdf4") as wanted,
        xarray.open_dataset(
            "reference://", engine="zarr", consolidated=False, zarr_format=FORMS[metadata],
            storage_options={"fo": str(document), "remote_protocol": "file"},
        ) as found,
    ):  # fmt: skip
        wanted.load()
        found.load()
        assert set(found.variables) == set(wanted.variables)
        for name in wanted.variables:
            assert found[name].dims == wanted[name].dims
            if name == "name":
                assert [_text(each) for each in found[name].values] == wanted[name].values.tolist()
            else:  # of Zarr v2 xarray takes every fill value for `_FillValue`
                first = slice(None, 3 if name == "sparse" else None)
                np.testing.assert_array_equal(found[name].values[first], wanted[name].values[first])
        assert found.packed.dtype.kind == "f"


@pytest.mark.parametrize("metadata", FORMS)
def test_zarr_opens_references_by_url(metadata: str, source: Path, peer: Peer) -> None:
    zarr = peer("zarr")
    document = made(source, "refs.json", metadata)
    options: dict[str, Any] = {"fo": str(document), "remote_protocol": "file"}
    group = zarr.open_group("reference://", mode="r", zarr_format=FORMS[metadata], storage_options=options)
    assert group["g/inside"][...].tolist() == list(range(7))
    assert group["packed"][...].tolist() == [*np.arange(28).reshape(4, 7).tolist(), *([-9] * 7,) * 2]
    assert group["sparse"][3:].ravel().tolist() == [np.float32(9.969209968386869e36)] * 21


@pytest.mark.parametrize("metadata", ["zarr2", "nczarr"])
@pytest.mark.parametrize("inline", ["0", "64", "100000"])
def test_the_lazy_mapper_reads_parquet_references(
    metadata: str, inline: str, source: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    zarr = peer("zarr")
    peer("pyarrow")
    peer("pandas")
    fsspec = peer("fsspec")
    reference = peer("fsspec.implementations.reference")
    mapper = functools.partial(reference.LazyReferenceMapper, engine="pyarrow")
    monkeypatch.setattr(reference, "LazyReferenceMapper", mapper)
    folder = made(source, "refs.parq", metadata, "--inline", inline)
    found = fsspec.filesystem(
        "reference", fo=str(folder), remote_protocol="file", asynchronous=True, skip_instance_cache=True
    )
    group = zarr.open_group(zarr.storage.FsspecStore(found, read_only=True, path=""), mode="r", zarr_format=2)
    assert group["packed"][:4].tolist() == np.arange(28).reshape(4, 7).tolist()
    assert group["time"][...].tolist() == list(range(6))
    assert group["g/inside"][...].tolist() == list(range(7))
    assert group["sparse"][:3].ravel().tolist() == [1.5] * 21
    assert [_text(each) for each in group["name"][...]] == [f"station {each}" for each in range(7)]


def test_relative_targets_are_found_from_their_folder(
    source: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    zarr = peer("zarr")
    document = made(source, "refs.json", "zarr2", "--relative", "--inline", "0")
    assert str(source.parent) not in document.read_text()
    monkeypatch.chdir(source.parent)
    options = {"fo": str(document), "remote_protocol": "file"}
    group = zarr.open_group("reference://", mode="r", zarr_format=2, storage_options=options)
    assert group["time"][...].tolist() == list(range(6))
