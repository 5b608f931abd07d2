"""Stores of real files through zarr-python, xarray, tensorstore and libnetcdf: each sees what the file holds.

A few files here, all in the proof; tests/peers/test_corpus.py has those that are compiled from texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.peers import exactness
from tests.support.peers.exactness import Subject
from tests.support.peers.survey import survey
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

REAL = exactness.real_folder()
FILES = list(exactness.real(REAL)) if REAL is not None else []
SMALL = [subject for subject in FILES if subject.path.stat().st_size < 200_000]
FOLDERS = (("nczarr", ".zarr"), ("zarr2", ".zarr"), ("nczarr3", ".zarr"), ("zarr3", ".zarr"))

TWO_FILLS = tuple(f"{form}.zarr: xarray: tos: _FillValue" for form in ("nczarr", "zarr2"))
EXCUSED = {
    f"nemo_1m_2015{months}_grid-T.nc": TWO_FILLS for months in ("0101-20150201", "0201-20150301", "0301-20150401")
}
"""Their HDF5 fill value is not their `_FillValue`; Zarr v2 has one member for both, and xarray reads no other."""

needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")


@pytest.fixture(scope="module")
def workers(peer: Callable[[str], object]) -> Iterator[dict[str, Worker]]:
    for name in ("netCDF4", "zarr", "xarray", "tensorstore"):
        peer(name)
    found = {"netcdf": Worker("read_netcdf.py"), "zarr": Worker("read_zarr.py")}
    yield found
    for worker in found.values():
        worker.close()


def assert_seen(subject: Subject, folder: Path, workers: dict[str, Worker]) -> None:
    checked, said = exactness.read(subject.path)
    assert checked is not None, said
    found = survey(checked, folder, workers, stores=FOLDERS).differences
    if found and not xarray_loads(subject.path):
        found = [text for text in found if " xarray: " not in text]
    assert [text for text in found if not text.startswith(EXCUSED.get(subject.path.name, ()))] == []


def xarray_loads(path: Path) -> bool:
    """Whether xarray takes the file itself: some have an `add_offset` that is a text."""
    import xarray

    try:
        with xarray.open_dataset(path, engine="netcdf4", decode_times=False) as dataset:
            dataset.load()
    except (TypeError, ValueError):
        return False
    return True


@needs_files
@pytest.mark.parametrize("subject", SMALL[5::12], ids=lambda subject: subject.name)
def test_every_reader_sees_a_real_file(subject: Subject, tmp_path: Path, workers: dict[str, Worker]) -> None:
    assert_seen(subject, tmp_path, workers)


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("subject", FILES, ids=lambda subject: subject.name)
def test_every_reader_sees_every_real_file(subject: Subject, tmp_path: Path, workers: dict[str, Worker]) -> None:
    assert_seen(subject, tmp_path, workers)
