"""The xarray engine beside xarray's own: netCDF files, what we write of them, and Zarr stores of others."""

from __future__ import annotations

import asyncio
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from tests.conftest import shared_folder
from tests.support.peers import corpus, exactness
from tests.support.peers.exactness import Subject
from tests.support.peers.same_xarray import as_netcdf4_has_it, differences, opened, repeated_axes

pytestmark = pytest.mark.peer

REAL = exactness.real_folder()
FILES = list(exactness.real(REAL)) if REAL is not None else []
SMALL = [subject for subject in FILES if subject.path.stat().st_size < 200_000]
SHARED = shared_folder()
TEXTS = corpus.small(corpus.files(SHARED)) if SHARED is not None else []
FORMS = (
    ("zarr2", "a.zarr"),
    ("zarr3", "b.zarr"),
    ("nczarr", "c.zarr"),
    ("nczarr3", "d.zarr"),
    ("reference", "e.json"),
    ("reference", "f.parq"),
    ("ncstream", "g.ncs"),
)

LARGEST = 100_000_000
"""Bytes of a dataset of the corpus that are loaded."""

needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
needs_texts = pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")


@pytest.fixture(scope="module")
def xr(peer: Callable[[str], ModuleType]) -> Iterator[ModuleType]:
    for name in ("netCDF4", "zarr", "dask"):
        peer(name)
    return peer("xarray")


def assert_same(xr: ModuleType, path: Path) -> None:
    """A file as netCDF4's engine has it: each group, the tree, in chunks, pickled, and loaded asynchronously."""
    known = as_netcdf4_has_it(xr.open_groups, path)
    if known is None:
        pytest.skip("netCDF4's engine cannot read it")
    theirs, options = known
    ours = opened(xr.open_groups, path, "nczarr", **options)
    assert list(ours) == list(theirs)
    for group, wanted in theirs.items():
        excused = repeated_axes(wanted)
        assert differences(ours[group], wanted, excused=excused) == []
        for again in other_ways(xr, path, group, options):
            assert differences(again, wanted, encoding=False, excused=excused) == []
    try:
        tree = opened(xr.open_datatree, path, "netcdf4", **options)
    except ValueError:
        return  # dimensions of one name and several lengths: test_a_hidden_dimension_has_another_name
    mine = opened(xr.open_datatree, path, "nczarr", **options)
    assert mine.groups == tree.groups
    for group in tree.groups:
        excused = repeated_axes(tree[group])
        assert differences(mine[group].to_dataset(), tree[group].to_dataset(), excused=excused) == []


def other_ways(xr: ModuleType, path: Path, group: str, options: dict[str, Any]) -> Iterator[Any]:
    """The group in chunks, after a pickle, and loaded asynchronously.

    xarray joins chars in an array that it cannot load asynchronously.
    """
    chunked = opened(xr.open_dataset, path, "nczarr", group=group, chunks={}, **options)
    yield pickle.loads(pickle.dumps(chunked)).compute(scheduler="sync")
    lazy = opened(xr.open_dataset, path, "nczarr", group=group, **options)
    yield pickle.loads(pickle.dumps(lazy))
    chars = [name for name, each in lazy.variables.items() if "char_dim_name" in each.encoding]
    asyncio.run(lazy.drop_vars(chars).load_async())
    yield lazy


@needs_files
@pytest.mark.parametrize("subject", SMALL[3::9], ids=lambda subject: subject.name)
def test_a_real_file(subject: Subject, xr: ModuleType) -> None:
    assert_same(xr, subject.path)


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("subject", FILES, ids=lambda subject: subject.name)
def test_every_real_file(subject: Subject, xr: ModuleType) -> None:
    assert_same(xr, subject.path)


def assert_same_in_each_form(xr: ModuleType, path: Path, folder: Path) -> None:
    """Compare each format that is written of a file with the file in the netCDF4 engine."""
    known = as_netcdf4_has_it(xr.open_groups, path)
    if known is None:
        pytest.skip("netCDF4's engine cannot read it")
    theirs, options = known
    for form, name in FORMS:
        nczarr.convert(path, folder / name, format=form, allow_loss=("all",))
        ours = opened(xr.open_groups, folder / name, "nczarr", **options)
        assert set(ours) == set(theirs)
        for group, wanted in theirs.items():
            again = ours[group]
            excused = repeated_axes(wanted)
            for each in wanted.variables:
                if not excused(each):
                    assert again[each].variable.identical(wanted[each].variable), (name, group, each)
            assert set(again.variables) == set(wanted.variables)
            assert set(again.coords) == set(wanted.coords)


@needs_files
@pytest.mark.parametrize("subject", SMALL[4::10], ids=lambda subject: subject.name)
def test_what_we_write_of_a_real_file(subject: Subject, xr: ModuleType, tmp_path: Path) -> None:
    assert_same_in_each_form(xr, subject.path, tmp_path)


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("subject", FILES, ids=lambda subject: subject.name)
def test_what_we_write_of_every_real_file(subject: Subject, xr: ModuleType, tmp_path: Path) -> None:
    assert_same_in_each_form(xr, subject.path, tmp_path)


@needs_texts
@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", corpus.cases(TEXTS))
def test_the_corpus(path: Path, xr: ModuleType, tmp_path: Path) -> None:
    """Each text, compiled to a netCDF file: every group opens, and has what netCDF4's engine has of it.

    netCDF4-python leaves out variables of opaque types, of compounds with members
    of variable size, and of lists of these; it fails at whole files for other
    types. xarray's netCDF4 engine fails at fill values of lists and compounds.
    """
    if corpus.checked(path) is None:
        pytest.skip("not a dataset: the tests of errors have it")
    target = tmp_path / "a.nc"
    try:
        nczarr.convert(path, target, allow_loss=("all",))
    except nczarr.CompileError:
        pytest.skip("netCDF cannot represent it")
    try:
        ours = opened(xr.open_groups, target, "nczarr")
    except ValueError:  # xarray reads no such times
        ours = opened(xr.open_groups, target, "nczarr", decode_times=False)
    if sum(each.nbytes for each in ours.values()) > LARGEST:
        return
    for each in ours.values():
        each.load()
    known = as_netcdf4_has_it(xr.open_groups, target)
    if known is None:
        return
    theirs, options = known
    ours = opened(xr.open_groups, target, "nczarr", **options)
    assert list(ours) == list(theirs)
    for group, wanted in theirs.items():
        found = differences(ours[group], wanted, excused=partial(is_incomparable, ours[group], wanted))
        assert found == []


def is_incomparable(ours: Any, wanted: Any, name: str) -> bool:
    """Whether netCDF4-python leaves a variable out, or shows it in another shape: scalars that are lists."""
    if name not in wanted or repeated_axes(wanted)(name):
        return True
    values = ours[name].values
    return values.ndim == 0 and values.dtype.hasobject and not isinstance(values[()], str)


STORE = {
    "b": ("?", True), "h": ("f2", 1.5), "c": ("c8", 1 + 1j), "i": (">i4", 7), "d": ("M8[ms]", "NaT"),
    "t": ("m8[s]", "NaT"), "u": ("<U3", "abc"), "s": ("S4", b"x"), "n": ("f8", float("nan")),
}  # fmt: skip
"""Arrays of zarr-python by name: dtype and fill value."""


@pytest.mark.parametrize("version", [2, 3])
def test_dtypes_of_zarr(version: int, xr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """Values, dtypes and masks of types that netCDF lacks, as the engine zarr has them; its strings may be objects."""
    zarr = peer("zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_group(tmp_path / "a", mode="w", zarr_format=version)
        for name, (dtype, wanted) in STORE.items():
            fill = peer("numpy").dtype(dtype).type(wanted, dtype[3:-1]) if wanted == "NaT" else wanted
            axes = {"dimension_names": ["x"]} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["x"]}}
            array = group.create_array(name, shape=(5,), chunks=(2,), dtype=dtype, fill_value=fill, **axes)
            if name in "hid":
                array[:2] = [3, 4]
    theirs = opened(xr.open_dataset, tmp_path / "a", "zarr", consolidated=False)
    ours = opened(xr.open_dataset, tmp_path / "a", "nczarr")
    assert set(ours.variables) == set(theirs.variables) == set(STORE)
    for name in STORE:
        if version == 3 and name in "us":
            continue  # a fill value of texts is a `_FillValue` here
        theirs[name].attrs.pop("_FillValue", None)  # NaT, which has no other meaning
        assert ours[name].variable.identical(theirs[name].variable), name
        assert ours[name].dtype == theirs[name].dtype, name


@pytest.mark.parametrize("version", [2, 3])
def test_a_store_of_xarray(version: int, xr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    np, pandas = peer("numpy"), peer("pandas")
    values = np.arange(12.0).reshape(4, 3)
    values[1, 1] = np.nan
    dataset = xr.Dataset(
        {
            "a": (("t", "x"), values, {"units": "K"}),
            "i": ("t", np.array([1, -9, 3, 4], "i2")),
            "s": ("x", ["a", "bcd", ""]),
            "o": ("x", np.array(["a", "bcd", "é"], object)),
            "b": ("x", [True, False, True]),
            "u": ("x", np.array([1, 2, 3], "u8")),
            "z": ((), 3.5),
            "c": ("x", np.array([1j, 2, 3], "c8")),
        },
        coords={"t": pandas.date_range("2000-01-01", periods=4), "lon": ("x", [1, 2, 3.0])},
        attrs={"x": 1, "l": [1, 2, 3], "f": 1.5, "s": "é"},
    )
    encoding: dict[str, dict[str, Any]] = {"a": {"chunks": (2, 3)}, "i": {"_FillValue": -9}}
    if version == 3:
        encoding["a"]["shards"] = (4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset.to_zarr(tmp_path / "a", zarr_format=version, encoding=encoding, consolidated=False)
    theirs = opened(xr.open_dataset, tmp_path / "a", "zarr", consolidated=False)
    ours = opened(xr.open_dataset, tmp_path / "a", "nczarr")
    assert ours["o"].variable._in_memory is False
    assert ours.identical(theirs)
    assert ours["a"].encoding["chunks"] == theirs["a"].encoding["chunks"] == (2, 3)
    assert ours["a"].encoding.get("shards") == theirs["a"].encoding["shards"]
    assert ours["a"].encoding["preferred_chunks"] == theirs["a"].encoding["preferred_chunks"]
    assert ours["i"].encoding["_FillValue"] == -9
    ours.drop_vars("c").to_netcdf(tmp_path / "a.nc", engine="netcdf4")
    assert opened(xr.open_dataset, tmp_path / "a.nc", "nczarr").identical(ours.drop_vars("c"))
    ours.to_zarr(tmp_path / "b", zarr_format=version, consolidated=False)
    assert opened(xr.open_dataset, tmp_path / "b", "nczarr").identical(ours)


FILTERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "zlib": {"zlib": True, "complevel": 7, "shuffle": False, "fletcher32": True},
    "zstd": {"compression": "zstd", "complevel": 3},
    "bzip2": {"compression": "bzip2", "complevel": 2},
    "blosc": {"compression": "blosc_lz4", "complevel": 5, "blosc_shuffle": 2},
    "szip": {"compression": "szip", "szip_coding": "ec", "szip_pixels_per_block": 4},
    "big": {"endian": "big", "chunksizes": (20, 10)},
}


def test_filters_are_written_again(xr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """`to_netcdf` of what was opened has the filters of the file, those included that netCDF4's engine loses."""
    netcdf4, np = peer("netCDF4"), peer("numpy")
    values = np.sin(np.arange(2000.0)).round(2).reshape(40, 50).astype("f4")
    with netcdf4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("y", None)
        file.createDimension("x", 50)
        for name, options in FILTERS.items():
            more = {"chunksizes": (40, 25), **options} if options else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                file.createVariable(name, "f4", ("y", "x"), **more)[:] = values
    ours = opened(xr.open_dataset, tmp_path / "a.nc", "nczarr")
    found = differences(ours, opened(xr.open_dataset, tmp_path / "a.nc", "netcdf4"))
    assert found == ["szip: encoding complevel: 4, 0"]  # netCDF4-python writes no szip with 0
    ours.to_netcdf(tmp_path / "b.nc", engine="netcdf4")
    with netcdf4.Dataset(tmp_path / "a.nc") as first, netcdf4.Dataset(tmp_path / "b.nc") as second:
        assert second.dimensions["y"].isunlimited()
        for name in FILTERS:
            assert first[name].filters() == second[name].filters(), name
            assert first[name].chunking() == second[name].chunking(), name
    assert opened(xr.open_dataset, tmp_path / "b.nc", "nczarr").identical(ours)
