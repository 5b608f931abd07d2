"""Changes of a file's bytes: whole or not at all, and reversible, also after a kill at any step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nczarr.plugins.edit.patches.file_patch import BytePatch, FilePatch, PreparedFilePatch, compare_bytes, recover
from nczarr.stores.finish import edit_journal, is_edit_unfinished

OLD = bytes(range(256)) * 40
PATCH = FilePatch(
    (
        BytePatch(3, OLD[3:10], b"1234567"),
        BytePatch(5000, OLD[5000:5004], b"abcd"),
        BytePatch(len(OLD), b"", b"tail" * 9),
    ),
    len(OLD),
    len(OLD) + 36,
)
NEW = OLD[:3] + b"1234567" + OLD[10:5000] + b"abcd" + OLD[5004:] + b"tail" * 9


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.nc"
    path.write_bytes(OLD)
    return path


def test_commit_and_conclude(file: Path) -> None:
    prepared = PreparedFilePatch(str(file), PATCH)
    inode = file.stat().st_ino
    prepared.commit()
    assert file.read_bytes() == NEW
    assert is_edit_unfinished(str(file))
    prepared.conclude()
    assert not is_edit_unfinished(str(file))
    assert (os.listdir(file.parent), file.stat().st_ino) == (["a.nc"], inode)


def test_abandon(file: Path) -> None:
    prepared = PreparedFilePatch(str(file), PATCH)
    prepared.commit()
    prepared.abandon()
    assert file.read_bytes() == OLD
    assert os.listdir(file.parent) == ["a.nc"]


def test_reverse_and_document(file: Path) -> None:
    PreparedFilePatch(str(file), FilePatch.parse(PATCH.members())).commit()
    PreparedFilePatch(str(file), PATCH.reverse()).commit()
    assert file.read_bytes() == OLD


def test_a_changed_file_is_not_touched(file: Path) -> None:
    for data in (OLD + b"x", b"x" * len(OLD)):
        file.write_bytes(data)
        with pytest.raises(OSError, match="has changed"):
            PreparedFilePatch(str(file), PATCH).commit()
        assert file.read_bytes() == data
        assert os.listdir(file.parent) == ["a.nc"]


def test_a_replaced_file_is_not_restored(file: Path) -> None:
    PreparedFilePatch(str(file), PATCH).commit()
    file.write_bytes(b"y" * len(OLD))
    with pytest.raises(OSError, match="not the one"):
        recover(str(file))
    assert file.read_bytes() == b"y" * len(OLD)


def test_a_damaged_journal(file: Path) -> None:
    Path(edit_journal(str(file))).write_text('{"nczarr_edit": 1, "digest": "", "patch": "{}"}')
    with pytest.raises(OSError, match="damaged"):
        recover(str(file))


def test_a_file_that_another_process_uses(file: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with file.open("rb") as other:
        fcntl.flock(other.fileno(), fcntl.LOCK_SH)
        with pytest.raises(OSError, match="another process"):
            PreparedFilePatch(str(file), PATCH).commit()
    assert file.read_bytes() == OLD


def test_a_link_leads_to_the_file(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.nc"
    link.symlink_to(file)
    PreparedFilePatch(str(link), PATCH).commit()
    assert link.is_symlink()
    assert is_edit_unfinished(str(file))
    assert recover(str(link))
    assert file.read_bytes() == OLD


KILL = """
import os, sys
from nczarr.plugins.edit.patches import file_patch
from tests.plugins.edit.test_file_patch import PATCH
path, limit = sys.argv[1], int(sys.argv[2])
calls = 0
def count(function):
    def run(*arguments):
        global calls
        calls += 1
        if calls == limit:
            if function is write and len(arguments[1]) > 1:  # half of it reaches the file
                write(arguments[0], arguments[1][: len(arguments[1]) // 2], arguments[2])
            os._exit(9)
        return function(*arguments)
    return run
write = file_patch.write_at
file_patch.write_at = count(write)
for name in ("fsync", "replace", "unlink", "ftruncate"):
    setattr(os, name, count(getattr(os, name)))
prepared = file_patch.PreparedFilePatch(path, PATCH)
prepared.commit()
prepared.conclude()
"""


@pytest.mark.long
def test_a_kill_at_any_step(file: Path) -> None:
    ends = set()
    for limit in range(1, 40):
        file.write_bytes(OLD)
        done = subprocess.run([sys.executable, "-c", KILL, str(file), str(limit)], check=False, timeout=60)
        if not is_edit_unfinished(str(file)):
            assert file.read_bytes() in (OLD, NEW)
        ends.add((done.returncode, is_edit_unfinished(str(file))))
        if recover(str(file)):
            assert file.read_bytes() == OLD
        for rest in file.parent.glob("*.partial-*"):
            rest.unlink()
        assert os.listdir(file.parent) == ["a.nc"]
        if done.returncode == 0:
            break
    assert ends == {(9, False), (9, True), (0, False)}


def test_compare_bytes() -> None:
    old, new = bytearray(1000), bytearray(1000)
    new[3], new[130], new[999] = 1, 2, 3
    patches = list(compare_bytes(50, bytes(old), bytes(new)))
    content = bytearray(1000)
    for patch in patches:
        content[patch.offset - 50 : patch.offset - 50 + len(patch.new)] = patch.new
    assert content == new
    assert sum(len(patch.new) for patch in patches) < 200
    assert list(compare_bytes(0, bytes(old), bytes(old))) == []


def test_lengths_that_do_not_follow_from_the_changes_are_refused() -> None:
    members = FilePatch((BytePatch(9, b"abc", b"xyz"),), 20, 20).members()
    assert FilePatch.parse(members).old_length == 20
    for name in ("old_length", "new_length"):
        with pytest.raises(ValueError, match="lengths"):
            FilePatch.parse({**members, name: 5})
