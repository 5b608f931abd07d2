"""DAP4: documents, values and refusals of its URLs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import nczarr
from tests.support.serving import Served


def test_documents(served: Served) -> None:
    for suffix, kind in {"dmr": "dataset-metadata+xml", "dmr.xml": "dataset-metadata+xml", "dap": "data"}.items():
        reply = served.get(f"/dap4/cmip.nc.{suffix}")
        assert reply.status == 200
        assert reply.headers["content-type"] == f"application/vnd.opendap.dap4.{kind}"
        assert reply.headers["xdap"] == "4.0"
    assert served.get("/dap4/cmip.nc.dap", "HEAD").body == b""
    first = served.get("/dap4/cmip.nc.dmr")
    assert served.get("/dap4/cmip.nc.dmr", if_none_match=first.headers["etag"]).status == 304


def test_values_of_every_format(served: Served, datasets: Path, tmp_path: Path) -> None:
    for name in ("cmip.nc", "cmip.json", "stores/cmip.zarr", "stores/groups.zarr.zip", "types.nc"):
        (tmp_path / "t.dap").write_bytes(served.get(f"/dap4/{name}.dap").body)
        with nczarr.open(tmp_path / "t.dap") as found, nczarr.open(datasets / name) as truth:
            for fqn in truth:
                assert str(found[fqn][...]) == str(truth[fqn][...]), (name, fqn)
    reply = served.get("/dap4/cmip.nc.dap?dap4.ce=/tas%5B0%5D%5B0:1%5D%5B0:2:3%5D;/lat&dap4.checksum=true")
    (tmp_path / "t.dap").write_bytes(reply.body)
    with nczarr.open(tmp_path / "t.dap") as found, nczarr.open(datasets / "cmip.nc") as truth:
        assert np.array_equal(found["/tas"][...], truth["/tas"][...][0:1, 0:2, 0:4:2])


def test_refusals_are_error_documents(served: Served) -> None:
    for path in (
        "cmip.nc.dap?dap4.ce=/nothing", "cmip.nc.dmr?dap4.ce=/tas%5B9%5D", "cmip.nc.dap?dap4.checksum=2",
        "cmip.nc.dap?dap4.function=f(tas)", "missing.nc.dap", "cmip.nc.exe", "stores.dmr",
        "broken.cdl.dmr", "out.json.dmr", "%FF%00.dmr",
    ):  # fmt: skip
        reply = served.get(f"/dap4/{path}")
        assert reply.status in (400, 403, 404, 422)
        assert reply.headers["content-type"] == "application/vnd.opendap.dap4.error+xml"
        assert f'httpcode="{reply.status}"' in reply.text
