"""Booleans, halves and complex numbers of other programs' stores: read, written, and read there again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr

ARRAYS: dict[str, tuple[str, Any]] = {
    "truth": ("?", True),
    "falsehood": ("?", False),
    "half": ("<f2", np.nan),
    "big_half": (">f2", 1.5),
    "complex": ("<c8", complex(1, np.nan)),
    "big_complex": (">c16", 2 - 1j),
}
TIMES: dict[str, tuple[str, Any]] = {
    "time": ("<M8[ns]", np.datetime64("NaT", "ns")),
    "epoch": (">M8[25s]", np.datetime64(0, "25s")),
    "day": ("<M8[D]", np.datetime64(-3, "D")),
    "difference": ("<m8[us]", np.timedelta64("NaT", "us")),
    "years": (">m8[Y]", np.timedelta64(2, "Y")),
}


@pytest.fixture(scope="module", params=[2, 3])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]
) -> Path:
    """What zarr-python writes: with chunks that are missing, compressed and not, over the edge."""
    zarr, path = peer("zarr"), tmp_path_factory.mktemp("elements") / "s.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=request.param)
    for name, (dtype, fill) in (ARRAYS | TIMES).items():
        packed: dict[str, Any] = {} if name in ("half", "complex") else {"compressors": None}
        array = group.create_array(name, shape=(5, 3), chunks=(2, 2), dtype=dtype, fill_value=fill, **packed)
        array[:3] = (np.arange(9).reshape(3, 3) % 2).astype(dtype)
    return path


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr3"])
def test_zarr_python_reads_back_what_it_wrote(
    store: Path, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    zarr = peer("zarr")
    nczarr.convert(store, tmp_path / "t.zarr", format=form)
    before, after = zarr.open_group(store, mode="r"), zarr.open_group(tmp_path / "t.zarr", mode="r")
    for name in ARRAYS | TIMES:
        one, other = before[name], after[name]
        assert name in ARRAYS or form == "nczarr3" or dict(other.attrs).keys() <= {"_ARRAY_DIMENSIONS"}, name
        assert one.dtype.newbyteorder("=") == other.dtype.newbyteorder("="), name
        assert np.array_equal(one[...], other[...], equal_nan=True), name
        if form == "zarr2" and not np.asarray(one.fill_value).tobytes().strip(b"\0"):  # xarray would mask each zero
            assert other.fill_value is None, name
        else:
            assert np.array_equal(one.fill_value, other.fill_value, equal_nan=True), name


@pytest.mark.slow
def test_the_whole_model_comes_back(store: Path, tmp_path: Path) -> None:
    nczarr.convert(store, tmp_path / "n.zarr", format="nczarr", verify=True)
    nczarr.convert(tmp_path / "n.zarr", tmp_path / "three.zarr", format="nczarr3", verify=True)
    assert nczarr.diff(store, tmp_path / "three.zarr", storage=True) == []
    assert nczarr.digest(store) == nczarr.digest(tmp_path / "n.zarr") == nczarr.digest(tmp_path / "three.zarr")


def test_h5py_takes_them_for_its_own(store: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr, h5py = peer("zarr"), peer("h5py")
    nczarr.convert(store, tmp_path / "t.nc", codecs="deflate:1")
    before = zarr.open_group(store, mode="r")
    with h5py.File(tmp_path / "t.nc") as file:
        for name in ARRAYS:
            assert file[name].dtype.kind == before[name].dtype.kind, name
            assert np.array_equal(file[name][...], before[name][...], equal_nan=True), name


def test_times_are_what_cf_says_of_them(store: Path) -> None:
    opened = nczarr.open(store)
    texts = {
        "time": ("nanoseconds since 1970-01-01 00:00:00", "proleptic_gregorian"),
        "epoch": ("25 seconds since 1970-01-01 00:00:00", "proleptic_gregorian"),
        "day": ("days since 1970-01-01 00:00:00", "proleptic_gregorian"),
        "difference": ("microseconds", None),
        "years": ("years", None),
    }
    for name, (units, calendar) in texts.items():
        found = {each.name: each.value.data for each in opened[name].variable.attributes}
        assert opened[name].type == "int64"
        assert found["units"] == units.encode()
        assert found.get("calendar") == (None if calendar is None else calendar.encode())
        assert ("_FillValue" in found) == (name in ("time", "difference"))


def test_xarray_decodes_the_times_of_a_netcdf_file(
    store: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    zarr, xarray = peer("zarr"), peer("xarray")
    nczarr.convert(store, tmp_path / "t.nc", variables=["time", "day"])
    before = zarr.open_group(store, mode="r")
    with xarray.open_dataset(tmp_path / "t.nc") as found:
        for name in ("time", "day"):
            wanted = before[name][...].astype("M8[ns]")
            assert np.array_equal(found[name].values.astype("M8[ns]"), wanted, equal_nan=True), name


@pytest.mark.parametrize("form", ["zarr2", "zarr3"])
def test_attributes_of_their_own_stay(form: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr = peer("zarr")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=int(form[-1]))
    array = group.create_array("t", shape=(2,), chunks=(2,), dtype="M8[s]", attributes={"units": "fortnights", "n": 1})
    array[:] = [3, 4]
    assert nczarr.open(tmp_path / "s.zarr")["t"].attributes["units"] == "fortnights"
    nczarr.convert(tmp_path / "s.zarr", tmp_path / "t.zarr", form)
    found = dict(zarr.open_group(tmp_path / "t.zarr", mode="r")["t"].attrs)
    assert found["units"] == "fortnights"
    assert found["n"] == 1


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["<M8[ns]", ">m8[s]"])
def test_times_of_chunks_without_a_fill_value_are_missing(
    tmp_path: Path, peer: Callable[[str], ModuleType], dtype: str
) -> None:
    """As xarray writes NaT to Zarr v2: the fill value is null, and the chunk is not stored."""
    zarr, path = peer("zarr"), tmp_path / "s.zarr"
    array = zarr.open_group(path, mode="w", zarr_format=2).create_array("v", shape=(4,), chunks=(2,), dtype=dtype)
    array[2:] = np.array([5, 7], dtype)
    document = path / "v/.zarray"
    described = json.loads(document.read_text())
    document.write_text(json.dumps({**described, "fill_value": None}))
    expected = zarr.open_array(path / "v", mode="r")[:]
    assert np.isnat(expected).tolist() == [True, True, False, False]
    assert np.array_equal(nczarr.open(path)["v"][:].astype("i8"), expected.astype("i8"))
    for name in ("zarr2", "zarr3", "nczarr3"):
        nczarr.convert(path, tmp_path / name, name, allow_loss="all", verify=True)
        again = zarr.open_array(tmp_path / name / "v", mode="r")[:]
        assert np.array_equal(again.astype("i8"), expected.astype("i8"))


def test_integers_beyond_all_types_are_not_rounded(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """In attributes: JSON has integers of any size, which stay JSON; reals that hold them exactly stay numbers."""
    group = peer("zarr").open_group(tmp_path / "s.zarr", mode="w", zarr_format=3)
    group.attrs.update({"large": 2**64 + 1, "mixed": [2**53 + 1, 0.5], "wide": [1, 2**64 - 1, -1], "real": [2**63, -1]})
    attributes = nczarr.open(tmp_path / "s.zarr").attributes
    texts = {name: attributes[name] for name in ("large", "mixed", "wide")}
    assert texts == {
        "large": 18446744073709551617, "mixed": [9007199254740993, 0.5], "wide": [1, 18446744073709551615, -1]
    }  # fmt: skip
    assert attributes["real"].tolist() == [2.0**63, -1.0]


def test_attributes_of_times_may_be_lists(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray, group = peer("xarray"), peer("zarr").open_group(tmp_path / "s.zarr", mode="w", zarr_format=3)
    array = group.create_array("v", shape=(2,), dtype="<M8[ns]", dimension_names=["x"])
    array.attrs["units"] = [1, 2, 3]
    array[...] = np.array([1, 2], "<M8[ns]")
    with xarray.open_dataset(tmp_path / "s.zarr", engine="nczarr", decode_cf=False) as dataset:
        assert dataset["v"].attrs["units"].tolist() == [1, 2, 3]
        assert dataset["v"].values.astype("i8").tolist() == [1, 2]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "fields",
    [
        [("a", "<i4"), ("v", "<f2", (2,))],
        [("r", [("x", "<f2"), ("t", "S2")], (2,))],
        [("t", "S4"), ("v", "<f4", (2,))],
        [("t", "S3", (2,)), ("z", "<c8", (2,))],
    ],
)
def test_array_fields_of_records_are_no_bytes(fields: Any, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py, source, target = peer("h5py"), tmp_path / "s.h5", tmp_path / "t.zarr"
    with h5py.File(source, "w") as file:
        file["v"] = np.frombuffer(bytes(range(1, 1 + 2 * np.dtype(fields).itemsize)), fields)
    nczarr.convert(source, target, format="nczarr3", verify=True)
    assert list(nczarr.diff(source, target)) == []
    with pytest.raises(nczarr.CompileError, match="stores fields as raw bytes"):
        nczarr.convert(source, tmp_path / "plain.zarr", format="zarr3")


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_bytes_of_any_length_are_bytes_whatever_they_hold(
    zarr_format: int, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    zarr = peer("zarr")
    for values in ([b"a", b"bc"], [b"a", b"\xff"]):
        group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=zarr_format)
        kind = zarr.core.dtype.VariableLengthBytes()
        group.create_array("v", shape=(2,), chunks=(2,), dtype=kind)[:] = np.array(values, object)
        for form in ("zarr2", "zarr3", "nczarr3"):
            nczarr.convert(tmp_path / "s.zarr", tmp_path / "t.zarr", form, overwrite=True)
            array = zarr.open_group(tmp_path / "t.zarr", mode="r")["v"]
            assert type(array[...].tolist()[0]) is bytes, form
            assert array[...].tolist() == values
        nczarr.convert(tmp_path / "s.zarr", tmp_path / "n.zarr", "nczarr", overwrite=True)
        assert nczarr.open(tmp_path / "n.zarr").checked.variables["/v"].storage.element == "bytes"
    text = nczarr.from_cdl('netcdf t { dimensions: x = 1 ; variables: string s(x) ; data: s = "a" ; }')
    nczarr.write(text, tmp_path / "t.zarr", "zarr3", overwrite=True)
    assert nczarr.open(tmp_path / "t.zarr").checked.variables["/s"].storage.element is None
