"""`nczarr check SRC…`: what is wrong with datasets, and nothing else."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from nczarr.cli import FAULTY
from nczarr.cli.inputs import read_input, standard_input
from nczarr.cli.shared import Messages, command, kind, storage_of
from nczarr.options import Options

if TYPE_CHECKING:
    from nczarr.capabilities import Format
    from nczarr.diagnostics import Report
    from nczarr.peers.rule import Peer


def parser() -> argparse.ArgumentParser:
    """Arguments of `check`."""
    made = command(
        "check", "Print diagnostics only. Status 1 if a source is in error, or `--for` a reader finds something."
    )
    made.add_argument("sources", metavar="SRC", nargs="+", help="what to check; - is standard input")
    made.add_argument("-k", "--kind", type=kind, metavar="KIND", help="as if compiled to this kind of netCDF file")
    made.add_argument(
        "--for",
        dest="readers",
        type=reader,
        action="append",
        default=[],
        metavar="PEER|FORMAT",
        help="what netcdf-c, zarr-python or xarray would do wrong with it; or what this format would lose",
    )
    return made


def reader(text: str) -> Peer | Format:
    """A reader or a format that can be written, by name. Raises ArgumentTypeError for others."""
    from nczarr import peers, registry
    from nczarr.names import closest

    form = registry.named(text)
    found = peers.named(text) or (form if form is not None and form.writable else None)
    if found is not None:
        return found
    known = [*peers.ROWS, *(form.name for form in registry.formats() if form.writable)]
    meant = closest(text, known)
    hint = f"did you mean {meant!r}?" if meant else f"there are: {', '.join(known)}"
    raise argparse.ArgumentTypeError(f"{text!r} is no reader and no format that can be written; {hint}")


def run(arguments: argparse.Namespace) -> int:
    """Check each source on its own; the status is the worst of all, and 1 where a reader was found to do wrong."""
    messages = Messages(arguments)
    found = 0

    def check(path: str) -> None:
        nonlocal found
        found += _check(path, arguments, messages.report)

    status = messages.guard(*(partial(check, path) for path in arguments.sources))
    return max(status, FAULTY) if found else status


def _check(path: str, arguments: argparse.Namespace, report: Report) -> int:
    """Report on one source, and return how much its readers do wrong. Without a format, documents alone are asked for:
    what only we cannot read is nothing to another reader.
    """
    from nczarr import peers, pipeline
    from nczarr.peers.rule import Peer

    options = Options(kind=arguments.kind, storage=storage_of(arguments))
    asked = [each for each in arguments.readers if isinstance(each, Peer)]
    forms = [each for each in arguments.readers if not isinstance(each, Peer)]
    found = 0
    text = standard_input() if path == "-" else None
    if asked:
        source = text or pipeline.opened(path, report, options)
        found = 0 if source is None else sum(peers.check(peer, source, report) for peer in asked)
        if not forms and options.kind is None:
            return found
    before = report.errors
    checked = read_input(path, report, options) if text is None else pipeline.read(text, report, options)
    if checked is None or report.errors > before:
        return found
    for form in forms:
        pipeline.rehearse(checked, report, options, form)
    if options.kind is not None:
        pipeline.rehearse(checked, report, options)
    return found
