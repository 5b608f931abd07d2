"""`nczarr combine SRC… DST`, also spelt `nczarr refs combine SRC… -o DST`: combine datasets into one."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from nczarr.cli.inputs import read_input
from nczarr.cli.parser import ARGUMENTS, COMBINATION, RUN, TARGET, Command, add_verify, command
from nczarr.cli.progress import counting, json_sources, json_steps, progress, text_sources, text_steps
from nczarr.cli.result import CommandResult, summary
from nczarr.cli.shared import Messages
from nczarr.cli.streams import misuse, write_product
from nczarr.cli.subsets import add_subset_options, subset_of
from nczarr.cli.targets import add_target_options, options_of
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.registry import REFERENCE
from nczarr.stores.url import is_remote, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nczarr.operations.combine import Combined, CombineSpec
    from nczarr.operations.combine.sources import Input
    from nczarr.options import Options, Subset
    from nczarr.plan.plans import Conversion
    from nczarr.registry import Format

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
    return _parser(COMBINE, "[OPTION]… SRC… DST")


def parser() -> Command:
    """Return the parser of `refs combine`, whose arguments are all sources."""
    return _parser(REFS_COMBINE, "[OPTION]… SRC… [-o DST]")


def _parser(name: str, usage: str) -> Command:
    subparser = command(
        name,
        usage,
        "Combine datasets into one: join them along a dimension that they have, or stack them along a new one. Sources "
        "are reference documents, files and stores of any format. The target is a reference document, which points to "
        "the chunks of the sources, or a store or file, which holds them.",
        EXAMPLES[name],
        form=True,
    )
    subparser.set_defaults(command=name)
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
        help="join along this dimension; with --new-dim, a variable to stack even if it is equal in all sources; "
        "repeatable",
    )
    subparser.option(
        COMBINATION, "--new-dim", metavar="NAME", help="stack the variables that differ along this new dimension"
    )
    add_recoding(subparser)
    add_target_options(subparser, to="format of the target (default: by its suffix, else reference)")
    add_subset_options(subparser, cuts=True, related=True)
    add_verify(subparser)
    subparser.option(RUN, "--resume", action="store_true", help="resume a target that the same command has begun")
    subparser.option(RUN, "--dry-run", action="store_true", help="show the route of each part; write nothing")
    subparser.option(RUN, "--dask", metavar="URL", help="use a dask cluster with the scheduler at this address")
    return subparser


def add_recoding(subparser: Command) -> None:
    """Add the options of time units."""
    subparser.option(
        COMBINATION,
        "--decode-times",
        action="store_true",
        help="count the times of all sources in the `units` of the first: exactly, or the run ends",
    )
    subparser.option(
        COMBINATION,
        "--units",
        metavar="UNITS",
        help="count the times of all sources in these, `hours since 1970-01-01`",
    )


def run(arguments: argparse.Namespace) -> int:
    """Combine; return the status."""
    name = arguments.command
    if name == COMBINE and arguments.target is None:
        if len(arguments.sources) < 2:
            return misuse(name, "name the sources and, as the last argument, the target")
        *arguments.sources, target = arguments.sources
        arguments.target = None if target == "-" else target
    if not arguments.along and arguments.new_dim is None:
        return misuse(name, "name a dimension of the sources with --along, or a new one with --new-dim")
    try:
        options = options_of(arguments)._replace(verify=arguments.verify)
    except ValueError as error:
        return misuse(name, str(error))
    if arguments.dry_run and arguments.target is None:
        return misuse(name, "name the target of a dry run")
    messages = Messages(arguments)
    done: list[tuple[Conversion, Mapping[str, int]]] = []
    status = messages.guard(lambda: _work(arguments, options, messages.report, done))
    for conversion, lengths in done:
        count = len(arguments.sources)
        result = CommandResult(name, conversion.target, count, (conversion,), lengths)
        messages.result(f"`{shown(conversion.target)}`: {count} sources, {summary([conversion])}", result)
    return status


def input_of(path: str, options: Options, form: str | None) -> Input:
    """Return a source of the command line; standard input belongs to this process.

    Workers of a cluster read local files by absolute paths.
    """
    from nczarr.operations.combine.sources import Input

    plain = options.dask is not None and not is_remote(path) and os.path.lexists(path)
    read = partial(read_input, os.path.abspath(path) if plain else path, options=options, name=form)
    return Input(path, read, path != "-")


def _work(
    arguments: argparse.Namespace, options: Options, report: Report, done: list[tuple[Conversion, Mapping[str, int]]]
) -> None:
    """Read, combine, write. Raises OSError, CompileError."""
    from nczarr.link.cluster_limits import indivisible, is_scheduler
    from nczarr.operations import pipeline, sources, targets
    from nczarr.operations.combine import CombineSpec, Recoding
    from nczarr.operations.combine.journal import is_finished
    from nczarr.operations.combine.sources import home_of
    from nczarr.options import part_in_words

    target = arguments.target
    subset = subset_of(arguments, report)
    form = targets.target_format(target or "", arguments.to or (None if target else REFERENCE), report)
    if subset is None or form is None:
        return
    if target is None and form.binary:
        report.error("unknown-target", f"format `{form.name}` is not a text format", helps=["name a file with `-o`"])
        return
    if arguments.dask is not None:
        if "-" in arguments.sources:
            indivisible("standard input belongs to one process", report)
        if report.errors or not is_scheduler(arguments.dask, report):
            return
    if arguments.resume and not arguments.overwrite and target is not None and is_finished(target):
        report.warning("finished-target", f"`{shown(target)}` already exists, made by an earlier run")
        return
    if target is not None and not is_remote(target):
        place = sources.located(target, report)
        if place is None or not targets.is_free(trimmed(place.path), form, report, options):
            return
    options = options._replace(writing=options.writing._replace(home=home_of(arguments.sources)), dask=arguments.dask)
    options = options._replace(part=part_in_words(subset, fixed=False))
    recoding = Recoding(arguments.units) if arguments.units is not None or arguments.decode_times else None
    rectilinear = options.grid == "rectilinear"
    spec = CombineSpec(tuple(arguments.along), arguments.new_dim, recoding=recoding, rectilinear=rectilinear)
    if form.name == REFERENCE:
        spec = spec._replace(addressable=options.writing.embed, inline=options.writing.inline)
    combination = _combined(arguments, options, subset.choice, spec, report)
    checked = (
        None if combination is None or report.errors else pipeline.select(combination.checked, subset.cuts, report)
    )
    if combination is None or checked is None or report.errors:
        return
    combination = combination._replace(checked=checked)
    if form.name == REFERENCE:  # one process writes a document
        options = options._replace(dask=None)
    if arguments.dry_run:
        lines = plan_lines(combination, arguments, target, form, report, options)
        write_product(line.encode("utf-8", "surrogateescape") for line in lines)
        return
    if target is None:
        write_product(pipeline.blocks(combination.checked, form, report, options) or ())
        return
    with progress(arguments, target, combination.checked) as watch:
        conversion = pipeline.write(combination.checked, target, form, report, options, watch)
    if conversion is not None:
        combination.forget()
        done.append((conversion, {path: sum(every) for path, every in combination.lengths.items()}))


def _combined(
    arguments: argparse.Namespace, options: Options, subset: Subset, spec: CombineSpec, report: Report
) -> Combined | None:
    """Read and combine the sources; return None after a reported error. Raises OSError, CompileError."""
    from nczarr.operations.combine import combined, journal_of
    from nczarr.operations.combine.sources import for_reading

    target, reading = arguments.target, for_reading(options)
    sources = [input_of(path, reading, arguments.form) for path in arguments.sources]
    journal = None
    if not arguments.dry_run:
        journal = journal_of(target, spec, len(sources), resume=arguments.resume)
    if arguments.resume and journal is None:
        text = "only a combination to a reference document in a local file or folder is resumed"
        report.error("unknown-target", text, helps=["name a file with `-o`, such as `-o all.json`"])
        return None
    try:
        with counting(arguments, "sources", len(sources)) as step:
            return combined(
                sources,
                subset,
                spec,
                report,
                storage=options.storage.of("source"),
                workers=options.workers,
                dask=options.dask,
                journal=journal,
                asked=repr((arguments.form, options.following, sorted(options.allow_loss))),
                step=step,
            )
    except OSError as failure:
        if journal is not None:
            failure.add_note("continue with `--resume`: the sources that were read are in a journal")
        raise


def plan_lines(
    combination: Combined, arguments: argparse.Namespace, target: str, form: Format, report: Report, options: Options
) -> Iterator[str]:
    """Yield what would be written: the sources in order with their lengths, then the plan of each variable."""
    from nczarr.operations import pipeline

    json = arguments.message_format == "json"
    yield from json_sources(combination) if json else text_sources(combination)
    steps = pipeline.steps(combination.checked, target, form, report, options)
    if steps is not None and not report.errors:
        yield from (json_steps if json else text_steps)(steps, target)
