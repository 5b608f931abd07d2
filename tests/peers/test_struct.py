"""Records that zarr-python wrote, as we read them; ours, as zarr-python and h5py read them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import run_command

pytestmark = pytest.mark.peer

NESTED = np.dtype([("p", "<f8"), ("deep", [("z", "u1")])])
RECORD = np.dtype([("a", "<i4"), ("s", "S5"), ("n", NESTED), ("c", "<c8"), ("b", "?"), ("raw", "V3"), ("h", "<f2")])
FLAT = np.dtype([("a", "<i4"), ("s", "S5"), ("p", "<f8")])
Peer = Callable[[str], ModuleType]
OPTIONS: list[dict[str, Any]] = [{}, {"shards": (2,), "chunks": (1,)}, {"compressors": None}, {"serializer": "big"}]


def values(dtype: np.dtype[Any]) -> Any:
    made = np.zeros(5, dtype)
    made["a"], made["s"] = np.arange(5) * 70000, [b"x", b"yz", b"", b"abcde", b"q"]
    if dtype is RECORD:
        made["n"]["p"], made["n"]["deep"]["z"] = np.arange(5) + 0.5, 7
        made["c"], made["b"], made["raw"], made["h"] = 1 + 2j, [1, 0, 1, 0, 1], b"abc", 1.5
    return made


def write(zarr: ModuleType, codecs: ModuleType, path: Path, dtype: np.dtype[Any], options: dict[str, Any]) -> Any:
    """Write records with a fill value; the last one is in a chunk that is missing, or not. Return what zarr reads."""
    settled = {"chunks": (2,), **options}
    if settled.get("serializer") == "big":
        settled["serializer"] = codecs.BytesCodec(endian="big")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fill = values(dtype)[3]
        group = zarr.create_group(path)
        array = group.create_array("v", shape=(5,), dtype=dtype, fill_value=fill, dimension_names=["x"], **settled)
        array[:4] = values(dtype)[:4]
        return array[...]


def same(seen: Any, wanted: Any) -> None:
    assert seen["a"].tolist() == wanted["a"].tolist()
    for name in wanted.dtype.names:
        if name != "h":
            little = wanted[name].astype(wanted[name].dtype.newbyteorder("<"))
            assert np.ascontiguousarray(seen[name]).tobytes() == np.ascontiguousarray(little).tobytes(), name
    if "h" in wanted.dtype.names:
        assert seen["h"].tolist() == wanted["h"].tolist()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", [FLAT, RECORD], ids=["flat", "nested"])
def test_records_are_read_as_zarr_python_reads_them(
    dtype: np.dtype[Any], options: dict[str, Any], tmp_path: Path, peer: Peer
) -> None:
    zarr, codecs = peer("zarr"), peer("zarr.codecs")
    old = tuple(map(int, zarr.__version__.split(".")[:2])) < (3, 4)
    if old and ("serializer" in options or "shards" in options):
        pytest.skip("zarr-python before 3.4 ignores the byte order of records, and cannot write them into shards")
    wanted = write(zarr, codecs, tmp_path / "s.zarr", dtype, options)
    with nczarr.open(tmp_path / "s.zarr") as seen:
        same(seen["v"][...], wanted)


@pytest.mark.parametrize("form", ["nczarr3", "nczarr", "zarr3-2019", "netcdf4", "ncstream", "awkward0"])
def test_records_come_back_from_every_target(form: str, tmp_path: Path, peer: Peer) -> None:
    zarr, codecs = peer("zarr"), peer("zarr.codecs")
    wanted = write(zarr, codecs, tmp_path / "s.zarr", RECORD, {"compressors": None})
    target = tmp_path / ("t.nc" if form == "netcdf4" else "t")
    ran = run_command("convert", str(tmp_path / "s.zarr"), str(target), "--to", form)
    assert ran.status == 0, ran.err
    with nczarr.open(target) as seen:
        same(seen["v"][...], wanted)
    if form == "nczarr3":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = zarr.open_group(target, mode="r")["v"][...]
        assert ours["a"].tolist() == wanted["a"].tolist()
        assert ours["n"]["p"].tolist() == wanted["n"]["p"].tolist()
    if form == "netcdf4":
        with peer("h5py").File(target) as file:
            assert file["v"][...]["n"]["p"].tolist() == wanted["n"]["p"].tolist()
