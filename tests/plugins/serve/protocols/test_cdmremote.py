"""CDM Remote: headers, sections, texts, and what they say of themselves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest

import nczarr
from nczarr import ncstream
from tests.support.serving import Served, serving

PATHS = (
    "cmip.nc", "cmip.json", "groups.nc", "types.nc", "station.cdl", "stores/cmip.zarr", "stores/groups.zarr.zip",
    "stores/cmip.awkd", "stores/draft", "stores/types.ncs", "stores/types.nczarr3")  # fmt: skip


def spec(fqn: str) -> str:
    found = "".join(f"\\{each}" if each in "().;,\\" else each for each in fqn.removeprefix("/"))
    return quote(found, safe="")


def messages(body: bytes, definitions: Any = None) -> list[Any]:
    return list(ncstream.read_messages(io.BytesIO(body), definitions=definitions))


def headed(served: Served, name: str) -> Any:
    reply = served.get(f"/cdmremote/{name}?req=header")
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-description"] == "ncstream"
    (header,) = messages(reply.body)
    return header


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PATHS)
def test_every_variable(name: str, datasets: Path, served: Served) -> None:
    header = headed(served, name)
    assert header.message.location.decode() == f"{served.url}cdmremote/{name}"
    with nczarr.open(datasets / name) as truth:
        for fqn in truth:
            reply = served.get(f"/cdmremote/{name}?req=data&var={spec(fqn)}")
            assert reply.status == 200, (fqn, reply.body[:300])
            assert reply.headers["content-description"] == "ncstream"
            (got,) = messages(reply.body, header.message)
            assert same(got.values, truth[fqn][...]), fqn


def same(one: Any, other: Any) -> bool:
    """Whether values are equal, however lists and records are held."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    if one.dtype.names:
        return all(same(one[name], other[name]) for name in one.dtype.names)
    if other.dtype == object or one.dtype == object:
        return all(
            plain(first) == plain(second)
            for first, second in zip(one.reshape(-1).tolist(), other.reshape(-1).tolist(), strict=True)
        )
    return (
        np.ascontiguousarray(one).astype(one.dtype.newbyteorder("<")).tobytes()
        == np.ascontiguousarray(other).astype(other.dtype.newbyteorder("<")).tobytes()
    )


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value.encode() if isinstance(value, str) else value


def test_sections(datasets: Path, served: Served) -> None:
    with nczarr.open(datasets / "cmip.nc") as truth:
        tas = truth["/tas"][...]
    for text, wanted in {
        "tas(0,:,:)": tas[0:1],
        "/tas( 1 , 0:1 , 0:3:2 )": tas[1:2, 0:2, 0:4:2],
        "tas(:,1:1,3)": tas[:, 1:2, 3:4],
        "tas;lat": tas,
    }.items():
        for written in (text, quote(text, safe=""), quote(text, safe="/(),:")):
            if " " in written:
                continue
            reply = served.get(f"/cdmremote/cmip.nc?REQ=DATA&var={written}")
            assert reply.status == 200, reply.text
            got = messages(reply.body)
            assert len(got) == text.count(";") + 1
            assert same(got[0].values, wanted), text


def test_deflate(datasets: Path, served: Served) -> None:
    plain_reply = served.get("/cdmremote/cmip.nc?req=data&var=tas&deflate=")
    packed = served.get("/cdmremote/cmip.nc?req=data&var=tas&deflate=9")
    assert packed.body != plain_reply.body
    assert same(messages(packed.body)[0].values, messages(plain_reply.body)[0].values)


def test_sections_of_lists(served: Served, datasets: Path) -> None:
    """Clients count a list's length as a dimension; it takes `:` alone."""
    with nczarr.open(datasets / "types.nc") as truth:
        lists = [fqn for fqn in truth if truth[fqn].dtype == object and truth[fqn].shape and "vlen" in kind(truth, fqn)]
        assert lists
        for fqn in lists:
            whole = truth[fqn][...]
            own = ",".join("0" for _ in whole.shape)
            header = headed(served, "types.nc").message
            for section in (f"({own})", f"({own},:)"):
                reply = served.get(f"/cdmremote/types.nc?req=data&var={spec(fqn)}{section}")
                assert reply.status == 200, reply.text
                (got,) = messages(reply.body, header)
                assert same(got.values, whole[tuple(slice(0, 1) for _ in whole.shape)])
            assert served.get(f"/cdmremote/types.nc?req=data&var={spec(fqn)}({own},0)").status == 400


def kind(truth: Any, fqn: str) -> str:
    declared = truth.checked.types.get(truth[fqn].type)
    return getattr(declared, "kind", "")


def test_texts(served: Served) -> None:
    cdl = served.get("/cdmremote/cmip.nc?req=CDL")
    assert (cdl.status, cdl.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert cdl.text.startswith("netcdf cmip {")
    assert "data:" not in cdl.text
    assert nczarr.from_cdl(cdl.text)["/tas"].shape == (0, 2, 4)
    told = served.get("/cdmremote/cmip.nc?req=capabilities")
    root = ElementTree.fromstring(told.text)
    assert root.tag == "cdmRemoteCapabilities"
    assert root.get("location") == f"{served.url}cdmremote/cmip.nc"
    assert [each.tag for each in root] == ["featureDataset"]
    assert root[0].get("url") == root.get("location")
    probe = served.get("/cdmremote/cmip.nc")
    assert (probe.status, probe.body) == (200, b"")
    form = served.get("/cdmremote/groups.nc?req=FORM").text
    assert "<form" in form
    assert "<script" not in form


def test_unknown_datasets(served: Served) -> None:
    for path in ("nothing.nc?req=header", "nothing.nc", "stores?req=header", "notes.txt?req=header"):
        assert served.get(f"/cdmremote/{path}").status == 404, path


def test_ncml(served: Served) -> None:
    told = served.get("/cdmremote/groups.nc?req=NcML")
    assert (told.status, told.headers["content-type"]) == (200, "application/xml")
    root = ElementTree.fromstring(told.text)
    assert root.tag == "{http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2}netcdf"
    assert root.get("location") == f"{served.url}cdmremote/groups.nc"


def test_members_are_whole_records(served: Served, datasets: Path) -> None:
    header = headed(served, "types.nc").message
    with nczarr.open(datasets / "types.nc") as truth:
        records = [fqn for fqn in truth if kind(truth, fqn) == "compound"]
        assert records
        for fqn in records:
            member = truth.checked.types[truth[fqn].type].fields[0].name
            whole = served.get(f"/cdmremote/types.nc?req=data&var={spec(fqn)}")
            part = served.get(f"/cdmremote/types.nc?req=data&var={spec(fqn)}.{spec(member)}")
            assert (part.status, part.body) == (200, whole.body)
            assert messages(part.body, header)


@pytest.mark.slow
def test_names_with_signs(tmp_path: Path) -> None:
    text = "netcdf t {\nvariables:\n  int a\\ b ;\n  int c\\(d\\)\\;e\\,f.g ;\n  int ü ;\ndata:\n"
    text += "  a\\ b = 1 ;\n  c\\(d\\)\\;e\\,f.g = 2 ;\n  ü = 3 ;\n}\n"
    (tmp_path / "t.cdl").write_text(text, encoding="utf-8")
    with serving(tmp_path) as served:
        for number, written in enumerate(("a b", "c\\(d\\)\\;e\\,f\\.g", "ü"), 1):
            for name in (written, f"/{written}"):
                reply = served.get(f"/cdmremote/t.cdl?req=data&var={quote(name)}")
                assert reply.status == 200, reply.text
                assert messages(reply.body)[0].values == number
        assert served.get("/cdmremote/t.cdl?req=data&var=a+b").status == 200
        assert "c\\(d\\)\\;e\\,f\\.g" in served.get("/cdmremote/t.cdl?req=form").text


@pytest.mark.parametrize("name", PATHS)
def test_our_own_client(name: str, datasets: Path, served: Served) -> None:
    with nczarr.open(f"cdmremote:{served.url}cdmremote/{name}") as remote, nczarr.open(datasets / name) as truth:
        assert list(remote) == list(truth)
        for fqn in truth:
            assert same(remote[fqn][...], truth[fqn][...]), fqn
