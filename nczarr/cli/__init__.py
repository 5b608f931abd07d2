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
    from nczarr.cli.parser import Command

COMMANDS: dict[str, tuple[str, str]] = {
    "convert": ("nczarr.cli.convert:parser", "convert datasets from any format to any other"),
    "compile": ("nczarr.cli.compile:parser", "compile CDL, NCZarr notation or an AST to a store or file"),
    "append": ("nczarr.cli.append:parser", "extend a dataset along a dimension"),
    "combine": ("nczarr.cli.refs_combine:combine", "combine many datasets into one"),
    "serve": ("nczarr.cli.serve:parser", "serve datasets over HTTP, as Zarr and by CDM Remote"),
    "dump": ("nczarr.cli.dump:parser", "print a dataset as text"),
    "check": ("nczarr.cli.check:parser", "report errors of datasets, and faults of other readers"),
    "diff": ("nczarr.cli.diff:parser", "print the differences between two datasets"),
    "digest": ("nczarr.cli.digest:parser", "print one hash of model and values, for any format"),
    "refs combine": ("nczarr.cli.refs_combine:parser", "the same as combine, with the target behind -o"),
    "refs append": ("nczarr.cli.append:refs_append", "extend a reference document by further sources"),
    "refs verify": ("nczarr.cli.refs_verify:parser", "verify the targets and ranges of references"),
    "refs expand": ("nczarr.cli.refs:expand", "write templates and generators out"),
    "refs compact": ("nczarr.cli.refs:compact", "find templates and generators"),
    "help": ("nczarr.cli.help:parser", "explain a command or a topic"),
    "explain": ("nczarr.cli.explain:parser", "explain a diagnostic code"),
    "formats": ("nczarr.cli.formats:parser", "list the formats that can be read and written"),
    "completion": ("nczarr.cli.completion:parser", "print a completion script for a shell"),
}
"""Function that makes the parser, in a module with `run`, and help line of each command, in the order of the help."""

DONE, FAULTY, MISUSED, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; input, files, streams and Ctrl-C never raise."""
    try:
        try:
            status = _dispatch(list(arguments))
            lost = flush_product()
        finally:
            clear_fetched()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away, which is its right; what is left in the buffer must not fail again at exit.
        give_up(sys.stdout)
        return DONE
    except OSError as error:
        if error.filename != "<stdout>":
            raise
        give_up(sys.stdout)
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
    name = next((name for words in (2, 1) if (name := " ".join(arguments[:words])) in COMMANDS), None)
    status: int
    if name is None:
        status = import_module("nczarr.cli.help").without_command(arguments)
        return status
    try:
        options = parser_of(name).parse_args(arguments[len(name.split()) :])
    except SystemExit as done:
        return int(done.code or 0)
    status = import_module(COMMANDS[name][0].partition(":")[0]).run(options)
    return status


def parser_of(name: str) -> Command:
    """Return the parser of a command, `convert` or `refs combine`."""
    module, _, function = COMMANDS[name][0].partition(":")
    subparser: Command = getattr(import_module(module), function)()
    return subparser
