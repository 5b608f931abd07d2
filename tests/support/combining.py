"""Combinations of open datasets, and the errors of those that are refused."""

from __future__ import annotations

from typing import Any

from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import Report, Severity
from nczarr.plugins.combine.join import CombineSpec, combine


def combined(*handles: DatasetHandle, **wanted: Any) -> DatasetHandle:
    report = Report()
    sources = [(f"s{number}", handle.checked) for number, handle in enumerate(handles)]
    made = combine(sources, CombineSpec(**wanted), report)
    assert made is not None, report.list_sorted()
    return DatasetHandle(made, report.list_sorted())


def refused(*handles: DatasetHandle, along: tuple[str, ...] = ("time",), **wanted: Any) -> list[str]:
    """The messages of all errors, each behind its code."""
    report = Report()
    sources = [(f"s{number}", handle.checked) for number, handle in enumerate(handles)]
    assert combine(sources, CombineSpec(along, **wanted), report) is None
    return [f"{each.code}: {each.message}" for each in report.list_sorted() if each.severity is Severity.ERROR]


def list_helps(*handles: DatasetHandle, along: tuple[str, ...] = ("time",), **wanted: Any) -> list[str]:
    """The helps of all errors."""
    report = Report()
    sources = [(f"s{number}", handle.checked) for number, handle in enumerate(handles)]
    assert combine(sources, CombineSpec(along, **wanted), report) is None
    return [text for each in report.list_sorted() if each.severity is Severity.ERROR for text in each.helps]
