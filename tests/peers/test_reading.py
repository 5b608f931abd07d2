"""Stores that zarr-python and xarray wrote, as we read them; and a store made a netCDF-4 file, as the text makes it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command, shared_folder
from tests.support.peers import corpus, exactness
from tests.support.peers.compare import same

pytestmark = pytest.mark.peer

SHARED = shared_folder()
FILES = corpus.small(corpus.files(SHARED)) if SHARED is not None else []
NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
Peer = Callable[[str], ModuleType]


def values(dtype: str, shape: tuple[int, ...] = (7, 5)) -> Any:
    return (np.arange(np.prod(shape)).reshape(shape) % 100).astype(dtype)


@pytest.mark.parametrize("suffix", [".zarr", ".zip"])
@pytest.mark.parametrize("version", [2, 3])
def test_numbers_in_every_order(version: int, suffix: str, tmp_path: Path, peer: Peer) -> None:
    zarr = peer("zarr")
    path = str(tmp_path / f"t{suffix}")
    store = zarr.storage.ZipStore(path, mode="w") if suffix == ".zip" else path
    root = zarr.create_group(store, zarr_format=version)
    wanted = {}
    for name in NUMBERS:
        for order in ("<", ">") if version == 2 and name[-1] != "8" else ("",):
            key = f"{name}{'_big' if order == '>' else ''}"
            data = values(name).astype(np.dtype(name).newbyteorder(order or "="))
            wanted[key] = data.astype(name)
            root.create_array(key, shape=(7, 5), chunks=(3, 2), dtype=data.dtype, fill_value=3)[:6] = data[:6]
            wanted[key][6] = 3
    if suffix == ".zip":
        root.store.close()
    with nczarr.open(path) as seen:
        assert sorted(seen) == sorted("/" + key for key in wanted)
        assert [key for key, data in wanted.items() if not same(seen[key][...], data)] == []


@pytest.mark.parametrize(
    "options",
    [
        {"order": "F"},
        {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
        {"compressors": None},
        {"fill_value": None},
        {"chunks": (9, 9)},
    ],
    ids=str,
)
def test_layouts_of_version_2(options: dict[str, Any], tmp_path: Path, peer: Peer) -> None:
    zarr = peer("zarr")
    array = zarr.create_array(
        tmp_path / "t.zarr", shape=(7, 5), dtype="i4", zarr_format=2, **{"chunks": (3, 2), **options}
    )
    array[:4] = values("i4")[:4]
    with nczarr.open(tmp_path / "t.zarr") as seen:
        assert same(seen["t"][...], array[...])


@pytest.mark.parametrize(
    "options",
    [
        {"shards": (6, 4)},
        {"shards": (6, 4), "filters": "transpose"},
        {"filters": "transpose"},
        {"chunk_key_encoding": {"name": "v2", "separator": "."}},
        {"chunk_key_encoding": {"name": "default", "separator": "."}},
        {"serializer": "big"},
        {"compressors": "crc32c"},
        {"compressors": "gzip"},
        {"compressors": "blosc"},
        {"shards": "start"},
    ],
    ids=str,
)
def test_layouts_of_version_3(options: dict[str, Any], tmp_path: Path, peer: Peer) -> None:
    zarr, codecs = peer("zarr"), peer("zarr.codecs")
    made: dict[str, Any] = {
        "transpose": [codecs.TransposeCodec(order=(1, 0))],
        "big": codecs.BytesCodec(endian="big"),
        "crc32c": [codecs.ZstdCodec(), codecs.Crc32cCodec()],
        "gzip": [codecs.GzipCodec(level=1)],
        "blosc": [codecs.BloscCodec(cname="lz4", shuffle="bitshuffle", typesize=4)],
        "start": {"shape": (6, 4), "index_location": "start"},
    }
    settled = {key: made[each] if isinstance(each, str) else each for key, each in options.items()}
    array = zarr.create_array(tmp_path / "t.zarr", shape=(7, 5), dtype="i4", chunks=(3, 2), **settled)
    array[1:6] = values("i4")[1:6]
    with nczarr.open(tmp_path / "t.zarr") as seen:
        assert same(seen["t"][...], array[...])
        assert same(seen["t"][2:5, 1:4], array[2:5, 1:4])


@pytest.mark.parametrize("version", [2, 3])
def test_texts_records_and_raw_bytes(version: int, tmp_path: Path, peer: Peer) -> None:
    zarr = peer("zarr")
    record = np.dtype([("a", "<i4"), ("b", "S5"), ("c", "<f8")])
    wanted = {
        "fixed": np.array([b"a", b"bcd", b""], "S4"),
        "one": np.array([b"a", b"b", b""], "S1"),
        "raw": np.array([b"abc", b"\0\1\2", b"xyz"], "V3"),
        "record": np.array([(1, b"x", 0.5), (2, b"yz", 1.5), (3, b"", 2.5)], record),
    }
    root = zarr.create_group(tmp_path / "t.zarr", zarr_format=version)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in wanted.items():
            root.create_array(name, shape=(3,), dtype=data.dtype)[:] = data
        root.create_array("texts", shape=(3,), dtype=str)[:] = np.array(["grüße", "", "x"], object)
    with nczarr.open(tmp_path / "t.zarr") as seen:
        assert seen["texts"][...].tolist() == ["grüße", "", "x"]
        assert seen["fixed"][...].tolist() == ["a", "bcd", ""]
        assert seen["one"][...].tolist() == wanted["one"].tolist()
        assert seen["raw"][...].tobytes() == wanted["raw"].tobytes()
        assert seen["record"][...].tobytes() == wanted["record"].tobytes()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("consolidated", [False, True])
def test_a_dataset_of_xarray(version: int, consolidated: bool, tmp_path: Path, peer: Peer) -> None:
    xarray = peer("xarray")
    data = xarray.Dataset(
        {"t": (("y", "x"), values("f4")), "n": ((), 5), "s": ("y", np.array(list("abcdefg"), object))},
        {"x": np.arange(5.0), "y": np.arange(7)},
        {"title": "T", "list": [1, 2]},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.to_zarr(tmp_path / "t.zarr", zarr_format=version, consolidated=consolidated)
    with nczarr.open(tmp_path / "t.zarr") as seen:
        assert {each.name: each.size for each in seen.dataset.dimensions} == {"x": 5, "y": 7}
        assert seen["t"].dimensions == ("/y", "/x")
        for name in ("t", "n", "x", "y"):
            assert same(seen[name][...], data[name].values)
        assert seen["s"][...].tolist() == list("abcdefg")
        assert [each.name for each in seen.dataset.attributes] == ["title", "list"]


def test_missing_chunks_keep_their_value_in_a_file(tmp_path: Path, peer: Peer) -> None:
    """zarr-python fills with 0, the netCDF library with other numbers."""
    zarr, netcdf = peer("zarr"), peer("netCDF4")
    array = zarr.create_array(tmp_path / "t.zarr", shape=(6,), chunks=(2,), dtype="i4", zarr_format=2, fill_value=0)
    array[2:4] = [5, 6]
    for kind in ("nc3", "nc4"):
        assert (
            run_command("compile", str(tmp_path / "t.zarr"), "-o", str(tmp_path / f"{kind}.nc"), "--kind", kind).status
            == 0
        )
        with netcdf.Dataset(tmp_path / f"{kind}.nc") as file:
            file.set_auto_mask(False)
            assert file["t"][...].tolist() == [0, 0, 5, 6, 0, 0]


UNDEFINED = {
    "ref_tst_special_atts": ("/var4", "/var5"),
    "ref_tst_special_atts3": ("/var4", "/var5"),
    "ref_tst_ncf213": ("/var4", "/var5"),
    "nc_test4__ref_ncgenF": ("/g/var",),
}
"""Variables of `_NoFill` without values, by the end of a file's name: what a file has there is undefined."""


def through_a_store(path: Path, folder: Path) -> str | None:
    """A netCDF-4 file made of the text, and one made of its store; what tells them apart, None if nothing does."""
    assert SHARED is not None
    first, store, second = (str(folder / name) for name in ("first.nc", "store.zarr", "second.nc"))
    if run_command("compile", str(path), "-o", first, "--kind", "nc4").status:
        return None
    assert run_command("compile", str(path), "-o", store, "--to", "nczarr", "--kind", "nc4").status == 0
    ran = run_command("compile", store, "-o", second, "--kind", "nc4")
    if ran.status:
        return ran.err
    undefined = tuple(f"{name}: data" for end, found in UNDEFINED.items() if path.stem.endswith(end) for name in found)
    lines = exactness.same(Path(first), Path(second), SHARED / "tools", "--max", "0")
    return "\n".join(line for line in lines if not line.startswith(undefined)) or None


@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("path", FILES[::48], ids=[path.stem for path in FILES[::48]])
def test_a_store_makes_the_same_file(path: Path, tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")
    assert through_a_store(path, tmp_path) is None


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_store_makes_the_same_file(path: Path, tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")
    assert through_a_store(path, tmp_path) is None
