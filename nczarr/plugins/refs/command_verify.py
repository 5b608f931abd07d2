"""`nczarr refs verify DOC`: verify the targets of a reference document."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli.options import options_of, standard_input
from nczarr.cli.parser import Command, integer
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, RUN

if TYPE_CHECKING:
    from nczarr.plugins.refs.verify import Summary

EXAMPLES = (
    ("check targets, ranges and a sample of chunks", "refs verify refs.json"),
    ("decode every chunk", "refs verify refs.json --chunks all"),
)

COUNT = integer(1, 10**9 - 1, "a number of chunks, 1 or more")
SAMPLE = 4
"""Chunks of each array to read."""


def parser() -> Command:
    """Return the parser of `refs verify`."""
    subparser = Command(
        "refs verify",
        "[OPTION]… SRC",
        "Verify a reference document: every target exists and is unchanged, every range lies within its target, and "
        "chunks decode. The exit status is 1 after a fault and 3 if a target is unreachable.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS,
        "source",
        metavar="SRC",
        help="reference document: a file, a URL or a folder of Parquet references; - is standard input",
    )
    subparser.option(
        RUN,
        "--chunks",
        dest="decoded",
        choices=("none", "sample", "all"),
        default="sample",
        help="chunks to decode (default: sample)",
    )
    subparser.option(
        RUN,
        "--sample",
        type=COUNT,
        default=SAMPLE,
        metavar="N",
        help=f"number of chunks to decode of each array, with --chunks sample (default: {SAMPLE})",
    )
    return subparser.complete()


def _run(arguments: argparse.Namespace, messages: Messages, summaries: list[Summary]) -> None:
    """Verify. Raises OSError, CompileError."""
    from nczarr.pipeline import endpoints
    from nczarr.plugins.refs.verify import verify

    options = options_of(arguments)
    path = arguments.source
    source = standard_input() if path == "-" else endpoints.open_source(path, messages.report, options)
    if source is None:
        return
    sample = {"none": 0, "all": None}.get(arguments.decoded, arguments.sample)
    summary = verify(source, sample, messages.report, options)
    if summary is not None:
        summaries.append(summary)


def run(arguments: argparse.Namespace) -> int:
    """Verify; return the status."""
    messages = Messages(arguments)
    summaries: list[Summary] = []
    status = messages.guard(lambda: _run(arguments, messages, summaries))
    if summaries:
        messages.remark(f"`{show(arguments.source)}`: {summaries[0].words}")
    return status
