"""Documents of many sources beside xarray, and made by a cluster."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nczarr import refs
from tests.conftest import Ran, run_command
from tests.support.peers.cluster import Cluster
from tests.support.series import content, days

pytestmark = pytest.mark.peer

Peer = Callable[[str], ModuleType]


@pytest.fixture
def cluster(peer: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    peer("distributed")
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.slow
def test_a_cluster_makes_the_same_document(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = days(tmp_path / "d", 100)
    monkeypatch.chdir(tmp_path / "d")
    names = [Path(each).name for each in sources]
    refs.combine(names, tmp_path / "one.parq", along="time", workers=1)
    refs.combine(names, tmp_path / "two.parq", along="time", dask=cluster.url)
    assert content(tmp_path / "one.parq") == content(tmp_path / "two.parq")
    done = run_command(
        "refs", "combine", *sources, "--along", "time", "-o", str(tmp_path / "three.parq"), "--dask", cluster.url, "-q"
    )
    assert (done.status, done.err) == (0, "")
    assert content(tmp_path / "one.parq") == content(tmp_path / "three.parq")
    refs.combine(sources[:50], tmp_path / "four.parq", along="time")
    refs.append(tmp_path / "four.parq", sources[50:], dask=cluster.url)
    assert content(tmp_path / "one.parq") == content(tmp_path / "four.parq")


def test_standard_input_and_open_datasets_are_not_for_a_cluster(
    nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    done = nczarr_command("refs", "combine", "-", "a.nc", "--along", "t", "-o", "o.json", "--dask", "tcp://127.0.0.1:1")
    assert (done.status, "indivisible-run" in done.err) == (2, True)
    done = nczarr_command("refs", "combine", "a.nc", "--along", "t", "-o", "o.json", "--dask", "nonsense")
    assert "bad-url" in done.err


@pytest.mark.long
@pytest.mark.parametrize("name", ["all.json", "all.parq"])
@pytest.mark.parametrize("chunk", [1, 512])
@pytest.mark.sampled(2)
def test_xarray_reads_the_same_values(peer: Peer, tmp_path: Path, name: str, chunk: int) -> None:
    """At random points, through fsspec."""
    xarray = peer("xarray")
    sources = days(tmp_path / "d", 80, chunk=chunk)
    refs.combine(sources[:40], tmp_path / name, along="time", writing=refs.Writing(metadata="zarr2"), workers=2)
    refs.append(tmp_path / name, sources[40:])
    options = {"fo": str(tmp_path / name), "remote_protocol": "file", "asynchronous": True, "skip_instance_cache": True}
    found = xarray.open_dataset(
        "reference://", engine="zarr", consolidated=False, zarr_format=2, decode_cf=False, storage_options=options
    )
    rng = random.Random(1)
    for _ in range(100):
        at = rng.randrange(80)
        with xarray.open_dataset(sources[at], decode_cf=False) as one:
            place = {"lat": rng.randrange(3), "lon": rng.randrange(16)}
            assert found["temp"].isel(time=at, **place).item() == one["temp"].isel(time=0, **place).item()
            assert found["time"][at].item() == one["time"][0].item()
    assert np.array_equal(found["count"].values, np.arange(80))
