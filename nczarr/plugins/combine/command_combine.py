"""`nczarr combine SRC… DST`, also spelt `nczarr refs combine SRC… -o DST`: combine datasets into one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli import misuse, write_product
from nczarr.cli.options import inputs_of, options_of, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.progress import CommandResult, counting, print_plan, progress, summary
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, COMBINATION, CONVERTING, TABLE, TARGET
from nczarr.plugins.combine.command_options import OPTIONS, find_pattern, list_sources, recoding_of
from nczarr.registry import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nczarr.options import Options
    from nczarr.plan.plans import Conversion

COMBINE, REFS_COMBINE = "combine", "refs combine"

JOIN = "join files along an existing dimension, by references"
STACK = "stack files along a new dimension, as a Zarr store"

EXAMPLES = {
    COMBINE: (
        (JOIN, "combine day1.nc day2.nc series.json --along time"),
        (STACK, "combine run1.nc run2.nc stacked.zarr --new-dim run"),
    ),
    REFS_COMBINE: (
        (JOIN, "refs combine day1.nc day2.nc -o all.json --along time"),
        (STACK, "refs combine run1.nc run2.nc -o runs.zarr --new-dim run"),
    ),
}
"""Examples by spelling of the command."""


def combine() -> Command:
    """Return the parser of `combine`, whose last argument is the target, as in `convert` and `append`."""
    return _make_parser(COMBINE, "[OPTION]… SRC… DST")


def parser() -> Command:
    """Return the parser of `refs combine`, whose arguments are all sources."""
    return _make_parser(REFS_COMBINE, "[OPTION]… SRC… [-o DST]")


def _make_parser(name: str, usage: str) -> Command:
    subparser = Command(
        name,
        usage,
        "Combine datasets into one: join them along a dimension that they have, or stack them along a new one. Sources "
        "are reference documents, files and stores of any format. The target is a reference document, which points to "
        "the chunks of the sources, or a store or file, which holds them.",
        EXAMPLES[name],
    )
    subparser.option(
        ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL, in order; - is standard input"
    )
    if name == COMBINE:  # the sources take every argument: `run` takes the last of them
        subparser.option(
            ARGUMENTS, "last", metavar="DST", nargs="?", help="target; - is a reference document on standard output"
        )
    instead = "the last argument" if name == COMBINE else "a reference document on standard output"
    subparser.option(TARGET, "-o", dest="target", metavar="DST", help=f"target (default: {instead})")
    subparser.option(
        COMBINATION,
        "--along",
        action="append",
        default=[],
        metavar="NAME",
        help="join along this dimension (default: the unlimited one); with --new-dim, a variable to stack even if it "
        "is equal in all sources; repeatable",
    )
    subparser.option(
        COMBINATION, "--new-dim", metavar="NAME", help="stack the variables that differ along this new dimension"
    )
    subparser.option(
        TARGET, "--to", metavar="FORMAT", help="format of the target (default: by its suffix, else reference)"
    )
    rarer = {"kind", "subset.dimensions", "subset.labels", "allow_loss", "dry_run"}  # than in `convert`
    weighed = [row._replace(common=row.name == "shards") for row in TABLE if row.name in {"shards", *rarer}]
    return subparser.complete(CONVERTING, own=(*OPTIONS, *weighed))


def run(arguments: argparse.Namespace) -> int:
    """Combine; return the status."""
    name, arguments.unnamed = arguments.command, arguments.target is None
    if name == COMBINE and arguments.target is None:
        if len(arguments.sources) < 2:
            return misuse(name, "name the sources and, as the last argument, the target")
        *arguments.sources, target = arguments.sources
        arguments.target = target
    arguments.target = None if arguments.target == "-" else arguments.target
    pattern = find_pattern(arguments.sources)
    if pattern is not None:
        return misuse(name, pattern)
    try:
        options = options_of(arguments, special=True)  # a text target loses nothing of the storage
    except ValueError as error:
        return misuse(name, str(error))
    if arguments.dry_run and arguments.target is None:
        return misuse(name, "name the target of a dry run")
    messages = Messages(arguments)
    done: list[tuple[Conversion, Mapping[str, int]]] = []
    status = messages.guard(lambda: _run(arguments, options, messages, done))
    for conversion, lengths in done:
        count = len(arguments.sources)
        result = CommandResult(name, conversion.target, count, (conversion,), lengths)
        sources = f"{count} source{'s' * (count != 1)}"
        messages.result(f"`{show(conversion.target)}`: {sources}, {summary([conversion], arguments.to)}", result)
    return status


def _run(
    arguments: argparse.Namespace,
    options: Options,
    messages: Messages,
    done: list[tuple[Conversion, Mapping[str, int]]],
) -> None:
    """Read, combine, write. Raises OSError, CompileError."""
    report = messages.report
    from nczarr.plugins.combine.join import CombineRequest, CombineSpec, prepare
    from nczarr.plugins.combine.join.target import describe_work

    target, form = arguments.target, arguments.to or (None if arguments.target else REFERENCE)
    subset = subset_of(arguments, report)
    if subset is None or (target is None and not _is_text(form, report)):
        return
    spec = CombineSpec(tuple(arguments.along), arguments.new_dim, recoding=recoding_of(arguments), join=arguments.join)
    spec = spec._replace(sort=arguments.sort, duplicates=arguments.duplicates, ordered=not arguments.unsorted)
    spec, inputs = spec._replace(repack=arguments.repack), inputs_of(arguments.sources, options, arguments.form)
    request = CombineRequest(inputs, spec, target, form, subset, options, arguments.form, arguments.dry_run)
    request = request._replace(unnamed=arguments.unnamed)
    with counting(arguments, "sources", len(request.inputs)) as step:
        ready = prepare(request, report, step)
    if ready is None or ready.conversion is None:
        return
    if arguments.dry_run:
        steps = ready.conversion.steps(report)
        lines = list_sources(ready.combined, arguments.message_format)
        print_plan(arguments, None if report.errors else steps, target, lines)
        return
    if target is None:
        write_product(ready.conversion.blocks(report) or ())
        return
    ready_to = ready.conversion
    is_document = ready_to.form.name == REFERENCE  # which refers to values
    words = None if is_document else describe_work(ready_to.checked, len(request.inputs), options.run.workers)
    if words is not None:
        messages.remark(words)
    with progress(arguments, target, ready_to.checked) as watch:
        conversion = ready.write(report, watch)
    if conversion is not None:
        done.append((conversion, dict(ready.combined.totals)))


def _is_text(name: str | None, report: Report) -> bool:
    """Return whether a format is written to standard output. Reports unknown-target."""
    from nczarr.pipeline import endpoints

    form = endpoints.target_format("", name, report)
    if form is not None and form.display.binary:
        report.error("unknown-target", f"format `{form.name}` is not a text format", helps=["name a file with `-o`"])
    return form is not None and not form.display.binary
