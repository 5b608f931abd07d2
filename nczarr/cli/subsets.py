"""Options that select a part of a dataset: `--var`, `--group`, `--section`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli.parser import SELECTION, Command
from nczarr.options import Section, Subset

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report


def add_subset_options(made: Command, *, sections: bool = True) -> None:
    """Add these options."""
    made.option(
        SELECTION,
        "--var",
        dest="variables",
        action="append",
        default=[],
        metavar="NAME,…",
        help="select variables, with the dimensions and types that they use; repeatable",
    )
    made.option(
        SELECTION,
        "--group",
        dest="groups",
        action="append",
        default=[],
        metavar="NAME,…",
        help="select groups with their content; repeatable",
    )
    if sections:
        made.option(
            SELECTION,
            "--section",
            dest="sections",
            action="append",
            default=[],
            metavar="SECTION",
            help="select a part of a variable, such as `temp(0:9:2,:,5)`; indices start at 0, the last one is "
            "included; repeatable",
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
