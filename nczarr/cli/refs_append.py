"""`nczarr refs append DOC SRC…`: extend a reference document along its dimension."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli.append import print_plan, result_of
from nczarr.cli.options import input_of, options_of, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.progress import counting, summary
from nczarr.cli.shared import Messages
from nczarr.cli.streams import misuse
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.options import ARGUMENTS, COMBINATION

if TYPE_CHECKING:
    from nczarr.operations.append import Appended

EXAMPLES = (
    ("add a day to a series", "refs append all.json day4.nc"),
    ("add two days to Parquet references, after a look at the plan", "refs append all.parq day4.nc day5.nc --dry-run"),
)


def parser() -> Command:
    """Return the parser of `refs append`."""
    subparser = Command(
        "refs append",
        "[OPTION]… DOC SRC…",
        "Extend a reference document, or a folder of Parquet references, along a dimension by further sources. The old "
        "references stay as they are. The document is replaced at once: readers see the old one or the new one.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS, "document", metavar="DOC", help="reference document to extend: a file, a URL or a local folder"
    )
    subparser.option(ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL, in order")
    subparser.option(
        COMBINATION,
        "--along",
        action="append",
        default=[],
        metavar="NAME",
        help="dimension to extend (default: the one whose length differs, or the unlimited one); repeatable",
    )
    return subparser.completed()


def run(arguments: argparse.Namespace) -> int:
    """Extend; return the status."""
    if "-" in (arguments.document, *arguments.sources):
        return misuse("refs append", "standard input cannot be read again: name files")
    messages = Messages(arguments)
    done: list[Appended] = []
    status = messages.guard(lambda: _work(arguments, messages.report, done))
    for appended in done:
        number = len(arguments.sources)
        words = f"{number} more source{'s' * (number != 1)}, {summary([appended.conversion])}"
        result = result_of("refs append", appended, arguments.document, arguments)
        messages.result(f"`{shown(result.target)}`: {words}", result)
    return status


def _work(arguments: argparse.Namespace, report: Report, done: list[Appended]) -> None:
    """Read, combine, write. Raises OSError, CompileError."""
    from nczarr.operations.append import AppendRequest, append
    from nczarr.operations.combine import Recoding

    subset = subset_of(arguments, report)
    if subset is None:
        return
    options = options_of(arguments, special=True)
    request = AppendRequest(
        [input_of(path, options, arguments.form) for path in arguments.sources],
        arguments.document,
        tuple(arguments.along),
        subset,
        options,
        recoding=Recoding(arguments.units) if arguments.units is not None or arguments.decode_times else None,
        rehearsal=arguments.dry_run,
        document=True,
    )
    with counting(arguments, "sources", len(arguments.sources) + 1) as step:
        appended = append(request, report, step=step)
    if appended is None or report.errors:
        return
    if arguments.dry_run:
        print_plan(appended, arguments.document, arguments)
    else:
        done.append(appended)
