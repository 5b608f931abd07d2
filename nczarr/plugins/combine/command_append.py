"""`nczarr append SRC… DST` and `nczarr refs append DOC SRC…`: extend an existing target along a dimension."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli import misuse
from nczarr.cli.options import inputs_of, options_of, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.progress import CommandResult, counting, print_plan, progress, summary
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, COMBINATION, READING, REPORTING, RUN, SELECTING
from nczarr.plugins.combine.command_options import OPTIONS, find_pattern, list_sources, recoding_of

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.plugins.combine.append import Appended

APPEND, REFS_APPEND = "append", "refs append"

EXAMPLES = {
    APPEND: (
        ("extend a store by the records of a file", "append day2.nc ocean.zarr --along time"),
        (
            "replace the records that the store has already, and append the others",
            "append day1.nc day2.nc ocean.zarr --along time --region auto",
        ),
    ),
    REFS_APPEND: (
        ("add a day to a series", "refs append all.json day4.nc"),
        (
            "add two days to Parquet references, after a look at the plan",
            "refs append all.parq day4.nc day5.nc --dry-run",
        ),
    ),
}
"""Examples by command."""

SHARED = READING | REPORTING | SELECTING | {"form", "parser", "aggregation"}
SHARED |= {"rename_illegal", "verify", "allow_loss", "writing.inline", "progress", "dry_run", "memory", "workers"}
"""Options of both commands that others have as well."""

OF_APPEND = frozenset(("narrow", "unpack", "virtual", "message", "author"))
OF_DOCUMENTS = frozenset(("writing.embed", "writing.base", "writing.relative", "dask"))


def parser() -> Command:
    """Return the parser of `append`."""
    subparser = Command(
        APPEND,
        "[OPTION]… SRC… DST",
        "Extend an existing Zarr store, netCDF file, icechunk repository or reference document along a dimension. The "
        "sources are compared with the target before anything is written. At any moment the target reads as before or "
        "as after; an interrupted run is continued by the same command.",
        EXAMPLES[APPEND],
    )
    subparser.option(
        ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL, in order; - is standard input"
    )
    subparser.option(ARGUMENTS, "target", metavar="DST", help="existing store, file or repository")
    _add_along(subparser, "grows")
    subparser.option(
        COMBINATION,
        "--region",
        choices=("auto",),
        help="replace the records whose coordinates the target has already (default: they are an error)",
    )
    subparser.option(
        RUN,
        "--discard",
        action="store_true",
        help="discard what an interrupted run of another command has written; that run must not be active any more",
    )
    own = [row for row in OPTIONS if row.name in ("units", "join", "repack")]
    return subparser.complete(SHARED, OF_APPEND, own=own)


def refs_append() -> Command:
    """Return the parser of `refs append`."""
    subparser = Command(
        REFS_APPEND,
        "[OPTION]… DOC SRC…",
        "Extend a reference document, or a folder of Parquet references, along a dimension by further sources. The old "
        "references stay as they are. The document is replaced at once: readers see the old one or the new one.",
        EXAMPLES[REFS_APPEND],
    )
    subparser.set_defaults(region=None, discard=False)
    subparser.option(
        ARGUMENTS, "target", metavar="DOC", help="reference document to extend: a file, a URL or a local folder"
    )
    subparser.option(ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL, in order")
    _add_along(subparser, "is extended")
    return subparser.complete(SHARED, OF_DOCUMENTS, own=OPTIONS)


def _add_along(subparser: Command, verb: str) -> None:
    text = f"dimension that {verb} (default: the one whose length differs, or the unlimited one); repeatable"
    subparser.option(COMBINATION, "--along", action="append", default=[], metavar="NAME", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Extend; return the status."""
    name, number = arguments.command, len(arguments.sources)
    if name == REFS_APPEND and "-" in (arguments.target, *arguments.sources):
        return misuse(name, "standard input cannot be read again: name files")
    pattern = find_pattern(arguments.sources)
    if pattern is not None:
        return misuse(name, pattern)
    messages = Messages(arguments)
    done: list[Appended] = []
    status = messages.guard(lambda: _run(arguments, messages.report, done))
    for appended in done:
        conversions = () if appended.completed else (appended.conversion,)
        old, new = ({path: pair[side] for path, pair in appended.lengths.items()} for side in (0, 1))
        result = CommandResult(name, arguments.target, number, conversions, new, old)
        result = result._replace(replaced_keys=appended.rewritten, completed=appended.completed)
        messages.result(f"`{show(arguments.target)}`: {_summary(name, appended, number)}", result)
    return status


def _run(arguments: argparse.Namespace, report: Report, done: list[Appended]) -> None:
    """Read, compare, write. Raises OSError, CompileError."""
    from nczarr.plugins.combine.append import AppendRequest, append

    subset, document = subset_of(arguments, report), arguments.command == REFS_APPEND
    if subset is None:
        return
    options = options_of(arguments, special=document)
    inputs, along = inputs_of(arguments.sources, options, arguments.form), tuple(arguments.along)
    request = AppendRequest(inputs, arguments.target, along, subset, options, arguments.region == "auto", unnamed=True)
    request = request._replace(join=arguments.join, repack=arguments.repack, discard=arguments.discard)
    request = request._replace(rehearsal=arguments.dry_run, document=document)
    if document:
        request = request._replace(recoding=recoding_of(arguments), sort=arguments.sort)
        request = request._replace(duplicates=arguments.duplicates, unsorted=arguments.unsorted)
        with counting(arguments, "sources", len(arguments.sources) + 1) as step:
            appended = append(request, report, step=step)
    else:
        with progress(arguments, arguments.target, None) as watch:
            appended = append(request._replace(units=arguments.units), report, watch)
    if appended is None or report.errors:
        return
    if arguments.dry_run:
        lines = () if appended.combined is None else list_sources(appended.combined, arguments.message_format)
        print_plan(arguments, appended.steps, arguments.target, lines, appended.rewritten)
    else:
        done.append(appended)


def _summary(name: str, done: Appended, number: int) -> str:
    if name == REFS_APPEND:
        return f"{number} more source{'s' * (number != 1)}, {summary([done.conversion])}"
    if done.completed:
        return "an interrupted run of this command had written everything; it is complete now"
    grown = ", ".join(f"{path} {old} → {new}" for path, (old, new) in done.lengths.items())
    replaced = f", {done.rewritten} key{'s' * (done.rewritten != 1)} replaced" if done.rewritten else ""
    replaced += ", on the newer content of another writer" if done.rebased else ""
    return f"{number} source{'s' * (number != 1)}, {grown}, {summary([done.conversion])}{replaced}"
