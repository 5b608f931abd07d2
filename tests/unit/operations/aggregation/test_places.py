"""Fragments at URLs, and what a server reads of fragments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
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
