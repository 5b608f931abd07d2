"""Datasets as stores over HTTP: key by key what a conversion would write, ranges, conditions."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

import nczarr
from nczarr import registry
from nczarr.diagnostics.report import Report
from nczarr.options import UNREAD, Options
from nczarr.pipeline import phases
from tests.conftest import ROOT
from tests.support.serving import Served, serving

from ..conftest import convert

PATHS = (
    "cmip.nc",
    "cmip.json",
    "groups.nc",
    "types.nc",
    "station.cdl",
    "leads-in.cdl",
    "stores/cmip.zarr",
    "stores/groups.zarr.zip",
    "stores/strings.zarr3",
    "stores/cmip.awkd",
    "stores/draft",
    "stores/types.ncs",
    "stores/types.nczarr3",
)


def written(path: Path, version: str) -> dict[str, bytes]:
    """Every key of the store that a conversion would write."""
    report = Report()
    checked = phases.read_path(os.fspath(path), report, Options.of(allow_loss=UNREAD))
    form = registry.find_format(version)
    assert checked is not None
    assert form is not None
    found = phases.keys(checked, form, report, Options.of(allow_loss=frozenset({"all"}), consolidated=True))
    assert found is not None
    return dict(found)


def comparable(data: bytes) -> bytes:
    """A document without its fill values: those that no `_FillValue` declares are null where it is served."""
    if b'"zarr_format": 2' not in data:
        return data
    return re.sub(rb'"fill_value": ("[^"]*"|[^",}]+)', b'"fill_value": 0', data)


FILLS = {
    "plain": (None, None, [1, 2, 0, 0]),
    "undeclared": (5, None, [1, 2, 5, 5]),
    "differs": (0, -1, [1, -1, 0, 0]),
    "same": (-1, -1, [1, 2, -1, -1]),
}
"""Fill value of HDF5, `_FillValue`, and values; the second chunk is not stored."""


@pytest.mark.long
def test_fill_values_of_zarr2_are_those_of_the_attribute(tmp_path: Path) -> None:
    """xarray takes each for missing data, and puts it before `_FillValue`. Chunks that are not stored exist."""
    h5py, xarray = pytest.importorskip("h5py"), pytest.importorskip("xarray")
    pytest.importorskip("aiohttp")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for name, (fill, attribute, values) in FILLS.items():
            made = file.create_dataset(name, (4,), "i4", chunks=(2,), fillvalue=fill)
            made[:2] = values[:2]
            if attribute is not None:
                made.attrs["_FillValue"] = np.array([attribute], "i4")
    with serving(tmp_path) as served:
        documents = {name: json.loads(served.get(f"/zarr2/f.h5/{name}/.zarray").body) for name in FILLS}
        stored = {name: served.get(f"/zarr2/f.h5/{name}/1").status for name in FILLS}
        with (
            xarray.open_zarr(f"{served.url}zarr2/f.h5", zarr_format=2) as remote,
            xarray.open_dataset(tmp_path / "f.h5", engine="netcdf4") as local,
        ):
            for name, (_, attribute, values) in FILLS.items():
                assert remote[name].dtype == local[name].dtype == ("f8" if attribute is not None else "i4"), name
                wanted = [np.nan if value == attribute else value for value in values]
                assert np.array_equal(remote[name].values, wanted, equal_nan=attribute is not None), name
    assert {name: each["fill_value"] for name, each in documents.items()} == {
        "plain": None, "undeclared": None, "differs": None, "same": -1,
    }  # fmt: skip
    assert stored == {"plain": 200, "undeclared": 200, "differs": 200, "same": 404}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", ["zarr2", "zarr3"])
@pytest.mark.parametrize("name", PATHS)
def test_every_key_is_what_a_conversion_writes(name: str, version: str, datasets: Path, served: Served) -> None:
    keys = written(datasets / name, version)
    assert len(keys) > 3
    for key, data in keys.items():
        reply = served.get(f"/{version}/{name}/{key}")
        assert (reply.status, comparable(reply.body)) == (200, comparable(data)), key
        kind = "application/json" if key.endswith(("json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")) else None
        assert reply.headers["content-type"] == (kind or "application/octet-stream")
        assert reply.headers["content-length"] == str(len(reply.body))
        assert "access-control-allow-origin" not in reply.headers


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(each.name for each in (ROOT / "samples").glob("*.cdl")))
def test_samples_are_served(name: str, samples: Served) -> None:
    for version in ("zarr2", "zarr3"):
        for key, data in written(ROOT / "samples" / name, version).items():
            reply = samples.get(f"/{version}/{name}/{key}")
            assert (reply.status, comparable(reply.body)) == (200, comparable(data)), (version, key)


@pytest.fixture(scope="module")
def samples(datasets: Path) -> object:
    with serving(ROOT / "samples") as found:
        yield found


@pytest.mark.parametrize(
    "key",
    ["tas/0.0.1", "tas/9.0.0", "tas/0.0", "tas/0.0.0.0", "tas/00.0.0", "tas/-1.0.0", "tas/0.0.0/", "tas", "nothing/0",
     "tas/c/0/0/0", "", "tas/../tas/0.0.0", "tas/99999999999999999999999.0.0", "tas/٠.0.0", ".zarray", "tas/.zgroup"],
)  # fmt: skip
def test_keys_that_there_are_not(key: str, served: Served) -> None:
    reply = served.get(f"/zarr2/cmip.nc/{quote(key, safe='/.')}" if key else "/zarr2/cmip.nc/.z")
    assert reply.status == 404
    assert reply.headers["content-type"].startswith("text/plain")


def test_ranges(served: Served) -> None:
    path = "/zarr3/cmip.nc/zarr.json"
    whole = served.get(path).body
    length = len(whole)
    for asked, (first, last) in {
        "bytes=0-9": (0, 9),
        "bytes=5-": (5, length - 1),
        "bytes=-7": (length - 7, length - 1),
        f"bytes=-{length * 2}": (0, length - 1),
        f"bytes={length - 1}-{length * 3}": (length - 1, length - 1),
        "BYTES = 3 - 4": (3, 4),
    }.items():
        reply = served.get(path, Range=asked)
        assert (reply.status, reply.body) == (206, whole[first : last + 1]), asked
        assert reply.headers["content-range"] == f"bytes {first}-{last}/{length}"
    for asked in (f"bytes={length}-", f"bytes={length}-{length + 3}", "bytes=-0"):
        reply = served.get(path, Range=asked)
        assert (reply.status, reply.headers["content-range"]) == (416, f"bytes */{length}"), asked
    for asked in ("bytes=5-3", "bytes=a-b", "bytes=", "bytes=-", "lines=0-9", "bytes=0-1,4-5", "bytes=" + "9" * 400):
        reply = served.get(path, Range=asked)
        assert (reply.status, reply.body) == (200, whole), asked


def test_head_and_conditions(served: Served) -> None:
    for path in ("/zarr2/cmip.nc/.zmetadata", "/zarr2/cmip.nc/tas/0.0.0", "/zarr2/stores/cmip.zarr/tas/0.0.0"):
        got = served.get(path)
        head = served.get(path, "HEAD")
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(got.body)))
        tag = got.headers["etag"]
        assert head.headers["etag"] == tag
        for told in (tag, f'"x", W/{tag}', "*"):
            reply = served.get(path, If_None_Match=told)
            assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", tag)
        assert served.get(path, If_None_Match='"x"').status == 200
        assert served.get(path, Range="bytes=0-0", If_Range=tag).status == 206
        assert served.get(path, Range="bytes=0-0", If_Range='"x"').status == 200
    modified = served.get("/zarr2/cmip.nc/.zmetadata").headers["last-modified"]
    assert served.get("/zarr2/cmip.nc/.zmetadata", If_Modified_Since=modified).status == 304
    assert served.get("/zarr2/cmip.nc/.zmetadata", If_Modified_Since="Sat, 01 Jan 2000 00:00:00 GMT").status == 200
    assert served.get("/zarr2/cmip.nc/.zmetadata", If_Modified_Since="some day").status == 200


def test_consolidated_metadata_are_there(served: Served) -> None:
    two = json.loads(served.get("/zarr2/groups.nc/.zmetadata").body)
    assert two["zarr_consolidated_format"] == 1
    three = json.loads(served.get("/zarr3/groups.nc/zarr.json").body)
    assert set(three["consolidated_metadata"]["metadata"]) >= {name.removesuffix("/.zarray") for name in two["metadata"]
                                                               if name.endswith("/.zarray")}  # fmt: skip


@pytest.mark.slow
def test_a_changed_file_is_read_again(tmp_path: Path, datasets: Path) -> None:
    text = "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, %d ;\n}\n"
    source = tmp_path / "t.cdl"
    source.write_text(text % 2, encoding="utf-8")
    store = tmp_path / "t.zarr"
    convert(source, store)
    with serving(tmp_path) as served:
        first = served.get("/zarr2/t.cdl/v/0")
        assert first.body == b"\1\0\0\0\2\0\0\0"
        other = tmp_path / "new"
        other.write_text(text % 3, encoding="utf-8")
        other.replace(source)
        second = served.get("/zarr2/t.cdl/v/0", If_None_Match=first.headers["etag"])
        assert (second.status, second.body) == (200, b"\1\0\0\0\3\0\0\0")
        assert served.get("/zarr2/t.zarr/v/0").body == b"\1\0\0\0\2\0\0\0"
        convert(source, store, "--overwrite")
        assert served.get("/zarr2/t.zarr/v/0").body == b"\1\0\0\0\3\0\0\0"
        source.unlink()
        assert served.get("/zarr2/t.cdl/v/0").status == 404


@pytest.mark.slow
def test_one_dataset_is_a_root_too(datasets: Path) -> None:
    for name in ("cmip.nc", "stores/cmip.zarr"):
        with serving(datasets / name) as served:
            own = name.rpartition("/")[2]
            listed = json.loads(served.get("/?format=json").body)
            assert [each["name"] for each in listed["entries"]] == [own]
            assert served.get(f"/zarr2/{own}/.zgroup").status == 200
            assert served.get("/zarr2/groups.nc/.zgroup").status == 404
            assert served.get("/zarr2/.zgroup").status == 404


@pytest.mark.long
def test_values_over_http_are_those_of_the_file(datasets: Path, served: Served, peer: object) -> None:
    zarr = peer("zarr")  # type: ignore[operator]
    peer("aiohttp")  # type: ignore[operator]
    group = zarr.open_group(f"{served.url}zarr3/cmip.nc", mode="r")
    with nczarr.open(datasets / "cmip.nc") as truth:
        for fqn in truth:
            assert (group[fqn.removeprefix("/")][...] == truth[fqn][...]).all(), fqn
