"""Options that select a part of a dataset: `--var`, `--group`, `--section`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.options import Section, Subset

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report


def add_subset_options(parser: argparse.ArgumentParser, *, sections: bool = True) -> None:
    """Add these options."""
    group = parser.add_argument_group("parts of a dataset")
    group.add_argument(
        "--var",
        dest="variables",
        action="append",
        default=[],
        metavar="NAME,…",
        help="these variables with what they use; repeatable",
    )
    group.add_argument(
        "--group",
        dest="groups",
        action="append",
        default=[],
        metavar="NAME,…",
        help="these groups with everything in them; repeatable",
    )
    if sections:
        group.add_argument(
            "--section",
            dest="sections",
            action="append",
            default=[],
            metavar="SECTION",
            help="a part of a variable, `temp(0:9:2, :, 5)`: from 0, the last included; repeatable",
        )


def subset_of(arguments: argparse.Namespace, report: Report) -> Subset | None:
    """Return the selected part; None (reported) for an invalid section."""
    before = report.errors
    found: list[Section] = []
    if getattr(arguments, "sections", None):
        from nczarr.select.section_syntax import sections

        for text in arguments.sections:
            found += sections(text, report)
    if report.errors > before:
        return None
    return Subset(tuple(arguments.variables), tuple(arguments.groups), tuple(found))
