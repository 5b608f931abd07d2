"""DAP2: documents, values, refusals, conditions and limits of its URLs."""

from __future__ import annotations

from pathlib import Path

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
    assert (page.status, page.headers["location"]) == (303, "/browse/cmip.nc")


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
        assert reply.status in (400, 403, 404, 500)
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
