"""`nczarr refs verify DOC`: verify the targets of a reference document."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli.inputs import standard_input
from nczarr.cli.shared import Messages, following_of, integer, size, storage_of
from nczarr.secrets import shown

if TYPE_CHECKING:
    from nczarr.verify import Summary

DESCRIPTION = (
    "Look whether every target of a reference document is there and as it was noted, holds all ranges, and whether "
    "chunks decode. One diagnostic a fault; status 1 if there is one, 3 if a target is out of reach."
)

COUNT = integer(1, 10**9 - 1, "number of chunks, 1 or more")
SAMPLE = 4
"""Chunks of each array to read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "source", metavar="DOC", help="a document, or folder of Parquet references; - is standard input"
    )
    parser.add_argument(
        "--chunks", choices=("none", "sample", "all"), default="sample", help="chunks to read (default: sample)"
    )
    parser.add_argument(
        "--sample", type=COUNT, default=SAMPLE, metavar="N", help="chunks of each array that are read (4)"
    )
    parser.add_argument("--memory", type=size, default=1 << 30, metavar="SIZE", help="bytes of chunks under way (1GiB)")


def _work(arguments: argparse.Namespace, messages: Messages, found: list[Summary]) -> None:
    """Verify. Raises OSError, CompileError."""
    from nczarr.endpoints import sources
    from nczarr.options import Options
    from nczarr.verify import verify

    options = Options(memory=arguments.memory, storage=storage_of(arguments), following=following_of(arguments))
    path = arguments.source
    source = standard_input() if path == "-" else sources.opened(path, messages.report, options)
    if source is None:
        return
    sample = {"none": 0, "all": None}.get(arguments.chunks, arguments.sample)
    summary = verify(source, sample, messages.report, options)
    if summary is not None:
        found.append(summary)


def run(arguments: argparse.Namespace) -> int:
    """Verify; return the status."""
    messages = Messages(arguments)
    found: list[Summary] = []
    status = messages.guard(lambda: _work(arguments, messages, found))
    if found:
        messages.remark(f"`{shown(arguments.source)}`: {found[0].words}")
    return status
