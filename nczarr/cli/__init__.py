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
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from nczarr.names.plugin_index import CommandRow


TASKS = WRITE, INSPECT, *_, ABOUT = (
    "write datasets",
    "inspect datasets",
    "write schemas",
    "work with reference documents",
    "get help",
)
"""Headings of the overview, in order."""

COMMANDS: dict[str, tuple[str, str, str]] = {
    "convert": ("nczarr.cli.convert:parser", "convert datasets from any format to any other", WRITE),
    "compile": ("nczarr.cli.compile:parser", "compile CDL, NCZarr notation or an AST to a store or file", WRITE),
    "rechunk": ("nczarr.cli.rechunk:parser", "write a dataset in other chunks, in bounded memory", WRITE),
    "info": ("nczarr.cli.info:parser", "print sizes, coordinates, chunks and the cost of opening", INSPECT),
    "dump": ("nczarr.cli.dump:parser", "print a dataset as text", INSPECT),
    "check": ("nczarr.cli.check:parser", "report errors of datasets, and faults of other readers", INSPECT),
    "diff": ("nczarr.cli.diff:parser", "print the differences between two datasets", INSPECT),
    "digest": ("nczarr.cli.digest:parser", "print one hash of model and values, for any format", INSPECT),
    "help": ("nczarr.cli.help:parser", "explain a command or a topic", ABOUT),
    "explain": ("nczarr.cli.explain:parser", "explain a diagnostic code", ABOUT),
    "formats": ("nczarr.cli.formats:parser", "list the formats that can be read and written", ABOUT),
    "plugins": ("nczarr.cli.plugins:parser", "list the plugins that are installed", ABOUT),
    "completion": ("nczarr.cli.completion:parser", "print a completion script for a shell", ABOUT),
}
"""Commands of the compiler: those of `CommandRow`, which is loaded where plugins have commands."""

DONE, FAULTY, MISUSED, UNREACHABLE, CHANGED, INTERRUPTED, CUT = 0, 1, 2, 3, 4, 130, 141
"""Exit statuses; `nczarr help exit-status` says when."""


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
        lost = error
    if lost is None:
        return status
    complain(f"nczarr: standard output: {lost.strerror or lost}")
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


def list_commands() -> dict[str, CommandRow]:
    """Return all commands by name, in the order of the overview.

    Those of plugins stand behind the command that their row names, else behind the others of their task.
    """
    from nczarr.names.plugin_index import CommandRow, load_all

    found = [(name, CommandRow(*row)) for name, row in COMMANDS.items()]
    for plugin in load_all():
        for name, row in plugin.commands.items():
            names = [each for each, _ in found]
            if name not in names:
                found.insert(names.index(row.after) + 1 if row.after in names else len(found), (name, row))
    places = {task: place for place, task in enumerate(TASKS)}
    return dict(sorted(found, key=lambda item: places.get(item[1].task, len(places))))


def _find_command(*names: str) -> tuple[str, str] | None:
    """Return the first of some names that is a command, with the function that makes its parser."""
    name = next((name for name in names if name in COMMANDS), None)
    if name is not None:
        return name, COMMANDS[name][0]
    from nczarr.names.plugin_index import find_command

    found = find_command(*names)
    return None if found is None else (found[0], found[1].parser)


def _dispatch(arguments: list[str]) -> int:
    """Run the command that the first one or two arguments name; return its exit status."""
    known = _find_command(*(" ".join(arguments[:words]) for words in (2, 1) if len(arguments) >= words))
    status: int
    if known is None:
        status = import_module("nczarr.cli.help").without_command(arguments)
        return status
    name, place = known
    try:
        made = _make_parser(place)
    except Exception as error:
        if place.startswith("nczarr."):
            raise
        complain(f"nczarr: the command `{name}` of {place} cannot be made: {type(error).__name__}: {error}")
        return FAULTY
    try:
        rest = arguments[len(name.split()) :]  # argparse forgets `--` where options stand between arguments
        options = made.parse_args(rest) if "--" in rest else made.parse_intermixed_args(rest)
    except SystemExit as done:
        return int(done.code or 0)
    target = getattr(options, "target", None) or getattr(options, "output", None)
    if isinstance(target, str) and target.startswith("memory:"):
        return misuse(name, f"`{target}`: memory ends with the command; write a file or folder")
    call = import_module(place.partition(":")[0]).run
    for wrapper in import_module("nczarr.cli.parser").list_wrappers(name, "*"):
        if not wrapper.if_given or any(getattr(options, row.name) for row in wrapper.options):
            call = partial(lambda run, inner, given: run(given, inner, arguments), wrapper.run, call)
    status = call(options)
    return status


def parser_of(name: str) -> ArgumentParser:
    """Return the parser of a command, `convert` or `refs combine`."""
    known = _find_command(name)
    assert known is not None
    return _make_parser(known[1])


def _make_parser(place: str) -> ArgumentParser:
    module, _, function = place.partition(":")
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


def flush_product() -> OSError | None:
    """Flush standard output; return the failure, else None. Raises BrokenPipeError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up(sys.stdout)
        return error
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
