"""Datasets that are kept open: how many, how long, and what pages say of them."""

from __future__ import annotations

import gc
import http.client
import json
import os
import threading
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.options import Following
from nczarr.plugins.ncstream import format as ncstream
from nczarr.plugins.serve import answers, dataset_cache
from nczarr.plugins.serve.answers import RefusedRequestError
from nczarr.plugins.serve.dataset_cache import Shelf
from nczarr.plugins.serve.places import Root, ServedPlace, is_visible
from nczarr.plugins.serve.resources import Disk, Limits
from nczarr.stores.open import MAPS_NO_FILES
from tests.support.serving import Served, serving

from .conftest import convert

TEXT = "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2 ;\n}\n"


def found(root: Root, *segments: str) -> ServedPlace:
    place = root.find(segments)
    assert place is not None
    return place


def shelf(memory: int) -> Shelf:
    return Shelf(Limits()._replace(memory=memory), Following(), NO_OPTIONS)


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.cdl").write_text(TEXT, encoding="utf-8")
    root, kept = Root(str(tmp_path)), shelf(4 * 100_000)
    places = [found(root, f"{number}.cdl") for number in range(20)]
    for place in places:
        kept.open(place)
    open_ones = [place for place in places if kept.find_unchanged(place) is not None]
    assert 1 < len(open_ones) < 12
    assert open_ones == places[-len(open_ones) :]


def _numbered(count: int, pattern: str) -> str:
    return "".join(pattern.format(number) for number in range(count))


MANY = {
    "variables.cdl": "dimensions: x = 3; variables: " + _numbered(1000, 'int v{0}(x); v{0}:u = "m"; v{0}:w = 1.5;\n'),
    "dimensions.cdl": "dimensions: " + _numbered(2000, "d{0} = 4;\n"),
    "groups.cdl": _numbered(600, "group: g{0} {{ variables: int v; }}\n"),
    "attributes.zarr": "variables: int v; " + _numbered(4000, 'v:a{0} = "text {0}";\n'),
    "texts.zarr": "variables: int v; " + _numbered(20, f'v:a{{0}} = "{"x" * 100_000}";\n'),
    "strings.nc": "variables: int v; string v:a = " + ", ".join(f'"s{number}"' for number in range(20_000)) + ";",
    "constants.cdl": "types: int enum e {"
    + ", ".join(f"k{each} = {each}" for each in range(4000))
    + "}; variables: e v;",
}
"""Datasets with many of one thing each, by the file that is served."""


def _write_many(name: str, path: Path) -> None:
    text = f"netcdf t {{ {MANY[name]} }}"
    if path.suffix == ".cdl":
        path.write_text(text, encoding="utf-8")
    else:
        nczarr.write(nczarr.from_cdl(text), path)


@pytest.mark.long
@pytest.mark.parametrize("name", MANY)
def test_the_size_of_a_dataset_is_not_underestimated(name: str, tmp_path: Path) -> None:
    """With its documents as a store of Zarr v2."""
    _write_many(name, tmp_path / name)
    place, kept = found(Root(str(tmp_path)), name), shelf(1 << 30)
    kept.read(place, 1 << 30)  # modules and caches
    gc.collect()
    tracemalloc.start()
    opened = kept.read(place, 1 << 30)
    with suppress(CompileError):  # Zarr v2 has no enums
        opened.view("zarr2", 1 << 28)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used < 1.2 * opened.weight + 200_000
    assert opened.weight < 30 * used


@pytest.mark.long
def test_an_archive_and_references_weigh_what_their_keys_take(tmp_path: Path) -> None:
    array = {"zarr_format": 2, "shape": [9], "chunks": [1], "dtype": "<f8", "compressor": None, "filters": None}
    document = json.dumps({**array, "fill_value": 0, "order": "C"})
    references = {f"v/{number}": ["data.bin", number, 8] for number in range(20_000)}
    head = {".zgroup": '{"zarr_format": 2}', "v/.zarray": document}
    (tmp_path / "r.json").write_text(json.dumps({"version": 1, "refs": {**head, **references}}), encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        for key, text in {**head, **dict.fromkeys(references, "12345678")}.items():
            archive.writestr(key, text)
    root, kept = Root(str(tmp_path)), shelf(1 << 30)
    for name in ("r.json", "z.zip"):
        kept.read(found(root, name), 1 << 30)
        tracemalloc.start()
        opened = kept.read(found(root, name), 1 << 30)
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert used < 1.2 * opened.weight
        assert opened.weight < 4 * used


def test_a_dataset_that_takes_more_memory_than_the_server_may_is_refused(tmp_path: Path) -> None:
    _write_many("attributes.zarr", tmp_path / "t.zarr")
    with pytest.raises(RefusedRequestError, match="bytes in memory; the limit is 1000000") as refused:
        shelf(1_000_000).open(found(Root(str(tmp_path)), "t.zarr"))
    assert refused.value.status == 413


def test_texts_that_are_too_large_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "t.cdl").write_text(TEXT + "//" + " " * 3000, encoding="utf-8")
    root = Root(str(tmp_path))
    with pytest.raises(RefusedRequestError, match="must all be read"):
        shelf(4 * 2000).open(found(root, "t.cdl"))
    assert shelf(4 * 4000).open(found(root, "t.cdl"))


def test_a_document_within_a_store_that_changes_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_cache, "LOOKED", 0.0)
    (tmp_path / "t.cdl").write_text(TEXT, encoding="utf-8")
    (tmp_path / "root").mkdir()
    convert(tmp_path / "t.cdl", tmp_path / "root" / "t.zarr")
    root, kept = Root(str(tmp_path / "root")), shelf(1 << 30)
    place = found(root, "t.zarr")
    first = kept.open(place)
    assert kept.find_unchanged(place) is first
    document = tmp_path / "root" / "t.zarr" / "v" / ".zattrs"
    document.write_text(document.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert kept.find_unchanged(place) is None
    assert kept.open(place) is not first


def test_a_file_in_the_place_of_another_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "t.cdl"
    path.write_text(TEXT, encoding="utf-8")
    root, kept = Root(str(tmp_path)), shelf(1 << 30)
    first = kept.open(found(root, "t.cdl"))
    other = tmp_path / "other"
    other.write_text(TEXT, encoding="utf-8")
    os.utime(other, ns=(first.stamp[0][3], first.stamp[0][3]))  # as large, and of the same time
    other.replace(path)
    assert kept.find_unchanged(found(root, "t.cdl")) is None


@pytest.mark.slow
def test_more_datasets_at_once_than_are_kept(datasets: Path) -> None:
    """A dataset is there for whom it was opened, even if another one has taken its place meanwhile."""
    seen: list[tuple[int, bytes]] = []

    def ask(served: Served, number: int) -> None:
        connection = http.client.HTTPConnection(served.host, served.port, timeout=60)
        for turn in range(12):
            name = ("cmip.nc", "types.nc", "groups.nc")[(number + turn) % 3]
            path = (f"/zarr{2 + turn % 2}/{name}/.zattrs", f"/cdmremote/{name}?req=header")[turn % 2]
            connection.request("GET", path)
            reply = connection.getresponse()
            body = reply.read()
            seen.append((reply.status, b"" if reply.status == 200 else body))
        connection.close()

    with serving(datasets, "--memory", "100kB") as served:
        threads = [threading.Thread(target=ask, args=(served, number)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [(200, b"")] * 96


@pytest.mark.parametrize("name", ["", ".", "..", ".a", "a/b", "a\\b", "a\0", "x.partial-1234", "x.nc.replaced-1"])
def test_names_that_are_not_served(name: str) -> None:
    assert not is_visible(name)


@pytest.mark.slow
def test_pages_of_datasets_say_what_is_lost(served: Served) -> None:
    told = json.loads(served.get("/browse/types.nc?format=json").body)
    assert told["format"] == "netcdf4"
    assert told["variable_count"] == len(told["variables"]) > 5
    assert told["links"]["zarr2"] == f"{served.url}zarr2/types.nc"
    assert told["losses"]["zarr2"]
    assert told["losses"]["zarr3"]
    page = served.get("/browse/types.nc").text
    assert "What zarr2 does not hold" in page
    for kind in ("zarr2", "zarr3"):
        assert served.get(f"/{kind}/types.nc/").text == served.get(f"/{kind}/types.nc").text == page


@pytest.mark.slow
def test_pages_have_no_inline_scripts_and_say_what_they_are(served: Served) -> None:
    for path in ("/", "/browse/types.nc", "/cdmremote/types.nc?req=form"):
        reply = served.get(path)
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        assert reply.text.startswith('<!DOCTYPE html>\n<html lang="en">')
        assert reply.text.count("<script") == reply.text.count('<script src="/static/')
        assert reply.text.count("<h1>") == 1
        assert "default-src 'none'" in reply.headers["content-security-policy"]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="a system that does not tell which files are open")
def test_files_of_datasets_that_are_let_go_are_closed(tmp_path: Path) -> None:
    for number in range(200):
        text = f"netcdf d {{ variables: int v ; data: v = {number} ; }}"
        (tmp_path / f"d{number}.cdl").write_text(text, encoding="utf-8")
    root, kept = Root(str(tmp_path)), Shelf(Limits(), Following(), NO_OPTIONS, most=20)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(200):
        kept.open(found(root, f"d{number}.cdl"))
    assert len(os.listdir("/proc/self/fd")) <= before + 20 + dataset_cache.SWEPT


@pytest.mark.parametrize("part", [3, 20, 40])
def test_a_half_copied_file_is_asked_for_again(part: int, tmp_path: Path) -> None:
    path = tmp_path / "t.cdl"
    path.write_text(TEXT[:part], encoding="utf-8")
    root, kept = Root(str(tmp_path)), shelf(1 << 30)
    with pytest.raises(RefusedRequestError, match="is being written, or was changed a moment ago") as caught:
        kept.open(found(root, "t.cdl"))
    assert (caught.value.status, caught.value.headers) == (503, (("Retry-After", "2"),))
    os.utime(path, (1, 1))
    with pytest.raises(CompileError) as later:
        kept.open(found(root, "t.cdl"))
    assert answers.describe_refusal(later.value, root.home).status == 422
    path.write_text(TEXT, encoding="utf-8")
    assert kept.open(found(root, "t.cdl")).checked.shapes == {"/v": (2,)}


@pytest.mark.long
def test_a_large_stream_is_a_copy_that_outlives_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_cache, "COPIED", 1000)
    monkeypatch.setattr(ncstream, "FORMAT", ncstream.FORMAT._replace(ranged=False))  # as formats of other packages are
    values = ", ".join(map(str, range(3000)))
    text = f"netcdf t {{ dimensions: x = 3000 ; variables: int v(x) ; data: v = {values} ; }}"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.ncs", format="ncstream", allow_loss="all")
    disk = Disk(1 << 20)
    kept = Shelf(Limits()._replace(memory=4 * 8000), Following(), NO_OPTIONS, disk=disk)
    monkeypatch.setattr(MAPS_NO_FILES, "is_set", lambda: True)
    opened = kept.open(found(Root(str(tmp_path)), "t.ncs"))
    assert disk.used == (tmp_path / "t.ncs").stat().st_size
    (tmp_path / "t.ncs").write_bytes(b"")  # the system ends a process that reads the map of such a file
    part = opened.checked.parts["/v"][""]
    assert part.read((slice(2990, 3000),)).tolist() == list(range(2990, 3000))
    del opened, part, kept
    gc.collect()
    assert disk.used == 0
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.ncs", format="ncstream", allow_loss="all", overwrite=True)
    full = Shelf(Limits()._replace(memory=4 * 8000), Following(), NO_OPTIONS, disk=Disk(10))
    with pytest.raises(RefusedRequestError, match="temporary files"):
        full.open(found(Root(str(tmp_path)), "t.ncs"))
