"""Web servers: stores and files over HTTP, with and without listings and ranges; chains of protocols."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import nczarr
from nczarr.formats.netcdf4.index_chunk_array import IndexChunkArray
from tests.conftest import ROOT, run_command
from tests.support.library import library

library("fsspec", reason="fsspec is not installed: nczarr[remote]")
library("aiohttp", reason="aiohttp is not installed: nczarr[remote]")

SAMPLE = str(ROOT / "samples" / "05-every-type.cdl")
PLAIN = str(ROOT / "samples" / "01-station.cdl")


class Web(NamedTuple):
    url: str
    folder: Path


class Quiet(SimpleHTTPRequestHandler):
    listings = True

    def log_message(self, *words: object) -> None:
        """Nothing."""

    def list_directory(self, path: object) -> object:
        if self.listings:
            return super().list_directory(path)  # type: ignore[arg-type]
        self.send_error(404)
        return None


class Unlisted(Quiet):
    listings = False


class Pages(Quiet):
    """A server that answers every request with a page, such as that of a login."""

    def do_GET(self) -> None:
        page = b"<!DOCTYPE html>\n<html><body>Please log in</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page)

    def do_HEAD(self) -> None:
        self.do_GET()


def served(handler: type[Quiet], folder: Path) -> Iterator[Web]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield Web(f"http://127.0.0.1:{server.server_address[1]}", folder)
    server.shutdown()
    server.server_close()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    yield from served(Quiet, tmp_path)


@pytest.fixture
def unlisted(tmp_path: Path) -> Iterator[Web]:
    yield from served(Unlisted, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.zarr", "a.zip", "a.cdl", "ä b#1.zarr"])
@pytest.mark.parametrize("handler", ["web", "unlisted"])
def test_stores_and_files_are_read(handler: str, name: str, request: pytest.FixtureRequest) -> None:
    place: Web = request.getfixturevalue(handler)
    nczarr.convert(SAMPLE, place.folder / name)
    quoted = name.replace("#", "%23").replace(" ", "%20")
    assert nczarr.diff(SAMPLE, f"{place.url}/{quoted}") == []


@pytest.mark.parametrize("name", ["a.nc", "a.zarr", "a"])
def test_pages_of_a_login_are_no_stores(name: str, tmp_path: Path) -> None:
    for web in served(Pages, tmp_path):
        ran = run_command("info", f"{web.url}/{name}")
    assert ran.status == 1
    assert f"/{name}` is not in a format that can be read" in ran.err
    assert "it is a web page" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("form", ["zarr2", "zarr3"])
def test_plain_stores_need_a_listing_or_consolidated_metadata(web: Web, unlisted: Web, form: str) -> None:
    for name, consolidated in (("plain.zarr", False), ("whole.zarr", True)):
        nczarr.convert(PLAIN, web.folder / name, form, consolidated=consolidated)
        local = nczarr.open(web.folder / name)
        assert nczarr.diff(local, f"{web.url}/{name}") == []
    assert nczarr.diff(local, f"{unlisted.url}/whole.zarr") == []
    done = run_command("check", f"{unlisted.url}/plain.zarr")
    assert done.status == 1
    assert "unreadable-array" in done.err
    assert "cannot list keys" in done.err


@pytest.mark.slow
def test_chunks_that_are_absent_are_fill_without_a_listing(unlisted: Web) -> None:
    text = "netcdf t { dimensions: x = 1000 ; variables: int v(x) ; v:_ChunkSizes = 100 ; data: v = 1 ; }"
    nczarr.write(nczarr.from_cdl(text), unlisted.folder / "t.zarr")
    assert nczarr.diff(nczarr.from_cdl(text), f"{unlisted.url}/t.zarr") == []
    nczarr.convert(f"{unlisted.url}/t.zarr", unlisted.folder / "u.zarr")
    assert nczarr.diff(nczarr.from_cdl(text), unlisted.folder / "u.zarr") == []


@pytest.mark.slow
@pytest.mark.parametrize("chain", ["simplecache::{}/a.zarr", "simplecache::{}/a.cdl"])
def test_chains(web: Web, chain: str) -> None:
    nczarr.convert(SAMPLE, web.folder / "a.zarr")
    nczarr.convert(SAMPLE, web.folder / "a.cdl")
    assert nczarr.diff(SAMPLE, chain.format(web.url)) == []


def test_an_archive_as_a_chain(tmp_path: Path) -> None:
    nczarr.convert(SAMPLE, tmp_path / "a.zip")
    assert nczarr.diff(SAMPLE, f"zip://::{tmp_path}/a.zip") == []
    done = run_command("convert", SAMPLE, f"zip://::{tmp_path}/new.zip", "--to", "nczarr")
    assert done.status == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["new.zarr", "new.nc"])
def test_what_takes_nothing_is_no_target(web: Web, name: str) -> None:
    done = run_command("convert", SAMPLE, f"{web.url}/{name}", "--storage-option", "retries=0")
    assert done.status == 3
    assert list(web.folder.iterdir()) == []


@pytest.mark.slow
def test_what_is_not_there(web: Web) -> None:
    for name in ("nothing.nc", "nothing.zarr", "nothing/"):
        done = run_command("check", f"{web.url}/{name}")
        assert done.status in (1, 3)
        assert done.err


@pytest.mark.slow
def test_a_server_without_ranges_gives_shards_whole(web: Web) -> None:
    text = "netcdf t { dimensions: x = 1000 ; variables: int v(x) ; v:_ChunkSizes = 100 ; data: v = 1, 2, 3 ; }"
    nczarr.write(nczarr.from_cdl(text), web.folder / "t.zarr", "zarr3", shards={"x": 500})
    assert nczarr.diff(web.folder / "t.zarr", f"{web.url}/t.zarr") == []


@pytest.mark.slow
def test_fetched_files_do_not_stay(web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nczarr.convert(SAMPLE, web.folder / "a.cdl")
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert run_command("dump", f"{web.url}/a.cdl").status == 0
    assert list(folder.iterdir()) == []


VALUES = "netcdf t {{ dimensions: x = 1000 ; variables: int v(x) ; v:_ChunkSizes = 100 ; {} data: v = 1, 2, 3 ; }}"


def damaged(path: Path, name: str = "/v") -> None:
    """Zeros over the first chunk of a variable of a file."""
    place = nczarr.open(path).checked.parts[name][""].place((0,))
    assert place is not None
    with path.open("r+b") as file:
        file.seek(place.offset)
        file.write(bytes(place.length))


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["v:_DeflateLevel = 1 ;", 'v:_Filter = "32015,3" ;'])
def test_a_damaged_chunk_is_said_of_the_url(
    peer: Callable[[str], ModuleType], web: Web, codec: str, tmp_path: Path
) -> None:
    """Chunks that are decoded here, and those behind a filter that the library has to apply."""
    peer("netCDF4")
    nczarr.write(nczarr.from_cdl(VALUES.format(codec)), web.folder / "t.nc")
    whole = str(web.folder / "t.cdl")
    nczarr.convert(web.folder / "t.nc", whole)
    damaged(web.folder / "t.nc")
    url = f"{web.url}/t.nc"
    for command in (["dump", url], ["digest", url], ["convert", url, str(tmp_path / "u.cdl")], ["diff", url, whole]):
        done = run_command(*command)
        assert done.status == 1
        assert "unreadable-chunk" in done.err
        assert "/nczarr-" not in done.err
        assert f"--> {url}@" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.nc", "t.nc3", "t.zip", "t.cdl"])
@pytest.mark.parametrize("rest", [9, 60, 700])
def test_a_file_that_is_cut_short_is_said_of_the_url(
    peer: Callable[[str], ModuleType], web: Web, name: str, rest: int
) -> None:
    peer("netCDF4")
    path = web.folder / name
    text = VALUES.format("v:_DeflateLevel = 1 ;") if name != "t.nc3" else VALUES.format("")
    nczarr.write(nczarr.from_cdl(text), path)
    path.write_bytes(path.read_bytes()[:rest])
    done = run_command("check", f"{web.url}/{name}")
    assert f"{web.url}/{name}" in done.err
    assert "/nczarr-" not in done.err


@pytest.mark.slow
def test_a_fetched_file_that_is_gone_is_said_of_the_url(peer: Callable[[str], ModuleType], web: Web) -> None:
    peer("netCDF4")
    nczarr.write(nczarr.from_cdl(VALUES.format("v:_DeflateLevel = 1 ;")), web.folder / "t.nc")
    source = nczarr.open(f"{web.url}/t.nc").checked.parts["/v"][""]
    assert isinstance(source, IndexChunkArray)
    assert source.file.path is not None
    os.utime(source.file.path, ns=(1, 1))
    with pytest.raises(OSError, match="changed") as error:
        source.read((slice(0, 10),))
    assert error.value.filename == f"{web.url}/t.nc"
