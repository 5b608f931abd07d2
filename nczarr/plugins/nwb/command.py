"""`nczarr nwb SRC DST`: copy a file of Neurodata Without Borders between HDF5 and Zarr."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.cli import misuse
from nczarr.cli.options import options_of
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, REPORTING

if TYPE_CHECKING:
    from nczarr.options import Options

NWB = "nwb"

EXAMPLES = (
    ("copy a file into a Zarr store", "nwb session.nwb session.nwb.zarr"),
    ("copy a store into an HDF5 file, and compare every value", "nwb rat.nwb.zarr rat.nwb --verify"),
)

SHARED = frozenset({"overwrite", "allow_loss", "verify"})
"""Options that other commands have as well."""


class NwbCopy(NamedTuple):
    """Result of the command."""

    target: str
    nodes: int
    """Groups and arrays that were copied."""

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {"result": NWB, "target": show(self.target), "nodes": self.nodes}


def parser() -> Command:
    """Return the parser of `nwb`."""
    subparser = Command(
        NWB,
        "[OPTION]… SRC DST",
        "Copy a file of Neurodata Without Borders: from HDF5, as pynwb reads it, into Zarr, as hdmf-zarr reads it, or "
        "back. References, links, specifications and types stay, and compressed chunks are copied as they are.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "source", metavar="SRC", help="local HDF5 file, or Zarr store")
    subparser.option(ARGUMENTS, "target", metavar="DST", help="the copy: a Zarr store for a file, a file for a store")
    return subparser.complete(SHARED, REPORTING)


def run(arguments: argparse.Namespace) -> int:
    """Copy a file; return the status."""
    if "-" in (arguments.source, arguments.target):
        return misuse(
            NWB, "name a file and a folder: neither is read from standard input or written to standard output"
        )
    messages = Messages(arguments)
    options = options_of(arguments)
    return messages.guard(lambda: _run(arguments, options, messages))


def _run(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    """Open the source, lock the target, copy. Raises OSError, CompileError, ImportError."""
    from nczarr.diagnostics.report import Source
    from nczarr.pipeline import endpoints
    from nczarr.plugins.nwb.copy_file import BAD, copy_file

    report = messages.report
    source = endpoints.open_source(arguments.source, report, options)
    place = endpoints.locate(arguments.target, report)
    if source is None or place is None:
        return
    if place.remote or place.kind:
        report.error(BAD, f"`{show(arguments.target)}` is not a local file or folder, where copies are made")
        return
    form = endpoints.target_format(place.path, "zarr2", report) if isinstance(source, Source) else None
    with endpoints.lock_place(arguments.target, report, options.run, replaces=options.target.overwrite) as lock:
        if lock is None or not endpoints.is_free(place, form, report, options, (arguments.source,)):
            return
        tree = copy_file(source, place.path, report, options)
    if tree is not None:
        messages.result(
            f"`{show(arguments.target)}`: {len(tree.nodes)} groups and arrays",
            NwbCopy(arguments.target, len(tree.nodes)),
        )
