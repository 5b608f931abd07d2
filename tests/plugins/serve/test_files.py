"""Files of datasets, as they are: ranges, conditions, and what is not served."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.serving import Served, Shelf


def test_a_file_is_sent_as_it_is(served: Served, datasets: Path) -> None:
    reply = served.get("/file/cmip.nc")
    data = (datasets / "cmip.nc").read_bytes()
    assert (reply.status, reply.body, reply.headers["accept-ranges"]) == (200, data, "bytes")
    assert reply.headers["content-disposition"] == 'attachment; filename="cmip.nc"'
    part = served.get("/file/cmip.nc", Range="bytes=100-299")
    assert (part.status, part.body) == (206, data[100:300])
    assert served.get("/file/cmip.nc", Range="bytes=-7").body == data[-7:]
    assert served.get("/file/cmip.nc", If_None_Match=reply.headers["etag"]).status == 304
    assert served.get("/file/cmip.nc", "HEAD").headers["content-length"] == str(len(data))
    assert served.get("/file/stores/groups.zarr.zip").body == (datasets / "stores" / "groups.zarr.zip").read_bytes()


def test_names_beyond_ascii(served: Served) -> None:
    name = "odd &<b>\"' ümlaut.cdl"
    reply = served.get(f"/file/{quote(name)}")
    assert reply.headers["content-disposition"] == (
        "attachment; filename=\"odd_b_mlaut.cdl\"; filename*=UTF-8''odd%20%26%3Cb%3E%22%27%20%C3%BCmlaut.cdl"
    )


@pytest.mark.parametrize(
    "path",
    ["", "stores", "stores/cmip.zarr", "stores/cmip.zarr/.zattrs", "notes.txt", ".hidden.cdl", "leads-out.cdl",
     "to-hidden.cdl", "x.nc.partial-01234567", "cmip.nc/", "nothing.nc", "..%2fsecret.cdl", "../outside0/secret.cdl"],
)  # fmt: skip
def test_what_is_no_file(path: str, served: Served) -> None:
    assert served.get(f"/file/{path}").status == 404


def test_links_to_files(served: Served) -> None:
    assert 'href="/file/cmip.nc"' in served.get("/").text
    assert 'href="/file/cmip.nc"' in served.get("/browse/cmip.nc").text
    assert "/file/" not in served.get("/browse/stores/cmip.zarr").text


def test_documents_of_dap4_are_compressed(served: Served) -> None:
    reply = served.get("/dap4/cmip.nc.dmr", Accept_Encoding="gzip")
    assert reply.headers["content-encoding"] == "gzip"


@pytest.mark.long
def test_half_a_copy_is_not_sent(shelf: Shelf) -> None:
    peer = pytest.importorskip("netCDF4")
    with peer.Dataset(shelf.folder / "t.nc", "w") as file:
        file.createDimension("x", 1000)
        file.createVariable("v", "f8", ("x",))[:] = 1
    data = (shelf.folder / "t.nc").read_bytes()
    (shelf.folder / "t.nc").write_bytes(data[: len(data) // 2])
    reply = shelf.get("/file/t.nc")
    assert (reply.status, reply.headers["retry-after"]) == (503, "2")
    (shelf.folder / "t.nc").write_bytes(data)
    assert shelf.get("/file/t.nc").body == data
    (shelf.folder / "t.nc").write_bytes(data[: len(data) // 2])
    os.utime(shelf.folder / "t.nc", (1, 1))  # half a file of long ago is a file
    assert shelf.get("/file/t.nc").body == data[: len(data) // 2]


def test_archives_of_several_datasets_are_to_be_unpacked(shelf: Shelf) -> None:
    text = "netcdf a { variables: int v ; data: v = 1 ; }"
    with zipfile.ZipFile(shelf.folder / "a.zip", "w") as archive:
        archive.writestr("a.cdl", text)
        archive.writestr("b.cdl", text)
    os.utime(shelf.folder / "a.zip", (1, 1))  # one of this moment may be incomplete
    reply = shelf.get("/dap2/a.zip.dds")
    assert reply.status == 422
    assert "unpack it: a server offers no members of archives" in reply.text
    assert "nczarr combine" not in reply.text
