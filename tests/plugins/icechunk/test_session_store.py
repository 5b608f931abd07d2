"""A revision of a repository as a store of keys."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Following
from nczarr.plugins.icechunk.repositories import UnknownRevisionError, snapshot_at
from nczarr.plugins.icechunk.session_store import RepositoryStore, SessionStore
from nczarr.stores.base import UnsafeKeyError
from nczarr.stores.reference_policy import Policy
from nczarr.stores.url import Repository
from tests.support.repositories import make_repository

VIRTUAL = np.arange(1, 6, dtype="<i4").tobytes()


def opened(path: Path, kind: str = "branch", revision: str = "main", roots: tuple[str, ...] = ()) -> SessionStore:
    report = Report()
    repository = RepositoryStore(Repository("icechunk", str(path), kind, revision))  # type: ignore[arg-type]
    store = repository.session(Policy(repository.home, Following(roots=roots)), report)
    assert report.errors == 0
    return store


def test_keys_and_ranges(tmp_path: Path) -> None:
    store = opened(make_repository(tmp_path)[0])
    assert list(store.keys()) == ["a/c/0", "a/c/1", "a/zarr.json", "zarr.json"]
    assert list(store.keys("a/c")) == ["a/c/0", "a/c/1"]
    assert store.children("") == ["a", "zarr.json"]
    assert store.children("a/") == ["c", "zarr.json"]
    assert store.children("nothing/") == []
    assert store.get("a/c/1") == VIRTUAL
    assert store.get("a/c/0") == np.full(5, 8, "<i4").tobytes()
    assert store.part("a/c/1", 4, 8) == VIRTUAL[4:12]
    assert store.part("a/c/1", -8, 8) == VIRTUAL[-8:]
    assert store.part("a/c/1", -8, 4) == VIRTUAL[-8:-4]
    assert store.part("a/c/9", 0, 4) is None
    with pytest.raises(OSError, match=r"short|out of bounds"):
        store.part("a/c/1", 16, 8)
    assert store.several(["a/c/1", "a/c/7", "zarr.json", "x"]).keys() == {"a/c/1", "zarr.json"}


@pytest.mark.parametrize("key", [".zgroup", "a/.zarray", "a/c/7", "b/c/0", "b/zarr.json", "c/0", "zz", "a/c/-1", "a/0"])
def test_absent_keys(tmp_path: Path, key: str) -> None:
    assert opened(make_repository(tmp_path)[0]).get(key) is None


@pytest.mark.parametrize("key", ["../zarr.json", "a//c/0", "/zarr.json", "a/c/0/"])
def test_keys_that_leave_the_store(tmp_path: Path, key: str) -> None:
    with pytest.raises(UnsafeKeyError):
        opened(make_repository(tmp_path)[0]).get(key)


def test_revisions(tmp_path: Path) -> None:
    path, (first, second) = make_repository(tmp_path)
    assert opened(path).snapshot == second
    assert opened(path, "tag", "v1").snapshot == first == snapshot_at(Repository("icechunk", str(path), "tag", "v1"))
    assert opened(path, "snapshot", first).snapshot == first
    for kind, name in (("branch", "mian"), ("tag", "main"), ("snapshot", "x"), ("snapshot", "0" * 20)):
        with pytest.raises(UnknownRevisionError, match=f"no {kind} `{name}`"):
            opened(path, kind, name)


def test_a_pickle_stays_at_its_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, (_, second) = make_repository(tmp_path)
    monkeypatch.chdir(tmp_path)
    store = opened(Path(path.name))
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(store))
    assert again.repository == Repository("icechunk", str(path), "snapshot", second)
    assert again.get("a/c/1") == VIRTUAL


def test_roots_decide_about_every_file(tmp_path: Path) -> None:
    path, _ = make_repository(tmp_path)
    assert opened(path, roots=(str(tmp_path),)).get("a/c/1") == VIRTUAL
    report = Report()
    policy = Policy(str(tmp_path), Following(roots=(str(path),)))
    RepositoryStore(Repository("icechunk", str(path))).session(policy, report)
    (fault,) = report.list_sorted()
    assert fault.code == "forbidden-target"
    assert "outside all allowed roots" in fault.message


def test_a_symbolic_link_does_not_leave_a_root(tmp_path: Path) -> None:
    path, _ = make_repository(tmp_path)
    (tmp_path / "inside").mkdir()
    (tmp_path / "data.bin").rename(tmp_path / "inside" / "other")
    (tmp_path / "data.bin").symlink_to(tmp_path / "inside" / "other")
    report = Report()
    policy = Policy(str(tmp_path), Following(roots=(str(path), str(tmp_path / "data.bin"))))
    RepositoryStore(Repository("icechunk", str(path))).session(policy, report)
    assert [each.code for each in report.list_sorted()] == ["forbidden-target"]


def test_a_repository_elsewhere_names_no_local_file(tmp_path: Path) -> None:
    """A chunk in a refused container is an error, and its neighbour is read."""
    path, _ = make_repository(tmp_path)
    store = SessionStore(Repository("icechunk", str(path)), Policy("s3://bucket"))
    assert store.get("a/c/0") == np.full(5, 8, "<i4").tobytes()
    with pytest.raises(CompileError, match="local file, but the document is not local"):
        store.get("a/c/1")
    with pytest.raises(CompileError, match="forbidden-target"):
        store.several(["a/c/0", "a/c/1"])


def test_a_chunk_without_container(tmp_path: Path) -> None:
    ice = pytest.importorskip("icechunk")
    path, _ = make_repository(tmp_path)
    session = ice.Repository.open(ice.local_filesystem_storage(str(path))).writable_session("main")
    session.store.set_virtual_ref("a/c/0", "file:///elsewhere/x", offset=0, length=20, validate_container=False)
    session.commit("refers to a file of no container")
    with pytest.raises(CompileError, match="no container for its place"):
        opened(path).get("a/c/0")


@pytest.mark.parametrize("left", [None, 10])
def test_a_damaged_target_is_no_fill_value(tmp_path: Path, left: int | None) -> None:
    path, _ = make_repository(tmp_path)
    data = tmp_path / "data.bin"
    data.unlink() if left is None else data.write_bytes(data.read_bytes()[:left])
    with pytest.raises(OSError, match="No such file" if left is None else "not enough data") as caught:
        opened(path).get("a/c/1")
    assert caught.value.filename == str(path)
    assert "`a/c/1`" in caught.value.__notes__[0]


@pytest.mark.parametrize("kind", ["snapshots", "manifests"])
@pytest.mark.parametrize("content", [None, b"", b"ICE\xf0\x9f\xa7\x8aCHUNK" + bytes(99)])
def test_damaged_repositories(tmp_path: Path, kind: str, content: bytes | None) -> None:
    path, _ = make_repository(tmp_path)
    for file in (path / kind).iterdir():
        file.unlink() if content is None else file.write_bytes(content)
    store = opened(path)
    with pytest.raises(OSError, match=r"\w"):
        [store.get(key) for key in ("zarr.json", "a/c/1")]


def test_places_without_repository(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    for name, error in (("missing", FileNotFoundError), ("file", NotADirectoryError), ("folder", OSError)):
        with pytest.raises(error):
            opened(tmp_path / name)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]  # icechunk 1 makes folders
