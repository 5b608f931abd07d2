"""Dask arrays as values: exact, computed in bounded memory, on the cluster they live on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.plugins.dask import dask_array
from tests.conftest import ROOT
from tests.support.library import library

xr = library("xarray")

Load = Callable[[str], ModuleType]

pytestmark = pytest.mark.peer


@pytest.fixture
def da(peer: Load) -> Any:
    peer("xarray")
    peer("dask")
    import dask.array

    return dask.array


def built(kind: str, data: Any, **more: Any) -> nczarr.DatasetHandle:
    builder = nczarr.DatasetBuilder("t")
    axes = [builder.dimension(f"d{number}", length) for number, length in enumerate(data.shape)]
    builder.variable("v", kind, axes, **more)
    return builder.finish({"v": data})


BLOCKS = [5, (3, (2, 5, 3)), ((1, 9), 10), ((4, 0, 6), (0, 10))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
@pytest.mark.parametrize("chunks", [None, (4, 7), (10, 1), (1, 10)])
def test_target_chunks_across_blocks(blocks: Any, chunks: Any, tmp_path: Path, da: Any) -> None:
    values = np.arange(100).reshape(10, 10)
    data = built("short", da.from_array(values, chunks=blocks))
    more = {} if chunks is None else {"chunks": {"/v": chunks}}
    for name in ("t.zarr", "t.nc", "t.cdl", "t.ncs"):
        nczarr.write(data, tmp_path / name, **more)
        assert nczarr.open(tmp_path / name)["v"][...].tolist() == values.tolist()
    assert data["v"][2:9:3, -1].tolist() == values[2:9:3, -1].tolist()


@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
def test_each_block_is_computed_once_for_a_netcdf_file_and_a_store(blocks: Any, tmp_path: Path, da: Any) -> None:
    computed: Counter[Any] = Counter()

    def counted(block: Any, block_info: Any = None) -> Any:
        computed[str(block_info[None]["chunk-location"])] += block.size > 0
        return block

    base = da.from_array(np.arange(100).reshape(10, 10), chunks=blocks)
    for name, more in (("t.nc", {}), ("t.zarr", {"chunks": {"/v": (4, 7)}})):
        data = built("int64", base.map_blocks(counted, dtype="i8", meta=np.empty((0, 0), "i8")))
        computed.clear()
        nczarr.write(data, tmp_path / name, workers=1, **more)
        assert max(computed.values()) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("blocks", [(2000, 100), ((800, 1200), (50, 150) * 10)], ids=str)
@pytest.mark.parametrize("chunks", [(100, 100), (100, 2000), (7, 2000)], ids=str)
def test_blocks_across_chunks_of_a_netcdf_file_are_computed_once(
    blocks: Any, chunks: tuple[int, ...], tmp_path: Path, da: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_array.Results, "put", lambda *_: None)
    computed: Counter[Any] = Counter()

    def counted(block: Any, block_info: Any = None) -> Any:
        computed[str(block_info[None]["chunk-location"])] += block.size > 0
        return block

    values = np.arange(4_000_000, dtype="i4").astype("i2").reshape(2000, 2000)
    base = da.from_array(values, chunks=blocks)
    for name, memory, times in (("all.nc", 1 << 28, 1), ("part.nc", 6 << 20, 3)):
        data = built("int16", base.map_blocks(counted, dtype="i2", meta=np.empty((0, 0), "i2")))
        computed.clear()
        nczarr.write(data, tmp_path / name, chunks={"/v": chunks}, codecs={"/v": "zlib:1"}, memory=memory, workers=2)
        assert len(computed) == base.npartitions
        assert max(computed.values()) <= times
    assert (tmp_path / "all.nc").read_bytes() == (tmp_path / "part.nc").read_bytes()
    assert np.array_equal(nczarr.open(tmp_path / "all.nc")["v"][...], values)
    nczarr.write(built("int16", values), tmp_path / "plain.nc", chunks={"/v": chunks}, codecs={"/v": "zlib:1"})
    assert (tmp_path / "all.nc").read_bytes() == (tmp_path / "plain.nc").read_bytes()


@pytest.mark.long
def test_shared_results_are_computed_once(tmp_path: Path, da: Any) -> None:
    base = da.random.default_rng(1).random((400, 40), chunks=(1, 40))
    runs: list[int] = []

    def counted(block: Any) -> Any:
        runs.append(threading.get_ident())
        return block

    total = base.map_blocks(counted, dtype="f8", meta=np.empty((0, 0))).sum(axis=0)
    nczarr.write(built("double", base - total), tmp_path / "t.zarr", chunks={"/v": (1, 40)})
    assert len(runs) == 400
    np.testing.assert_array_equal(nczarr.open(tmp_path / "t.zarr")["v"][...], (base - total).compute())


@pytest.mark.long
def test_long_chains(tmp_path: Path, da: Any) -> None:
    length = 2 * sys.getrecursionlimit()
    data = built("double", da.ones(length, chunks=1).cumsum(0))
    assert data["v"][-1] == length
    assert data["v"][...].tolist() == list(range(1, length + 1))


CONVERTED = {
    "exact": ("float", np.array([1, 2, 3], "i8"), [1.0, 2.0, 3.0]),
    "big-endian": ("int", np.array([1, 2, 3], ">i4"), [1, 2, 3]),
    "narrow": ("byte", np.array([1, 2, 3], "f8"), [1, 2, 3]),
    "texts": ("string", np.array(["a", "ü", ""]), ["a", "ü", ""]),
    "objects": ("string", np.array(["a", None, b"c"], object), ["a", None, "c"]),
    "chars": ("char", np.array([b"a", b"b", b""], "S1"), [b"a", b"b", b""]),
}


@pytest.mark.parametrize("case", CONVERTED)
def test_values_are_converted(case: str, da: Any) -> None:
    kind, values, wanted = CONVERTED[case]
    assert built(kind, da.from_array(values, chunks=2))["v"][...].tolist() == wanted


REFUSED = {
    "range": ("byte", np.array([1, 2, 300]), "value-range"),
    "fraction": ("int", np.array([1.0, 2.0, 2.5]), "value-range"),
    "surrogate": ("string", np.array(["a", "\udc80"]), "invalid-utf8"),
    "number": ("string", np.array(["a", 1], object), "type-mismatch"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsuitable_values_leave_no_target(case: str, tmp_path: Path, da: Any) -> None:
    kind, values, code = REFUSED[case]
    data = built(kind, da.from_array(values, chunks=1))
    for name in ("t.zarr", "t.nc"):
        with pytest.raises(nczarr.CompileError) as caught:
            nczarr.write(data, tmp_path / name)
        assert [each.code for each in caught.value.diagnostics if each.severity.value == "error"] == [code]
        assert list(tmp_path.iterdir()) == []


def test_false_declarations(tmp_path: Path, da: Any) -> None:
    base = da.zeros(6, chunks=3)
    cases = {
        "shape-mismatch": base.map_blocks(lambda block: block[:1], dtype="f8"),
        "type-mismatch": base.map_blocks(lambda block: block.astype(complex), dtype="f8"),
    }
    for code, data in cases.items():
        with pytest.raises(nczarr.CompileError) as caught:
            nczarr.write(built("double", data), tmp_path / "t.zarr")
        assert caught.value.diagnostics[0].code == code
    masked = base.map_blocks(lambda block: np.ma.masked_equal(block, 0), dtype="f8", meta=np.empty(0))
    with pytest.raises(nczarr.CompileError, match="masked items, which the dask array does not declare"):
        nczarr.write(built("double", masked), tmp_path / "t.zarr")
    fails = base.map_blocks(lambda block: 1 // 0, dtype="f8", meta=np.empty(0))
    with pytest.raises(ZeroDivisionError):
        nczarr.write(built("double", fails), tmp_path / "t.zarr")
    assert list(tmp_path.iterdir()) == []


def test_masked_blocks(da: Any) -> None:
    data = da.ma.masked_greater(da.arange(6, chunks=4), 3)
    assert built("int", data, fill_value=-1)["v"][...].tolist() == [0, 1, 2, 3, -1, -1]
    assert built("short", data)["v"][...].tolist() == [0, 1, 2, 3, -32767, -32767]
    clash = built("short", da.ma.masked_greater(da.from_array(np.array([-32767, 5]), chunks=2), 3))
    with pytest.raises(nczarr.CompileError, match="others equal -32767"):
        clash["v"][...]
    with pytest.raises(nczarr.CompileError, match="fill value"):
        built("byte", data)


def test_refused_values_of_blocks_keep_the_remedy(da: Any) -> None:
    """The diagnostics are those of arrays in memory."""
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("int", np.array([0, 1], "M8[s]"), {"units": "hours since 1970-01-01"}),
        ("int", np.array(["1400-01-01"], "M8[D]"), {"calendar": "standard"}),
        ("short", np.ma.array([-32767, 5], mask=[0, 1]), {}),
        ("byte", np.array([300]), {}),
    ]
    for kind, values, attributes in cases:

        def made(data: Any, kind: str = kind, attributes: dict[str, Any] = attributes) -> nczarr.DatasetHandle:
            builder = nczarr.DatasetBuilder("t")
            variable = builder.variable("v", kind, [len(data)])
            for name, value in attributes.items():
                variable.attribute(name, value)
            return builder.finish({"v": data})

        with pytest.raises(nczarr.CompileError) as plain:
            made(values)
        with pytest.raises(nczarr.CompileError) as late:
            made(da.from_array(values, chunks=-1))["v"][...]
        (here,), (there,) = plain.value.diagnostics, late.value.diagnostics
        assert (there.code, there.helps) == (here.code, here.helps)
        assert there.message == here.message.replace("variable `/v`:", "a dask array:")
        assert bool(here.helps) == (kind != "byte")


def test_unlimited_dimensions_grow_and_the_rest_is_fill(da: Any) -> None:
    builder = nczarr.DatasetBuilder("t")
    time = builder.dimension("time", 5, unlimited=True)
    builder.variable("v", "int", [time], fill_value=-1)
    builder.variable("w", "int", [time])
    found = builder.finish({"v": da.arange(3, chunks=2), "w": da.arange(7, chunks=2)})
    assert found["v"][...].tolist() == [0, 1, 2, -1, -1, -1, -1]
    assert found["w"][...].tolist() == list(range(7))


MEMORY = """
import sys
import dask.array as da
import numpy as np
import xarray as xr
import nczarr
x = da.random.default_rng(1).integers(0, 100, size=(256, 1024, 1024), chunks=(8, 1024, 256), dtype="i8").astype("f8")
encoding = {"a": {"chunks": (256, 64, 64)}} if sys.argv[2] == "rechunk" else None
data = xr.Dataset({"a": (("z", "y", "x"), x)})
assert data.nbytes == 2 << 30
nczarr.write(data, sys.argv[1], encoding=encoding, memory=128 << 20)
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) >> 10)
"""


@pytest.mark.giant
@pytest.mark.parametrize(("name", "how"), [("t.zarr", "plain"), ("t.zarr", "rechunk"), ("t.nc", "plain")])
def test_two_gigabytes_take_less_than_500_megabytes(name: str, how: str, tmp_path: Path, da: Any) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of a process is read from /proc")
    call = [sys.executable, "-W", "ignore", "-c", MEMORY, str(tmp_path / name), how]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 500


@pytest.fixture(scope="module", params=["threads", "processes"])
def client(peer: Load, request: Any) -> Iterator[Any]:
    peer("xarray")
    distributed = peer("distributed")
    more = {"processes": request.param == "processes", "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, **more) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def places(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_active_cluster_does_the_work(client: Any, tmp_path: Path, da: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import xarray as xr

    from nczarr.plugins.dask import cluster

    base = da.arange(300_000, chunks=7000).reshape(600, 500).rechunk((70, 130))
    data = xr.Dataset(
        {
            "a": (("y", "x"), base - base.sum() // 7),
            # dask 2026.8 fails by itself if a persisted array and a lazy one have tasks of one name
            "persisted": (("y", "x"), da.arange(300_000, 600_000, chunks=9000).reshape(600, 500).persist()),
            "texts": ("y", da.arange(600, chunks=100).astype(str)),
            "memory": ("y", np.arange(600)),
        }
    )
    sent: list[str] = []
    do = cluster._Sending._do
    monkeypatch.setattr(cluster._Sending, "_do", lambda *given: (sent.append(given[1].key), do(*given))[1])
    options: dict[str, Any] = {"chunks": {"/a": (100, 100)}}
    nczarr.write(data, tmp_path / "cluster.zarr", **options)
    assert sent
    sent.clear()
    nczarr.write(data, tmp_path / "shards", "zarr3", shards={"/a": (300, 200)}, **options)
    assert sent
    sent.clear()
    nczarr.write(data, tmp_path / "threads.zarr", dask=None, **options)
    for name in ("t.nc", "t.zip"):
        nczarr.write(data, tmp_path / name, "nczarr" if name == "t.zip" else None, **options)
    assert sent == []
    assert places(tmp_path / "cluster.zarr") == places(tmp_path / "threads.zarr")
    want = data.compute()
    for name in ("t.nc", "t.zip", "shards"):
        for variable in want:
            found = nczarr.open(tmp_path / name)[variable][...]
            np.testing.assert_array_equal(found, np.asarray(want[variable]), err_msg=f"{name} {variable}")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_failures_on_a_cluster_leave_no_target(client: Any, tmp_path: Path, da: Any) -> None:
    import xarray as xr

    base = da.ones((600, 500), chunks=100)
    fails = base.map_blocks(lambda block: 1 // 0, dtype="f8", meta=np.empty((0, 0)))
    with pytest.raises(ZeroDivisionError):
        nczarr.write(xr.Dataset({"v": (("y", "x"), fails)}), tmp_path / "t.zarr")
    short = base.map_blocks(lambda block: block[:1], dtype="f8", meta=np.empty((0, 0)))
    with pytest.raises(nczarr.CompileError, match="dask declares"):
        nczarr.write(xr.Dataset({"v": (("y", "x"), short)}), tmp_path / "t.zarr")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_files_that_netcdf4_reads_while_we_write(tmp_path: Path, da: Any, peer: Load) -> None:
    xr = peer("xarray")
    peer("netCDF4")
    values = np.arange(4_000_000.0).reshape(400, 100, 100)
    nczarr.write(xr.Dataset({"v": (("t", "y", "x"), values)}), tmp_path / "a.nc", chunks={"/v": (1, 100, 100)})
    for number in range(3):
        with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4", chunks={}) as data:
            nczarr.write(data, tmp_path / f"{number}.nc", codecs="zlib:1")
        np.testing.assert_array_equal(nczarr.open(tmp_path / f"{number}.nc")["v"][...], values)


def test_arrays_of_xarray_and_columns_of_pandas(da: Any, peer: Load) -> None:
    xr, pandas = peer("xarray"), peer("pandas")
    lazy = xr.DataArray(da.arange(6, chunks=4), dims="x", coords={"x": np.arange(6.0)})
    found = built("int", lazy)
    assert found.checked.parts["/v"][""].deferred is not None
    assert found["v"][...].tolist() == list(range(6))
    for given in (
        lazy.compute(),
        lazy.variable,
        lazy["x"],
        lazy.to_series(),
        lazy.to_dataframe("n")["n"],
        lazy.to_index(),
    ):
        assert built("int", given)["v"][...].tolist() == list(range(6))
    days = xr.DataArray(pandas.date_range("2000-01-01", periods=3), dims="t")
    assert np.diff(built("int64", days.chunk(2))["v"][...]).tolist() == np.diff(built("int64", days)["v"][...]).tolist()
    times = built("int64", da.from_array(np.array(["2000-01-01", "NaT"], "M8[D]"), chunks=1), fill_value=-1)
    assert times["v"][...].tolist() == [10957, -1]
    builder = nczarr.DatasetBuilder("t")
    builder.variable("v", "int", [6])
    with pytest.raises(nczarr.CompileError):
        builder.finish({"v": xr.Dataset({"a": lazy})})


@pytest.mark.filterwarnings("ignore")
def test_encoded_times_are_wider_than_dask_declares(tmp_path: Path, da: Any) -> None:
    import xarray as xr

    times = np.array(["2020-01-01", "2020-01-04", "NaT", "2020-01-02"], "M8[ns]")
    data = xr.Dataset({"w": ("x", da.from_array(times, chunks=2))})
    data["w"].encoding = {"dtype": "int32", "_FillValue": -1, "units": "days since 2020-01-01"}
    nczarr.write(data, tmp_path / "a.zarr")
    assert nczarr.open(tmp_path / "a.zarr")["w"].dtype == "int32"
    np.testing.assert_array_equal(xr.open_zarr(tmp_path / "a.zarr")["w"].values, times)
    wide = da.from_array(np.array([1, 2**31]), chunks=1).map_blocks(lambda block: block, dtype="i4")
    with pytest.raises(nczarr.CompileError, match="dask declares int32"):
        nczarr.write(xr.Dataset({"v": ("x", wide)}), tmp_path / "b.zarr")
