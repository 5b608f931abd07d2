"""Repositories in a bucket: written, read by branch and snapshot, and removed where a run fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import nczarr
from tests.conftest import ROOT
from tests.support.repositories import icechunk
from tests.support.s3 import S3


@pytest.mark.slow
def test_a_repository_in_a_bucket(s3: S3, tmp_path: Path) -> None:
    icechunk()
    source, place = ROOT / "samples" / "05-every-type.cdl", f"icechunk:{s3.url('repo/one')}"
    ran = s3.run("convert", str(source), place, "--verify")
    assert ran.status == 0, ran.err
    ran = s3.run("diff", str(source), place)
    assert (ran.status, ran.err) == (0, "")
    ran = s3.run("convert", str(source), place)
    assert "the branch `main` of `s3://tests/repo/one` has content" in ran.err
    other = ROOT / "samples" / "01-station.cdl"
    assert s3.run("convert", str(other), f"{place}#branch=dev").status == 0
    assert s3.run("diff", str(other), f"{place}#branch=dev").status == 0
    assert s3.run("diff", str(source), place).status == 0


@pytest.mark.slow
def test_what_is_not_there(s3: S3) -> None:
    icechunk()
    ran = s3.run("dump", f"icechunk:{s3.url('repo/none')}")
    assert (ran.status, ran.err.count("error[unreachable-file]")) == (3, 1)
    assert "the repository doesn't exist" in ran.err
    ran = s3.run("dump", "icechunk:s3://no-such-bucket/r")
    assert (ran.status, ran.err.count("error[")) == (3, 1)
    wrong = ("--storage-option", "key=wrong", "--storage-option", "secret=hunter2hunter2")
    ran = s3.run("dump", f"icechunk:{s3.url('repo/none')}", *wrong)
    assert (ran.status, ran.err.count("error[")) == (3, 1)
    assert "hunter2" not in ran.err


@pytest.mark.slow
def test_a_failed_run_leaves_no_objects(s3: S3, tmp_path: Path) -> None:
    icechunk()
    source, key = tmp_path / "s.zarr", "repo/failed"
    made = tmp_path / "s.cdl"
    made.write_text("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    ran = s3.run("convert", str(made), str(source), "--to", "zarr2", "--chunks", "x=1", "--codec", "zlib:1")
    assert ran.status == 0, ran.err
    (source / "v" / "1").write_bytes(b"not zlib")
    ran = s3.run("convert", str(source), f"icechunk:{s3.url(key)}", "--codec", "none")
    assert ran.status == 1
    import fsspec

    found = fsspec.filesystem("s3", skip_instance_cache=True).find(s3.url(key))
    assert [each for each in found if each.startswith(f"tests/{key}/")] == []
    ran = s3.run("convert", str(made), f"icechunk:{s3.url(key)}", "--verify")
    assert ran.status == 0, ran.err


@pytest.mark.slow
def test_virtual_chunks_in_a_bucket(s3: S3, tmp_path: Path) -> None:
    """Chunks of a file there stay there; a reader with another root gets none of them."""
    icechunk()
    file, url = tmp_path / "v.nc", s3.url("virtual/a b/v.nc")
    text = f"netcdf t {{ dimensions: x = 400 ; variables: int v(x) ; data: v = {', '.join(map(str, range(400)))} ; }}"
    nczarr.write(nczarr.from_cdl(text), file, kind="nc4", chunks={"x": 100}, codecs="zlib:1")
    assert s3.run("convert", str(file), url).status == 0
    place = f"icechunk:{s3.url('virtual/repo')}"
    ran = s3.run("convert", url, place, "--virtual", "--verify")
    assert ran.status == 0, ran.err
    assert "4 referenced" in ran.err
    assert s3.run("diff", str(file), place).status == 0
    ran = s3.run("dump", place, "--source-root", "s3://tests/other/")
    assert (ran.status, ran.err.count("error[forbidden-target]")) == (1, 1)
    ran = s3.run("convert", str(file), f"icechunk:{s3.url('virtual/local')}", "--virtual")
    assert ran.status == 0, ran.err
    ran = s3.run("dump", f"icechunk:{s3.url('virtual/local')}")
    assert "is a local file, but the document is not local" in ran.err
    ran = s3.run("dump", f"icechunk:{s3.url('virtual/local')}", "--source-root", str(tmp_path))
    assert ran.status == 0, ran.err


@pytest.mark.slow
def test_many_writers_of_a_branch(s3: S3, tmp_path: Path) -> None:
    """Commits are conditional: each run of several at once extends what the others have made."""
    icechunk()
    text = "netcdf d { dimensions: t = UNLIMITED ; variables: int who(t) ; data: who = %s ; }"
    place, writers = f"icechunk:{s3.url('repo/many')}", 4
    paths = [tmp_path / f"{who}.cdl" for who in range(writers)]
    for who, path in enumerate(paths):
        path.write_text(text % f"{who}, {who}")
    assert s3.run("convert", str(paths[0]), place).status == 0
    with ThreadPoolExecutor(writers) as pool:
        ran = list(pool.map(lambda path: s3.run("append", str(path), place), paths[1:]))
    assert [each.status for each in ran] == [0] * (writers - 1), [each.err for each in ran]
    found = s3.run("dump", place).out
    values = [int(text) for text in found.decode().partition("who =")[2].partition(";")[0].split(",")]
    assert sorted(values[::2]) == list(range(writers))
    assert values[::2] == values[1::2]
