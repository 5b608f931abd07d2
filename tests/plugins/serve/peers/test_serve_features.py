"""Grids and samples through siphon's client of CDM Remote Feature, and files of others that state `featureType`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import netCDF4
import numpy as np
import pytest

from tests.support import sampled_files
from tests.support.peers.served_files import REAL, needs_files
from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


def write_grid(path: Path) -> np.ndarray[Any, Any]:
    """Write a grid of packed numbers. Its values."""
    values = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("time", 4), ("lat", 5), ("lon", 6)):
            file.createDimension(name, length)
        for name, units in (("time", "hours since 2020-01-01"), ("lat", "degrees_north"), ("lon", "degrees_east")):
            variable = file.createVariable(name, "f8", (name,))
            variable.units = units
            variable[:] = np.arange(len(variable)) * 10
        packed = file.createVariable("t", "i2", ("time", "lat", "lon"))
        packed.set_auto_scale(False)
        packed.scale_factor = 0.25
        packed[:] = values
    return values * 0.25


@pytest.fixture
def served(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Iterator[tuple[Served, np.ndarray[Any, Any]]]:
    for name in ("uvicorn", "siphon", "google.protobuf"):
        peer(name)
    values = write_grid(tmp_path / "grid.nc")
    sampled_files.write(tmp_path, "contiguous")
    with serving(tmp_path) as found:
        yield found, values


def array_of(response: Any) -> np.ndarray[Any, Any]:
    """The values of the only grid of an answer, as siphon's messages have them."""
    [array] = response.geoArray
    return np.frombuffer(array.primdata, ">f8" if array.bigend else "<f8").reshape(*array.shape)


def test_siphon_reads_grids(served: tuple[Served, np.ndarray[Any, Any]]) -> None:
    from siphon.cdmr.cdmremotefeature import CDMRemoteFeature

    server, values = served
    remote = CDMRemoteFeature(f"{server.url}cdmrfeature/grid.nc")
    assert remote.fetch_feature_type() == b"GRID"
    assert remote.variables == {"t"}
    axes = {axis.name: axis for axis in remote.metadata.coordAxes}
    assert [axes[name].nvalues for name in ("time", "lat", "lon")] == [4, 5, 6]
    [latitudes] = remote.fetch_coords(remote.query().variables("lat"))
    assert latitudes.tolist() == [0, 10, 20, 30, 40]
    [whole] = remote.get_data(remote.query().variables("t"))
    assert np.array_equal(array_of(whole), values)
    query = remote.query().variables("t").lonlat_box(west=-5, east=25, south=15, north=45)
    query.time_range(datetime(2020, 1, 1, 5), datetime(2020, 1, 2))
    [part] = remote.get_data(query)
    assert np.array_equal(array_of(part), values[1:3, 2:5, 0:3])
    [one] = remote.get_data(remote.query().variables("t").lonlat_point(19, 31).time(datetime(2020, 1, 1, 21)))
    assert np.array_equal(array_of(one), values[2:3, 3:4, 2:3])


def test_siphon_reads_capabilities_of_stations(served: tuple[Served, np.ndarray[Any, Any]]) -> None:
    from siphon.ncss_dataset import NCSSDataset

    server, _ = served
    reply = server.get("/cdmrfeature/contiguous.nc?req=header")
    described = NCSSDataset(ElementTree.fromstring(reply.text))
    assert set(described.variables) == {"station_name", "temp"}
    assert described.lat_lon_box == {"west": -170.5, "east": 170.0, "south": -20.0, "north": 40.25}
    assert described.time_span == {"begin": "2020-01-01T00:00:00Z", "end": "2020-01-05T03:00:00Z"}


@needs_files
@pytest.mark.long
def test_features_of_real_files(peer: Callable[[str], ModuleType]) -> None:
    """Whatever a file has, answers are whole streams or refusals with a sentence."""
    peer("uvicorn")
    assert REAL is not None
    kinds = 0
    with serving(REAL) as server:
        for path in sorted(REAL.rglob("*")):
            name = path.relative_to(REAL).as_posix()
            if path.suffix not in (".nc", ".cdl"):
                continue
            told = server.get(f"/cdmrfeature/{name}?req=featureType")
            assert told.status in (200, 404, 422), (name, told.text)
            if told.status != 200 or told.text in ("GRID", "CURVILINEAR"):
                continue
            kinds += 1
            assert server.get(f"/cdmrfeature/{name}?req=header").status == 200, name
            reply = server.get(f"/cdmrfeature/{name}?req=data")
            assert reply.status in (200, 413), (name, reply.text)
            if reply.status == 200:
                sampled_files.decode_points(reply.body)
    assert kinds
