"""Locks in a bucket: created by a condition, renewed, and taken over from runs that have ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import fsspec
import pytest

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.plugins.remote import connection, lock_object
from nczarr.plugins.remote.lock_object import LockObject, lock_url
from nczarr.stores.finish import lock_target
from nczarr.stores.lock import BusyTargetError, Holder, NoLock
from tests.support.flaky import FlakyFileSystem

URL, LOCK = "flaky://bucket/t.zarr", "/bucket/.t.zarr.nczarr-lock"


@pytest.fixture(autouse=True)
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fsspec.register_implementation("flaky", FlakyFileSystem, clobber=True)
    monkeypatch.setattr(connection, "OBJECTS", connection.OBJECTS | {"flaky"})
    monkeypatch.setattr(lock_object, "_conditional", {})
    FlakyFileSystem.start()
    yield
    FlakyFileSystem.start()


def take(url: str = URL) -> Any:
    return lock_object.lock_object(url, NO_OPTIONS, checks=True)


def put(holder: Holder) -> None:
    FlakyFileSystem().pipe_file(LOCK, holder.bytes())


def elsewhere() -> Holder:
    return Holder.this()._replace(machine="another", host="far")


def test_places_of_locks() -> None:
    assert lock_url("s3://b/a/t.zarr") == "s3://b/a/.t.zarr.nczarr-lock"
    assert lock_url("s3://b/t.zarr/") == "s3://b/.t.zarr.nczarr-lock"
    assert lock_url("s3://b") == "s3://b/.nczarr-lock"
    assert lock_url("memory://t.zarr") == "memory://.t.zarr.nczarr-lock"


def test_one_run_at_a_time() -> None:
    lock = take()
    assert isinstance(lock, LockObject)
    with pytest.raises(BusyTargetError) as busy:
        take()
    assert busy.value.holder == Holder.parse(FlakyFileSystem.store[LOCK].getvalue())
    assert lock.is_held()
    lock.release()
    assert FlakyFileSystem.store == {}
    take().release()


def test_the_lock_of_a_dead_process_of_this_machine_is_taken_over_at_once() -> None:
    put(Holder.this()._replace(process=2**22 + 1))
    lock = take()
    assert lock.is_held()
    lock.release()
    assert FlakyFileSystem.store == {}


def test_the_lock_of_another_machine_is_taken_over_when_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    put(elsewhere())
    with pytest.raises(BusyTargetError) as busy:
        take()
    assert busy.value.holder is not None
    assert busy.value.holder.host == "far"
    assert list(FlakyFileSystem.store) == [LOCK]
    monkeypatch.setattr(lock_object, "EXPIRES", -1.0)
    lock = take()
    assert lock.is_held()
    lock.release()


def test_a_damaged_lock_expires_too(monkeypatch: pytest.MonkeyPatch) -> None:
    FlakyFileSystem().pipe_file(LOCK, b"?")
    with pytest.raises(BusyTargetError):
        take()
    monkeypatch.setattr(lock_object, "EXPIRES", -1.0)
    take().release()


def test_a_lock_is_renewed_until_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed, real = threading.Event(), lock_object._replace

    def replaced(*arguments: Any) -> bool:
        done = real(*arguments)
        renewed.set()
        return done

    monkeypatch.setattr(lock_object, "PAUSE", 0.01)
    monkeypatch.setattr(lock_object, "_replace", replaced)
    lock = take()
    assert renewed.wait(30)
    holder = Holder.parse(FlakyFileSystem.store[LOCK].getvalue())
    assert holder is not None
    assert holder.beat > 0
    put(elsewhere())
    lock._thread.join(30)
    assert not lock._thread.is_alive()
    assert not lock.is_held()
    lock.release()
    assert list(FlakyFileSystem.store) == [LOCK]


def test_a_renewal_whose_answer_was_lost_is_followed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[int] = []
    renewed, real = threading.Event(), lock_object._replace

    def replaced(place: Any, data: bytes, holder: Holder) -> bool:
        assert real(place, data, holder)
        beats.append(holder.beat)
        if len(beats) == 1:
            raise OSError("the answer was lost")
        if len(beats) == 3:
            renewed.set()
        return True

    monkeypatch.setattr(lock_object, "PAUSE", 0.01)
    monkeypatch.setattr(lock_object, "_replace", replaced)
    lock = take()
    assert renewed.wait(30)
    assert lock.is_held()
    lock.release()
    assert beats[:3] == [1, 2, 3]
    assert FlakyFileSystem.store == {}


def test_a_server_without_conditions_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FlakyFileSystem.pipe_file
    monkeypatch.setattr(FlakyFileSystem, "pipe_file", lambda self, path, value, mode="": real(self, path, value))
    report = Report()
    with lock_target(URL, report, NO_OPTIONS, replaces=True) as lock:
        assert isinstance(lock, NoLock)
    assert [found.code for found in report.list_sorted()] == ["unlocked-target"]
    assert FlakyFileSystem.store == {}


def test_a_protocol_without_objects_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OBJECTS", frozenset())
    report = Report()
    with lock_target(URL, report, NO_OPTIONS, replaces=True):
        pass
    assert [found.code for found in report.list_sorted()] == ["unlocked-target"]


def test_garbled_locks_are_sent_again() -> None:
    FlakyFileSystem.faults = staticmethod(lambda number, method, path: "wrong" if number == 0 else None)
    lock = take()
    assert lock.is_held()
    lock.release()
