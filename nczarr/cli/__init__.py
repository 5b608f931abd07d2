"""Command line: one module per command, loaded when it is called.

Product on stdout, diagnostics on stderr. Exit status: 0 done, 1 errors in the
input, 2 wrong usage, 3 a file cannot be reached, 130 interrupted. A crash is
reported as `internal-error`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

COMMANDS: dict[str, tuple[str, str]] = {
    "compile": ("nczarr.cli.compile", "compile CDL, the notation or an AST to a store or file"),
    "convert": ("nczarr.cli.convert", "convert datasets from any format to any other"),
    "dump": ("nczarr.cli.dump", "print a dataset as text"),
    "check": ("nczarr.cli.check", "print what is wrong with datasets, and nothing else"),
    "diff": ("nczarr.cli.diff", "print what two datasets differ in"),
    "digest": ("nczarr.cli.digest", "print one hash of model and values, whatever the format"),
    "refs": ("nczarr.cli.refs", "expand, compact, combine and verify reference documents"),
    "serve": ("nczarr.cli.serve", "serve datasets over HTTP, as Zarr and by CDM Remote"),
    "explain": ("nczarr.cli.explain", "say what a diagnostic means and what to do"),
    "formats": ("nczarr.cli.formats", "list what can be read and written"),
}
"""Module and help line of each command."""

DONE, FAULTY, MISUSED, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; input, files, streams and Ctrl-C never raise."""
    from nczarr.cli import streams

    try:
        try:
            status = _dispatch(list(arguments))
            lost = streams.flush_product()
        finally:
            clear_fetched()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away, which is its right; what is left in the buffer must not fail again at exit.
        streams.give_up(sys.stdout)
        return DONE
    except OSError as error:
        if error.filename != "<stdout>":
            raise
        streams.give_up(sys.stdout)
        lost = f"standard output: {error.strerror or error}"
    if lost is None:
        return status
    sys.stderr.write(f"nczarr: {lost}\n")
    return UNREACHABLE


def clear_fetched() -> None:
    """Remove fetched temporary files."""
    spool = sys.modules.get("nczarr.stores.spool")
    if spool is not None:
        spool.clear()


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS:
        module = import_module(COMMANDS[arguments[0]][0])
        try:
            options = module.parser().parse_args(arguments[1:])
        except SystemExit as done:
            return int(done.code or 0)
        status: int = module.run(options)
        return status
    try:
        _top().parse_args(arguments)
    except SystemExit as done:
        return int(done.code or 0)
    return MISUSED


def _top() -> argparse.ArgumentParser:
    """Return the parser for the options without a command: help and version."""
    import argparse

    from nczarr import __version__
    from nczarr.cli.streams import Help

    listing = "\n".join(f"  {name:<9} {line}" for name, (_, line) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="nczarr",
        usage="nczarr COMMAND …",
        description="A compiler for array data models: CDL, the NCZarr notation and Zarr through one typed tree.",
        epilog=f"commands:\n{listing}\n\n`nczarr COMMAND --help` shows the options of one command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action=Help, help="show this help and exit")
    parser.add_argument("--version", action="version", version=f"nczarr {__version__}")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help=argparse.SUPPRESS)
    return parser
