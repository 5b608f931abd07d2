"""Texts of `--set`, `--delete` and `--rename`."""

from __future__ import annotations

import pytest

from nczarr.diagnostics.report import Report
from nczarr.plugins.edit.instructions import AttributeAssignment, Deletion, NameAssignment, parse_instruction


def parse(option: str, text: str) -> object:
    report = Report()
    parsed = parse_instruction(option, text, report)
    assert not report.errors
    return parsed


@pytest.mark.parametrize(
    ("text", "owner", "name", "type_name", "values"),
    [
        ('/temp@units="K"', "/temp", "units", None, b'"K"'),
        ("@n = 1s", "/", "n", None, b" 1s"),
        ("/@n=1", "/", "n", None, b"1"),
        ("temp@a=1", "temp", "a", None, b"1"),
        ('string /g/t@names="a=b@c","d"', "/g/t", "names", "string", b'"a=b@c","d"'),
        ("/a\\ b@c=1", "/a\\ b", "c", None, b"1"),
        (r"/a\@b@c\=d=1", "/a@b", "c=d", None, b"1"),
        ("/t/e /v@a=x", "/v", "a", "/t/e", b"x"),
    ],
)
def test_set(text: str, owner: str, name: str, type_name: str | None, values: bytes) -> None:
    parsed = parse("--set", text)
    assert isinstance(parsed, AttributeAssignment)
    assert (parsed.owner, parsed.name, parsed.type) == (owner, name, type_name)
    assert parsed.span is not None
    assert parsed.span.source is not None
    assert parsed.span.source.data[parsed.span.start : parsed.span.end] == values


def test_delete_and_rename() -> None:
    assert parse("--delete", "/v@a")[:3] == (None, "/v", "a")  # type: ignore[index]
    assert parse("--delete", "dim:/x")[:3] == ("dimension", "/x", None)  # type: ignore[index]
    assert parse("--rename", "/g/v=w")[:4] == (None, "/g/v", None, "w")  # type: ignore[index]
    assert parse("--rename", "/g/v=/g/w")[:4] == (None, "/g/v", None, "w")  # type: ignore[index]
    assert parse("--rename", "/v@a=/v@b")[:4] == (None, "/v", "a", "b")  # type: ignore[index]
    assert isinstance(parse("--delete", "v"), Deletion)
    assert isinstance(parse("--rename", "var:x=y"), NameAssignment)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--set", "units"),
        ("--set", "/v@=1"),
        ("--set", "/v=1"),
        ("--delete", "/"),
        ("--delete", ""),
        ("--rename", "/a/b=/c/b"),
        ("--rename", "/a="),
        ("--rename", "/a@b=/c@d"),
        ("--rename", "/a//b=c"),
    ],
)
def test_faults(option: str, text: str) -> None:
    report = Report()
    assert parse_instruction(option, text, report) is None
    assert [found.code for found in report.list_sorted()] == ["bad-edit"]
