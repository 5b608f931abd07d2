"""Datasets as stores of zarr-python: key by key what a conversion writes and the server serves, ranges, pickles.

A dozen files here, all real ones in the proof. Both versions of zarr-python, where NCZARR_NEWEST names the newest.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT
from tests.support.peers import newest_python
from tests.support.peers.served_files import FILES, needs_files
from tests.support.serving import serving

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore::nczarr.DataWarning")]

SAMPLES = ROOT / "samples"
SOURCES = [
    ("01-station.cdl", None), ("02-grid-groups.cdl", "nczarr"), ("02-grid-groups.cdl", "netcdf4"),
    ("03-compound-vlen.cdl", None),
    ("04-cmip.cdl", "netcdf4"), ("04-cmip.cdl", "reference"), ("04-cmip.cdl", "netcdf3"), ("04-cmip.cdl", "ncstream"),
    ("05-every-type.cdl", "netcdf4"), ("05-every-type.cdl", "zarr2"), ("06-strings.cdl", "zarr3"),
    ("04-cmip.cdl", "awkward0"),
]  # fmt: skip
SUFFIXES = {"reference": ".json", "netcdf3": ".nc", "netcdf4": ".nc", "ncstream": ".ncs", "awkward0": ".awkd"}


@pytest.fixture(autouse=True)
def zarr(peer: Callable[[str], ModuleType]) -> ModuleType:
    return peer("zarr")


def made(name: str, form: str | None, folder: Path) -> Path:
    """A sample in another format."""
    source = SAMPLES / name
    if form is None:
        return source
    if form == "reference":
        source = made(name, "netcdf4", folder)
    target = folder / f"source{SUFFIXES.get(form, '.zarr')}"
    nczarr.convert(source, target, form, allow_loss=["all"], overwrite=True)
    return target


def content(store: Any) -> dict[str, bytes]:
    """Every key that a store lists, with its bytes."""

    async def read() -> dict[str, bytes]:
        from zarr.core.buffer import default_buffer_prototype

        prototype = default_buffer_prototype()
        found = {}
        async for key in store.list():
            buffer = await store.get(key, prototype)
            assert buffer is not None, key
            found[key] = buffer.to_bytes()
        return found

    return asyncio.run(read())


def written(source: Path, target: Path, version: int) -> dict[str, bytes]:
    """Every file of the store that a conversion writes."""
    nczarr.convert(source, target, f"zarr{version}", consolidated=True, allow_loss=["all"])
    files = (path for path in target.rglob("*") if path.is_file())
    return {path.relative_to(target).as_posix(): path.read_bytes() for path in files}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("name", "form"), SOURCES, ids=[f"{name}-{form}" for name, form in SOURCES])
def test_every_key_is_what_a_conversion_writes(name: str, form: str | None, version: int, tmp_path: Path) -> None:
    source = made(name, form, tmp_path)
    assert content(nczarr.zarr_store(source, version)) == written(source, tmp_path / "target.zarr", version)


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_key_of_a_real_file_is_what_is_written_and_served(
    path: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("uvicorn")
    with serving(path.parent) as served:
        for version in (2, 3):
            store = nczarr.zarr_store(path, version)
            wanted = written(path, tmp_path / f"{version}.zarr", version)
            found = content(store)
            assert found.keys() == wanted.keys()
            assert [key for key in wanted if found[key] != wanted[key]] == []
            for key in [*store._view.documents, *sorted(wanted)[::40]]:
                assert served.get(f"/zarr{version}/{quote(path.name)}/{quote(key)}").body == wanted[key], key
            shutil.rmtree(tmp_path / f"{version}.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_and_xarray_open_it(
    version: int, zarr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    xarray = peer("xarray")
    source = made("04-cmip.cdl", "netcdf4", tmp_path)
    store = nczarr.zarr_store(source, version)
    handle = nczarr.open(source)
    group = zarr.open(store)
    assert sorted(group.array_keys()) == sorted(handle.variables)
    assert group.metadata.consolidated_metadata is not None
    for name, variable in handle.variables.items():
        assert np.array_equal(group[name][...], variable[...], equal_nan=variable.dtype.kind == "f")
    with (
        xarray.open_zarr(store, decode_times=False) as found,
        xarray.open_dataset(source, engine="netcdf4", decode_times=False) as wanted,
    ):
        for name in wanted.variables:
            assert np.array_equal(found[name].values, wanted[name].values), name
    with pytest.raises(ValueError, match="read-only"):
        zarr.open_group(store, mode="a").create_group("new")


@pytest.mark.parametrize("version", [2, 3])
def test_a_store_with_lists_is_opened(version: int, zarr: ModuleType) -> None:
    """A variable of lists is a group of its parts; the other variables are arrays as always."""
    store = nczarr.zarr_store(
        nczarr.from_cdl(
            "netcdf t { types: int(*) row ; dimensions: x = 2 ; variables: row v(x) ; int i(x) ;"
            " data: v = {1}, {2, 3} ; i = 4, 5 ; }"
        ),
        version,
    )
    for group in (zarr.open(store), zarr.open_consolidated(store, mode="r")):
        assert group["i"][...].tolist() == [4, 5]
        assert group["v/content"][...].tolist() == [1, 2, 3]


def test_groups_are_listed(zarr: ModuleType, tmp_path: Path) -> None:
    store = nczarr.zarr_store(made("02-grid-groups.cdl", "netcdf4", tmp_path), 3)
    group = zarr.open_group(store, mode="r", use_consolidated=False)
    assert sorted(name for name, _ in group.groups()) == sorted(nczarr.open(SAMPLES / "02-grid-groups.cdl").groups)


async def names(listing: Any) -> list[str]:
    return [each async for each in listing]


@pytest.mark.parametrize("version", [2, 3])
def test_listings_sizes_and_ranges_are_those_of_a_folder(version: int, zarr: ModuleType, tmp_path: Path) -> None:
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
    from zarr.core.buffer import default_buffer_prototype
    from zarr.storage import LocalStore

    source = made("04-cmip.cdl", "netcdf4", tmp_path)
    written(source, tmp_path / "t.zarr", version)
    ours, theirs = nczarr.zarr_store(source, version), LocalStore(tmp_path / "t.zarr", read_only=True)
    prototype = default_buffer_prototype()

    async def compare() -> None:
        keys = await names(theirs.list())
        folders = {"", *(key.rpartition("/")[0] for key in keys), "nowhere", "tas/c", "tas/"}
        for folder in folders:
            assert sorted(await names(ours.list_dir(folder))) == sorted(await names(theirs.list_dir(folder))), folder
        for prefix in ("", "tas", "tas/", "t", "tas/c/0", "nowhere"):
            wanted = sorted(key for key in keys if key.startswith(prefix))
            assert sorted(await names(ours.list_prefix(prefix))) == wanted, prefix
        for key in [*keys, "nowhere", "tas/9.9.9", "tas/c/9/9/9"]:
            assert await ours.exists(key) == await theirs.exists(key), key
            if not await theirs.exists(key):
                with pytest.raises(FileNotFoundError):
                    await ours.getsize(key)
                assert await ours.get(key, prototype) is None
                continue
            size = await theirs.getsize(key)
            assert await ours.getsize(key) == size
            asked = [
                None,
                RangeByteRequest(1, 4),
                RangeByteRequest(2, size + 9),
                OffsetByteRequest(3),
                SuffixByteRequest(5),
            ]
            got = await ours.get_partial_values(prototype, [(key, each) for each in asked])
            whole = (await theirs.get(key, prototype)).to_bytes()
            parts = [whole, whole[1:4], whole[2:], whole[3:], whole[-5:]]
            assert [each.to_bytes() for each in got if each is not None] == parts
            assert ours.get_sync(key, byte_range=asked[1]).to_bytes() == whole[1:4]

    asyncio.run(compare())


def test_a_range_of_a_chunk_of_the_file_is_all_that_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from zarr.abc.store import RangeByteRequest

    from nczarr.stores import ranges

    builder = nczarr.DatasetBuilder("")
    builder.variable("v", "int", [builder.dimension("x", 1000)], chunks=(1000,))
    nczarr.write(builder.finish(data={"/v": np.arange(1000)}), tmp_path / "t.nc")
    store = nczarr.zarr_store(tmp_path / "t.nc", 2)
    seen: list[Any] = []
    read = ranges.read
    monkeypatch.setattr(ranges, "read", lambda place: (seen.append(place), read(place))[1])
    found = store.get_sync("v/0", byte_range=RangeByteRequest(8, 16))
    assert found.to_bytes() == np.arange(2, 4, dtype="<i4").tobytes()
    assert [place.length for place in seen] == [8]


def test_shards_and_their_partial_reads(zarr: ModuleType, tmp_path: Path) -> None:
    values = np.arange(24.0).reshape(4, 6)
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension("y", 4), builder.dimension("x", 6)]
    builder.variable("v", "double", axes, chunks=(1, 2), codecs=[("deflate", 1)])
    dataset = builder.finish(data={"/v": values})
    nczarr.write(dataset, tmp_path / "s.zarr", "zarr3", shards={"/v": (2, 6)}, allow_loss=["all"])
    store = nczarr.zarr_store(tmp_path / "s.zarr", 3)
    assert content(store) == written(tmp_path / "s.zarr", tmp_path / "t.zarr", 3)
    array = zarr.open(store)["v"]
    assert np.array_equal(array[...], values)
    assert np.array_equal(array[1:3, 2:4], values[1:3, 2:4])


def test_pickles_equality_and_read_only(zarr: ModuleType, tmp_path: Path) -> None:
    source = made("04-cmip.cdl", "netcdf4", tmp_path)
    store = nczarr.zarr_store(source, 2, storage_options={"secret": "hunter2"})
    stored = pickle.dumps(store)
    assert b"hunter2" not in stored
    again = pickle.loads(stored)
    assert again == store
    assert hash(again) == hash(store)
    assert content(again) == content(store)
    assert store != nczarr.zarr_store(source, 3)
    assert store != nczarr.zarr_store(SAMPLES / "01-station.cdl", 2)
    assert store != 5
    handle = nczarr.open(SAMPLES / "01-station.cdl")
    assert nczarr.zarr_store(handle) == nczarr.zarr_store(handle)
    assert store.read_only
    assert (store.supports_writes, store.supports_deletes, store.supports_listing) == (False, False, True)
    assert store.with_read_only(True) == store
    with pytest.raises(ValueError, match="read-only"):
        store.with_read_only(False)
    with pytest.raises(ValueError, match="read-only"):
        store.set_sync("a", None)
    with pytest.raises(ValueError, match="read-only"):
        asyncio.run(store.delete("a"))


def test_wrong_arguments_and_datasets(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use 2 or 3"):
        nczarr.zarr_store(SAMPLES / "01-station.cdl", 4)
    with pytest.raises(FileNotFoundError):
        nczarr.zarr_store(tmp_path / "missing.nc")
    (tmp_path / "bad.cdl").write_text("netcdf bad { variables: int v(x) ; }")
    with pytest.raises(nczarr.CompileError):
        nczarr.zarr_store(tmp_path / "bad.cdl")


def test_lost_values_are_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    handle = nczarr.from_cdl('netcdf d { dimensions: x = 2 ; variables: string s(x) ; data: s = "a", NIL ; }')
    with pytest.warns(nczarr.DataWarning, match="lost-nil"):
        store = nczarr.zarr_store(handle, 2)
    assert "lost-nil" in [each.kind for each in store.losses]
    recwarn.clear()
    nczarr.zarr_store(SAMPLES / "01-station.cdl")
    assert not recwarn.list


SCRIPT = """
import sys, numpy, zarr, nczarr
for version in (2, 3):
    handle = nczarr.open(sys.argv[1])
    group = zarr.open(nczarr.zarr_store(sys.argv[1], version))
    for name, variable in handle.variables.items():
        assert numpy.array_equal(group[name][...], variable[...]), name
    for pipeline in ("BatchedCodecPipeline", "FusedCodecPipeline"):
        if hasattr(zarr.core.codec_pipeline, pipeline):
            with zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline." + pipeline}):
                array = zarr.open(nczarr.zarr_store(sys.argv[1], version))["tas"]
                assert numpy.array_equal(array[..., 1:3], handle["tas"][..., 1:3]), pipeline
print(zarr.__version__)
"""


@pytest.mark.long
def test_the_newest_zarr_reads_it(tmp_path: Path) -> None:
    newest = newest_python()
    source = made("04-cmip.cdl", "netcdf4", tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [newest, "-c", SCRIPT, str(source)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
