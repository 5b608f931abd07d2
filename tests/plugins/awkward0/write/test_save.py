"""Archives and groups of HDF5: what lies in them, conflicts, and that a failure leaves everything as it was."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.nodes import Flat, ListNode
from nczarr.plugins.awkward0.write import serialize as archive
from nczarr.plugins.awkward0.write.serialize import LostPartsWarning, NameTakenError, put, remove, save

LISTS = ListNode(np.array([0, 2, 3]), Flat(np.array([1.5, 2.5, 3.5])))
ONE = np.array([1, 2])


def members(file: Any) -> list[str]:
    with zipfile.ZipFile(file) as found:
        assert {each.compress_type for each in found.infolist()} <= {zipfile.ZIP_STORED}
        assert found.testzip() is None
        return found.namelist()


def test_one_array_without_a_name(tmp_path: Path) -> None:
    save(tmp_path / "a", LISTS)
    assert [each.name for each in tmp_path.iterdir()] == ["a.awkd"]
    assert members(tmp_path / "a.awkd") == ["1.raw", "3.raw", ".json"]


def test_several_arrays_and_a_name_before_them(tmp_path: Path) -> None:
    path = str(tmp_path / "a.awkd")
    save(path, {"x": LISTS, "y": ONE}, name="v/")
    assert members(path) == ["v/x-1.raw", "v/x-3.raw", "v/x.json", "v/y-0.raw", "v/y.json"]
    with zipfile.ZipFile(path) as found:
        assert json.loads(found.read("v/x.json"))["prefix"] == "v/x-"


def test_options_of_names(tmp_path: Path) -> None:
    save(tmp_path / "a", ONE, "x", delimiter="/", suffix="", schemasuffix="/schema.json", compression=True)
    assert members(tmp_path / "a.awkd") == ["x/0", "x/schema.json"]


def test_an_archive_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "a.awkd"
    save(path, ONE, "x")
    save(path, ONE, "y")
    assert members(path) == ["x-0.raw", "x.json", "y-0.raw", "y.json"]
    save(path, ONE, "z", mode="w")
    assert members(path) == ["z-0.raw", "z.json"]
    with pytest.raises(FileExistsError):
        save(path, ONE, "w", mode="x")


def test_the_same_arrays_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name, LISTS, "x")
        save(tmp_path / name, ONE, "y")
    assert (tmp_path / "a.awkd").read_bytes() == (tmp_path / "b.awkd").read_bytes()


@pytest.mark.parametrize("names", [("x", "xy"), ("", "x")])
def test_names_of_one_call_that_begin_with_one_another(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(KeyError, match="begins with"):
        save(tmp_path / "a", dict.fromkeys(names, ONE))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("there", "new"), [("x", "x"), ("xy", "x"), ("x", "xy"), ("x", ""), ("", "x"), ("", "")])
def test_names_in_conflict_with_those_in_the_archive(tmp_path: Path, there: str, new: str) -> None:
    path = tmp_path / "a.awkd"
    save(path, ONE, there)
    before = path.read_bytes()
    with pytest.raises(NameTakenError, match="cannot be added"):
        save(path, {"other": ONE, new: ONE} if new else ONE)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.awkd"]


@pytest.mark.parametrize("name", ["../x", "/x", "x/../../y", "a\0b", "x\udcff", "n" * 70000])
def test_names_that_no_member_may_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"key|UTF-8|too long"):
        save(tmp_path / "a", ONE, name)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_said_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        save(tmp_path / "a", {"x": ONE, "y": np.array([None]), "z": {1}})
    assert [each.message.partition(":")[0] for each in caught.value.diagnostics] == ["'y'", "'z'"]
    assert not list(tmp_path.iterdir())


def _fails_at(count: int) -> Callable[[bytes], bytes]:
    left = [count]

    def compress(data: bytes) -> bytes:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("full")
        return data

    return compress


@pytest.mark.parametrize("count", [0, 1])
def test_a_failure_leaves_the_old_file(tmp_path: Path, count: int) -> None:
    path = tmp_path / "a.awkd"
    save(path, ONE, "old")
    before = path.read_bytes()
    policy = {"pair": (_fails_at(count), ("mine", "undo")), "foreign": True}
    for mode in ("a", "w"):
        with pytest.raises(RuntimeError):
            save(path, LISTS, "new", mode=mode, compression=policy)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.awkd"]


def test_a_process_that_dies_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.awkd"
    save(path, ONE, "old")
    before = path.read_bytes()
    code = (
        "import os, sys, numpy; from nczarr.plugins.awkward0.write.serialize import save; left = [1]\n"
        "def die(data):\n    left[0] -= 1\n    return data if left[0] >= 0 else os._exit(9)\n"
        "policy = {'pair': (die, ('m', 'f')), 'foreign': True}\n"
        "save(sys.argv[1], dict.fromkeys('xy', numpy.zeros(10)), compression=policy)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (9, "")
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", ["a", "w"])
def test_a_failure_leaves_an_object_as_it_was(mode: str) -> None:
    file = io.BytesIO()
    save(file, ONE, "old", mode="w")
    before = file.getvalue()
    policy = {"pair": (_fails_at(1), ("mine", "undo")), "foreign": True}
    with pytest.raises(RuntimeError):
        save(file, LISTS, "new", mode=mode, compression=policy)
    assert file.getvalue() == before


def test_file_like_objects() -> None:
    file = io.BytesIO()
    save(file, ONE, "x")
    save(file, LISTS, "y")
    assert members(file) == ["x-0.raw", "x.json", "y-1.raw", "y-3.raw", "y.json"]
    with pytest.raises(NameTakenError):
        save(file, ONE, "y")
    file.seek(0)
    save(file, ONE, "z", mode="w")
    assert members(file) == ["z-0.raw", "z.json"]


def test_an_empty_file_becomes_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.awkd"
    path.touch()
    save(path, ONE)
    assert members(path) == ["0.raw", ".json"]


def test_a_file_that_is_no_archive_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.awkd"
    path.write_text("notes")
    with pytest.raises(OSError, match="invalid ZIP archive"):
        save(path, ONE)
    assert path.read_text() == "notes"
    with pytest.raises(OSError, match="invalid ZIP archive"):
        save(io.BytesIO(b"notes"), ONE)


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.awkd").mkdir()
    for mode in ("a", "w", "x"):
        with pytest.raises(OSError, match=r"directory|exists"):
            save(tmp_path / "a", ONE, mode=mode)


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "a.awkd").symlink_to(tmp_path / "there" / "b.awkd")
    save(tmp_path / "a", ONE)
    assert (tmp_path / "a.awkd").is_symlink()
    assert members(tmp_path / "there" / "b.awkd") == ["0.raw", ".json"]


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.awkd"
    save(path, ONE, "x")
    path.chmod(0o640)
    save(path, ONE, "y")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_mode_that_is_none() -> None:
    with pytest.raises(ValueError, match="'r'"):
        save(io.BytesIO(), ONE, mode="r")


def test_losses_are_warned_of_once(tmp_path: Path) -> None:
    with pytest.warns(LostPartsWarning) as found:
        save(tmp_path / "a", np.zeros((2, 0)))
    assert len(found) == 1


def test_blobs_are_made_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is written no other is held as bytes."""
    sizes: list[int] = []
    monkeypatch.setattr(archive, "_add", lambda _, members: sizes.extend(len(data()) for _, data in members))
    save(tmp_path / "a", LISTS)
    assert sizes[:2] == [16, 24]


@pytest.fixture
def group(peer: Callable[[str], ModuleType]) -> Any:
    h5py = peer("h5py")
    with h5py.File("x.h5", "w", driver="core", backing_store=False) as file:
        yield file


def test_an_array_is_a_group(group: Any) -> None:
    put(group, "x", LISTS)
    assert sorted(group["x"]) == ["1", "3", "schema.json"]
    assert {each.dtype.str for each in group["x"].values()} == {"|u1"}
    document = json.loads(bytes(group["x/schema.json"][()]))
    assert document["prefix"] == "x/"
    assert bytes(group["x/3"][()]) == LISTS.content.values.tobytes()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["x", "x/y", "x/1"])
def test_names_in_use_are_refused(group: Any, name: str) -> None:
    put(group, "x", LISTS)
    before = sorted(group["x"])
    with pytest.raises(NameTakenError):
        put(group, name, ONE)
    assert sorted(group["x"]) == before


def test_names_with_slashes(group: Any) -> None:
    put(group, "a/b", ONE)
    put(group, "a/c", ONE)
    remove(group, "a/b")
    assert list(group["a"]) == ["c"]
    with pytest.raises(ValueError, match="key"):
        put(group, "../a", ONE)


def test_a_failure_leaves_no_group(group: Any) -> None:
    for given, policy in ((np.array([None]), None), (LISTS, {"pair": (_fails_at(1), ("m", "f")), "foreign": True})):
        with pytest.raises((CompileError, RuntimeError)):
            put(group, "a/b", given, compression=policy)
        assert "b" not in group.get("a", {})


def test_removing_leaves_what_is_not_the_array(group: Any) -> None:
    put(group, "x", LISTS)
    group.create_group("x/notes")
    remove(group, "x")
    assert list(group["x"]) == ["notes"]


@pytest.mark.parametrize("name", ["x", "x/1", "", "none/none"])
def test_removing_what_is_no_array(group: Any, name: str) -> None:
    group["x/1"] = np.zeros(2, "u1")
    with pytest.raises(KeyError):
        remove(group, name)
    assert "1" in group["x"]


def test_links_are_not_followed(group: Any) -> None:
    import h5py

    put(group, "there/x", LISTS)
    group["soft"] = h5py.SoftLink("/there")
    group["dangling"] = h5py.SoftLink("/nowhere")
    group["there/x/9"] = h5py.ExternalLink("none.h5", "/x")
    for name in ("soft", "soft/y", "dangling", "dangling/y"):
        with pytest.raises(NameTakenError):
            put(group, name, ONE)
    with pytest.raises(KeyError):
        remove(group, "soft/x")
    assert len(group["there/x"]) == 4
    remove(group, "there/x")
    assert list(group["there"]) == []


def test_arrays_without_items_in_a_group(group: Any) -> None:
    put(group, "x", ListNode(np.array([0]), Flat(np.zeros(0))))
    assert {each.shape for name, each in group["x"].items() if name != "schema.json"} == {(0,)}
