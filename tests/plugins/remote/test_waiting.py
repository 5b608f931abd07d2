"""Lines while a server does not answer: at a terminal or with `--verbose`, and not for each request."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import fsspec
import pytest

from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.plugins.remote import connection, lock_object, request_errors
from nczarr.plugins.remote.request_errors import Waiting
from tests.conftest import _Stream as Stream
from tests.conftest import run_command
from tests.support.flaky import FlakyFileSystem

CALL = ("dump", "http://127.0.0.1:9/t.nc")
"""A port where no server is."""


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    heard: list[str] = []
    monkeypatch.setattr(Messages, "watcher", heard.append)
    monkeypatch.setattr(request_errors, "PATIENT", 0.05)
    monkeypatch.setattr(Waiting, "_next_line", 0.0)
    return heard


def test_a_request_that_hangs_is_announced(lines: list[str]) -> None:
    with Waiting("s3://b/t.nc", 5) as wait:
        time.sleep(0.2)
        assert lines == ["`s3://b/t.nc` does not answer; waiting …"]
        wait.count(2)
    assert lines[1:] == ["`s3://b/t.nc` does not answer; retrying (2 of 5) …"]


def test_a_request_that_is_answered_is_not(lines: list[str]) -> None:
    with Waiting("s3://b/t.nc", 5) as wait:
        wait.count(1)
    time.sleep(0.2)
    assert lines == []


def test_many_requests_print_one_line(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_errors, "PATIENT", 0.2)

    def ask() -> None:
        with Waiting("s3://b/t.nc", 5):
            time.sleep(0.3)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(lines) <= 2


def test_a_lock_is_called_by_its_target(lines: list[str]) -> None:
    with Waiting("s3://b/.t.zarr.nczarr-lock", 5):
        time.sleep(0.2)
    assert lines == ["`s3://b/t.zarr` does not answer; waiting …"]


@pytest.mark.parametrize(
    ("words", "terminal", "heard"), [(["--verbose"], 0, 1), ([], 1, 1), ([], 0, 0), (["-q"], 1, 0)]
)
def test_lines_are_for_people(
    words: list[str], terminal: int, heard: int, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(request_errors, "PATIENT", 0.0)
    monkeypatch.setattr(connection, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(Stream, "isatty", lambda stream: bool(terminal))
    done = run_command(*CALL, *words)
    assert done.status == 3
    assert ("`http://127.0.0.1:9/t.nc` does not answer; retrying (1 of 6) …" in done.err) == bool(heard)
    assert lines == []


def test_an_unreachable_lock_is_an_error_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("flaky", FlakyFileSystem, clobber=True)
    monkeypatch.setattr(connection, "OBJECTS", connection.OBJECTS | {"flaky"})

    def refuse(*arguments: object, **named: object) -> None:
        raise OSError(5, "the bucket is gone")

    monkeypatch.setattr(FlakyFileSystem, "pipe_file", refuse)
    monkeypatch.setattr(connection, "RETRIES", 0)
    with pytest.raises(OSError, match="the bucket is gone") as failed:
        lock_object.lock_object("flaky://bucket/t.zarr", NO_OPTIONS, checks=True)
    assert failed.value.filename == "flaky://bucket/t.zarr"


def test_a_dead_server_is_no_missing_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connection, "FIRST_PAUSE", 0.0)
    (tmp_path / "r.json").write_text(
        json.dumps({"version": 1, "refs": {".zgroup": '{"zarr_format": 2}', "v/0": ["http://127.0.0.1:9/a.nc", 0, 8]}})
    )
    done = run_command("refs", "verify", str(tmp_path / "r.json"))
    assert "Connect call failed" in done.err
    assert "No such file" not in done.err
    assert done.status == 3
