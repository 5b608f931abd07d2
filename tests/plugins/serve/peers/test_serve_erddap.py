"""Grids by ERDDAP's URLs through erddapy: values are those that xarray selects of the same file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

DRAWS = 500
"""Ranges of the proof."""
"""Random ranges of each run."""


@pytest.fixture(scope="module")
def made(peer: Callable[[str], ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a packed and a plain variable over descending latitudes, and two more grids."""
    xarray, pandas = peer("xarray"), peer("pandas")
    peer("netCDF4")
    folder = tmp_path_factory.mktemp("grids")
    draw = np.random.default_rng(3)
    shape = (40, 19, 36)
    sst = draw.normal(15, 5, shape).astype("f4")
    sst[draw.random(shape) < 0.1] = np.nan
    dataset = xarray.Dataset(
        {
            "sst": (("time", "lat", "lon"), sst, {"units": "degree_C"}),
            "ice": (("time", "lat", "lon"), draw.random(shape), {"units": "1"}),
            "mask": (("lat", "lon"), draw.integers(0, 9, shape[1:]).astype("i4")),
        },
        coords={
            "time": pandas.date_range("1999-12-25", periods=40, freq="7h"),
            "lat": ("lat", np.linspace(90, -90, 19, dtype="f4"), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(0, 360, 10, dtype="f8"), {"units": "degrees_east"}),
        },
        attrs={"title": "Sea"},
    )
    packing = {"ice": {"dtype": "i2", "scale_factor": 0.001, "_FillValue": -9}}
    dataset.to_netcdf(folder / "sea.nc", encoding=packing)
    return folder


@pytest.fixture(scope="module")
def served(made: Path, peer: Callable[[str], ModuleType]) -> Iterator[Served]:
    for name in ("uvicorn", "erddapy"):
        peer(name)
    with serving(made) as found:
        yield found


def client(served: Served, **options: Any) -> Any:
    from erddapy import ERDDAP

    made = ERDDAP(server=f"{served.url}erddap", protocol="griddap", **options)
    made.dataset_id = "sea.nc"
    return made


def select(truth: Any, bounds: dict[str, tuple[Any, Any, int]]) -> Any:
    """The cells of xarray between the nearest ones of two values."""
    chosen = {}
    for name, (low, high, step) in bounds.items():
        index = truth.indexes[name]
        ends = [int(index.get_indexer([value], method="nearest")[0]) for value in (low, high)]
        chosen[name] = slice(min(ends), max(ends) + 1, step)
    return truth.isel(chosen)


@pytest.mark.long
@pytest.mark.parametrize("draws", [50, pytest.param(DRAWS, marks=pytest.mark.slow)])
def test_random_ranges(draws: int, made: Path, served: Served, peer: Callable[[str], ModuleType]) -> None:
    xarray, pandas = peer("xarray"), peer("pandas")
    draw = np.random.default_rng(11)
    grid = client(served)
    assert sorted(grid.variables) == ["ice", "sst"]
    assert grid.dim_names == ["time", "lat", "lon"]
    with xarray.open_dataset(made / "sea.nc") as truth:
        times = truth.time.values
        span = (times[-1] - times[0]) / np.timedelta64(1, "s")
        for number in range(draws):
            shares = np.sort(draw.random(2))
            low, high = (times[0] + np.timedelta64(int(share * span), "s") for share in shares)
            # no value lies in the middle of two cells, of which either is nearest
            lat = np.sort(draw.integers(-89, 90, 2) + 0.25)
            lon = np.sort(draw.integers(0, 350, 2) + 0.25)
            steps = draw.integers(1, 4, 3)
            bounds: dict[str, Any] = {"time": (low, high), "lat": tuple(lat), "lon": tuple(lon)}
            for (name, (first, last)), step in zip(bounds.items(), steps, strict=True):
                shown = [f"{end}Z" if name == "time" else float(end) for end in (first, last)]
                grid.constraints |= {f"{name}>=": shown[0], f"{name}<=": shown[1], f"{name}_step": int(step)}
            wanted = select(
                truth, {name: (*ends, int(step)) for (name, ends), step in zip(bounds.items(), steps, strict=True)}
            )
            wanted = wanted[["sst", "ice"]]
            if number % 5:
                found = grid.to_xarray().load()
                xarray.testing.assert_equal(found, wanted)
                assert found.sst.dtype == "f4"
            else:
                grid.variables = ["sst", "ice"]
                table = grid.to_pandas()
                frame = wanted.to_dataframe().reset_index()
                assert list(table) == [
                    "time (UTC)", "lat (degrees_north)", "lon (degrees_east)", "sst (degree_C)", "ice (1)"
                ]  # fmt: skip
                np.testing.assert_array_equal(table.iloc[:, 3].to_numpy("f4"), frame["sst"].to_numpy())
                np.testing.assert_array_equal(table.iloc[:, 4].to_numpy(), frame["ice"].to_numpy())
                read = pandas.to_datetime(table.iloc[:, 0]).dt.tz_localize(None)
                assert (read.to_numpy() == frame["time"].to_numpy()).all()


def test_opendap(made: Path, served: Served, peer: Callable[[str], ModuleType]) -> None:
    xarray = peer("xarray")
    with client(served, response="opendap").to_xarray() as found, xarray.open_dataset(made / "sea.nc") as truth:
        xarray.testing.assert_equal(found.load(), truth[["sst", "ice"]])


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "response",
    ["csv", "csvp", "csv0", "tsv", "tsvp", "tsv0", "json", "jsonlCSV", "jsonlCSV1", "jsonlKVP", "htmlTable",
     "nc", "ncHeader", "das", "dds", "dods", "asc"],
)  # fmt: skip
def test_every_type(response: str, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    grid = client(served)
    grid.variables = ["sst"]
    assert Path(grid.download_file(response)).stat().st_size > 100


@pytest.mark.long
def test_lists(served: Served, peer: Callable[[str], ModuleType]) -> None:
    pandas = peer("pandas")
    grid = client(served)
    assert pandas.read_csv(grid.get_search_url(search_for="sea", response="csv"))["Dataset ID"].tolist() == ["sea.nc"]
    info = pandas.read_csv(grid.get_info_url("sea.nc", response="csv"))
    assert info.loc[info["Row Type"] == "variable", "Variable Name"].tolist() == ["sst", "ice"]
    assert grid.get_var_by_attr("sea.nc", units="degree_C") == ["sst"]
