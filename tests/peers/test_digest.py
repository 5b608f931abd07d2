"""The digest of docs/reference/digest.md: as an independent implementation has it, and the same in every format."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nczarr
from tests.conftest import ROOT, shared_folder
from tests.support import facts
from tests.support.peers import SCRIPTS, corpus, exactness
from tests.support.peers.exactness import Subject
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

REAL = exactness.real_folder()
FILES = list(exactness.real(REAL)) if REAL is not None else []
SHARED = shared_folder()
TEXTS = [*sorted((ROOT / "samples").glob("*.cdl")), *(corpus.small(corpus.files(SHARED)) if SHARED is not None else ())]

needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")

MISREAD = {"bad_missing_data": "the library reads beyond the extent of a variable that is shorter than its dimension"}
"""Files that the netCDF library reads wrong, with the reason."""

VARIANTS = (
    {"format": "nczarr"},
    {"format": "nczarr3", "codecs": "zstd:1", "shards": "auto"},
    {"format": "nczarr", "codecs": "none", "zip": True},
    {"format": "nczarr3", "thirds": True},
)
"""What a file becomes; `thirds`: chunks of a third of each dimension."""


@pytest.fixture(scope="module")
def reader(peer: Callable[[str], object]) -> Iterator[Worker]:
    peer("netCDF4")
    found = Worker("read_digest.py")
    yield found
    found.close()


def assert_agrees(path: Path, reader: Worker) -> None:
    if path.stem in MISREAD:
        pytest.skip(MISREAD[path.stem])
    answer = reader.ask(str(path))
    assert "error" not in answer, answer
    if "large" in answer:
        pytest.skip(f"{answer['large']} values are more than the other implementation reads")
    assert answer == {"digest": nczarr.digest(path)}


def test_the_other_implementation_is_short_and_takes_nothing_of_ours() -> None:
    source = (SCRIPTS / "digest_reference.py").read_text(encoding="utf-8")
    tree = facts.parse(source)
    assert "nczarr" not in {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert len([line for line in source.partition('"""\n\n')[2].splitlines() if line.strip()]) <= 60


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", corpus.cases(TEXTS))
def test_a_text_as_netcdf_has_the_digest_that_the_other_implementation_finds(
    path: Path, tmp_path: Path, reader: Worker
) -> None:
    target = tmp_path / "t.nc"
    try:
        nczarr.convert(path, target)
    except nczarr.CompileError as error:
        pytest.skip(f"no netCDF file: {error}")
    try:
        assert_agrees(target, reader)
    finally:
        target.unlink()  # a skipped test keeps its folder, and some of these have 4 GB


@needs_files
@pytest.mark.sampled(20)
@pytest.mark.parametrize("path", corpus.cases([each.path for each in FILES]))
def test_a_real_file_has_the_digest_that_the_other_implementation_finds(path: Path, reader: Worker) -> None:
    assert_agrees(path, reader)


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize("subject", FILES, ids=lambda subject: subject.name)
def test_a_real_file_has_one_digest_in_every_format(subject: Subject, tmp_path: Path) -> None:
    wanted = nczarr.digest(subject.path)
    for number, how in enumerate(VARIANTS):
        target = tmp_path / f"{number}.{'zip' if how.get('zip') else 'zarr'}"
        options = {name: value for name, value in how.items() if name not in ("zip", "thirds")}
        with nczarr.open(subject.path) as dataset:
            if how.get("thirds"):
                options["chunks"] = {path: [max(1, -(-n // 3)) for n in dataset[path].shape] for path in dataset}
            nczarr.write(dataset, target, **options)
        assert nczarr.digest(target, workers=1 + number) == wanted, how
    back = tmp_path / "back.nc"
    nczarr.convert(tmp_path / "1.zarr", back)
    assert nczarr.digest(back) == wanted
