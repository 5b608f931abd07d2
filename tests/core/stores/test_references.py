"""A store made of references: what it gives, and what it says of targets that are not what they should be."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.formats.reference import lookup
from nczarr.options import Following
from nczarr.stores.base import Reference
from nczarr.stores.ranges import Range
from nczarr.stores.reference_policy import Policy
from nczarr.stores.references import ReferenceStore


def made(document: dict[str, Any], home: Path, *, following: Following = Following()) -> ReferenceStore:  # noqa: B008
    report = Report()
    found = lookup.open_document(Source("set.json", json.dumps(document).encode()), report)
    assert found is not None
    store = ReferenceStore(found, Policy(str(home), following), "set.json")
    store.check(report, lambda code: True)
    assert not report.errors, report.list_sorted()
    return store


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "a.bin").write_bytes(bytes(range(100)))
    return tmp_path


def test_what_keys_hold(target: Path) -> None:
    store = made({"a": "text", "b/c": ["a.bin", 10, 5], "b/d": ["a.bin"], "e": "base64:AAE="}, target)
    assert store.get("a") == b"text"
    assert store.get("b/c") == bytes(range(10, 15))
    assert store.get("b/d") == bytes(range(100))
    assert store.get("e") == b"\0\1"
    assert store.get("b/e") is None
    assert list(store.keys("b/")) == ["b/c", "b/d"]
    assert store.children("") == ["a", "b", "e"]
    assert not store.distant


def test_parts_of_keys(target: Path) -> None:
    store = made({"a": "text", "b": ["a.bin", 10, 5]}, target)
    assert store.part("b", 1, 2) == bytes([11, 12])
    assert store.part("b", -2, 2) == bytes([13, 14])
    assert store.part("a", 1, 2) == b"ex"
    assert store.part("c", 0, 1) is None
    with pytest.raises(OSError, match="too few"):
        store.part("b", 3, 4)


def test_where_keys_lie(target: Path) -> None:
    store = made({"a": "text", "b": ["a.bin", 10, 5], "c": ["s3://x/y", 1, 2], "d": ["a.bin"]}, target)
    path = str(target / "a.bin")
    assert store.locate("b") == Range(path, 10, 5)
    assert store.locate("d") == Range(path, 0, 100)
    assert [store.locate(key) for key in ("a", "c", "e")] == [None, None, None]
    assert store.refer("b") == Reference(path, 10, 5)
    assert store.refer("c") == Reference("s3://x/y", 1, 2)
    assert store.refer("d") == Reference(path, 0, None)
    assert store.refer("a") is None
    assert store.distant


@pytest.mark.parametrize("value", [["a.bin", 90, 11], ["a.bin", 200, 1], ["a.bin", 101, 0]])
def test_a_target_that_ends_before_the_reference(target: Path, value: list[Any]) -> None:
    store = made({"v/0": value}, target)
    with pytest.raises(CompileError, match="which has 100") as caught:
        store.get("v/0")
    assert caught.value.diagnostics[0].code == "short-target"
    assert "`v/0`" in caught.value.diagnostics[0].message


def test_a_target_that_is_not_there_is_no_missing_key(target: Path) -> None:
    store = made({"v/0": ["b.bin", 0, 1]}, target)
    with pytest.raises(FileNotFoundError) as caught:
        store.get("v/0")
    assert caught.value.__notes__ == ["named by `v/0` of `set.json`"]


@pytest.mark.parametrize("value", [["pipe"], ["pipe", 0, 8], ["folder"], ["/dev/zero"]])
def test_a_target_is_a_regular_file(target: Path, value: list[Any]) -> None:
    os.mkfifo(target / "pipe")
    (target / "folder").mkdir()
    store = made({"a": value}, target)
    for ask in (store.get, store.locate):
        with pytest.raises(OSError, match=r"not a regular file|directory") as caught:
            ask("a")
        assert caught.value.filename
        assert caught.value.__notes__ == ["named by `a` of `set.json`"]


@pytest.mark.plugin("refs")
def test_keys_that_no_store_has_are_passed_over(target: Path) -> None:
    gen = [{"key": "{{k}}", "url": "u", "dimensions": {"k": ["v/0", "v/../../w", "/x", "./y"]}}]
    refs = {"../x": "a", "a//b": "b", "": "c", "ok": "d", "..z": "e"}
    store = made({"version": 1, "refs": refs, "gen": gen}, target)
    assert list(store.keys()) == ["..z", "ok", "v/0"]
    assert store.children("") == ["..z", "a", "ok", "v"]
    for accepted in (False, True):
        report = Report()
        store.check(report, lambda code, accepted=accepted: accepted)
        assert [found.code for found in report.list_sorted()] == ["unsafe-key"] * 6
        assert report.errors == (0 if accepted else 6)


def test_it_pickles(target: Path) -> None:
    store = made({"b": ["a.bin", 10, 5], "c": ["memory://m", 0, 1]}, target)
    again = pickle.loads(pickle.dumps(store))
    assert again.get("b") == bytes(range(10, 15))
    assert again.distant


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None, int | None]]:
    """What is asked of a file system in memory."""
    asked: list[tuple[str, int | None, int | None]] = []
    original = MemoryFileSystem.cat_file

    def noted(self: Any, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        asked.append((path, start, end))
        found: bytes = original(self, path, start, end)
        return found

    monkeypatch.setattr(MemoryFileSystem, "cat_file", noted)
    MemoryFileSystem().pipe_file("/t/a.bin", bytes(range(100)))
    return asked


def test_what_lies_side_by_side_comes_by_one_request(counted: list[Any], tmp_path: Path) -> None:
    keys = {f"v/{n}": ["memory://t/a.bin", n * 10, 8] for n in range(10)}
    store = made(keys, tmp_path)
    assert store.several(keys) == {key: bytes(range(begin, begin + 8)) for key, (_, begin, _) in keys.items()}
    assert counted == [("/t/a.bin", 0, 98)]


def test_of_several_the_one_that_is_too_long_is_named(counted: list[Any], tmp_path: Path) -> None:
    keys = {"v/0": ["memory://t/a.bin", 0, 8], "v/1": ["memory://t/a.bin", 95, 8], "v/2": ["memory://t/a.bin", 8, 8]}
    with pytest.raises(CompileError, match="`v/1`: it is bytes 95 to 103"):
        made(keys, tmp_path).several(keys)


def test_a_dataset_far_away_takes_few_requests(counted: list[Any], tmp_path: Path) -> None:
    import nczarr

    array = {"zarr_format": 2, "shape": [100], "chunks": [1], "dtype": "|u1", "fill_value": 0, "order": "C",
             "compressor": None, "filters": None}  # fmt: skip
    chunks = {f"v/{n}": ["memory://t/a.bin", n, 1] for n in range(0, 100, 2)}
    document = {".zgroup": {"zarr_format": 2}, "v/.zarray": array, "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, **chunks}
    (tmp_path / "set.json").write_text(json.dumps(document))
    nczarr.convert(tmp_path / "set.json", tmp_path / "out.nc")
    with nczarr.open(tmp_path / "out.nc") as dataset:
        assert dataset["v"][:].tolist() == [n if n % 2 == 0 else 0 for n in range(100)]
    assert len(counted) <= 4
