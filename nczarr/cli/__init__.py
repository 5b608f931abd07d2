"""Command line: one module per command, loaded when it is called.

Product on stdout, diagnostics on stderr. Exit status: 0 done, 1 errors in the
input, 2 wrong usage, 3 a file cannot be reached, 130 interrupted. A crash is
reported as `internal-error`. Standard streams may be closed, full or abandoned;
none of them causes a crash.

Invariant: descriptors 0 to 2 never belong to files that a command opens.
Otherwise messages of a library could end up in a target.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from argparse import ArgumentParser


COMMANDS: dict[str, tuple[str, str]] = {
    "convert": ("nczarr.cli.convert:parser", "convert datasets from any format to any other"),
    "compile": ("nczarr.cli.compile:parser", "compile CDL, NCZarr notation or an AST to a store or file"),
    "rechunk": ("nczarr.cli.rechunk:parser", "write a dataset in other chunks, in bounded memory"),
    "append": ("nczarr.cli.append:parser", "extend a dataset along a dimension"),
    "edit": ("nczarr.cli.edit:parser", "change the header of a dataset in its place"),
    "migrate": ("nczarr.cli.migrate:parser", "give a Zarr store the documents of another format"),
    "combine": ("nczarr.cli.refs_combine:combine", "combine many datasets into one"),
    "serve": ("nczarr.plugins.serve.command:parser", "serve datasets over HTTP, as Zarr and by CDM Remote"),
    "dump": ("nczarr.cli.dump:parser", "print a dataset as text"),
    "info": ("nczarr.cli.info:parser", "print sizes, coordinates, chunks and the cost of opening"),
    "check": ("nczarr.cli.check:parser", "report errors of datasets, and faults of other readers"),
    "fmt": ("nczarr.cli.fmt:parser", "format CDL and NCZarr notation in one style"),
    "diff": ("nczarr.cli.diff:parser", "print the differences between two datasets"),
    "digest": ("nczarr.cli.digest:parser", "print one hash of model and values, for any format"),
    "refs combine": ("nczarr.cli.refs_combine:parser", "the same as combine, with the target behind -o"),
    "refs append": ("nczarr.cli.append:refs_append", "extend a reference document by further sources"),
    "refs verify": ("nczarr.cli.refs_verify:parser", "verify the targets and ranges of references"),
    "refs expand": ("nczarr.cli.refs:expand", "write templates and generators out"),
    "refs compact": ("nczarr.cli.refs:compact", "find templates and generators"),
    "lsp": ("nczarr.plugins.lsp.command:parser", "answer an editor: language server for CDL and the notation"),
    "help": ("nczarr.cli.help:parser", "explain a command or a topic"),
    "explain": ("nczarr.cli.explain:parser", "explain a diagnostic code"),
    "formats": ("nczarr.cli.formats:parser", "list the formats that can be read and written"),
    "completion": ("nczarr.cli.completion:parser", "print a completion script for a shell"),
}
"""Function that makes the parser, in a module with `run`, and help line of each command, in the order of the help."""

DONE, FAULTY, MISUSED, UNREACHABLE, CHANGED, INTERRUPTED, CUT = 0, 1, 2, 3, 4, 130, 141


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; input, files, streams and Ctrl-C never raise."""
    try:
        try:
            status = _dispatch(list(arguments))
            lost = flush_product()
        finally:
            clear_fetched()
    except KeyboardInterrupt:
        clear_unfinished()
        return settle(INTERRUPTED)
    except BrokenPipeError:
        # The reader went away, which is its right, but it has not got all; what is left must not fail again at exit.
        give_up(sys.stdout)
        return CUT
    except OSError as error:
        if error.filename != "<stdout>":
            raise
        give_up(sys.stdout)
        lost = f"standard output: {error.strerror or error}"
    if lost is None:
        return status
    complain(f"nczarr: {lost}")
    return settle(UNREACHABLE)


def settle(status: int) -> int:
    """Return the status of a run that failed or was interrupted, perhaps after its target was complete."""
    if status in (DONE, CUT) or name_committed() is None:
        return status
    return DONE if status == INTERRUPTED else CHANGED


def name_committed() -> str | None:
    """Return the target that the present task has committed; None without any."""
    commitment = sys.modules.get("nczarr.stores.commitment")
    target: str | None = None if commitment is None else commitment.name_committed()
    return target


def clear_fetched() -> None:
    """Remove fetched temporary files."""
    spool = sys.modules.get("nczarr.stores.spool")
    if spool is not None:
        spool.clear()


def clear_unfinished() -> None:
    """Remove unfinished targets: a signal may come before what would remove them knows of them."""
    finish = sys.modules.get("nczarr.stores.finish")
    if finish is not None:
        finish.remove_unfinished()


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


def parser_of(name: str) -> ArgumentParser:
    """Return the parser of a command, `convert` or `refs combine`."""
    module, _, function = COMMANDS[name][0].partition(":")
    subparser: ArgumentParser = getattr(import_module(module), function)()
    return subparser


def replace_closed_streams() -> None:
    """Replace closed standard streams.

    Standard error is discarded; the others raise when they are used.
    """
    modes = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
    for number, mode in enumerate(modes):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number that is free: this one
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def give_up(stream: TextIO) -> None:
    """Discard the buffer and all further output of a stream."""
    with suppress(OSError):  # a stream in memory has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def flush_product() -> str | None:
    """Flush standard output; return the reason of a failure, else None. Raises BrokenPipeError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up(sys.stdout)
        return f"standard output: {error.strerror or error}"
    return None


def write_product(pieces: Iterable[bytes], string_escapes: str | None = None) -> None:
    """Write a product to standard output in pieces. Raises OSError that names the stream.

    `string_escapes`: those of its format, for a terminal.
    """
    if sys.stdout.isatty():
        from nczarr.cli.terminal import clean

        pieces = clean(pieces, string_escapes)
    for piece in pieces:
        try:
            sys.stdout.buffer.write(piece)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, "<stdout>") from error


def complain(message: str) -> None:
    """Print a line to standard error, without control characters of arguments."""
    from nczarr.names import readable

    with suppress(OSError):
        sys.stderr.write(f"{readable(message)}\n")


def misuse(command: str, message: str) -> int:
    """Print an error of the command line and return the status of wrong usage."""
    complain(f"nczarr {command}: {message}")
    return MISUSED
