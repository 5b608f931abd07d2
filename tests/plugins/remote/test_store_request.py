"""Requests that get no answer: a time for each, and none holds up a run that is interrupted."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

pytest.importorskip("fsspec", reason="fsspec is not installed: nczarr[remote]")

from fsspec.asyn import AsyncFileSystem

from nczarr.plugins.remote import connection
from nczarr.plugins.remote import range_request as store_request
from nczarr.plugins.remote.connection import FileConnection


class Silent(AsyncFileSystem):
    """A file system that never answers."""

    asked = 0

    async def _cat_file(self, path: str, **named: Any) -> bytes:
        type(self).asked += 1
        await asyncio.sleep(3600)
        return b""


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> FileConnection:
    made = FileConnection("silent://host/a")
    made.__dict__["_opened"] = (Silent(skip_instance_cache=True), "/a")
    monkeypatch.setattr(Silent, "asked", 0)
    monkeypatch.setattr(store_request, "_interrupted", False)
    monkeypatch.setattr(connection, "LONGEST_PAUSE", 0.0)
    return made


def test_a_server_that_never_answers_is_asked_three_times(
    silent: FileConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.02)
    with pytest.raises(TimeoutError, match="no answer within the time allowed"):
        silent.call("cat_file", "k")
    assert Silent.asked == connection.SILENT


def test_threads_that_wait_for_an_answer_are_woken_when_the_run_is_interrupted(silent: FileConnection) -> None:
    failures: list[Exception] = []

    def ask() -> None:
        try:
            silent.call("cat_file", "k")
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 10
    while Silent.asked < len(threads) and time.monotonic() < deadline:
        time.sleep(0.01)
    store_request.give_up()
    for thread in threads:
        thread.join(10)
    assert ["interrupted" in str(each) for each in failures] == [True] * len(threads)
    assert Silent.asked == len(threads)


def test_requests_after_an_interruption_are_made_once_in_a_hurry(
    silent: FileConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_request, "HURRIED", 0.02)
    store_request.give_up()
    with pytest.raises(TimeoutError):
        silent.call("cat_file", "k")
    assert Silent.asked == 1
