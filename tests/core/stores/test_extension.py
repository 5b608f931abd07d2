"""The journal of an extension, and the states of a store that it describes."""

from __future__ import annotations

from typing import Any

import pytest

from nczarr.plugins.common.store_changes import texts_of, turn
from nczarr.stores.base import JOURNAL, parse_journal
from nczarr.stores.extension import STAGED, ExtendJournal, parse, view
from nczarr.stores.memory import MemoryStore

OPEN = ExtendJournal("command", "base", "run", "writing", {"/t": (3, 5)}, ("v/",), {}, (), ())


def test_it_comes_back() -> None:
    done = OPEN._replace(
        state="committed", documents=texts_of({"v/.zarray": b'{"\xff": 1}'}), staged=("v/0",), removed=("v/1",)
    )
    for each in (OPEN, done):
        assert parse(each.bytes()) == each


def test_readers_of_the_first_version_refuse_it() -> None:
    assert parse_journal(OPEN.bytes()).fingerprint is None


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b'{"nczarr_journal": 2}', b'{"nczarr_journal": 2, "append": {"command": 1}}',
        b'{"nczarr_journal": 1, "fingerprint": "x"}', OPEN._replace(state="else").bytes(),  # type: ignore[arg-type]
        OPEN.bytes().replace(b'"lengths": {', b'"lengths": {"a": 3, '),
    ],
)  # fmt: skip
def test_others_are_no_extensions(data: bytes) -> None:
    assert parse(data) is None


def test_same_runs() -> None:
    assert OPEN.is_of(OPEN._replace(run="other", state="committed"))
    assert not OPEN.is_of(OPEN._replace(base="other"))
    assert not OPEN.is_of(OPEN._replace(command="other"))
    assert not OPEN._replace(command=None).is_of(OPEN._replace(command=None))


def test_views() -> None:
    content = {JOURNAL: b"{}", "v/.zarray": b"old", "v/0": b"a", "v/1": b"b", f"{STAGED}v/0": b"A", "v/2": b"c"}
    store = MemoryStore(content)
    before = view(store, OPEN)
    assert before.get(JOURNAL) is None
    assert [before.get(key) for key in ("v/.zarray", "v/0", "v/1")] == [b"old", b"a", b"b"]
    changes: dict[str, Any] = {"documents": {"v/.zarray": "new"}, "staged": ("v/0", "v/2"), "removed": ("v/1",)}
    after = view(store, OPEN._replace(state="committed", **changes))
    assert [after.get(key) for key in ("v/.zarray", "v/0", "v/1", "v/2")] == [b"new", b"A", None, b"c"]
    assert list(after.keys("v/")) == ["v/.zarray", "v/0", "v/2"]
    assert after.part("v/0", 0, 1) == b"A"
    assert after.part("v/.zarray", -1, 1) == b"w"
    assert after.part("v/1", 0, 1) is None
    assert after.locate("v/1") is None


def test_documents_of_readers_come_last() -> None:
    keys = ["zarr.json", ".zmetadata", ".zgroup", "g/v/.zarray", "g/.zattrs", ".zattrs"]
    assert sorted(keys, key=turn) == ["g/v/.zarray", "g/.zattrs", ".zattrs", "zarr.json", ".zgroup", ".zmetadata"]
