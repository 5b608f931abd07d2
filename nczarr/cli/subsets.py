"""Options that select a part of a dataset: `--var`, `--group`, `--dim`, `--sel`, `--section`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli.parser import SELECTION, Command
from nczarr.select.selection import CoordinateRange, DimensionRange, Section, Subset

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report


def add_subset_options(
    subparser: Command, *, sections: bool = False, cuts: bool = False, related: bool = False
) -> None:
    """Add the options of variables and groups, and these: of sections, of dimensions, of related variables."""
    subparser.option(
        SELECTION,
        "--var",
        dest="variables",
        action="append",
        default=[],
        metavar="NAME,…",
        help="select variables, with the dimensions and types that they use; repeatable",
    )
    if related:
        subparser.option(
            SELECTION,
            "--no-coordinates",
            dest="exact",
            action="store_true",
            help="select exactly the variables of `--var`, without their coordinates and other related variables",
        )
    subparser.option(
        SELECTION,
        "--group",
        dest="groups",
        action="append",
        default=[],
        metavar="NAME,…",
        help="select groups with their content; repeatable",
    )
    if cuts:
        _add_cuts(subparser)
    if sections:
        subparser.option(
            SELECTION,
            "--section",
            dest="sections",
            action="append",
            default=[],
            metavar="SECTION",
            help="select a part of one variable, such as `temp(0:9:2,:,5)`; indices start at 0, the last one is "
            "included; repeatable",
        )


def _add_cuts(subparser: Command) -> None:
    subparser.option(
        SELECTION,
        "--dim",
        dest="dimensions",
        action="append",
        default=[],
        metavar="NAME=FIRST:LAST",
        help="select indices of a dimension in all variables, such as `time=0:11`, `time=-12:` or `x=0:99:2`; the last "
        "one is included; negative ones count from the end; repeatable",
    )
    subparser.option(
        SELECTION,
        "--sel",
        dest="labels",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="select by values of a coordinate, such as `time=2000-01:2000-12`, `lat=-30:30`, `lev=500`, or "
        "`lat~45.3` for the nearest value; bounds are included; repeatable",
    )


def subset_of(arguments: argparse.Namespace, report: Report) -> Subset | None:
    """Return the selected part; None (reported) for an invalid section, cut or value."""
    before = report.errors
    sections: list[Section] = []
    dimensions: list[DimensionRange | None] = []
    labels: list[CoordinateRange | None] = []
    if getattr(arguments, "sections", None):
        from nczarr.select.section_syntax import sections as parsed_sections

        for text in arguments.sections:
            sections += parsed_sections(text, report)
    if getattr(arguments, "dimensions", None) or getattr(arguments, "labels", None):
        from nczarr.select.cut_syntax import coordinate_range, dimension_range

        dimensions = [dimension_range(text, report) for text in arguments.dimensions]
        labels = [coordinate_range(text, report) for text in arguments.labels]
    if report.errors > before:
        return None
    return Subset(
        tuple(arguments.variables),
        tuple(arguments.groups),
        tuple(sections),
        tuple(cut for cut in dimensions if cut is not None),
        tuple(cut for cut in labels if cut is not None),
        not getattr(arguments, "exact", True),
    )
