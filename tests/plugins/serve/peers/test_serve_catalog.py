"""Catalogs of folders through siphon, a client of THREDDS servers, down to values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.support.serving import Served, serving

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def served(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Iterator[Served]:
    for name in ("uvicorn", "siphon", "google.protobuf"):
        peer(name)
    (tmp_path / "deep er").mkdir()
    for path in ("one.cdl", "deep er/two &.cdl"):
        (tmp_path / path).write_bytes((ROOT / "samples" / "01-station.cdl").read_bytes())
    with serving(tmp_path) as found:
        yield found


@pytest.mark.long
def test_datasets_are_found_and_read(served: Served) -> None:
    from siphon.catalog import TDSCatalog

    catalog = TDSCatalog(f"{served.url}catalog/catalog.xml")
    assert list(catalog.datasets) == ["one.cdl"]
    inner = catalog.catalog_refs["deep er"].follow()
    assert list(inner.datasets) == ["two &.cdl"]
    for dataset in (catalog.datasets["one.cdl"], inner.datasets["two &.cdl"]):
        remote = dataset.remote_access(service="CdmRemote")
        assert list(remote.variables["time"][:]) == [0, 6, 12]


@pytest.mark.long
def test_files_are_downloaded(served: Served, tmp_path: Path) -> None:
    from siphon.catalog import TDSCatalog

    catalog = TDSCatalog(f"{served.url}catalog/catalog.xml")
    for dataset, path in (
        (catalog.datasets["one.cdl"], "one.cdl"),
        (catalog.catalog_refs["deep er"].follow().datasets["two &.cdl"], "deep er/two &.cdl"),
    ):
        dataset.download(str(tmp_path / "copy"))
        assert (tmp_path / "copy").read_bytes() == (tmp_path / path).read_bytes()
