"""Fragments at URLs, and what a server reads of fragments."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Lock
from types import ModuleType

import pytest

import nczarr
from nczarr.options import Writing
from tests.support.ranged_server import RangedServer
from tests.support.serving import serving

WHOLE = """netcdf all { dimensions: t = 4 ; f = 2 ; j = 1 ;
variables: int v ; v:aggregated_dimensions = "t" ; v:aggregated_data = "map: m uris: u identifiers: w" ;
int m(j, f) ; string u(f) ; string w ;
data: m = 2, 2 ; u = "a.nc", "b.nc" ; w = "v" ; }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an aggregation file and its fragments; a file beside it names another file."""
    place = tmp_path / "data"
    place.mkdir()
    for name, values in (("a", "1, 2"), ("b", "3, 4")):
        text = f"netcdf {name} {{ dimensions: t = 2 ; variables: int v(t) ; data: v = {values} ; }}"
        (place / f"{name}.cdl").write_text(text)
        nczarr.convert(place / f"{name}.cdl", place / f"{name}.nc", kind="nc4")
    (place / "all.cdl").write_text(WHOLE)
    nczarr.convert(place / "all.cdl", place / "all.nc", aggregation="keep")
    return place


def test_relative_names_count_from_the_url_of_the_file(folder: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("aiohttp")
    server = RangedServer(folder)
    try:
        for name in ("all.nc", "all.cdl"):
            dataset = nczarr.open(f"{server.url}/{name}")
            before = len(server.asked)
            assert dataset["v"][3] == 4
            assert {request.path for request in server.asked[before:]} == {"/b.nc"}
            assert dataset["v"][...].tolist() == [1, 2, 3, 4]
        (folder / "local.cdl").write_text(WHOLE.replace('"b.nc"', f'"{server.url}/b.nc"'))
        assert nczarr.open(folder / "local.cdl")["v"][...].tolist() == [1, 2, 3, 4]
        (folder / "bad.cdl").write_text(WHOLE.replace('"b.nc"', f'"{folder}/b.nc"'))
        with pytest.raises(nczarr.CompileError, match="is a local file, but the document is not local"):
            nczarr.open(f"{server.url}/bad.cdl")
    finally:
        server.close()


@pytest.mark.long
def test_a_server_reads_fragments_below_its_root_alone(folder: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("uvicorn")
    h5py = peer("h5py")
    (folder.parent / "secret.cdl").write_text("netcdf s { dimensions: t = 2 ; variables: int v(t) ; data: v = 7, 7 ; }")
    nczarr.convert(folder.parent / "secret.cdl", folder.parent / "secret.nc", kind="nc4")
    with h5py.File(folder / "link.nc", "w") as file:
        file["v"] = h5py.ExternalLink("../secret.nc", "/v")
    (folder / "outside.cdl").write_text(WHOLE.replace('"b.nc"', f'"{folder.parent}/secret.nc"'))
    (folder / "linked.cdl").write_text(WHOLE.replace('"b.nc"', '"link.nc"'))
    (folder / "gone.cdl").write_text(WHOLE.replace('"b.nc"', '"gone.nc"'))
    with serving(folder) as served:
        assert served.get("/zarr2/all.nc/v/0").body == b"".join(bytes([n, 0, 0, 0]) for n in (1, 2, 3, 4))
        assert served.get("/dap2/all.cdl.ascii?v[3:3]").text.strip().endswith("4")
        assert (served.get("/zarr2/outside.cdl/.zgroup").status, served.get("/view/outside.cdl?var=v").status) == (
            403,
            403,
        )
        for name, reason in (("linked", "outside all allowed roots"), ("gone", "No such file")):
            assert served.get(f"/dap2/{name}.cdl.ascii?v[1:1]").text.strip().endswith("2")
            reply = served.get(f"/dap2/{name}.cdl.ascii?v[3:3]")
            assert reply.status == 422
            assert "error[unreadable-fragment]: aggregation variable `/v`, fragment `" in reply.text
            assert reason in reply.text


@pytest.mark.long
def test_remote_fragments_are_opened_concurrently(
    tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversion asks for the next fragments before the first one has answered."""
    peer("aiohttp")
    count = 12
    (tmp_path / "f.cdl").write_text("netcdf f { dimensions: t = 1 ; variables: int v(t) ; data: v = 5 ; }")
    nczarr.convert(tmp_path / "f.cdl", tmp_path / "0.nc", kind="nc4")
    for number in range(1, count):
        (tmp_path / f"{number}.nc").hardlink_to(tmp_path / "0.nc")
    names = ", ".join(f'"{number}.nc"' for number in range(count))
    text = WHOLE.replace("t = 4 ; f = 2", f"t = {count} ; f = {count}").replace('"a.nc", "b.nc"', names)
    (tmp_path / "all.cdl").write_text(text.replace("m = 2, 2", f"m = {', '.join('1' * count)}"))
    server, active, most = RangedServer(tmp_path), set[int](), 0
    lock = Lock()

    answer = server._answer

    def wait(handler: BaseHTTPRequestHandler, *, body: bool) -> None:
        nonlocal most
        with lock:
            active.add(id(handler))
            most = max(most, len(active))
        Event().wait(0.05)
        answer(handler, body=body)
        with lock:
            active.discard(id(handler))

    monkeypatch.setattr(server, "_answer", wait)
    try:
        nczarr.convert(f"{server.url}/all.cdl", tmp_path / "all.json", writing=Writing(inline=0))
        assert nczarr.open(tmp_path / "all.json")["v"][...].tolist() == [5] * count
    finally:
        server.close()
    assert most > 2
    assert (tmp_path / "all.json").read_text().count(f'["{server.url}/7.nc",') == 1
