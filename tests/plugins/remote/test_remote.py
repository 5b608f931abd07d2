"""Stores behind fsspec: what is read, what is written in which order, what is tried again, and what never shows."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.plugins.common.secret_texts import scrub
from nczarr.plugins.remote import connection
from nczarr.plugins.remote.remote_store import RemoteStore
from nczarr.plugins.remote.remote_target import RemoteTarget
from nczarr.stores.base import StoreJournal, parse_journal
from tests.conftest import run_command
from tests.support.flaky import FAULTS, Fault, FlakyFileSystem
from tests.support.library import library

library("fsspec", reason="fsspec is not installed: nczarr[remote]")

CDL = """netcdf t {
dimensions:
  x = 40 ;
  u = unlimited ;
variables:
  int v(x) ;
    v:_ChunkSizes = 10 ;
    v:_DeflateLevel = 1 ;
  double w(u, x) ;
  string s(x) ;
  char title ;
data:
  v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
      32, 33, 34, 35, 36, 37, 38, 39, 40 ;
  s = "a", "", "ccc" ;
  title = "t" ;
group: g {
  variables:
    byte b(x) ;
    :note = "in a group" ;
  data:
    b = 1, 2, 3 ;
}
}
"""
URL = "flaky://bucket/t.zarr"
QUICK = {"retries": 2}


@pytest.fixture(autouse=True)
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FlakyFileSystem]]:
    """The flaky store, empty, as a store of whole objects; pauses take no time."""
    FlakyFileSystem.start()
    monkeypatch.setattr(connection, "OBJECTS", connection.OBJECTS | {"flaky"})
    monkeypatch.setattr(connection, "LONGEST_PAUSE", 0.0)
    yield FlakyFileSystem
    FlakyFileSystem.start()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.cdl"
    path.write_text(CDL)
    return path


def content() -> dict[str, bytes]:
    """Objects, the lock of a run aside whose release failed."""
    names = (name for name in sorted(FlakyFileSystem.store) if not name.endswith(".nczarr-lock"))
    return {name: bytes(FlakyFileSystem.store[name].getvalue()) for name in names}


def sent() -> list[tuple[str, str]]:
    """Requests, those of the lock aside."""
    return [(method, path) for method, path in FlakyFileSystem.requests if not path.endswith(".nczarr-lock")]


def puts() -> list[str]:
    return [path.removeprefix("/bucket/t.zarr/") for method, path in sent() if method == "pipe_file"]


def test_a_store_is_written_and_read_back(source: Path, tmp_path: Path) -> None:
    nczarr.convert(source, URL)
    nczarr.convert(source, tmp_path / "near.zarr")
    assert not nczarr.diff(source, URL)
    near = {
        f"/bucket/t.zarr/{path.relative_to(tmp_path / 'near.zarr')}": path.read_bytes()
        for path in (tmp_path / "near.zarr").rglob("*")
        if path.is_file()
    }
    assert content() == near


def test_what_a_library_writes_into_its_options_is_not_kept() -> None:
    """botocore does, and two states of the options would be two clients."""
    place = connection.FileConnection("s3://bucket/a.zarr")
    before = place._arguments()
    place._arguments()["config_kwargs"]["retries"].pop("max_attempts")
    assert place._arguments() == before


def test_data_come_first_and_the_document_of_the_root_last(source: Path) -> None:
    nczarr.convert(source, URL)
    order = [key for key in puts() if key != ".nczarr-journal"]
    documents = [key.rpartition("/")[2].startswith(".z") for key in order]
    assert documents == sorted(documents)
    depths = [key.count("/") for key in order if key.rpartition("/")[2].startswith(".z")]
    assert depths == sorted(depths, reverse=True)
    assert puts()[0] == ".nczarr-journal"
    assert sent()[-1] == ("rm_file", "/bucket/t.zarr/.nczarr-journal")


def test_a_store_with_a_journal_is_refused_and_the_way_out_said(source: Path) -> None:
    nczarr.convert(source, URL)
    FlakyFileSystem().pipe_file("/bucket/t.zarr/.nczarr-journal", StoreJournal("x").bytes())
    for command in (["dump", URL], ["check", URL], ["convert", URL, "flaky://bucket/u.zarr"]):
        done = run_command(*command)
        assert done.status == 1
        assert "unfinished-store" in done.err
        assert "--resume" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_at_any_request_of_writing_makes_a_wrong_target(source: Path, fault: Fault) -> None:
    nczarr.convert(source, URL)
    number, right = len(FlakyFileSystem.requests), content()
    outcomes = set()
    for at in range(number):
        FlakyFileSystem.start()
        FlakyFileSystem.faults = staticmethod(lambda n, method, path, at=at: fault if n == at else None)
        outcomes.add(_written(source, right))
    assert "done" in outcomes


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_no_lasting_fault_makes_a_wrong_target(source: Path, fault: Fault) -> None:
    nczarr.convert(source, URL)
    number, right = len(FlakyFileSystem.requests), content()
    outcomes = set()
    for at in range(0, number, 5):
        FlakyFileSystem.start()
        FlakyFileSystem.faults = staticmethod(lambda n, method, path, at=at: fault if n >= at else None)
        outcomes.add(_written(source, right))
    assert "failed" in outcomes


def _journal_of(source: Path) -> StoreJournal:
    """The journal of the conversion of a source, as another place has it."""
    kept = dict(FlakyFileSystem.store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nczarr.link.target.put_metadata", _out_of_reach)
        with pytest.raises(OSError, match="out of reach"):
            nczarr.convert(source, "flaky://bucket/journal.zarr")
    found = parse_journal(content()["/bucket/journal.zarr/.nczarr-journal"])
    FlakyFileSystem.store.clear()
    FlakyFileSystem.store.update(kept)
    return found


def _out_of_reach(*arguments: object) -> None:
    raise OSError(5, "out of reach")


def _written(source: Path, right: dict[str, bytes]) -> str:
    """What became of a conversion; a target that is wrong, and is not refused, fails the test."""
    try:
        nczarr.convert(source, URL, storage_options=QUICK)
    except (OSError, nczarr.CompileError) as error:
        if not isinstance(error, OSError) and "busy-target" not in str(error):  # its lock is lost
            raise
        FlakyFileSystem.faults = staticmethod(lambda *request: None)
        there = content()
        if there:
            assert "/bucket/t.zarr/.nczarr-journal" in there
            damaged = not parse_journal(there["/bucket/t.zarr/.nczarr-journal"]).is_of(_journal_of(source))
            nczarr.convert(source, URL, resume=not damaged, overwrite=damaged)
        else:
            nczarr.convert(source, URL)
        assert content() == right
        return "failed"
    FlakyFileSystem.faults = staticmethod(lambda *request: None)
    assert content() == right
    return "done"


@pytest.mark.long
@pytest.mark.sampled(15)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("form", ["nczarr", "nczarr3", "zarr3-2019"])
def test_no_fault_at_any_request_of_reading_makes_a_wrong_target(
    source: Path, tmp_path: Path, fault: Fault, form: str
) -> None:
    nczarr.convert(source, URL, form, shards="auto" if form == "nczarr3" else None)
    FlakyFileSystem.requests.clear()
    nczarr.convert(URL, tmp_path / "right.nc")
    count = len(FlakyFileSystem.requests)
    for lasting in (False, True):
        for at in range(0, count, 7 if lasting else 1):
            number = len(FlakyFileSystem.requests)
            FlakyFileSystem.faults = staticmethod(
                lambda n, method, path, at=number + at, on=lasting: fault if n == at or (on and n > at) else None
            )
            target = tmp_path / f"{at}-{lasting}.nc"
            try:
                # of ranges nobody tells a digest: there, only `verify` finds wrong bytes
                nczarr.convert(URL, target, storage_options=QUICK, verify=form == "nczarr3")
            except (OSError, nczarr.CompileError):
                assert not target.exists()
            else:
                assert nczarr.diff(tmp_path / "right.nc", target) == []
            FlakyFileSystem.faults = staticmethod(lambda *request: None)


def test_without_tags_wrong_bytes_are_found_by_verify(source: Path) -> None:
    FlakyFileSystem.tags = False
    FlakyFileSystem.faults = staticmethod(
        lambda n, method, path: "wrong" if method == "pipe_file" and path.endswith("/g/b/0") else None
    )
    with pytest.raises(nczarr.CompileError, match="unequal-target"):
        nczarr.convert(source, URL, verify=True)
    assert content() == {}


def test_tags_that_are_no_digests_are_not_taken_for_them(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nczarr.convert(source, URL)
    monkeypatch.setattr(FlakyFileSystem, "_told", lambda self, info: {**info, "ETag": "0" * 32})
    with pytest.raises(OSError, match="never matched the server's listing"):
        nczarr.convert(URL, tmp_path / "t.nc")
    monkeypatch.setattr(connection.FileConnection, "tags_are_digests", lambda self, key: False)
    nczarr.convert(URL, tmp_path / "t.nc")
    assert nczarr.diff(source, tmp_path / "t.nc") == []


def test_what_was_listed_and_is_gone_is_a_failure(source: Path, tmp_path: Path) -> None:
    nczarr.convert(source, URL)
    gone = "/bucket/t.zarr/v/2"

    def vanish(number: int, method: str, path: str) -> None:
        if method == "cat_file":
            FlakyFileSystem.store.pop(gone, None)

    FlakyFileSystem.faults = staticmethod(vanish)
    with pytest.raises(OSError, match="it is listed but does not exist"):
        nczarr.convert(URL, tmp_path / "t.zarr")
    assert [path.name for path in tmp_path.iterdir()] == ["t.cdl"]


@pytest.mark.slow
def test_resume_sends_no_chunk_twice(source: Path) -> None:
    nczarr.convert(source, URL)
    right, all_puts = content(), puts()
    chunks = {key for key in all_puts if not key.rpartition("/")[2].startswith(".")}
    for at in range(len(all_puts)):
        FlakyFileSystem.start()
        seen: list[str] = []

        def stop(number: int, method: str, path: str, at: int = at, seen: list[str] = seen) -> Fault | None:
            if method == "pipe_file" and not path.endswith(".nczarr-lock"):
                seen.append(path)
            return "error" if len(seen) > at else None

        FlakyFileSystem.faults = staticmethod(stop)
        with pytest.raises(OSError, match="internal error") as failed:
            nczarr.convert(source, URL, storage_options={"retries": 0})
        before = set(content())
        FlakyFileSystem.requests.clear()
        FlakyFileSystem.faults = staticmethod(lambda *request: None)
        if before:
            assert any("resume=True" in note for note in failed.value.__notes__)
        nczarr.convert(source, URL, resume=True)
        assert content() == right
        again = {f"/bucket/t.zarr/{key}" for key in puts() if key in chunks}
        assert not again & before


def test_another_run_does_not_go_on_with_it(source: Path) -> None:
    FlakyFileSystem.faults = staticmethod(lambda n, method, path: "error" if path.endswith(".zgroup") else None)
    with pytest.raises(OSError, match="internal error"):
        nczarr.convert(source, URL, storage_options=QUICK)
    FlakyFileSystem.faults = staticmethod(lambda *request: None)
    journal = parse_journal(content()["/bucket/t.zarr/.nczarr-journal"])
    assert journal.fingerprint is not None
    assert journal.source == str(source)
    for other in ({"chunks": {"x": 20}}, {"variables": ["v"]}, {"sections": ["v(0:9)"]}, {"format": "zarr2"}):
        with pytest.raises(FileExistsError):
            nczarr.convert(source, URL, resume=True, **other)  # type: ignore[arg-type]
    done = run_command("convert", str(source), URL)
    assert done.status == 2
    assert "--resume" in done.err
    assert run_command("convert", str(source), URL, "--resume").status == 0
    assert nczarr.diff(source, URL) == []


def test_overwrite_removes_the_old_store_its_root_first(source: Path, tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl("netcdf o { variables: int old ; data: old = 1 ; }"), URL)
    with pytest.raises(FileExistsError):
        nczarr.convert(source, URL)
    FlakyFileSystem.requests.clear()
    nczarr.convert(source, URL, overwrite=True)
    removed = [path for method, path in FlakyFileSystem.requests if method == "rm_file"]
    assert {removed[0], removed[1]} == {"/bucket/t.zarr/.zattrs", "/bucket/t.zarr/.zgroup"}
    assert not [path for path in content() if "/old" in path]
    assert nczarr.diff(source, URL) == []


def test_overwrite_spares_what_is_no_store(source: Path) -> None:
    FlakyFileSystem().pipe_file("/bucket/holidays/photo.jpg", b"x")
    done = run_command("convert", str(source), "flaky://bucket/holidays", "--to", "nczarr", "--overwrite")
    assert done.status == 2
    assert "a folder that is not a store" in done.err
    assert list(content()) == ["/bucket/holidays/photo.jpg"]


def test_what_cannot_be_is_removed_again(source: Path) -> None:
    done = run_command("convert", str(source), "flaky://bucket/t.zarr", "--to", "zarr2", "--allow-loss", "lost-nil")
    assert done.status in (0, 1, 2)
    FlakyFileSystem.start()
    broken = "netcdf t { dimensions: x = 4 ; variables: int v(x) ; v:_ChunkSizes = 2 ; data: v = 1, 2, 3, 4 ; }"
    nczarr.write(nczarr.from_cdl(broken), "flaky://bucket/s.zarr", codecs="zlib:1")
    FlakyFileSystem().pipe_file("/bucket/s.zarr/v/1", b"no zlib at all")
    with pytest.raises(nczarr.CompileError, match="unreadable-chunk"):
        nczarr.convert("flaky://bucket/s.zarr", "flaky://bucket/d.zarr", codecs="zstd:1")
    assert not [path for path in content() if path.startswith("/bucket/d.zarr")]


@pytest.mark.parametrize("suffix", [".nc", ".zip", ".cdl", ".zarr"])
def test_single_files_and_archives_travel_whole(source: Path, suffix: str, tmp_path: Path) -> None:
    url = f"flaky://bucket/t{suffix}"
    nczarr.convert(source, url)
    assert nczarr.diff(source, url) == []
    assert run_command("dump", "-h", url).status == 0
    done = run_command("convert", str(source), url)
    assert (done.status, "target-exists" in done.err) == (2, True)
    nczarr.convert(source, url, overwrite=True)
    if suffix != ".zarr":
        assert list(content()) == [f"/bucket/t{suffix}"]


def test_a_file_that_arrives_in_part_is_no_target(source: Path) -> None:
    FlakyFileSystem.faults = staticmethod(lambda n, method, path: "short" if method == "put_file" else None)
    with pytest.raises(OSError, match="arrived with other bytes"):
        nczarr.convert(source, "flaky://bucket/t.nc")
    assert content() == {}


@pytest.mark.parametrize("method", ["put_file", "get_file", "cat_file"])
@pytest.mark.parametrize("large", [False, True])
def test_a_file_with_a_wrong_bit_is_sent_and_fetched_again(
    method: str, large: bool, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nczarr.plugins.remote.transfer.RANGE", 1000 if large else 1 << 20)
    wrong = [2]

    def fault(number: int, asked: str, path: str) -> Fault | None:
        if asked != method or not wrong[0]:
            return None
        wrong[0] -= 1
        return "wrong"

    FlakyFileSystem.faults = staticmethod(fault)
    nczarr.convert(source, "flaky://bucket/t.nc")
    nczarr.convert("flaky://bucket/t.nc", tmp_path / "t.zarr")
    FlakyFileSystem.start()
    assert nczarr.diff(source, tmp_path / "t.zarr") == []


@pytest.mark.parametrize("tags", [True, False])
def test_a_file_that_is_replaced_while_it_is_fetched_is_fetched_again(
    tags: bool, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the one and half of the other would be neither."""
    FlakyFileSystem.tags = tags
    monkeypatch.setattr("nczarr.plugins.remote.transfer.RANGE", 1000)
    monkeypatch.setattr("nczarr.plugins.remote.transfer.HEAD", 0)  # as if the file were large
    nczarr.convert(source, tmp_path / "t.nc")
    data = (tmp_path / "t.nc").read_bytes()
    store = FlakyFileSystem()
    store.pipe_file("/bucket/t.nc", bytes(len(data)))
    asked = [0]

    def replace(number: int, method: str, path: str) -> None:
        asked[0] += method == "cat_file"
        if asked[0] == 3:
            asked[0] += 1
            store.pipe_file("/bucket/t.nc", data)

    FlakyFileSystem.faults = staticmethod(replace)
    assert nczarr.diff(source, "flaky://bucket/t.nc") == []


def test_large_objects_go_through_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.plugins.remote.remote_target.HELD", 1000)
    values = np.arange(5000, dtype="i4")
    built = nczarr.DatasetBuilder("t")
    built.variable("v", "int", [built.dimension("x", 5000)])
    nczarr.write(built.finish(data={"/v": values}), URL, "zarr3", chunks={"x": 100}, shards={"x": 1000}, codecs="none")
    assert {method for method, path in FlakyFileSystem.requests if "/c/" in path} == {"put_file", "info"}
    with nczarr.open(URL) as again:
        assert np.array_equal(again["/v"][:], values)


def test_only_parts_of_distant_shards_are_read() -> None:
    values = np.arange(5000, dtype="i4")
    built = nczarr.DatasetBuilder("t")
    built.variable("v", "int", [built.dimension("x", 5000)])
    nczarr.write(built.finish(data={"/v": values}), URL, "zarr3", chunks={"x": 100}, shards={"x": 5000}, codecs="none")
    with nczarr.open(URL) as again:
        FlakyFileSystem.requests.clear()
        assert again["/v"][4321] == 4321
    assert [path for method, path in FlakyFileSystem.requests] == ["/bucket/t.zarr/v/c/0"] * 2


def test_secrets_are_seen_nowhere(source: Path, tmp_path: Path) -> None:
    FlakyFileSystem.faults = staticmethod(lambda n, method, path: "error")
    arguments = ["--storage-option", "retries=0", "--storage-option", "token=hush-hush-hush"]
    for form in ("human", "json"):
        done = run_command("convert", str(source), URL, *arguments, "--message-format", form, "--verbose")
        assert done.status == 3
        assert "internal error" in done.err
        assert "hush" not in done.err
    options = StorageOptions({"secret": "hush-hush", "client": {"password": "hush-too"}})
    assert "hush" not in repr(options)
    store = pickle.loads(pickle.dumps(RemoteStore("https://me:pw-hush@host/x?sig=hush", options)))
    assert "hush" not in repr(store) + store.path + repr(store.connection)
    text = "cannot reach https://me:pw-hush@host/x?sig=hush with hush-hush and hush-too (pw-hush)"
    assert "hush" not in scrub(text, "https://me:pw-hush@host/x?sig=hush", options)
    assert show("/a/b?c@d") == "/a/b?c@d"


def test_the_journal_holds_no_secret(tmp_path: Path) -> None:
    nczarr.write(nczarr.from_cdl("netcdf o { variables: int v ; data: v = 1 ; }"), "flaky://me:hush-hush@bucket/a.zarr")
    FlakyFileSystem.faults = staticmethod(lambda n, method, path: "error" if path.endswith(".zgroup") else None)
    with pytest.raises(OSError, match="internal error"):
        nczarr.convert("flaky://me:hush-hush@bucket/a.zarr", URL, storage_options={"retries": 0, "secret": "psst-psst"})
    assert b"hush" not in b"".join(content().values())
    assert b"psst" not in b"".join(content().values())


def test_options_of_one_side_are_not_those_of_the_other() -> None:
    options = StorageOptions({"a": 1, "source.a": 2, "target.b": 3})
    assert dict(options.of("source")) == {"a": 2}
    assert dict(options.of("target")) == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("anon=true", "anon", True),
        ("retries=3", "retries", 3),
        ("secret=123456", "secret", "123456"),
        ('client_kwargs={"verify": false}', "client_kwargs", {"verify": False}),
        ("endpoint_url=http://h:1/?a=b", "endpoint_url", "http://h:1/?a=b"),
    ],
)
def test_options_as_they_are_written(text: str, name: str, value: Any) -> None:
    from nczarr.diagnostics.secrets import option

    assert option(text) == (name, value)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"[" * 100_000, b"{", b'{"nczarr_journal": 2}', json.dumps({"nczarr_journal": 1}).encode()]
)
def test_a_damaged_journal_is_of_no_run(data: bytes) -> None:
    assert parse_journal(data) == StoreJournal(None)
    assert not parse_journal(data).is_of(StoreJournal(None))


def test_a_target_in_another_process_puts_and_does_not_finish() -> None:
    target = RemoteTarget(URL, journal=StoreJournal("x"))
    copy = pickle.loads(pickle.dumps(target))
    copy.put("v/0", b"1")
    copy.put("v/0", b"1")
    copy.abort()
    assert "/bucket/t.zarr/v/0" in content()
    target.abort()
    assert content() == {}


def test_of_two_runs_that_begin_at_once_one_gets_the_place() -> None:
    def other(number: int, method: str, path: str) -> None:
        if method == "pipe_file" and not content():
            FlakyFileSystem.faults = staticmethod(lambda *request: None)
            FlakyFileSystem().pipe_file("/bucket/t.zarr/.nczarr-journal", StoreJournal("other").bytes())

    FlakyFileSystem.faults = staticmethod(other)
    with pytest.raises(nczarr.CompileError, match="busy-target"):
        RemoteTarget(URL, journal=StoreJournal("mine"))
    assert parse_journal(content()["/bucket/t.zarr/.nczarr-journal"]) == StoreJournal("other")


@pytest.mark.parametrize("journal", [StoreJournal("same", run="other"), StoreJournal(None, run="other")])
def test_of_two_equal_runs_that_begin_at_once_one_gets_the_place(journal: StoreJournal) -> None:
    def other(number: int, method: str, path: str) -> None:
        if method == "pipe_file" and not content():
            FlakyFileSystem.faults = staticmethod(lambda *request: None)
            FlakyFileSystem().pipe_file("/bucket/t.zarr/.nczarr-journal", journal.bytes())

    FlakyFileSystem.faults = staticmethod(other)
    with pytest.raises(nczarr.CompileError, match="busy-target"):
        RemoteTarget(URL, journal=journal._replace(run="mine"))


@pytest.mark.parametrize("fingerprint", ["same", None])
def test_a_run_whose_place_another_has_taken_does_not_finish_nor_remove_it(fingerprint: str | None) -> None:
    first = RemoteTarget(URL, journal=StoreJournal(fingerprint, run="first"))
    first.put("v/0", b"1")
    second = RemoteTarget(URL, journal=StoreJournal(fingerprint, run="second"), overwrite=True)
    second.put("v/0", b"2")
    with pytest.raises(nczarr.CompileError, match="busy-target: another writer has changed or taken over"):
        first.finish()
    first.abort()
    third = RemoteTarget(URL, journal=StoreJournal(fingerprint, run="third"), overwrite=True)
    second.abort()
    third.put("v/0", b"3")
    third.finish()
    assert list(content()) == ["/bucket/t.zarr/v/0"]


@pytest.mark.parametrize("journal", [None, StoreJournal("other", run="other").bytes()])
def test_a_run_whose_journal_is_gone_says_that_the_target_is_busy(
    source: Path, journal: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = RemoteTarget.seal

    def late(self: RemoteTarget) -> None:
        name = "/bucket/t.zarr/.nczarr-journal"
        FlakyFileSystem().rm_file(name) if journal is None else FlakyFileSystem().pipe_file(name, journal)
        original(self)

    monkeypatch.setattr(RemoteTarget, "seal", late)
    done = run_command("convert", str(source), URL)
    assert done.status == 2
    assert f"error[busy-target]: another writer has changed or taken over `{URL}` meanwhile" in done.err
    assert "write it again with `--overwrite`" in done.err


def test_unknown_protocols_and_options_are_told() -> None:
    done = run_command("dump", "nosuch://a/b")
    assert (done.status, "bad-url" in done.err) == (2, True)
    done = run_command("dump", URL, "--storage-option", "hush-hush")
    assert done.status == 2
    assert "hush" not in done.err
    done = run_command("dump", URL, "--storage-option", "retries=-1")
    assert (done.status, "retries" in done.err) == (2, True)


@pytest.mark.parametrize("url", ["s3://", "s3:///t.zarr", "flaky://bucket//t.zarr", "flaky://bucket/../t.zarr"])
def test_urls_of_no_place_are_refused_and_nothing_is_made(
    url: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    done = run_command("convert", str(source), url, "--to", "nczarr")
    assert (done.status, "bad-url" in done.err) == (2, True)
    assert sorted(tmp_path.iterdir()) == before
    assert FlakyFileSystem.requests == []


def test_several_targets_go_into_a_folder_whose_url_has_modes(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "u.cdl"
    other.write_text("netcdf u {\n}\n")
    assert run_command("convert", str(source), str(other), "flaky://bucket/d/#mode=nczarr,consolidated").status == 0
    assert {path for path in content() if path.endswith("zmetadata")} == {
        f"/bucket/d/{source.stem}.zarr/.zmetadata", "/bucket/d/u.zarr/.zmetadata"
    }  # fmt: skip


def test_an_object_that_is_named_like_a_store_is_none(tmp_path: Path) -> None:
    FlakyFileSystem().pipe_file("/bucket/t.zarr", b"x")
    (tmp_path / "t.zarr").write_bytes(b"x")
    for path in (URL, str(tmp_path / "t.zarr")):
        done = run_command("dump", path)
        assert (done.status, "unknown-format" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TypeError("Session.__init__() got an unexpected keyword argument 'profil'"), "has no option `profil`"),
        (AttributeError("'str' object has no attribute 'copy'"), "rejects the storage options"),
        (FileNotFoundError("bucket/a.zip"), "No such file or object"),
        (FileNotFoundError("The specified bucket does not exist"), "bucket does not exist"),
    ],
)
def test_failures_of_libraries_are_told_in_words_for_people(error: Exception, words: str) -> None:
    assert words in str(connection.FileConnection("s3://b/k").failure(error))


def test_fetched_files_are_removed_one_by_one(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are fetched whole; however many there are, room for one is enough."""
    (tmp_path / "spool").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spool"))
    monkeypatch.setattr("nczarr.plugins.remote.transfer.HEAD", 0)  # as if the files were large
    for name in "ab":
        nczarr.convert(source, f"flaky://bucket/{name}.cdl")
    most: list[int] = []
    FlakyFileSystem.faults = staticmethod(lambda *request: most.append(len(list((tmp_path / "spool").iterdir()))))
    both = [f"flaky://bucket/{name}.cdl" for name in "ab"]
    assert run_command("convert", *both, str(tmp_path / "out")).status == 0
    assert run_command("digest", *both).status == 0
    for name in "ab":
        nczarr.convert(f"flaky://bucket/{name}.cdl", tmp_path / f"{name}.zarr")
    assert max(most) == 1
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_forked_process_opens_its_own_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    FlakyFileSystem().pipe_file("/bucket/k", b"x")
    made = connection.FileConnection("flaky://bucket")
    first = made.system
    assert made.system is first
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert made.system is not first
    assert made.call("cat_file", "k") == b"x"


@pytest.mark.parametrize("suffix", [".zarr", ".zip"])
def test_a_full_folder_for_temporary_files_is_named(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("nczarr.plugins.remote.remote_target.HELD", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    built = nczarr.DatasetBuilder("t")
    built.variable("v", "int", [built.dimension("x", 50_000)])
    made = built.finish(data={"/v": np.arange(50_000, dtype="i4")})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as failure:
            nczarr.write(made, f"flaky://bucket/t{suffix}", "zarr3", shards={"x": 50_000}, chunks={"x": 100},
                         codecs="none")  # fmt: skip
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(failure.value.filename).startswith(str(tmp_path))
    assert content() == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["digest", "diff", "to a store", "to a file", "in other chunks"])
def test_many_requests_are_under_way(what: str, tmp_path: Path) -> None:
    values = np.arange(100_000, dtype="i4").reshape(100, 1000)
    built = nczarr.DatasetBuilder("t")
    built.variable("v", "int", [built.dimension("t", 100), built.dimension("x", 1000)], chunks=(1, 1000))
    dataset = built.finish(data={"/v": values})
    nczarr.write(dataset, URL, codecs="zlib:1")
    active, most, lock = 0, 0, threading.Lock()

    def slow(number: int, method: str, path: str) -> None:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.01)
        with lock:
            active -= 1

    FlakyFileSystem.faults = staticmethod(slow)
    if what == "digest":
        assert nczarr.digest(URL) == nczarr.digest(dataset)
    elif what == "diff":
        assert nczarr.diff(dataset, URL) == []
    else:
        chunks = {"t": 25} if what == "in other chunks" else None
        nczarr.convert(URL, tmp_path / ("t.nc" if what == "to a file" else "t.zarr"), chunks=chunks)
    assert 8 <= most <= 32


def test_overwrite_takes_a_place_that_has_another_journal_and_nothing_else(source: Path) -> None:
    FlakyFileSystem().pipe_file("/bucket/t.zarr/.nczarr-journal", StoreJournal("other", run="other").bytes())
    nczarr.convert(source, URL, overwrite=True)
    assert nczarr.diff(source, URL) == []


def test_a_run_that_was_killed_when_all_was_cleared_writes_from_then_on(source: Path) -> None:
    journal = _journal_of(source)
    FlakyFileSystem().pipe_file("/bucket/t.zarr/.nczarr-journal", journal._replace(state="clearing").bytes())
    FlakyFileSystem.faults = staticmethod(lambda n, method, path: "error" if path.endswith(".zgroup") else None)
    with pytest.raises(OSError, match="internal error"):
        nczarr.convert(source, URL, resume=True, storage_options=QUICK)
    assert parse_journal(content()["/bucket/t.zarr/.nczarr-journal"]).state == "writing"
