"""`nczarr esri SOURCE`: the extent of a grid."""

from __future__ import annotations

import argparse

from nczarr import sdk
from nczarr.sdk import Command, Messages, options_of, read_input, write_product
from nczarr_esri.grid import find_grids, read_axes


def parser() -> Command:
    """Return the parser of `esri`."""
    command = Command("esri", "[OPTION]… SOURCE", "Describe the grids of a dataset.", (("describe", "esri a.asc"),))
    command.option(sdk.ARGUMENTS, "source", metavar="SOURCE", help="file, store or URL")
    return command.complete(sdk.READING, sdk.REPORTING)


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each grid; return the status."""
    messages = Messages(arguments)
    return messages.guard(lambda: _describe(arguments, messages))


def _describe(arguments: argparse.Namespace, messages: Messages) -> None:
    checked = read_input(arguments.source, messages.report, options_of(arguments))
    if checked is None:
        return
    for path in find_grids(checked)[0]:
        y, x = read_axes(checked, path)
        write_product([f"{path}: {len(x)} x {len(y)} cells, {x[0]} to {x[-1]}, {y[0]} to {y[-1]}\n".encode()])
