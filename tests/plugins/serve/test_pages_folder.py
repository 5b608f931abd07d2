"""The page of a folder: its order, its search, and its catalogs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any
from xml.etree import ElementTree

import pytest

from nczarr.plugins.serve import dataset_cache, search_index
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.places import Root, ServedPlace
from nczarr.plugins.serve.resources import Limits
from nczarr.plugins.serve.search_index import SearchIndex
from tests.support.serving import Served, serving

NAMESPACE = "{http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0}"
HREF = "{http://www.w3.org/1999/xlink}href"


def cdl(title: str, variable: str, standard: str = "") -> str:
    return (
        f'netcdf d {{\nvariables:\n  int {variable} ;\n    {variable}:standard_name = "{standard}" ;\n'
        f':title = "{title}" ;\n}}\n'
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("folder")
    (root / "ocean" / "deep").mkdir(parents=True)
    (root / "b.cdl").write_text(cdl("Rain <b>gauge</b>", "pr", "precipitation_flux"), encoding="utf-8")
    (root / "a.cdl").write_text(cdl("Zugspitze Ärger", "tas", "air_temperature") + " " * 500, encoding="utf-8")
    (root / "ocean" / "deep" / "c & d.cdl").write_text(cdl("Sea", "thetao", "sea_water_temperature"), encoding="utf-8")
    (root / "broken.cdl").write_text("netcdf broken {\nvariables:\n  int v(nowhere) ;\n}\n", encoding="utf-8")
    (root / "notes.txt").write_text("temperature\n", encoding="utf-8")
    os.utime(root / "notes.txt", (10**9, 10**9))  # a file of this moment may be half of a dataset
    (root / ".hidden.cdl").write_text(cdl("hidden temperature", "x"), encoding="utf-8")
    (root / "circle").symlink_to(root / "ocean")
    for number, name in enumerate(("a.cdl", "broken.cdl", "b.cdl")):
        os.utime(root / name, (1e9 + 86400 * number, 1e9 + 86400 * number))
    return root


@pytest.fixture(scope="module")
def listed(folder: Path) -> Iterator[Served]:
    with serving(folder) as served:
        yield served


def names_of(served: Served, query: str) -> list[str]:
    return [each["name"] for each in json.loads(served.get(f"/?format=json&{query}").body)["entries"]]


def found(served: Served, query: str, path: str = "/") -> Any:
    """The results of a search when the index is complete."""
    for _ in range(100):
        told = json.loads(served.get(f"{path}?format=json&q={query}").body)
        if told["complete"]:
            return told
        time.sleep(0.1)
    raise AssertionError("the index is not built")


def paths(told: Any) -> list[str]:
    return [each["path"] for each in told["entries"]]


def test_folders_are_sorted(listed: Served) -> None:
    assert names_of(listed, "")[:3] == ["a.cdl", "b.cdl", "broken.cdl"]
    assert names_of(listed, "sort=-name")[0] == "ocean"
    assert names_of(listed, "sort=-size")[0] == "a.cdl"
    by_date = [each for each in names_of(listed, "sort=date") if each.endswith(".cdl")]
    assert by_date == ["a.cdl", "broken.cdl", "b.cdl"]
    told = json.loads(listed.get("/?format=json").body)
    assert told["entries"][0]["modified"] == "2001-09-09T01:46:40Z"
    page = listed.get("/?sort=-date").text
    assert 'aria-sort="descending"' in page
    assert page.index("b.cdl") < page.index("broken.cdl") < page.index("a.cdl")
    for sort in ("", "-", "none", "--name", "name;"):
        assert listed.get(f"/?sort={sort}").status == 400, sort


def test_search_finds_names_titles_variables_and_standard_names(listed: Served) -> None:
    deep = "ocean/deep/c & d.cdl"
    assert sorted(paths(found(listed, "temperature"))) == ["a.cdl", deep]
    assert paths(found(listed, "%C3%A4rger")) == ["a.cdl"]
    assert paths(found(listed, "THETAO+sea")) == [deep]
    assert paths(found(listed, "deep")) == [deep]
    assert paths(found(listed, "broken")) == ["broken.cdl"]
    assert paths(found(listed, "temperature", "/browse/ocean")) == [deep]
    assert paths(found(listed, "notes")) == paths(found(listed, "hidden")) == []
    told = found(listed, "rain")
    assert told["entries"][0]["title"] == "Rain <b>gauge</b>"
    assert listed.get(told["entries"][0]["links"]["browse"]).status == 200
    page = listed.get("/?q=rain").text
    assert "Rain &lt;b&gt;gauge" in page
    assert "1\N{NO-BREAK SPACE}dataset." in page
    assert "<script>" not in listed.get("/?q=%3Cscript%3E%22'").text


def test_pages_without_a_query_are_the_folder(listed: Served) -> None:
    assert "a.cdl" in listed.get("/?q=").text
    assert "a.cdl" in listed.get("/?q=%20").text


def index_of(folder: Path) -> SearchIndex:
    from nczarr.diagnostics.secrets import NO_OPTIONS
    from nczarr.options import Following
    from nczarr.plugins.serve.dataset_cache import Shelf

    root = Root(str(folder))
    return SearchIndex(root, Shelf(Limits(), Following(roots=(root.home,)), NO_OPTIONS).read)


def settled(index: SearchIndex, words: str) -> list[tuple[str, ...]]:
    """The hits after another pass."""
    for _ in range(100):
        index._last = None
        hits = index.search(words, (), 10)
        while index._thread is not None:
            time.sleep(0.02)
        hits = index.search(words, (), 10)
        if hits.complete:
            return [each.segments for each in hits.found]
    raise AssertionError


def test_the_index_follows_changes(tmp_path: Path) -> None:
    (tmp_path / "a.cdl").write_text(cdl("first", "x"), encoding="utf-8")
    index = index_of(tmp_path)
    assert settled(index, "first") == [("a.cdl",)]
    (tmp_path / "new").write_text(cdl("second one", "x"), encoding="utf-8")
    (tmp_path / "new").replace(tmp_path / "a.cdl")
    (tmp_path / "b.cdl").write_text(cdl("second", "x"), encoding="utf-8")
    assert settled(index, "second") == [("a.cdl",), ("b.cdl",)]
    assert settled(index, "first") == []
    (tmp_path / "b.cdl").unlink()
    assert settled(index, "second") == [("a.cdl",)]
    index.close()


def test_unchanged_datasets_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.cdl").write_text(cdl("first", "x"), encoding="utf-8")
    index = index_of(tmp_path)
    read: list[str] = []
    own = index._read
    monkeypatch.setattr(index, "_read", lambda place, most: (read.append(place.name), own(place, most))[1])
    assert settled(index, "first") == settled(index, "first") == [("a.cdl",)]
    assert read == ["a.cdl"]


def test_a_file_that_seemed_to_be_written_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").write_text("neither CDL nor anything else\n", encoding="utf-8")
    index = index_of(tmp_path)
    assert settled(index, "notes") == [("notes.txt",)]  # of this moment: it may be half of a dataset
    monkeypatch.setattr(dataset_cache, "RECENT", 0)
    assert settled(index, "notes") == []
    index.close()


def test_the_index_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        (tmp_path / f"{number}.cdl").write_text(cdl("many", "x"), encoding="utf-8")
    monkeypatch.setattr(search_index, "MOST", 4)
    index = index_of(tmp_path)
    assert len(settled(index, "many")) == 4
    assert index.search("many", (), 2)._replace(found=[]) == ([], 4, True, True)
    assert len(index.search("many", (), 2).found) == 2
    monkeypatch.setattr(search_index, "LARGEST", 10)
    large = index_of(tmp_path)
    assert settled(large, "many") == []
    assert settled(large, "0.cdl") == [("0.cdl",)]


def test_catalogs_lead_to_every_dataset(listed: Served) -> None:
    seen: list[str] = []
    waiting, services = ["/catalog/catalog.xml"], set()
    while waiting:
        reply = listed.get(waiting.pop())
        assert (reply.status, reply.headers["content-type"]) == (200, "application/xml")
        tree = ElementTree.fromstring(reply.body)
        services |= {(each.get("serviceType"), each.get("base")) for each in tree.iter(f"{NAMESPACE}service")}
        seen += [each.get("urlPath", "") for each in tree.iter(f"{NAMESPACE}dataset") if each.get("urlPath")]
        waiting += [
            each.get(HREF, "") for each in tree.iter(f"{NAMESPACE}catalogRef") if "circle" not in each.get(HREF, "")
        ]
    assert sorted(seen) == ["a.cdl", "b.cdl", "broken.cdl", "ocean/deep/c%20%26%20d.cdl"]
    assert services == {
        ("Compound", ""), ("CdmRemote", "/cdmremote/"), ("OPENDAP", "/dap2/"), ("DAP4", "/dap4/"),
        ("HTTPServer", "/file/"), ("cdmrFeature", "/cdmrfeature/"),
    }  # fmt: skip
    assert listed.get("/dap2/" + seen[0] + ".dds").status == 200
    assert listed.get("/cdmremote/" + seen[0] + "?req=header").status == 200


@pytest.mark.parametrize(
    "path",
    ["/catalog", "/catalog/", "/catalog/catalog.html", "/catalog/a.cdl/catalog.xml", "/catalog/nothing/catalog.xml",
     "/catalog/../catalog.xml", "/catalog/.git/catalog.xml", "/catalog/catalog.xml/catalog.xml"],
)  # fmt: skip
def test_catalogs_that_are_none(path: str, listed: Served) -> None:
    assert listed.get(path).status == 404


@pytest.mark.slow
def test_catalogs_have_pages(tmp_path: Path) -> None:
    for number in range(201):
        (tmp_path / f"d{number:04}.cdl").write_text("netcdf t {\n}\n", encoding="utf-8")
    with serving(tmp_path) as served:
        tree = ElementTree.fromstring(served.get("/catalog/catalog.xml").body)
        (following,) = [each.get(HREF, "") for each in tree.iter(f"{NAMESPACE}catalogRef")]
        assert following == "/catalog/catalog.xml?page=2"
        last = ElementTree.fromstring(served.get(following).body)
        assert [each.get("urlPath") for each in last.iter(f"{NAMESPACE}dataset")][1:] == ["d0200.cdl"]


@pytest.mark.long
def test_names_are_found_before_any_file_is_read(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        (tmp_path / f"{name}.cdl").write_text(cdl(name, "x"), encoding="utf-8")
    begun, ended = Event(), Event()

    def read(place: ServedPlace, most: int) -> CachedDataset:
        begun.set()
        ended.wait(60)
        raise OSError

    index = SearchIndex(Root(str(tmp_path)), read)
    index.refresh()
    assert begun.wait(60)
    hits = index.search("third", (), 10)
    assert [each.segments for each in hits.found] == [("third.cdl",)]
    assert not hits.complete
    ended.set()
    index.close()
