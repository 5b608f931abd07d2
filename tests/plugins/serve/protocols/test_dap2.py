"""DAP2: documents, values, refusals, conditions and limits of its URLs."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

import nczarr
from tests.support.serving import Served, serving


def test_documents(served: Served) -> None:
    for suffix, description in {"dds": "dods_dds", "das": "dods_das", "dods": "dods_data", "asc": "dods_ascii"}.items():
        reply = served.get(f"/dap2/cmip.nc.{suffix}")
        assert reply.status == 200
        assert reply.headers["content-description"] == description
        assert reply.headers["xdap"] == "2.0"
        assert reply.headers["xdods-server"].startswith("nczarr/")
        head = served.get(f"/dap2/cmip.nc.{suffix}", "HEAD")
        assert (head.status, head.body) == (200, b"")
    assert "DAP/2.0" in served.get("/dap2/cmip.nc.ver").text
    page = served.get("/dap2/cmip.nc.html")
    assert (page.status, page.headers["location"]) == (303, "/dap2/cmip.nc")


def test_values_of_every_format(served: Served, datasets: Path, tmp_path: Path) -> None:
    for name in ("cmip.nc", "cmip.json", "stores/cmip.zarr", "stores/cmip.awkd"):
        reply = served.get(f"/dap2/{name}.dods?tas[0:1][0][0:2:3],lat")
        (tmp_path / "t.dods").write_bytes(reply.body)
        with nczarr.open(tmp_path / "t.dods") as found, nczarr.open(datasets / name) as truth:
            assert np.array_equal(found["/tas"][...], truth["/tas"][...][0:2, 0:1, 0:4:2])


def test_refusals_are_error_documents(served: Served) -> None:
    for path in ("cmip.nc.dods?nothing", "cmip.nc.dds?tas[9][0][0]", "cmip.nc.dods?a&b=1", "missing.nc.dds",
                 "broken.cdl.dds", "out.json.dds", "%FF%00.dds"):  # fmt: skip
        reply = served.get(f"/dap2/{path}")
        assert reply.status in (400, 403, 404, 422)
        assert reply.headers["content-description"] == "dods_error"
        assert reply.text.startswith(f"Error {{\n    code = {reply.status};\n    message = ")


def test_refusals_are_pages_for_browsers(served: Served) -> None:
    reply = served.get("/dap2/cmip.nc.dods?nothing", Accept="text/html,*/*")
    assert (reply.status, reply.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert "All datasets" in reply.text
    assert "Error {" not in reply.text


def test_conditions(served: Served) -> None:
    first = served.get("/dap2/cmip.nc.dds")
    again = served.get("/dap2/cmip.nc.dds", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    part = served.get("/dap2/cmip.nc.dds", range="bytes=0-6")
    assert (part.status, part.body) == (206, b"Dataset")


@pytest.mark.slow
def test_limits(tmp_path: Path) -> None:
    text = "netcdf t {\ndimensions: x = 2000000 ;\nvariables:\n  double v(x) ;\n  int w(x) ;\n}\n"
    (tmp_path / "t.cdl").write_text(text, encoding="utf-8")
    with serving(tmp_path, "--max-response", "8MB") as served:
        assert served.get("/dap2/t.cdl.dods?v").status == 413
        assert served.get("/dap2/t.cdl.dods?v[0:9]").status == 200
        whole = served.get("/dap2/t.cdl.dods?w[0:1999998]")
        assert whole.status == 200
        assert len(whole.body.partition(b"Data:\n")[2]) == 8 + 4 * 1999999


GRID = """netcdf g { dimensions: time = 4 ; lat = 5 ; x = 3 ; n = 2 ;
variables: double time(time) ; time:units = "days since 2000-01-01" ; float lat(lat) ; lat:units = "degrees_north" ;
  int v(time, lat, x) ; char c(x, n) ; int s ;
data: time = 0, 1.5, 2, 3 ; lat = 80, 40, 0, -40, -80 ; c = "ab", "cd", "ef" ; s = 7 ; }
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("grid")
    (folder / "g.cdl").write_text(GRID, encoding="utf-8")
    with serving(folder) as served:
        yield served


@pytest.mark.parametrize(
    ("query", "constraint"),
    [
        ("var=v", "v[0:1:3][0:1:4][0:1:2]"),
        ("var=v&from0=2000-01-02&to0=2000-01-03&from1=-50&to1=41&step2=2", "v[1:1:2][1:1:3][0:2:2]"),
        ("var=v&from0=1.5&from1=41&to1=-50", "v[1:1:3][1:1:3][0:1:2]"),
        ("var=lat&from0=0", "lat[0:1:2]"),
        ("var=c&from0=1", "c[1:1:2]"),
        ("var=s", "s"),
    ],
)
def test_the_form_makes_addresses(query: str, constraint: str, grid: Served) -> None:
    page = html.unescape(grid.get(f"/dap2/g.cdl?{query}").text)
    (address,) = re.findall(r"<code>http[^<]*(/dap2/g\.cdl\.dods\?[^<]*)</code>", page)
    assert unquote(address.partition("?")[2]) == constraint
    assert grid.get(address).status == 200
    for link in re.findall(r'href="(/(?:dap2|download)/g\.cdl[^"]*)"', page):
        assert grid.get(link).status == 200, link


@pytest.mark.long
def test_refusals_of_the_form(served: Served, grid: Served) -> None:
    for query, words in {
        "var=none": "there is no variable", "var=v&from1=x": "is not a number along",
        "var=v&from0=soon": "is not a date or number", "var=v&from1=85": "no value of `lat",
        "var=v&step1=0": "the step along",
    }.items():  # fmt: skip
        reply = grid.get(f"/dap2/g.cdl?{query}")
        assert (reply.status, words in reply.text) == (400, True), reply.text
    assert grid.get("/dap2/g.cdl?var=v&from0=-1e400").status == 200
    assert served.get("/dap2/stores").status == 404
    for path in ("groups.nc", "types.nc", "stores/cmip.zarr", "stores/strings.zarr3"):
        assert served.get(f"/dap2/{path}").status == 200, path
