"""A cluster between real S3 buckets: the same objects as without it, and no key in what its processes say."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.remote.remote_store import RemoteStore
from tests.support.chunky_files import make_chunky
from tests.support.peers.cluster import Cluster
from tests.support.s3 import S3

pytestmark = [pytest.mark.peer, pytest.mark.slow]


def reached_with() -> dict[str, Any]:
    """What the workers do not have in their environment."""
    return {
        "key": os.environ["AWS_ACCESS_KEY_ID"],
        "secret": os.environ["AWS_SECRET_ACCESS_KEY"],
        "endpoint_url": os.environ["AWS_ENDPOINT_URL"],
    }


def content(url: str) -> dict[str, bytes | None]:
    store = RemoteStore(url, StorageOptions(reached_with()))
    return {key: store.get(key) for key in list(store.keys())}


def test_a_cluster_sends_the_same_objects(s3: S3, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    peer("distributed")
    make_chunky(tmp_path / "a.nc", 120, 3000)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("copy", {}),
        ("sharded", {"format": "nczarr3", "shards": {"/v": (25, 3000)}}),
        ("other", {"codecs": "zlib:4"}),
        ("rechunked", {"chunks": {"/v": (25, 300)}}),
    ]
    with Cluster(tmp_path) as cluster:
        source = str(tmp_path / "a.nc")
        for name, options in cases:
            given = {"storage_options": reached_with(), **options}
            nczarr.convert(source, s3.url(f"dask/{name}-l.zarr"), **given)
            nczarr.convert(source, s3.url(f"dask/{name}-d.zarr"), dask=cluster.url, **given)
            made = content(s3.url(f"dask/{name}-d.zarr"))
            assert made == content(s3.url(f"dask/{name}-l.zarr"))
            assert len(made) > 8
            source = s3.url(f"dask/{name}-d.zarr")
        said = cluster.logs
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in said
    assert os.environ["AWS_ACCESS_KEY_ID"] not in said


def test_a_lost_worker_changes_no_object(s3: S3, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    peer("distributed")
    make_chunky(tmp_path / "a.nc", 400, 30000)
    storage = StorageOptions(reached_with())
    checked = phases.read_path(str(tmp_path / "a.nc"), Report(), Options())
    form = nczarr.registry.find_format("nczarr")
    assert checked is not None
    assert form is not None
    killed: list[int] = []
    with Cluster(tmp_path) as cluster:

        def watch(size: int) -> None:
            if not killed:
                cluster.kill("worker1")
            killed.append(size)

        for name, address, watcher in (("l", None, None), ("d", cluster.url, watch)):
            report = Report()
            options = Options.of(storage=storage, dask=address, codecs={"": "zlib:2"})
            phases.write(checked, s3.url(f"dask/lost-{name}.zarr"), form, report, options, watcher)
            assert not report.errors
        assert len(killed) > 1
    assert content(s3.url("dask/lost-d.zarr")) == content(s3.url("dask/lost-l.zarr"))


def test_a_wrong_key_is_the_same_error(s3: S3, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    peer("distributed")
    make_chunky(tmp_path / "a.nc", 120, 3000)
    wrong = {**reached_with(), "secret": "hunter22" * 5}
    with Cluster(tmp_path) as cluster:
        with pytest.raises(OSError, match=r".") as failed:
            nczarr.convert(tmp_path / "a.nc", s3.url("dask/w.zarr"), dask=cluster.url, storage_options=wrong)
        assert "hunter22" not in str(failed.value)
        assert "hunter22" not in cluster.logs
