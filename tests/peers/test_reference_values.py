"""References that we make, read by fsspec with zarr-python and by ourselves, hold what libnetcdf reads; and back again.

The samples here, and a tenth of the real files; all in the proof. What the programs of others make of the same files:
docs/how-to/references.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command, shared_folder
from tests.support.peers import exactness, odd_references, references
from tests.support.peers.references import Word

pytestmark = pytest.mark.peer

SHARED, REAL = shared_folder(), exactness.real_folder()
SAMPLES = sorted((SHARED / "data/references").glob("*.nc")) if SHARED is not None else []
REAL_FILES = [subject.path for subject in exactness.real(REAL)] if REAL is not None else []
SMALL = [path for path in REAL_FILES if path.stat().st_size < 100_000]
FORMS = {"zarr2": 2, "nczarr": 2, "zarr3": 3, "nczarr3": 3}
needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
needs_samples = pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")

EXCUSED: dict[str, dict[str, Word]] = {
    "h5-odd": {"f16": "named"},  # netCDF has no such type
    "nc4-user": {"ragged": "named"},  # read from plain Zarr: `counts` and `content`
    "records": dict.fromkeys(("nested", "never", "chunked"), "named"),  # libnetcdf mistakes their big-endian members
    "records zarr3": dict.fromkeys(("nested", "chunked"), "wrong"),  # nor are they named where Zarr has their type
    "user_types": dict.fromkeys(("lists", "lists_never", "empty_lists", "lists_of_records"), "named"),
}
"""By file and variable: what is no value, and is announced."""

UNLIKE = {"h5-odd": "the netCDF library does not open it", "nc4-user": "ncdump 4.9.0 does not name types without names"}
"""Files that do not come back exactly, and why."""

LEFT_OUT = {**odd_references.NOT_THEIRS, **odd_references.UNREADABLE}
QUICK = ("masks", "filters", "sums", "edges", "fills", "records_classic", "lone_bytes")


@pytest.fixture(autouse=True)
def libraries(peer: Callable[[str], object]) -> None:
    for name in ("netCDF4", "h5py", "zarr", "fsspec"):
        peer(name)


def made(source: Path, document: Path, metadata: str, *options: str) -> list[str]:
    """What is said while references are made, which must succeed."""
    command = ["convert", str(source), str(document), "--to", "reference", "--metadata", metadata]
    done = run_command(*command, "--allow-loss", "all", *options)
    assert done.status == 0, done.err
    return done.err.splitlines()


def assert_right(source: Path, folder: Path, metadata: str, *options: str) -> None:
    found = references.truth(source)
    document = folder / f"{metadata}.json"
    said = made(source, document, metadata, *options)
    for reader in ("zarr", "ours"):
        seen = references.read(document, found, reader, FORMS[metadata])
        words = references.judge(found, seen, said)
        excused = {**EXCUSED.get(source.stem, {}), **EXCUSED.get(f"{source.stem} {metadata}", {})}
        assert references.excused(words, excused) == {}, (metadata, reader, seen.said)


def assert_back(source: Path, folder: Path, metadata: str, tools: Path, dump: str) -> None:
    document, back = folder / "refs.json", folder / "back.nc"
    made(source, document, metadata)
    done = run_command("convert", str(document), str(back))
    assert done.status == 0, done.err
    assert exactness.judge(source, back, tools, dump) == ("exact", [])
    assert nczarr.diff(source, document, data=True) == []
    assert nczarr.digest(source) == nczarr.digest(document)


@pytest.mark.sampled(4)
@needs_samples
@pytest.mark.parametrize("metadata", FORMS)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_variable_of_a_sample(path: Path, metadata: str, tmp_path: Path) -> None:
    assert_right(path, tmp_path, metadata)


@pytest.mark.sampled(3)
@needs_samples
@pytest.mark.parametrize("metadata", ["nczarr", "nczarr3"])
@pytest.mark.parametrize("path", [path for path in SAMPLES if path.stem not in UNLIKE], ids=lambda path: path.stem)
def test_a_sample_comes_back(
    path: Path, metadata: str, tmp_path: Path, shared: Path, tool: Callable[[str], str]
) -> None:
    assert_back(path, tmp_path, metadata, shared / "tools", tool("ncdump"))


@pytest.mark.long
@pytest.mark.parametrize("name", QUICK)
def test_every_variable_of_an_odd_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.nc"
    odd_references.FILES[name](path)
    assert_right(path, tmp_path, "zarr2")


@pytest.mark.parametrize("metadata", FORMS)
def test_what_nobody_can_read_is_refused_by_name(metadata: str, tmp_path: Path) -> None:
    path, document = tmp_path / "external.nc", tmp_path / "refs.json"
    odd_references.FILES["external"](path)
    done = run_command("convert", str(path), str(document), "--to", "reference", "--metadata", metadata)
    assert done.status == 1
    assert "`/out`" in done.err
    assert not document.exists()


def test_records_of_a_stream_are_counted(tmp_path: Path) -> None:
    path, whole, document = tmp_path / "streaming.nc", tmp_path / "whole.nc", tmp_path / "refs.json"
    odd_references.FILES["streaming"](path)
    data = bytearray(path.read_bytes())
    data[4:8] = (4).to_bytes(4, "big")
    whole.write_bytes(data)
    made(path, document, "zarr2")
    found = references.truth(whole)
    assert references.excused(references.judge(found, references.read(document, found), []), {}) == {}


@needs_files
@pytest.mark.parametrize("path", SMALL[3::10], ids=lambda path: path.stem)
def test_every_variable_of_a_real_file(path: Path, tmp_path: Path) -> None:
    assert_right(path, tmp_path, list(FORMS)[len(path.stem) % 4])


@needs_files
@pytest.mark.parametrize("path", SMALL[7::10], ids=lambda path: path.stem)
def test_a_real_file_comes_back(path: Path, tmp_path: Path, shared: Path, tool: Callable[[str], str]) -> None:
    assert_back(path, tmp_path, "nczarr", shared / "tools", tool("ncdump"))


@pytest.mark.slow
@pytest.mark.parametrize("metadata", FORMS)
@pytest.mark.parametrize("name", [name for name in odd_references.FILES if name not in LEFT_OUT])
def test_every_variable_of_every_odd_file(name: str, metadata: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.nc"
    odd_references.FILES[name](path)
    assert_right(path, tmp_path, metadata)


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("path", REAL_FILES, ids=lambda path: path.stem)
def test_every_variable_of_every_real_file(path: Path, tmp_path: Path) -> None:
    for metadata in FORMS:
        assert_right(path, tmp_path, metadata)


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("path", REAL_FILES, ids=lambda path: path.stem)
def test_every_real_file_comes_back(path: Path, tmp_path: Path, shared: Path, tool: Callable[[str], str]) -> None:
    for metadata in ("nczarr", "nczarr3"):
        (tmp_path / metadata).mkdir()
        assert_back(path, tmp_path / metadata, metadata, shared / "tools", tool("ncdump"))
