"""`nczarr refs append DOC SRC…`: extend a reference document along its dimension."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli.parser import (
    ARGUMENTS,
    COMBINATION,
    RUN,
    TARGET,
    Command,
    add_memory,
    add_verify,
    add_workers,
    command,
    following_of,
    loss,
    storage_of,
)
from nczarr.cli.progress import counting, progress
from nczarr.cli.refs_combine import add_recoding, input_of, plan_lines
from nczarr.cli.result import CommandResult, summary
from nczarr.cli.shared import Messages
from nczarr.cli.streams import misuse, write_product
from nczarr.cli.subsets import add_subset_options, subset_of
from nczarr.cli.targets import add_references
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.options import DEFAULT_MEMORY, Options, Subset, Writing
from nczarr.registry import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nczarr.operations.combine.append import DocumentExtension
    from nczarr.plan.plans import Conversion

EXAMPLES = (
    ("add a day to a series", "refs append all.json day4.nc"),
    ("add two days to Parquet references, after a look at the plan", "refs append all.parq day4.nc day5.nc --dry-run"),
)


def parser() -> Command:
    """Return the parser of `refs append`."""
    subparser = command(
        "refs append",
        "[OPTION]… DOC SRC…",
        "Extend a reference document, or a folder of Parquet references, along a dimension by further sources. The old "
        "references stay as they are. The document is replaced at once: readers see the old one or the new one.",
        EXAMPLES,
        form=True,
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
    add_recoding(subparser)
    subparser.option(
        TARGET,
        "--allow-loss",
        action="append",
        type=loss,
        default=[],
        metavar="CODE",
        help="accept losses with this diagnostic code, or `all`; repeatable",
    )
    add_references(subparser)
    add_memory(subparser, DEFAULT_MEMORY)
    add_workers(subparser)
    add_subset_options(subparser, related=True)
    add_verify(subparser)
    subparser.option(RUN, "--dry-run", action="store_true", help="show the route of each part; write nothing")
    subparser.option(RUN, "--dask", metavar="URL", help="use a dask cluster with the scheduler at this address")
    return subparser


def run(arguments: argparse.Namespace) -> int:
    """Extend; return the status."""
    if "-" in (arguments.document, *arguments.sources):
        return misuse("refs append", "standard input cannot be read again: name files")
    messages = Messages(arguments)
    done: list[CommandResult] = []
    status = messages.guard(lambda: _work(arguments, messages.report, done))
    for result in done:
        words = f"{result.sources} more source{'s' * (result.sources != 1)}, {summary(result.done)}"
        messages.result(f"`{shown(result.target)}`: {words}", result)
    return status


def _work(arguments: argparse.Namespace, report: Report, done: list[CommandResult]) -> None:
    """Read, combine, write. Raises OSError, CompileError."""
    from nczarr.link.cluster_limits import is_scheduler
    from nczarr.operations.combine.append import locked, write

    subset = subset_of(arguments, report)
    if subset is None or (arguments.dask is not None and not is_scheduler(arguments.dask, report)):
        return
    options = _options_of(arguments)
    if arguments.dry_run:
        _rehearse(arguments, subset, options, report)
        return
    with locked(arguments.document, report, options) as lock:
        extension = None if lock is None else _extension(arguments, subset, options, report)
        if lock is None or extension is None or report.errors:
            return
        with progress(arguments, arguments.document, extension.combined.checked) as watch:
            conversion = write(extension, lock, report, watch)
    if conversion is not None:
        done.append(_result(conversion, extension.combined.lengths, len(arguments.sources)))


def _result(conversion: Conversion, lengths: Mapping[str, Sequence[int]], sources: int) -> CommandResult:
    """Return the result of the command; the first of the lengths is that of the old document."""
    return CommandResult(
        "refs append",
        conversion.target,
        sources,
        (conversion,),
        lengths={path: sum(every) for path, every in lengths.items()},
        previous_lengths={path: every[0] for path, every in lengths.items()},
    )


def _options_of(arguments: argparse.Namespace) -> Options:
    return Options(
        memory=arguments.memory,
        workers=arguments.workers,
        verify=arguments.verify,
        dask=arguments.dask,
        allow_loss=frozenset(arguments.allow_loss),
        writing=Writing(None, arguments.inline, arguments.embed, arguments.base, relative=arguments.relative),
        following=following_of(arguments),
        storage=storage_of(arguments),
        special=True,
        verbose=arguments.verbose,
    )


def _extension(
    arguments: argparse.Namespace, subset: Subset, options: Options, report: Report
) -> DocumentExtension | None:
    """Read the document and the sources; None after an error. Raises OSError, CompileError."""
    from nczarr.operations.combine import Recoding
    from nczarr.operations.combine.append import DocumentExtension
    from nczarr.operations.combine.sources import for_reading

    recoding = Recoding(arguments.units) if arguments.units is not None or arguments.decode_times else None
    reading = for_reading(options)
    with counting(arguments, "sources", len(arguments.sources) + 1) as step:
        return DocumentExtension.of(
            arguments.document,
            [input_of(path, reading, arguments.form) for path in arguments.sources],
            tuple(arguments.along),
            recoding,
            subset,
            options,
            report,
            step,
        )


def _rehearse(arguments: argparse.Namespace, subset: Subset, options: Options, report: Report) -> None:
    """Print what would be written. Raises OSError, CompileError."""
    from nczarr.registry import named

    extension, form = _extension(arguments, subset, options, report), named(REFERENCE)
    if extension is None or form is None or report.errors:
        return
    lines = plan_lines(extension.combined, arguments, arguments.document, form, report, extension.options)
    write_product(line.encode("utf-8", "surrogateescape") for line in lines)
