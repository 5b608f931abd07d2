"""Files that a repository refers to: URLs, containers, times."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.icechunk.virtual_chunks import (
    Container,
    File,
    containers_for,
    file_at,
    find_unchanged_since,
    prefixes_of,
    register,
)
from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.ranged_file import RangedFile
from tests.support.ranged_server import RangedServer
from tests.support.repositories import icechunk


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("file:///d/a b#%20.nc", File("file:///d/a%20b%23%2520.nc", "file:///d/")),
        ("file:///d e/ü.nc", File("file:///d%20e/%C3%BC.nc", "file:///d e/")),
        ("s3a://b/k?.nc", File("s3://b/k%3F.nc", "s3://b/")),
        ("gs://b/d/k", File("gcs://b/d/k", "gcs://b/d/")),
        ("https://h/d/a%20b", File("https://h/d/a%20b", "https://h/")),
        ("file:///a.nc", None),
        ("file:///d/../a.nc", None),
        ("s3://b//k", None),
        ("az://c/k", None),
        ("memory://m/k", None),
        ("zip::s3://b/k", None),
        ("d/a.nc", None),
    ],
)
def test_files(url: str, wanted: File | None) -> None:
    assert file_at(url) == wanted


def test_only_icechunk_2_keeps_the_port_of_a_server() -> None:
    is_newest = int(icechunk().__version__.partition(".")[0]) > 1
    assert file_at("http://h:1/d") == (File("http://h:1/d", "http://h:1/") if is_newest else None)


def test_prefixes() -> None:
    assert prefixes_of(["file:///d/", "file:///d/e/", "file:///d2/", "s3://b/"]) == [
        "file:///d/", "file:///d2/", "s3://b/"
    ]  # fmt: skip
    many = [f"file:///data/v/{number}/" for number in range(100)]
    assert prefixes_of([*many, "s3://b/x/"]) == ["file:///data/v/", "s3://b/x/"]
    apart = [f"file:///f{number}/" for number in range(100)]
    assert prefixes_of(apart) == sorted(apart)


def test_containers_of_the_repository_are_used_first() -> None:
    ice = icechunk()
    config = ice.RepositoryConfig.default()
    for prefix in ("file:///data/", "file:///data/deep/"):
        config.set_virtual_chunk_container(ice.VirtualChunkContainer(prefix, ice.local_filesystem_store(prefix[7:])))
    files = [File("", folder) for folder in ("file:///data/x/", "file:///data/deep/y/", "file:///else/z/", "s3://b/")]
    found = containers_for(files, config, named=False)
    assert {folder: each.prefix for folder, each in found.items()} == {
        "file:///data/x/": "file:///data/", "file:///data/deep/y/": "file:///data/deep/",
        "file:///else/z/": "file:///else/z/", "s3://b/": "s3://b/",
    }  # fmt: skip
    assert register(config, found.values(), StorageOptions({"s3.endpoint_url": "http://h:1"}))
    assert set(config.virtual_chunk_containers) == {"file:///data/", "file:///data/deep/", "file:///else/z/", "s3://b/"}
    assert not register(config, found.values(), StorageOptions())


def test_references() -> None:
    """A prefix that is no plain URL cannot be replaced by a name."""
    file = File("file:///d/a%20b.nc", "file:///d/")
    assert Container("file:///d/", "n").reference(file) == "vcc://n/a%20b.nc"
    assert Container("file:///d/", None).reference(file) == file.url
    odd = File("file:///d%20e/a.nc", "file:///d e/")
    assert Container("file:///d e/", "n").reference(odd) == odd.url
    percent = File("file:///d%2520e/a.nc", "file:///d%20e/")
    assert Container("file:///d%20e/", "n").reference(percent) == percent.url


def test_times(tmp_path: Path) -> None:
    begin = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    os.utime(tmp_path / "a", ns=(0, 7 * 10**9))
    os.utime(tmp_path / "b", ns=(0, 9 * 10**9 + 1))
    epoch = datetime.fromtimestamp(0, UTC)
    assert find_unchanged_since([str(tmp_path / "a")], begin) == epoch + timedelta(seconds=7)
    assert find_unchanged_since([str(tmp_path / "a"), f"{tmp_path}/b"], begin) == epoch + timedelta(seconds=10)
    assert find_unchanged_since([str(tmp_path / "a"), "s3://b/k"], begin) == datetime(2026, 1, 2, 3, 4, 6, 0, UTC)


def test_a_file_that_is_read_by_ranges_has_the_time_of_its_server(tmp_path: Path) -> None:
    """Its path does not exist."""
    begin = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    (tmp_path / "a").write_bytes(bytes(9))
    pytest.importorskip("aiohttp")
    server = RangedServer(tmp_path)
    try:
        file = RangedFile.of(FileConnection(f"{server.url}/a"))
        assert find_unchanged_since([file.path], begin) == datetime(2026, 1, 2, 3, 4, 6, 0, UTC)
    finally:
        server.close()
