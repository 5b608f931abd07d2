"""One server for all quick tests, with samples in several formats."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, missing_peer, run_command
from tests.support.serving import Served, Shelf, serving

SAMPLES = ROOT / "samples"


def convert(source: Path, target: Path, *options: str) -> None:
    ran = run_command("convert", str(source), str(target), "-q", *options)
    assert ran.status == 0, ran.err


@pytest.fixture(scope="session")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of datasets in many formats, and of things that are none of anyone's business."""
    for name in ("uvicorn", "netCDF4"):
        if importlib.util.find_spec(name) is None:
            missing_peer(name)
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.cdl").write_text("netcdf secret {\nvariables:\n  int kept_apart ;\n}\n", encoding="utf-8")
    root = tmp_path_factory.mktemp("datasets")
    (root / "stores").mkdir()
    convert(SAMPLES / "04-cmip.cdl", root / "cmip.nc")
    convert(SAMPLES / "04-cmip.cdl", root / "stores" / "cmip.zarr")
    convert(SAMPLES / "02-grid-groups.cdl", root / "stores" / "groups.zarr.zip", "--to", "nczarr")
    convert(SAMPLES / "02-grid-groups.cdl", root / "groups.nc")
    convert(SAMPLES / "05-every-type.cdl", root / "types.nc")
    convert(SAMPLES / "06-strings.cdl", root / "stores" / "strings.zarr3", "--to", "zarr3", "--allow-loss", "all")
    convert(root / "cmip.nc", root / "cmip.json", "--to", "reference")
    convert(root / "cmip.nc", root / "stores" / "cmip.awkd")
    convert(root / "cmip.nc", root / "stores" / "draft", "--to", "zarr3-2019")
    convert(root / "types.nc", root / "stores" / "types.ncs")
    convert(root / "types.nc", root / "stores" / "types.nczarr3", "--to", "nczarr3")
    (root / "station.cdl").write_bytes((SAMPLES / "01-station.cdl").read_bytes())
    (root / "odd &<b>\"' ümlaut.cdl").write_bytes((SAMPLES / "01-station.cdl").read_bytes())
    (root / "broken.cdl").write_text("netcdf broken {\nvariables:\n  int v(nowhere) ;\n}\n", encoding="utf-8")
    (root / "notes.txt").write_text("nothing to be seen\n", encoding="utf-8")
    (root / ".hidden.cdl").write_bytes((SAMPLES / "01-station.cdl").read_bytes())
    (root / "x.nc.partial-01234567").write_bytes((SAMPLES / "01-station.cdl").read_bytes())
    (root / ".git").mkdir()
    (root / ".git" / "a.cdl").write_bytes((SAMPLES / "01-station.cdl").read_bytes())
    (root / "leads-out").symlink_to(outside)
    (root / "leads-out.cdl").symlink_to(outside / "secret.cdl")
    (root / "leads-in.cdl").symlink_to(root / "station.cdl")
    (root / "to-hidden.cdl").symlink_to(root / ".hidden.cdl")
    (root / "circle").symlink_to(root / "circle")
    document = '{".zgroup": "{\\"zarr_format\\": 2}", "v/0": ["%s", 0, 4]}'
    (root / "out.json").write_text(document % (outside / "secret.cdl"), encoding="utf-8")
    for name in ("broken.cdl", "notes.txt", "out.json"):
        os.utime(root / name, (1, 1))  # of long ago, so that they do not count as half written
    (root / "web.json").write_text(document % "http://127.0.0.1:9/x", encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def served(datasets: Path) -> Iterator[Served]:
    """The server of that folder."""
    with serving(datasets) as found:
        yield found


@pytest.fixture(scope="session")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """A server for all tests that need one without options: each start takes a third of a second."""
    root = tmp_path_factory.mktemp("shelves")
    with serving(root) as found:
        yield Shelf(root, found)


@pytest.fixture
def shelf(shelves: Shelf) -> Shelf:
    """A new folder of that server."""
    folder = shelves.folder / f"{len(list(shelves.folder.iterdir()))}-shelf"
    folder.mkdir()
    return shelves._replace(folder=folder)
