"""Datasets as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr import names, registry
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.operations import pipeline
from nczarr.operations.targets import target_format
from nczarr.options import Options


def dump(checked: Checked, form_name: str, report: Report, options: Options) -> Iterator[bytes] | None:
    """Return a dataset as text: in a text format by name, `keys` of its NCZarr store, or `tree`."""
    if not _is_there(checked, options, report):
        return None
    if form_name == "tree":
        from nczarr.check.outline import lines

        return (line.encode("utf-8", "surrogateescape") for line in lines(checked))
    form = target_format("", registry.STORE if form_name == "keys" else form_name, report)
    return None if form is None else pipeline.blocks(checked, form, report, options)


def _is_there(checked: Checked, options: Options, report: Report) -> bool:
    """Return whether every variable and group named in the options exists; reports missing ones."""
    from nczarr.select.names import unmatched

    before = report.errors
    for what, asked, declared in (
        ("variable", options.variables, checked.variables),
        ("group", options.groups, checked.groups),
    ):
        simple = {names.last(fqn) for fqn in declared if fqn != "/"}
        for name in asked:
            if name not in declared and name not in simple:
                unmatched(what, name, declared, report)
    return report.errors == before
