"""Combined datasets beside what xarray makes of the same files, and netCDF4 where xarray has no word for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import Ran

TIMES = ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9))

Maker = Callable[[Any, tuple[int, ...]], None]


def records(dataset: Any, times: tuple[int, ...]) -> None:
    """A record dimension, whatever the format."""
    axes(dataset, None)
    dataset["time"][:] = times
    fill(dataset.createVariable("v", "i2", ("time", "y", "x")), times)
    fill(dataset.createVariable("odd", "i1", ("time",)), times)


def chunked(dataset: Any, times: tuple[int, ...]) -> None:
    """Chunks, filters, and a grid that ends within the last source."""
    axes(dataset, None)
    dataset["time"][:] = times
    made = dataset.createVariable(
        "v", "f4", ("time", "y", "x"), zlib=True, fletcher32=True, chunksizes=(4, 2, 5), fill_value=-1
    )
    fill(made, times)
    fill(dataset.createVariable("w", "u8", ("x", "time"), chunksizes=(3, 2)), times)


def contiguous(dataset: Any, times: tuple[int, ...]) -> None:
    """Fixed dimensions, nothing chunked."""
    axes(dataset, len(times))
    dataset["time"][:] = times
    fill(dataset.createVariable("v", ">f8", ("time", "y", "x"), endian="big"), times)
    fill(dataset.createVariable("w", "i4", ("y", "time")), times)
    dataset.createVariable("s", "i4", ())[...] = 7


def texts(dataset: Any, times: tuple[int, ...]) -> None:
    """Strings and chars."""
    axes(dataset, None)
    dataset["time"][:] = times
    dataset.createVariable("s", str, ("time",))[:] = np.array([f"text {time}" * time for time in times], object)
    dataset.createVariable("c", "S1", ("time", "x"))[:] = np.array([list("abcde")] * len(times), "S1")


def axes(dataset: Any, length: int | None) -> None:
    dataset.createDimension("time", length)
    dataset.createDimension("y", 3)
    dataset.createDimension("x", 5)
    dataset.createVariable("time", "f8", ("time",)).units = "days since 2000-01-01"
    dataset.createVariable("x", "f4", ("x",))[:] = np.arange(5)


def fill(variable: Any, times: tuple[int, ...]) -> None:
    """Values that tell of their time and place."""
    variable.set_auto_maskandscale(False)
    axis = variable.dimensions.index("time")
    shape = [{"time": len(times), "y": 3, "x": 5}[name] for name in variable.dimensions]
    places = np.arange(int(np.prod(shape)) // len(times)).reshape([n for at, n in enumerate(shape) if at != axis])
    variable[:] = np.stack([places + 20 * time for time in times], axis)


def files(peer: Callable[[str], ModuleType], folder: Path, make: Maker, form: str = "NETCDF4") -> list[str]:
    found = []
    for number, times in enumerate(TIMES):
        path = str(folder / f"{number}.nc")
        with peer("netCDF4").Dataset(path, "w", format=form) as dataset:
            make(dataset, times)
        found.append(path)
    return found


@pytest.mark.parametrize("target", ["out.zarr", "out.nc"])
@pytest.mark.parametrize(
    ("make", "form"),
    [
        (records, "NETCDF3_CLASSIC"),
        (records, "NETCDF3_64BIT_DATA"),
        (records, "NETCDF4"),
        (chunked, "NETCDF4"),
        (contiguous, "NETCDF4"),
        (texts, "NETCDF4"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_joined_files_are_what_xarray_makes_of_them(
    peer: Callable[[str], ModuleType],
    nczarr_command: Callable[..., Ran],
    tmp_path: Path,
    make: Maker,
    form: str,
    target: str,
) -> None:
    xarray = peer("xarray")
    sources = files(peer, tmp_path, make, form)
    out = str(tmp_path / target)
    ran = nczarr_command("refs", "combine", *sources, "--along", "time", "-o", out, "--verify")
    assert (ran.status, ran.err) == (0, "")
    ours = nczarr.open(out)
    parts = [xarray.open_dataset(path, decode_cf=False) for path in sources]
    whole = xarray.concat(parts, "time", data_vars="minimal", coords="minimal", compat="identical")
    assert {f"/{name}" for name in whole.variables} == set(ours)
    for name, variable in whole.variables.items():
        made = ours[str(name)]
        assert np.array_equal(np.asarray(made[...]).astype(variable.dtype), variable.values), name
        assert tuple(str(each).lstrip("/") for each in made.dimensions) == variable.dims


def test_files_stacked_along_a_new_dimension_are_what_xarray_makes_of_them(
    peer: Callable[[str], ModuleType], nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    xarray = peer("xarray")
    sources = []
    for number in range(3):
        sources.append(str(tmp_path / f"{number}.nc"))
        with peer("netCDF4").Dataset(sources[-1], "w") as dataset:
            dataset.createDimension("x", 5)
            dataset.createVariable("x", "f4", ("x",))[:] = np.arange(5)
            dataset.createVariable("time", "f8", ())[...] = number
            dataset.createVariable("v", "f8", ("x",), zlib=True)[:] = np.arange(5) + 10 * number
    out = str(tmp_path / "out.nc")
    ran = nczarr_command("refs", "combine", *sources, "--along", "time", "--new-dim", "time", "-o", out)
    assert (ran.status, ran.err) == (0, "")
    parts = [xarray.open_dataset(path, decode_cf=False).set_coords("time") for path in sources]
    whole = xarray.concat(parts, "time", data_vars="all", coords="minimal", compat="override", join="exact")
    xarray.testing.assert_equal(xarray.open_dataset(out, decode_cf=False), whole)


def test_groups_and_compounds_are_what_netcdf4_has_in_them(
    peer: Callable[[str], ModuleType], nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    record = np.dtype([("a", "i2"), ("b", "f8", (2,))], align=True)
    sources, every = [], []
    for number, length in enumerate((2, 3)):
        sources.append(str(tmp_path / f"{number}.nc"))
        values = np.zeros(length, record)
        values["a"], values["b"] = np.arange(length) + 10 * number, number + 0.5
        every.append(values)
        with peer("netCDF4").Dataset(sources[-1], "w") as dataset:
            group = dataset.createGroup("g")
            group.createDimension("n", length)
            kind = group.createCompoundType(record, "rec")
            group.createVariable("r", kind, ("n",))[:] = values
            group.createGroup("h").createVariable("k", "i4", ("n",))[:] = np.arange(length) - number
    out = str(tmp_path / "out.nc")
    ran = nczarr_command("refs", "combine", *sources, "--along", "n", "-o", out)
    assert (ran.status, ran.err) == (0, "")
    with peer("netCDF4").Dataset(out) as made:
        found = made["g/r"][:]
        assert found["a"].tolist() == [0, 1, 10, 11, 12]
        assert np.array_equal(found["b"], np.concatenate(every)["b"])
        assert made["g/h/k"][:].tolist() == [0, 1, -1, 0, 1]
