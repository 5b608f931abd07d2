"""Migrated stores of other writers: zarr-python, xarray and tensorstore read the values that they read before."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command, shared_folder

pytestmark = pytest.mark.peer

FOLDER = shared_folder()
STORES = [] if FOLDER is None else sorted(FOLDER.glob("data/nczarr-stores/*/store"))
REFUSED = {("py-filters", "nczarr3"), ("py-filters", "zarr3"), ("py-strings", "zarr3")}
"""szip, attributes that plain JSON does not hold, and strings that would be chars."""


def arrays(group: Any, zarr: ModuleType, path: str = "") -> Iterator[tuple[str, Any]]:
    """Arrays of zarr-python by path; nothing of a group that it refuses."""
    if isinstance(group, zarr.Array):
        yield path, group
        return
    try:
        members = sorted(group.members())
    except ValueError:
        return
    for name, member in members:
        yield from arrays(member, zarr, f"{path}/{name}")


def values(path: Path, zarr: ModuleType) -> dict[str, np.ndarray[Any, Any]]:
    """Values that zarr-python reads; it refuses some arrays that libnetcdf writes."""
    found = {}
    for name, array in arrays(zarr.open(path, mode="r"), zarr):
        try:
            found[name] = np.asarray(array[...])
        except (ValueError, TypeError):
            continue
    return found


def same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether values have the same bits, but for the order of bytes and the shape that libnetcdf gives a scalar."""
    if one.dtype.hasobject or other.dtype.hasobject:
        return [str(each) for each in one.ravel().tolist()] == [str(each) for each in other.ravel().tolist()]
    native = one.astype(one.dtype.newbyteorder("=")), other.astype(other.dtype.newbyteorder("="))
    return native[0].tobytes() == native[1].tobytes() and one.size == other.size


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", ["zarr3", "nczarr3"])
@pytest.mark.parametrize("source", STORES, ids=[path.parent.name for path in STORES])
def test_corpus(source: Path, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    path = tmp_path / "a.zarr"
    shutil.copytree(source, path)
    refused = (source.parent.name, form) in REFUSED
    before = None if refused else nczarr.digest(path)
    try:
        old = values(path, zarr)
    except ValueError:  # the document is not valid JSON
        old = {}
    ran = run_command("migrate", str(path), "--to", form)
    assert ran.status == (1 if refused else 0), ran.err
    if refused:
        return
    assert not list(path.rglob(".z*"))
    if "lost-annotations" not in ran.err:
        assert nczarr.digest(path) == before
    new = values(path, zarr)
    assert old.keys() <= new.keys()
    assert [name for name in old if not same(old[name], new[name])] == []


ARCHIVES = [] if FOLDER is None else sorted(FOLDER.glob("data/netcdf-c/nczarr_test/*.zip"))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
@pytest.mark.parametrize("source", ARCHIVES, ids=[path.name for path in ARCHIVES])
def test_archives_of_the_netcdf_library(
    source: Path, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """Old dialects among them get those of the present library, which reads them; the undo file restores every byte."""
    netcdf = peer("netCDF4")
    path = tmp_path / "a.zip"
    shutil.copy(source, path)
    before = run_command("digest", str(path))  # an array of `ref_noshape` has a chunk of another length
    ran = run_command("migrate", str(path), "--to", form)
    assert ran.status == 0, ran.err
    assert run_command("digest", str(path)).out == before.out
    if form == "nczarr" and before.status == 0:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / "x")
        root = min((each.parent for each in (tmp_path / "x").glob("**/.zgroup")), key=lambda each: len(each.parts))
        with netcdf.Dataset(f"file://{root}#mode=nczarr,file") as dataset, nczarr.open(path) as ours:
            dataset.set_auto_maskandscale(False)
            assert set(dataset.variables) == {name for name in ours.variables if "/" not in name}
            for name, variable in dataset.variables.items():
                if variable.dtype.kind in "iuf":
                    assert same(np.asarray(variable[:]), np.asarray(ours[name][:])), name
    undo = run_command("migrate", str(path), "--undo", f"{path}.undo-1.json")
    assert undo.status == 0, undo.err
    assert path.read_bytes() == source.read_bytes()


def test_codecs_in_order_f(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """zarr-python and tensorstore decode the chunks that zarr-python encoded for Zarr v2."""
    zarr, tensorstore = peer("zarr"), peer("tensorstore")
    numcodecs = peer("numcodecs")
    content = np.random.default_rng(0).integers(-99, 99, (7, 5, 3)).astype(">f8")
    chains: dict[str, dict[str, Any]] = {
        "delta": {"filters": [numcodecs.Delta(">f8", ">f4"), numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib(3)},
        "scaled": {"filters": [numcodecs.FixedScaleOffset(5, 10, ">f8", "<i4")], "compressors": numcodecs.LZ4()},
        "blosc": {"compressors": numcodecs.Blosc(shuffle=-1)},
        "zstd": {"compressors": numcodecs.Zstd(3)},
        "gzip": {"compressors": numcodecs.GZip(3)},
        "plain": {"compressors": None},
    }
    root = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    for name, chain in chains.items():
        array = root.create_array(
            name, shape=content.shape, chunks=(3, 2, 3), dtype=content.dtype, order="F", fill_value=0, **chain
        )
        array[...] = content
    record = np.array([(1, 2.5), (3, -4.5)], [("a", "<i4"), ("b", "<f8")])
    root.create_array("record", shape=(2,), chunks=(1,), dtype=record.dtype, fill_value=None)[...] = record
    old = {name: array[...] for name, array in root.arrays()}
    assert run_command("migrate", str(tmp_path / "a.zarr"), "--to", "zarr3").status == 0
    new = zarr.open_group(tmp_path / "a.zarr", mode="r")
    assert new.metadata.zarr_format == 3
    for name in old:
        assert np.array_equal(new[name][...], old[name]), name
    for name in ("blosc", "zstd", "gzip", "plain"):
        place = {"driver": "file", "path": str(tmp_path / "a.zarr" / name)}
        read = tensorstore.open({"driver": "zarr3", "kvstore": place}).result()
        assert np.array_equal(read.read().result(), content), name


@pytest.mark.parametrize("consolidated", [True, False])
def test_stores_of_xarray(tmp_path: Path, peer: Callable[[str], ModuleType], consolidated: bool) -> None:
    """A dataset of xarray has the same variables, masks, times and attributes after a migration with `--mask-fill`."""
    xarray = peer("xarray")
    times = np.array(["2020-01-01", "2020-01-02", "NaT"], "M8[ns]")
    dataset = xarray.Dataset(
        {
            "temp": (("time", "x"), np.array([[1, np.nan], [3, 4], [5, 6]], "f4"), {"units": "K"}),
            "count": (("time",), np.array([1, np.nan, 3]), {"nested": {"a": [1, 2]}}),
            "text": (("x",), np.array(["a", "bc"], object)),
            "flag": (("x",), np.array([True, False])),
        },
        {"time": times, "x": [10, 20]},
        {"title": "t", "empty": []},
    )
    encoding = {"count": {"dtype": "i2", "_FillValue": -9}, "temp": {"chunks": (2, 1), "_FillValue": np.float32(1e20)}}
    path = tmp_path / "a.zarr"
    dataset.to_zarr(path, zarr_format=2, encoding=encoding, consolidated=consolidated)
    old = xarray.open_zarr(path, consolidated=consolidated).load()
    ran = run_command("migrate", str(path), "--to", "zarr3", "--mask-fill", "--strict")
    assert ran.status == 0, ran.err
    new = xarray.open_zarr(path, consolidated=consolidated, zarr_format=3).load()
    xarray.testing.assert_identical(new, old)
    assert new["count"].encoding["_FillValue"] == -9
    assert ("consolidated_metadata" in json.loads((path / "zarr.json").read_text())) is consolidated


@pytest.mark.slow
def test_ten_thousand_arrays(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    path, number = tmp_path / "a.zarr", 10_000
    path.mkdir()
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    for index in range(number):
        (path / f"v{index}").mkdir()
        document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C"}
        (path / f"v{index}/.zarray").write_text(json.dumps({**document, "compressor": None, "filters": None}))
        (path / f"v{index}/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    ran = run_command("migrate", str(path), "--to", "zarr3", "--consolidated")
    assert ran.status == 0, ran.err
    assert "10001 added, 20001 removed" in ran.err
    assert len(list(zarr.open_group(path, mode="r").array_keys())) == number
