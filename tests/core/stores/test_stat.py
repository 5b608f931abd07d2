"""What is known of files without reading them, how it is noted, and when two looks do not go together."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nczarr.stores.stat import Facts, changes, facts, facts_at, read_noted

WHEN = 1_768_478_400_123_456_789


def test_facts_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    os.utime(path, ns=(WHEN, WHEN))
    assert facts(str(path)) == Facts(5, WHEN)
    assert facts(path.as_uri()) == Facts(5, WHEN)
    with pytest.raises(FileNotFoundError):
        facts(str(tmp_path / "b"))


@pytest.mark.parametrize("known", [Facts(), Facts(5), Facts(0, WHEN), Facts(7, 1_768_478_400 * 10**9, "tag")])
def test_what_is_noted_is_read(known: Facts) -> None:
    assert read_noted(known.members()) == known


def test_a_time_is_noted_as_a_text() -> None:
    assert Facts(1, WHEN).members() == {"size": 1, "mtime": "2026-01-15T12:00:00.123456789Z"}


@pytest.mark.parametrize("value", [None, [], "text", {"size": "5", "mtime": [], "etag": 5}, {"size": True}])
def test_members_of_another_form_say_nothing(value: Any) -> None:
    assert read_noted(value) == Facts()


@pytest.mark.parametrize(
    "when",
    [1_768_478_400, 1_768_478_400.0, "2026-01-15T12:00:00Z", "2026-01-15T13:00:00+01:00", 1_768_478_400 * 10**9,
     "Thu, 15 Jan 2026 12:00:00 GMT"],
)  # fmt: skip
def test_times_in_any_form(when: Any) -> None:
    assert read_noted({"mtime": when}).modified == 1_768_478_400 * 10**9


class Told:
    """A connection that tells of an object."""

    def __init__(self, **info: Any) -> None:
        self.info = info

    def call(self, what: str, key: str) -> dict[str, Any]:
        return self.info


def test_facts_of_an_object() -> None:
    when = datetime(2026, 1, 15, 12, tzinfo=UTC)
    assert facts_at(Told(size=3, ETag='"abc"', LastModified=when)) == Facts(3, 1_768_478_400 * 10**9, "abc")  # type: ignore[arg-type]
    assert facts_at(Told(size=None, type="file")) == Facts()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("then", "now", "found"),
    [
        (Facts(5), Facts(5, WHEN, "a"), []),
        (Facts(5), Facts(6), ["it had 5 bytes and now has 6"]),
        (Facts(5, WHEN), Facts(5, WHEN // 10**9 * 10**9), []),
        (Facts(5, WHEN), Facts(5, WHEN + 10), []),
        (Facts(5, WHEN), Facts(5, WHEN + 10**6), [
            "its modification time was 2026-01-15T12:00:00.123456789Z and is now 2026-01-15T12:00:00.124456789Z"
        ]),
        (Facts(5, WHEN, "a"), Facts(5, WHEN + 10**12, "a"), []),
        (Facts(5, None, "a"), Facts(5, None, "b"), ["its tag was `a` and is now `b`"]),
    ],
)  # fmt: skip
def test_changes(then: Facts, now: Facts, found: list[str]) -> None:
    assert changes(then, now) == found
