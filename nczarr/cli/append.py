"""`nczarr append SRC… TARGET`: extend an existing target along a dimension."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli.options import input_of, options_of, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.progress import CommandResult, json_sources, json_steps, progress, summary, text_sources, text_steps
from nczarr.cli.shared import Messages
from nczarr.cli.streams import write_product
from nczarr.diagnostics.secrets import shown
from nczarr.options import ARGUMENTS, COMBINATION, Options

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.operations.append import Appended

EXAMPLES = (
    ("extend a store by the records of a file", "append day2.nc ocean.zarr --along time"),
    (
        "replace the records that the store has already, and append the others",
        "append day1.nc day2.nc ocean.zarr --along time --region auto",
    ),
)


def parser() -> Command:
    """Return the parser of `append`."""
    subparser = Command(
        "append",
        "[OPTION]… SRC… DST --along NAME",
        "Extend an existing Zarr store, netCDF file, icechunk repository or reference document along a dimension. The "
        "sources are compared with the target before anything is written. At any moment the target reads as before or "
        "as after; an interrupted run is continued by the same command.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL, in order; - is standard input"
    )
    subparser.option(ARGUMENTS, "target", metavar="DST", help="existing store, file or repository")
    subparser.option(
        COMBINATION,
        "--along",
        action="append",
        required=True,
        metavar="NAME",
        help="dimension that grows; repeatable",
    )
    subparser.option(
        COMBINATION,
        "--region",
        choices=("auto",),
        help="replace the records whose coordinates the target has already (default: they are an error)",
    )
    return subparser.completed()


def run(arguments: argparse.Namespace) -> int:
    """Extend; return the status."""
    options = options_of(arguments)
    messages = Messages(arguments)
    done: list[Appended] = []
    status = messages.guard(lambda: _work(arguments, options, messages.report, done))
    for appended in done:
        text = f"`{shown(arguments.target)}`: {_summary(appended, len(arguments.sources))}"
        messages.result(text, result_of("append", appended, arguments.target, arguments))
    return status


def _work(arguments: argparse.Namespace, options: Options, report: Report, done: list[Appended]) -> None:
    """Read, compare, write. Raises OSError, CompileError."""
    from nczarr.operations.append import AppendRequest, append

    subset = subset_of(arguments, report)
    if subset is None:
        return
    request = AppendRequest(
        [input_of(path, options, arguments.form) for path in arguments.sources],
        arguments.target,
        tuple(arguments.along),
        subset,
        options,
        arguments.region == "auto",
        rehearsal=arguments.dry_run,
        discard=arguments.discard,
    )
    with progress(arguments, arguments.target, None) as watch:
        appended = append(request, report, watch)
    if appended is None or report.errors:
        return
    if arguments.dry_run:
        print_plan(appended, arguments.target, arguments)
    else:
        done.append(appended)


def print_plan(appended: Appended, target: str, arguments: argparse.Namespace) -> None:
    """Print what an extension would write: its sources, if they were compared one by one, and the route of parts."""
    json = arguments.message_format == "json"
    lines: list[str] = []
    if appended.combined is not None:
        lines += (json_sources if json else text_sources)(appended.combined)
    lines += (json_steps if json else text_steps)(appended.steps, target)
    write_product(line.encode("utf-8", "surrogateescape") for line in lines)
    if not json and appended.rewritten:
        write_product([f"{_keys(appended.rewritten)} of the target would be replaced\n".encode()])


def result_of(name: str, done: Appended, target: str, arguments: argparse.Namespace) -> CommandResult:
    """Return the result of a command that extends."""
    return CommandResult(
        name,
        target,
        len(arguments.sources),
        () if done.completed else (done.conversion,),
        lengths={path: new for path, (_, new) in done.lengths.items()},
        previous_lengths={path: old for path, (old, _) in done.lengths.items()},
        replaced_keys=done.rewritten,
        completed=done.completed,
    )


def _summary(done: Appended, number: int) -> str:
    """Return one line on what was done."""
    if done.completed:
        return "an interrupted run of this command had written everything; it is complete now"
    grown = ", ".join(f"{path} {old} → {new}" for path, (old, new) in done.lengths.items())
    replaced = f", {_keys(done.rewritten)} replaced" if done.rewritten else ""
    return f"{number} source{'s' * (number != 1)}, {grown}, {summary([done.conversion])}{replaced}"


def _keys(count: int) -> str:
    return f"{count} key{'s' * (count != 1)}"
