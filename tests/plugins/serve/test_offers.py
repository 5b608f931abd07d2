"""Links and commands that pages and listings offer: each leads to something."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.plugins.serve.pages import download
from tests.support.serving import Served, running, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file, a store, and documents of references to places inside and outside of it."""
    tmp_path = tmp_path_factory.mktemp("offers")
    root = tmp_path / "root"
    root.mkdir()
    dataset = nczarr.from_cdl("netcdf a { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    nczarr.write(dataset, root / "a.nc", kind="nc3")
    nczarr.write(dataset, root / "store.zarr", format="zarr2")
    nczarr.write(dataset, tmp_path / "secret.nc", kind="nc3")
    for name, target in (("inside.json", root / "a.nc"), ("outside.json", tmp_path / "secret.nc")):
        array = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": None, "filters": None}
        document = {
            ".zgroup": json.dumps({"zarr_format": 2}),
            "v/.zarray": json.dumps({**array, "fill_value": 0, "order": "C"}),
            "v/.zattrs": json.dumps({"_ARRAY_DIMENSIONS": ["x"]}),
            "v/0": [str(target), 0, 8],
        }
        (root / name).write_text(json.dumps(document))
    for path in root.glob("*.*"):
        if path.is_file():
            os.utime(path, (10**9, 10**9))
    return root


@pytest.fixture(scope="module")
def offering(folder: Path) -> Iterator[Served]:
    with serving(folder) as served:
        yield served


def links_of(entries: list[dict[str, Any]]) -> list[str]:
    return [link for entry in entries for kind, link in entry["links"].items() if kind not in ("zarr2", "zarr3")]


def status_of(served: Served, link: str) -> int:
    return served.get(link + "?req=header" if link.startswith("/cdmremote/") else link).status


def test_each_link_of_a_listing_leads_somewhere(offering: Served) -> None:
    entries = json.loads(offering.get("/?format=json").body)["entries"]
    assert {entry["name"]: sorted(entry["links"]) for entry in entries if entry["name"] == "outside.json"} == {
        "outside.json": ["file"]
    }
    links = links_of(entries)
    assert "/browse/inside.json" in links
    assert [link for link in links if link.startswith("/file/")] == [
        "/file/a.nc",
        "/file/inside.json",
        "/file/outside.json",
    ]
    refused = {link: status_of(offering, link) for link in links if status_of(offering, link) in (403, 404)}
    assert refused == {}
    page = offering.get("/").text
    assert "/browse/outside.json" not in page
    assert "needs files outside this server" in page
    catalog = offering.get("/catalog/catalog.xml").text
    assert "inside.json" in catalog
    assert "outside.json" not in catalog


def test_each_link_of_a_search_leads_somewhere(offering: Served) -> None:
    for _ in range(100):
        found = json.loads(offering.get("/?q=o&format=json").body)  # `o` of `outside`, `store`
        if found["complete"]:
            break
        time.sleep(0.1)
    entries = found["entries"]
    assert {"outside.json", "store.zarr"} <= {entry["path"] for entry in entries}
    links = links_of(entries)
    assert "/file/store.zarr" not in links
    assert "/browse/outside.json" not in links
    assert {link: status_of(offering, link) for link in links if status_of(offering, link) in (403, 404)} == {}
    page = offering.get("/?q=o").text
    assert "/browse/store.zarr" in page
    assert "/browse/outside.json" not in page


def test_formats_without_their_library_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    assert (".nc" in download.list_offered()) == (find("netCDF4") is not None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "netCDF4" else find(name))
    assert list(download.list_offered()) == [".csv", ".cdl", ".zip"]


@pytest.mark.parametrize("has_library", [True, False])
def test_pages_offer_what_the_server_can_make(folder: Path, has_library: bool) -> None:
    if has_library:
        pytest.importorskip("netCDF4")
    code = "import sys; from nczarr.__main__ import main; sys.exit(main())"
    if not has_library:
        code = (
            "import importlib.util as u; find = u.find_spec; "
            "u.find_spec = lambda name, *rest: None if name == 'netCDF4' else find(name, *rest); " + code
        )
    with running([sys.executable, "-c", code, "serve", str(folder), "--port", "0"]) as served:
        page, view = served.get("/browse/a.nc").text, served.get("/view/a.nc?var=v").text
        form, answer = served.get("/dap2/a.nc?var=v", Accept="text/html").text, served.get("/download/a.nc?format=nc")
    assert ("curl -f -o" in page) == has_library
    assert "curl -o" not in page
    assert bool(re.search('format=nc["&]', view)) == has_library
    assert "format=csv" in view
    assert bool(re.search('format=nc["&]', form)) == has_library
    assert answer.status == (200 if has_library else 400)
    if not has_library:
        assert "netCDF4, which the server lacks" in answer.text
