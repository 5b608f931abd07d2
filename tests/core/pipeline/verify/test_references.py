"""Targets that are out of reach or have changed, and ranges that reach beyond them."""

from __future__ import annotations

import errno
import json
import time
from typing import Any

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.reference.lookup import CheckedReferences, open_document
from nczarr.pipeline.verify import Looked, look_at
from nczarr.stores.stat import Facts

SIZES = {"a": 10, "b": 0, "odd": None}


def references(document: dict[str, Any]) -> CheckedReferences:
    found = open_document(Source("t.json", json.dumps(document).encode()), Report())
    assert found is not None
    return found


def facts(url: str | None) -> Facts:
    if url not in SIZES:
        raise OSError(errno.ENOENT, "No such file or object", url)
    return Facts(SIZES[url], 10**9, "tag")


def looked(document: dict[str, Any]) -> tuple[Looked, list[tuple[str, str]]]:
    report = Report()
    found = look_at(references(document), facts, report, distant=False)
    return found, [(each.code, each.message) for each in report.list_sorted()]


def test_sound_references_are_counted() -> None:
    document = {"x/0": ["a", 0, 10], "x/1": ["a", 10, 0], "x/2": ["a"], "x/3": ["b"], "x/4": ["odd", 99, 1], ".z": "{}"}
    assert looked(document) == (Looked(5, 3, frozenset(), frozenset()), [])


def test_ranges_may_overlap() -> None:
    assert looked({"x/0": ["a", 0, 8], "x/1": ["a", 4, 6], "x/2": ["a", 0, 8]})[1] == []


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        (["a", 0, 11], "11 bytes at 0 of `a`, which has 10"),
        (["a", 9, 2], "2 bytes at 9 of `a`, which has 10"),
        (["a", 11, 0], "0 bytes at 11 of `a`, which has 10"),
        (["b", 0, 1], "1 bytes at 0 of `b`, which has 0"),
        (["a", 2**62, 2**62 - 1], f"{2**62 - 1} bytes at {2**62} of `a`, which has 10"),
    ],
)
def test_a_range_beyond_its_target(reference: list[Any], what: str) -> None:
    found, faults = looked({"x/0": ["a", 0, 1], "x/1": reference})
    assert faults == [("range-beyond-target", f"`x/1` refers to {what}")]
    assert found.useless == {"x/1"}


def test_a_target_out_of_reach_is_told_once() -> None:
    report = Report()
    found = look_at(references({"x/0": ["no", 0, 1], "x/1": ["no", 1, 1], "x/2": ["a"]}), facts, report, distant=True)
    (fault,) = report.list_sorted()
    assert (fault.code, fault.message) == (
        "unreachable-target",
        "`no`, the target of `x/0`, cannot be reached: No such file or object",
    )
    assert fault.notes == ("2 references name it",)
    assert found.closed == {"no"}


def test_what_a_generator_replaces_does_not_matter() -> None:
    generator = {"key": "x/{{i}}", "url": "a", "offset": "{{i}}", "length": "1", "dimensions": {"i": {"stop": 12}}}
    _, faults = looked({"version": 1, "refs": {"x/0": ["a", 99, 1]}, "gen": [generator]})
    assert faults == [
        ("range-beyond-target", "`x/10` refers to 1 bytes at 10 of `a`, which has 10"),
        ("range-beyond-target", "`x/11` refers to 1 bytes at 11 of `a`, which has 10"),
    ]


@pytest.mark.parametrize(
    ("noted", "changes"),
    [
        ({"size": 10, "mtime": 1, "etag": "tag"}, []),
        ({"size": 9}, ["it had 9 bytes and now has 10"]),
        ({"etag": "other", "mtime": 1}, ["its tag was `other` and is now `tag`"]),
        ("nonsense", []),
    ],
)
def test_targets_that_have_changed(noted: Any, changes: list[str]) -> None:
    document = {"version": 1, "refs": {"x/0": ["a", 0, 1]}, "nczarr": {"targets": {"a": noted, "else": {"size": 1}}}}
    text = "`a`, the target of `x/0`, has changed: "
    assert looked(document)[1] == [("changed-target", text + each) for each in changes]


@pytest.mark.slow
def test_a_million_references_take_seconds() -> None:
    generator = {
        "key": "x/{{i}}.{{j}}", "url": "{{'a' if i < 999 else 'b'}}", "offset": "{{i % 10}}", "length": "0",
        "dimensions": {"i": {"stop": 1000}, "j": {"stop": 1000}},
    }  # fmt: skip
    found = references({"version": 1, "gen": [generator]})
    report, start = Report(), time.perf_counter()
    counted = look_at(found, facts, report, distant=False)
    assert time.perf_counter() - start < 20
    assert counted[:2] == (1_000_000, 2)
    assert (report.errors, report.dropped) == (1000, 0)
