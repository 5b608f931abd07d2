"""Our client of CDM Remote against our server: every dataset is the same there, whatever its format."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

import nczarr
from tests.conftest import run_command
from tests.support.peers import exactness
from tests.support.serving import Served, serving

DATASETS = [
    "cmip.nc",
    "groups.nc",
    "types.nc",
    "station.cdl",
    "stores/cmip.zarr",
    "stores/groups.zarr.zip",
    "stores/strings.zarr3",
    "cmip.json",
    "odd &<b>\"' ümlaut.cdl",
]
REAL = exactness.real_folder()


def url(served: Served, path: str) -> str:
    return f"cdmremote:{served.url.rstrip('/')}/cdmremote/{quote(path)}"


@pytest.mark.parametrize("path", DATASETS)
def test_datasets_are_the_same(path: str, served: Served, datasets: Path) -> None:
    assert nczarr.diff(str(datasets / path), url(served, path)) == []
    assert nczarr.digest(url(served, path)) == nczarr.digest(str(datasets / path))


@pytest.mark.slow
def test_a_dataset_is_converted(served: Served, datasets: Path, tmp_path: Path) -> None:
    ran = run_command("convert", url(served, "types.nc"), str(tmp_path / "types.zarr"), "-q", "--verify")
    assert ran.status == 0, ran.err
    assert nczarr.diff(str(datasets / "types.nc"), str(tmp_path / "types.zarr")) == []


@pytest.mark.parametrize(("path", "words"), [("nothing.nc", "404"), (".hidden.cdl", "404"), ("broken.cdl", "422")])
def test_what_is_not_served_is_out_of_reach(path: str, words: str, served: Served) -> None:
    ran = run_command("dump", url(served, path), "--storage-option", "retries=0")
    assert ran.status == 3
    assert words in ran.err


def test_nothing_is_written_to_a_server(served: Served, datasets: Path) -> None:
    ran = run_command("convert", str(datasets / "cmip.nc"), url(served, "new.nc"))
    assert ran.status in (1, 2)
    assert "bad-url" in ran.err


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
def test_real_files_are_the_same() -> None:
    assert REAL is not None
    different, read = [], 0
    with serving(REAL) as served:
        for subject in exactness.real(REAL):
            if subject.path.stat().st_size < 60_000_000:
                found = nczarr.diff(str(subject.path), url(served, str(subject.path.relative_to(REAL))))
                different += [f"{subject.name}: {each}" for each in found]
                read += 1
    assert different == []
    assert read > 50
