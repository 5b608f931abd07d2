"""`encoding` of xarray objects is obeyed, or refused with a code; trees, groups and odd objects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr

Load = Callable[[str], ModuleType]

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def xr(peer: Load) -> ModuleType:
    for name in ("netCDF4", "zarr", "dask"):
        peer(name)
    return peer("xarray")


def dataset(xr: Any) -> Any:
    return xr.Dataset({"v": (("y", "x"), np.linspace(0, 1, 600).reshape(20, 30))}, coords={"y": np.arange(20)})


NETCDF = {
    "zlib": {"zlib": True},
    "level": {"zlib": True, "complevel": 7, "shuffle": False},
    "chunks": {"zlib": True, "chunksizes": (5, 30)},
    "checksum": {"fletcher32": True, "chunksizes": (5, 30)},
    "all": {"zlib": True, "complevel": 2, "fletcher32": True, "shuffle": True, "chunksizes": (7, 7)},
    "name": {"compression": "zlib", "complevel": 3},
    "zstd": {"compression": "zstd", "complevel": 3},
    "bzip2": {"compression": "bzip2", "complevel": 3},
    "blosc": {"compression": "blosc_lz4", "complevel": 5, "blosc_shuffle": 2},
    "contiguous": {"contiguous": True},
    "dtype": {"dtype": "f4"},
    "digits": {"zlib": True, "least_significant_digit": np.int64(2)},
    "significant": {"zlib": True, "significant_digits": 3, "quantize_mode": "BitRound"},
    "packed": {"dtype": "u1", "scale_factor": 1 / 254, "_FillValue": 255},
}


@pytest.mark.parametrize("case", NETCDF)
def test_keys_of_to_netcdf(case: str, tmp_path: Path, xr: Any) -> None:
    data, encoding = dataset(xr), {"v": NETCDF[case]}
    nczarr.write(data, tmp_path / "ours.nc", encoding=encoding)
    data.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", encoding=encoding)
    opened = [xr.open_dataset(tmp_path / name, engine="netcdf4") for name in ("ours.nc", "theirs.nc")]
    with opened[0] as ours, opened[1] as theirs:
        xr.testing.assert_identical(ours, theirs)
        same = set(theirs["v"].encoding) - {"source", "chunksizes", "preferred_chunks", "contiguous"}
        if "chunksizes" in NETCDF[case] or "contiguous" in NETCDF[case]:
            same |= {"chunksizes", "contiguous"}
        found, wanted = ({key: repr(each["v"].encoding[key]) for key in same} for each in (ours, theirs))
        assert found == wanted


def test_keys_of_a_file_are_obeyed_again(tmp_path: Path, xr: Any) -> None:
    data = dataset(xr)
    data.to_netcdf(tmp_path / "a.nc", engine="netcdf4", encoding={"v": NETCDF["all"]}, unlimited_dims=["y"])
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as read:
        assert nczarr.write(read, tmp_path / "b.nc") == ()
        assert nczarr.write(read.isel(x=slice(0, 3)), tmp_path / "c.nc") == ()
        nczarr.write(read, tmp_path / "b.zarr", "nczarr")
    for name in ("b.nc", "b.zarr"):
        storage = nczarr.open(tmp_path / name)["v"].variable.storage
        assert storage.chunks == (7, 7)
        assert sorted(str(each.name) for each in storage.codecs) == ["deflate", "fletcher32", "shuffle"]
        assert nczarr.open(tmp_path / name).checked.dimensions["/y"].unlimited


def test_keys_of_to_zarr(tmp_path: Path, xr: Any) -> None:
    import numcodecs
    import zarr.codecs as v3

    data = dataset(xr)
    encoding = {"chunks": (5, 10), "compressors": numcodecs.Zlib(3), "filters": [numcodecs.Shuffle(8)]}
    nczarr.write(data, tmp_path / "a.zarr", "zarr2", encoding={"v": encoding})
    data.to_zarr(tmp_path / "b.zarr", zarr_format=2, encoding={"v": encoding})
    assert nczarr.diff(tmp_path / "a.zarr", tmp_path / "b.zarr") == []
    ours, theirs = (nczarr.open(tmp_path / name)["v"].variable.storage for name in ("a.zarr", "b.zarr"))
    assert ours == theirs
    encoding = {
        "chunks": 5,
        "shards": (10, 30),
        "compressors": [v3.BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle", typesize=8)],
        "serializer": v3.BytesCodec(endian="big"),
    }
    nczarr.write(data, tmp_path / "c.zarr", "zarr3", encoding={"v": encoding})
    data.to_zarr(tmp_path / "d.zarr", zarr_format=3, encoding={"v": encoding})
    with xr.open_zarr(tmp_path / "c.zarr") as ours, xr.open_zarr(tmp_path / "d.zarr") as theirs:
        xr.testing.assert_identical(ours.load(), theirs.load())
        for key in ("chunks", "shards"):
            assert ours["v"].encoding[key] == theirs["v"].encoding[key]
        assert ours["v"].encoding["compressors"][0].cname == theirs["v"].encoding["compressors"][0].cname
    with xr.open_zarr(tmp_path / "d.zarr") as sharded:
        nczarr.write(sharded, tmp_path / "e.zarr", "zarr3")
        found = nczarr.write(sharded, tmp_path / "f.zarr", "nczarr")
    assert [each.code for each in found] == ["unused-encoding"]
    assert zarr_shards(tmp_path / "e.zarr") == (10, 30)


def zarr_shards(path: Path) -> Any:
    import zarr

    return zarr.open(path, mode="r")["v"].shards


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"zlip": True}, "unknown-encoding"),
    "key of the target": ({"write_empty_chunks": True}, "unknown-encoding"),
    "rank": ({"chunks": (1, 2, 3)}, "unknown-encoding"),
    "lengths": ({"chunks": (0, 2)}, "unknown-encoding"),
    "rectilinear": ({"chunks": ((1, 2), (3,))}, "unknown-encoding"),
    "compression": ({"compression": "lz77"}, "unknown-encoding"),
    "level": ({"zlib": True, "complevel": 12}, "unknown-encoding"),
    "endian": ({"endian": "middle"}, "unknown-encoding"),
    "codec": ({"compressors": [{"id": "pcodec"}]}, "unknown-encoding"),
    "dtype": ({"dtype": "M8[Q]"}, "unencodable-variable"),
    "not a mapping": (5, "unknown-encoding"),  # type: ignore[dict-item]
    "digits": ({"significant_digits": "x"}, "unknown-encoding"),
    "decimal digits": ({"least_significant_digit": "x"}, "unknown-encoding"),
    "blosc": ({"compression": "blosc_zstd", "blosc_shuffle": "x"}, "unknown-encoding"),
    "no codec": ({"compressors": 5}, "unknown-encoding"),
    "mode": ({"significant_digits": 3, "quantize_mode": "Coin"}, "unknown-encoding"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_encodings(case: str, tmp_path: Path, xr: Any) -> None:
    encoding, code = REFUSED[case]
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.write(dataset(xr), tmp_path / "t.zarr", encoding={"v": encoding})
    assert {each.code for each in caught.value.diagnostics} == {code}
    span = caught.value.diagnostics[0].primary.span
    assert span.source is not None
    assert span.source.name == __file__
    assert not list(tmp_path.iterdir())


def test_refused_objects(tmp_path: Path, xr: Any) -> None:
    import pandas as pd

    cases = {
        "unencodable-variable": xr.Dataset({"v": ("x", [{"a": 1}])}),
        "bad-name": xr.Dataset({1: ("x", [1])}),
    }
    with pytest.raises(nczarr.CompileError, match="undefined-variable"):
        nczarr.from_xarray(dataset(xr), encoding={"w": {}})
    for code, data in cases.items():
        with pytest.raises(nczarr.CompileError) as caught:
            nczarr.from_xarray(data)
        assert {each.code for each in caught.value.diagnostics} == {code}
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["p", "q"])
    with pytest.raises(nczarr.CompileError, match="MultiIndex"):
        nczarr.from_xarray(
            xr.Dataset({"v": ("m", [1, 2, 3, 4])}, coords=xr.Coordinates.from_pandas_multiindex(index, "m"))
        )
    with pytest.raises(nczarr.CompileError, match="undefined-dimension"):
        nczarr.from_xarray(dataset(xr), unlimited_dims=["t"])
    with pytest.raises(TypeError, match="is not a Dataset"):
        nczarr.from_xarray({})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="for objects of xarray"):
        nczarr.write(nczarr.from_xarray(dataset(xr)), tmp_path / "t.nc", encoding={})
    for wrong in ({"encoding": [1]}, {"group": 5}):
        with pytest.raises(TypeError, match="which is not a"):
            nczarr.from_xarray(dataset(xr), **wrong)
    both = xr.Dataset({1: ("x", [1]), "v": ("x", [{"a": 1}])}, attrs={"a": None})
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.from_xarray(both)
    assert {each.code for each in caught.value.diagnostics} == {"unencodable-variable", "bad-name"}


def test_data_arrays_and_groups(tmp_path: Path, xr: Any) -> None:
    array = dataset(xr)["v"]
    nczarr.write(array, tmp_path / "a.nc", group="g/h")
    with xr.open_dataarray(tmp_path / "a.nc", group="g/h", engine="netcdf4") as found:
        xr.testing.assert_identical(found.load(), array)
    nczarr.write(array.rename(None), tmp_path / "b.nc")
    with xr.open_dataarray(tmp_path / "b.nc", engine="netcdf4") as found:
        xr.testing.assert_identical(found.load(), array.rename(None))
    nczarr.write(array["y"], tmp_path / "c.nc")
    with xr.open_dataarray(tmp_path / "c.nc", engine="netcdf4") as found:
        xr.testing.assert_identical(found.load(), array["y"])


def tree(xr: Any) -> Any:
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset({"r": ("x", [1, 2])}, coords={"x": [10, 20]}, attrs={"title": "t"}),
            "/a": xr.Dataset({"v": (("x", "y"), np.ones((2, 3)))}, coords={"y": [1.0, 2.0, 3.0]}),
            "/a/b": xr.Dataset({"w": (("y", "x"), np.zeros((3, 2), "i2")), "s": ("z", ["p", "q"])}),
            "/empty": xr.Dataset(),
            "/c": xr.Dataset({"u": ("other", np.arange(4))}),
        }
    )


@pytest.mark.parametrize("lazy", [False, True])
def test_trees(lazy: bool, tmp_path: Path, xr: Any) -> None:
    data = tree(xr).chunk() if lazy else tree(xr)
    nczarr.write(data, tmp_path / "a.nc", encoding={"/a": {"v": {"dtype": "f4"}}}, unlimited_dims={"/a": ["y"]})
    with xr.open_datatree(tmp_path / "a.nc", engine="netcdf4") as found:
        xr.testing.assert_identical(found.load(), tree(xr))
        assert found["/a/v"].encoding["dtype"] == np.dtype("f4")
        assert "x" not in found["/a"].to_dataset(inherit=False).coords
    checked = nczarr.open(tmp_path / "a.nc").checked
    assert [path for path, each in checked.dimensions.items() if each.unlimited] == ["/a/y"]
    assert set(checked.dimensions) == {"/x", "/a/y", "/a/b/z", "/c/other"}
    nczarr.write(data, tmp_path / "a.zarr", "zarr3")
    with xr.open_datatree(tmp_path / "a.zarr", engine="zarr", consolidated=False) as found:
        xr.testing.assert_identical(found.load(), tree(xr))
    nczarr.write(data["/a"], tmp_path / "b.nc", group="below")
    with xr.open_datatree(tmp_path / "b.nc", engine="netcdf4") as found:
        assert found["/below/b/w"].shape == (3, 2)
    with pytest.raises(nczarr.CompileError, match="is not a group of the tree"):
        nczarr.write(data, tmp_path / "c.nc", encoding={"/d": {}})


def test_complex_numbers_and_records(tmp_path: Path, xr: Any) -> None:
    data = xr.Dataset(
        {"c": ("x", np.array([1 + 2j, 3.0])), "f": ("x", np.array([1, 2], "c8")), "h": ("x", np.array([1, 2.5], "f2"))}
    )
    for given in (data, data.chunk(1)):
        nczarr.write(given, tmp_path / "a.zarr", "zarr3", overwrite=True)
        with xr.open_zarr(tmp_path / "a.zarr", consolidated=False) as found:
            xr.testing.assert_identical(found.load(), data)
            assert found["h"].dtype == np.dtype("f2")
        nczarr.write(given, tmp_path / "a.nc", overwrite=True)
        assert nczarr.open(tmp_path / "a.nc")["c"][1].tolist() == (3.0, 0.0)
    records = np.array([(1, [2, 3])], [("a", "i4"), ("b", "f8", (2,))])
    nczarr.write(xr.Dataset({"r": ("x", records)}), tmp_path / "r.nc")
    assert nczarr.open(tmp_path / "r.nc")["r"][...]["b"].tolist() == [[2.0, 3.0]]


def test_enums_of_one_name_must_agree(xr: Any) -> None:
    def enum(**constants: int) -> Any:
        return np.dtype("i1", metadata={"enum": constants, "enum_name": "e"})

    one, other = (np.zeros(1, enum(a=0)), np.zeros(1, enum(b=0)))
    assert nczarr.from_xarray(xr.Dataset({"v": ("x", one), "w": ("x", one)}))["w"].type == "/e"
    with pytest.raises(nczarr.CompileError, match="defined twice"):
        nczarr.from_xarray(xr.Dataset({"v": ("x", one), "w": ("x", other)}))


def test_large_unloaded_variables_are_read_in_pieces(tmp_path: Path, xr: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.xarray.objects import encode

    monkeypatch.setattr(encode, "LAZY", 100)
    dataset(xr).to_netcdf(tmp_path / "a.nc", engine="netcdf4", encoding={"v": {"chunksizes": (5, 10)}})
    with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as read:
        handle = nczarr.from_xarray(read)
        assert handle.checked.parts["/v"][""].deferred is not None
        np.testing.assert_array_equal(handle["v"][...], dataset(xr)["v"])


@pytest.mark.slow
def test_a_tour_from_dask_to_three_libraries(tmp_path: Path, xr: Any) -> None:
    import dask.array as da
    import netCDF4
    import zarr

    values = np.arange(24_000.0).reshape(60, 20, 20)
    data = xr.Dataset(
        {"temp": (("time", "y", "x"), da.from_array(values, chunks=(7, 20, 6)), {"units": "K"})},
        coords={"time": np.datetime64("2000-01-01") + np.arange(60), "y": np.arange(20.0)},
        attrs={"title": "tour"},
    )
    encoding = {"temp": {"chunks": (10, 10, 20), "zlib": True}}
    assert nczarr.write(data, tmp_path / "t.zarr", "nczarr", encoding=encoding) == ()
    with xr.open_dataset(tmp_path / "t.zarr", engine="zarr", consolidated=False) as found:
        xr.testing.assert_identical(found.load(), data.compute())
    np.testing.assert_array_equal(zarr.open(tmp_path / "t.zarr", mode="r")["temp"][...], values)
    with netCDF4.Dataset(f"file://{tmp_path}/t.zarr#mode=nczarr,file") as found:
        np.testing.assert_array_equal(found["temp"][...], values)
        assert found["temp"].units == "K"
        assert found["temp"].chunking() == [10, 10, 20]
    nczarr.convert(tmp_path / "t.zarr", tmp_path / "back.nc", kind="nc4")
    with xr.open_dataset(tmp_path / "back.nc", engine="netcdf4") as found:
        xr.testing.assert_identical(found.load(), data.compute())


PACKINGS: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "beyond": ([1.0, 1e9], {"dtype": "i2"}, "1000000000.0 does not fit dtype int16"),
    "rounded": ([0.0, 127.4], {"dtype": "i1"}, None),
    "rounded beyond": ([0.0, 127.5], {"dtype": "i1"}, "127.5 does not fit dtype int8"),
    "nan": ([1.0, np.nan], {"dtype": "i2"}, "nan does not fit dtype int16"),
    "filled nan": ([1.0, np.nan], {"dtype": "i2", "_FillValue": -1}, None),
    "integers": (np.array([1, 70000]), {"dtype": "i2"}, "70000 does not fit dtype int16"),
    "largest": (np.array([1, 2**63 - 1], "u8"), {"dtype": "i8"}, None),
    "above largest": (np.array([1, 2**63], "u8"), {"dtype": "i8"}, "9223372036854775808 does not fit dtype int64"),
    "scaled": ([0.0, 300.0], {"dtype": "i2", "scale_factor": 0.01}, None),
    "scaled beyond": ([0.0, 400.0], {"dtype": "i2", "scale_factor": 0.01}, "packed as 40000.0"),
    "float": ([1e300, 1.0], {"dtype": "f4"}, "1e\\+300 does not fit dtype float32"),
    "infinite float": ([np.inf, np.nan], {"dtype": "f4"}, None),
    "unsigned": ([1.0, 250.0], {"dtype": "i1", "_Unsigned": "true", "_FillValue": np.int8(-1)}, None),
    "unsigned beyond": ([1.0, -3.0], {"dtype": "i1", "_Unsigned": "true", "_FillValue": np.int8(-1)}, "-3.0 does not"),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["loaded", "dask"])
@pytest.mark.parametrize("case", PACKINGS)
def test_values_beyond_the_dtype_of_the_encoding_are_refused(case: str, lazy: bool, tmp_path: Path, xr: Any) -> None:
    values, encoding, told = PACKINGS[case]
    data = xr.Dataset({"v": ("x", np.asarray(values))})
    given = data.chunk(x=1) if lazy else data
    if told is not None:
        with pytest.raises(nczarr.CompileError, match=f"value-range: .*variable 'v': .*{told}"):
            nczarr.write(given, tmp_path / "t.nc", encoding={"v": encoding})
        assert not list(tmp_path.iterdir())
        return
    nczarr.write(given, tmp_path / "t.nc", encoding={"v": encoding})
    found = xr.open_dataset(tmp_path / "t.nc", engine="netcdf4").v
    np.testing.assert_allclose(found, data.v, atol=0.5 if encoding["dtype"] == "i1" else 0)


HIDDEN: dict[str, tuple[Any, dict[str, Any], str]] = {
    "packed": ([1.0, -0.1], {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -1}, "-0.1 is stored as -1"),
    "unsigned": ([1.0, 255.0], {"dtype": "i1", "_Unsigned": "true", "_FillValue": np.int8(-1)}, "255.0 is stored as"),
    "float": ([1.0, -9999.0, np.nan], {"_FillValue": -9999.0}, "-9999.0 is stored as -9999.0, the `_FillValue`"),
    "missing_value": ([1.0, -9999.0], {"missing_value": -9999.0}, "the `missing_value`"),
    "narrower float": ([1.0, 1e20], {"dtype": "f4", "_FillValue": 1e20}, "1e\\+20 is stored as"),
    "integers": (np.array([1, -1], "i2"), {"_FillValue": -1}, "-1 is stored as -1"),
    "booleans": ([True, False], {"dtype": "i1", "_FillValue": 1}, "True is stored as 1"),
    "texts": (np.array(["a", "x", None], object), {"_FillValue": "x"}, "x is stored as x"),
    "times": (
        np.array(["2000-01-02", "NaT"], "M8[ns]"),
        {"units": "days since 2000-01-01", "dtype": "i8", "_FillValue": 1},
        "2000-01-02.* is stored as 1",
    ),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["loaded", "dask"])
@pytest.mark.parametrize("case", HIDDEN)
def test_values_that_would_be_read_as_missing_are_refused(case: str, lazy: bool, tmp_path: Path, xr: Any) -> None:
    values, encoding, told = HIDDEN[case]
    data = xr.Dataset({"v": ("x", np.asarray(values))})
    for target in ("t.nc", "t.zarr"):
        with pytest.raises(nczarr.CompileError, match=f"value-range: .*variable 'v': .*{told}.* read as missing"):
            nczarr.write(data.chunk(x=1) if lazy else data, tmp_path / target, encoding={"v": encoding})
    assert not list(tmp_path.iterdir())


def test_raw_values_with_attributes_of_packing_are_kept(tmp_path: Path, xr: Any) -> None:
    data = xr.Dataset({"v": ("x", np.array([0, 255], "u1"), {"scale_factor": 0.01, "add_offset": 900.0})})
    nczarr.write(data, tmp_path / "t.zarr")
    assert xr.open_dataset(tmp_path / "t.zarr", engine="zarr", mask_and_scale=False).v.values.tolist() == [0, 255]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("values", [["a", "bb"], [b"a", b"bb"], [True, False], ["2000-01-01", "2000-01-02"]])
def test_arrays_of_all_kinds_come_from_stores_of_xarray(
    values: list[Any], zarr_format: int, tmp_path: Path, xr: Any
) -> None:
    """zarr-python gives a byte order to texts of fixed length."""
    array = np.array(values, "M8[ns]" if str(values[0]).startswith("2000") else None)
    xr.Dataset({"s": ("x", array)}).to_zarr(tmp_path / "s.zarr", zarr_format=zarr_format)
    for name in ("t.nc", "t.zarr"):
        with xr.open_zarr(tmp_path / "s.zarr") as given:
            nczarr.write(given, tmp_path / name)
        with xr.open_dataset(tmp_path / name, engine="nczarr") as again:
            assert again["s"].values.tolist() == array.tolist(), name
