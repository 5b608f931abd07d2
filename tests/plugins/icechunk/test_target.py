"""Commits: content, branches, failures, and what may be overwritten."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.icechunk import target
from tests.conftest import ROOT, run_command
from tests.support.repositories import commit_attribute, icechunk

TEXT = "netcdf t { dimensions: x = 3 ; variables: int v(x) ; data: v = 1, 2, VALUE ; }"
SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))


@pytest.fixture(autouse=True)
def library() -> Any:
    return icechunk()


def dataset(value: int) -> nczarr.DatasetHandle:
    return nczarr.from_cdl(TEXT.replace("VALUE", str(value)))


def history(path: Path, branch: str = "main") -> list[tuple[str, dict[str, Any]]]:
    """Messages and metadata of the commits on a branch, the newest first."""
    ice = icechunk()
    opened = ice.Repository.open(ice.local_filesystem_storage(str(path)))
    return [(each.message, each.metadata) for each in opened.ancestry(branch=branch)][:-1]


def values(path: Path, revision: str = "branch=main") -> list[int]:
    with nczarr.open(f"icechunk:{path}#{revision}") as found:
        return list(found["v"][:].tolist())


@pytest.mark.sampled(9)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_samples_come_back(sample: Path, tmp_path: Path) -> None:
    place = f"icechunk:{tmp_path / 'r'}"
    ran = run_command("convert", str(sample), place, "--verify")
    assert ran.status == 0, ran.err
    assert nczarr.diff(sample, place) == []
    again = tmp_path / "again.cdl"
    assert run_command("convert", place, str(again)).status == 0
    assert nczarr.diff(sample, again) == []
    assert sorted(os.listdir(tmp_path)) == ["again.cdl", "r"]


def test_one_commit_a_run(tmp_path: Path) -> None:
    path = tmp_path / "r"
    place = f"icechunk:{path}"
    nczarr.write(dataset(3), place)
    assert history(path) == [("Write a dataset", {})]
    with pytest.raises(FileExistsError):
        nczarr.write(dataset(4), place)
    (tmp_path / "t.cdl").write_text(TEXT.replace("VALUE", "5"))
    ran = run_command("convert", str(tmp_path / "t.cdl"), place, "--overwrite", "--message", "two", "--author", "me")
    assert ran.status == 0, ran.err
    assert history(path)[0] == ("two", {"author": "me"})
    assert values(path) == [1, 2, 5]
    ice = icechunk()
    first = list(ice.Repository.open(ice.local_filesystem_storage(str(path))).ancestry(branch="main"))[1].id
    assert values(path, f"snapshot={first}") == [1, 2, 3]


def test_an_extension_by_no_records_makes_no_commit(tmp_path: Path) -> None:
    head, path = "netcdf e { dimensions: t = UNLIMITED ; variables: int t(t) ;", tmp_path / "r"
    for name, data in (("a.nc", "data: t = 1, 2 ;"), ("b.nc", "")):
        nczarr.write(nczarr.from_cdl(f"{head} {data} }}"), tmp_path / name)
    assert run_command("convert", str(tmp_path / "a.nc"), f"icechunk:{path}").status == 0
    ran = run_command("append", str(tmp_path / "b.nc"), f"icechunk:{path}", "--along", "t")
    assert (ran.status, "/t 2 → 2" in ran.err, len(history(path))) == (0, True, 1)


def test_an_open_dataset_stays_at_its_commit(tmp_path: Path) -> None:
    place = f"icechunk:{tmp_path / 'r'}"
    nczarr.write(dataset(3), place)
    with nczarr.open(place) as before:
        nczarr.write(dataset(4), place, overwrite=True)
        assert before["v"][:].tolist() == [1, 2, 3]
        assert values(tmp_path / "r") == [1, 2, 4]


def test_branches_are_created(tmp_path: Path) -> None:
    path = tmp_path / "r"
    nczarr.write(dataset(3), f"icechunk:{path}#branch=dev")
    assert (len(history(path, "dev")), history(path)) == (1, [])
    nczarr.write(dataset(4), f"icechunk:{path}", message="main")  # main is empty: nothing is replaced
    nczarr.write(dataset(5), f"icechunk:{path}#branch=x")
    assert [each[0] for each in history(path, "x")] == ["Write a dataset", "main"]
    assert [values(path, f"branch={name}") for name in ("dev", "main", "x")] == [[1, 2, 3], [1, 2, 4], [1, 2, 5]]
    ran = run_command("convert", f"icechunk:{path}#branch=dev", f"icechunk:{path}#branch=x")
    assert ran.status == 2
    assert "the branch `x` of" in ran.err


def test_old_nodes_are_gone(tmp_path: Path) -> None:
    place = f"icechunk:{tmp_path / 'r'}"
    nczarr.convert(SAMPLES[1], place)
    nczarr.write(dataset(3), place, overwrite=True)
    assert nczarr.diff(dataset(3), place) == []


@pytest.mark.parametrize("metadata", ["nczarr3", "zarr3"])
def test_metadata(tmp_path: Path, metadata: str) -> None:
    place = f"icechunk:{tmp_path / 'r'}"
    (tmp_path / "t.cdl").write_text(TEXT.replace("VALUE", "5"))
    assert run_command("convert", str(tmp_path / "t.cdl"), place, "--metadata", metadata).status == 0
    import zarr

    ice = icechunk()
    opened = ice.Repository.open(ice.local_filesystem_storage(str(tmp_path / "r")))
    group = zarr.open_group(opened.readonly_session("main").store, mode="r")
    assert np.asarray(group["v"][:]).tolist() == [1, 2, 5]
    assert ("_nczarr" in group.attrs) == (metadata == "nczarr3")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("icechunk:PATH#tag=v1",), "a commit needs a branch, and this is a tag"),
        (("icechunk:PATH#snapshot=X",), "a commit needs a branch, and this is a snapshot"),
        (("icechunk:PATH", "--to", "zarr3"), "a repository has the format `icechunk`, not `zarr3`"),
        (("PATH", "--to", "icechunk"), "needs `icechunk:` before the path or URL"),
        (("icechunk:PATH", "--metadata", "zarr2"), "has no documents of `zarr2`"),
        (("icechunk:PATH", "--dask", "tcp://localhost:1"), "a commit is made by one process"),
        (("PATH.zarr", "--message", "m"), "has no commits, and so no message, no author"),
        (("PATH.nc", "--author", "m"), "has no commits, and so no message, no author"),
        (("icechunk:PATH/missing/r",), "No such file or directory"),
        (("icechunk:ftp://h/r",), "has no repositories at `ftp://`"),
    ],
)
def test_targets_that_are_refused(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    source = tmp_path / "t.cdl"
    source.write_text(TEXT.replace("VALUE", "5"))
    ran = run_command("convert", str(source), *(each.replace("PATH", str(tmp_path / "r")) for each in arguments))
    assert ran.status
    assert text in ran.err
    assert ran.err.count("error[") == 1
    assert os.listdir(tmp_path) == ["t.cdl"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_at_the_place(tmp_path: Path, overwrite: bool) -> None:
    """A repository replaces what a store may replace, and a folder of other files never."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("mine")
    with pytest.raises(FileExistsError):
        nczarr.write(dataset(3), f"icechunk:{tmp_path / 'folder'}", overwrite=overwrite)
    store = tmp_path / "store"
    nczarr.write(dataset(4), store, "zarr3")
    if not overwrite:
        with pytest.raises(FileExistsError):
            nczarr.write(dataset(3), f"icechunk:{store}")
        assert nczarr.diff(dataset(4), store) == []
        return
    nczarr.write(dataset(3), f"icechunk:{store}", overwrite=True)
    assert values(store) == [1, 2, 3]
    assert (tmp_path / "folder" / "x").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["folder", "store"]


def _damaged(tmp_path: Path) -> Path:
    """Make a store whose last chunk cannot be decoded."""
    source = tmp_path / "damaged.zarr"
    text = "netcdf t { dimensions: x = 9 ; variables: int v(x) ; data: v = 1, 2, 3, 4, 5, 6, 7, 8, 9 ; }"
    nczarr.write(nczarr.from_cdl(text), source, "zarr2", chunks={"x": 3}, codecs="zlib:1")
    (source / "v" / "2").write_bytes(b"not zlib")
    return source


@pytest.mark.sampled(6)
@pytest.mark.parametrize("fault", ["chunk", "interrupt", "begin", "disk"])
def test_a_failed_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    source, path = _damaged(tmp_path), tmp_path / "r"
    old = tmp_path / "old"
    nczarr.write(dataset(3), f"icechunk:{old}")
    before = history(old)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device") if fault == "disk" else KeyboardInterrupt

    if fault != "chunk":
        monkeypatch.setattr(target.RepositoryTarget, "_begin" if fault == "begin" else "put", fail)
    for place in (path, old):
        with pytest.raises((CompileError, KeyboardInterrupt, OSError)):
            nczarr.convert(source, f"icechunk:{place}", overwrite=True, codecs="none")
    assert sorted(os.listdir(tmp_path)) == ["damaged.zarr", "old"]
    assert history(old) == before
    assert values(old) == [1, 2, 3]
    with pytest.raises((CompileError, KeyboardInterrupt, OSError)):
        nczarr.convert(source, f"icechunk:{old}#branch=new", codecs="none")
    ran = run_command("dump", f"icechunk:{old}#branch=new")
    assert "has no branch `new`" in ran.err


def test_a_run_that_differs_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` reads the snapshot before a branch names it."""
    old = tmp_path / "old"
    nczarr.write(dataset(3), f"icechunk:{old}")
    original = KeyChunkArray.read

    def wrong(self: Any, *arguments: Any) -> Any:
        found = original(self, *arguments)
        return found + 1 if "old" in self.store.path or "partial" in self.store.path else found

    source = tmp_path / "s.zarr"
    nczarr.write(dataset(4), source, "zarr2")
    for place in (old, tmp_path / "r"):
        with monkeypatch.context() as patch:
            patch.setattr(KeyChunkArray, "read", wrong)
            with pytest.raises(CompileError, match="unequal-target"):
                nczarr.convert(source, f"icechunk:{place}", overwrite=True, verify=True)
    assert values(old) == [1, 2, 3]
    assert sorted(os.listdir(tmp_path)) == ["old", "s.zarr"]


def test_another_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock refuses another run; the commit sees that of another program."""
    path = tmp_path / "r"
    nczarr.write(dataset(3), f"icechunk:{path}")
    original = target.RepositoryTarget.seal

    def late(self: target.RepositoryTarget) -> None:
        original(self)
        monkeypatch.setattr(target.RepositoryTarget, "seal", original)
        with pytest.raises(CompileError, match=r"busy-target: `.*r` is being written by another run"):
            nczarr.write(dataset(4), f"icechunk:{path}", overwrite=True)
        commit_attribute(path)

    monkeypatch.setattr(target.RepositoryTarget, "seal", late)
    with pytest.raises(CompileError, match="busy-target: another writer has changed or taken over the branch `main`"):
        nczarr.write(dataset(5), f"icechunk:{path}", overwrite=True)
    assert values(path) == [1, 2, 3]
    assert [message for message, _ in history(path)] == ["By another program", "Write a dataset"]
    assert os.listdir(tmp_path) == ["r"]


def test_memory(tmp_path: Path) -> None:
    place = "icechunk:memory://test-of-targets"
    source = _damaged(tmp_path)
    with pytest.raises(CompileError):
        nczarr.convert(source, place, codecs="none")
    with pytest.raises(OSError, match="repository doesn't exist"):
        nczarr.open(place)
    nczarr.write(dataset(3), place)
    assert nczarr.diff(dataset(3), place) == []
    target.forget(target._repository(place))


@pytest.mark.long
def test_xarray_objects(tmp_path: Path, peer: Any) -> None:
    xarray = peer("xarray")
    given = xarray.Dataset({"a": ("x", np.arange(5.0))}, attrs={"title": "t"})
    nczarr.write(given, f"icechunk:{tmp_path / 'r'}", message="from xarray")
    found = xarray.open_dataset(f"icechunk:{tmp_path / 'r'}").load()
    xarray.testing.assert_identical(found, given)
    assert history(tmp_path / "r") == [("from xarray", {})]


def test_a_store_extends_a_repository(tmp_path: Path) -> None:
    head, path = "netcdf e { dimensions: t = UNLIMITED ; variables: int t(t) ;", tmp_path / "r"
    for name, data in (("a.zarr", "1, 2"), ("b.zarr", "3")):
        nczarr.write(nczarr.from_cdl(f"{head} data: t = {data} ; }}"), tmp_path / name, "zarr3")
    assert run_command("convert", str(tmp_path / "a.zarr"), f"icechunk:{path}").status == 0
    ran = run_command("append", str(tmp_path / "b.zarr"), f"icechunk:{path}", "--along", "t")
    assert (ran.status, "/t 2 → 3" in ran.err) == (0, True)
