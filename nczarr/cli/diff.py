"""`nczarr diff A B`: print the differences of two datasets of any formats."""

from __future__ import annotations

import argparse
import itertools
import os
from typing import TYPE_CHECKING

from nczarr.cli import DONE, FAULTY, misuse, write_product
from nczarr.cli.options import options_of, read_input, subset_of
from nczarr.cli.parser import Command, Switch
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import UNREAD
from nczarr.names.plugin_index import list_own
from nczarr.options import ARGUMENTS, COMPARISON, SELECTION
from nczarr.registry import load

if TYPE_CHECKING:
    from nczarr.pipeline.compare.difference import Tolerance
    from nczarr.pipeline.compare.judgement import DiffJudgement

EXAMPLES = (
    ("compare a file with its copy in another format", "diff ocean.nc ocean.zarr"),
    ("compare one variable, and allow for rounding", "diff ocean.nc ocean.zarr --var temp --tolerance rel:1e-6"),
)


def parser() -> Command:
    """Return the parser of `diff`."""
    subparser = Command(
        "diff",
        "[OPTION]… A B",
        "Print the differences between two datasets of any formats, in their models and values. The exit status is 1 "
        "if there is a difference. With -q, nothing is printed.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "first", metavar="A", help="file, store or URL; - is standard input")
    subparser.option(ARGUMENTS, "second", metavar="B", nargs="?", help="dataset to compare with A")
    subparser.option(ARGUMENTS, "rest", nargs="*", help=argparse.SUPPRESS)
    subparser.option(
        SELECTION,
        "--side",
        choices=("a", "b", "both"),
        default="both",
        help="dataset from which the selection is taken, if the other one has been selected before (default: both)",
    )
    subparser.option(COMPARISON, "--data", action=Switch, default=True, help="compare values (default: yes)")
    subparser.option(
        COMPARISON,
        "--storage",
        dest="with_storage",
        action="store_true",
        help="compare chunks, codecs, order and kind of file as well",
    )
    subparser.option(
        COMPARISON,
        "--tolerance",
        metavar="T",
        help="allowed difference of numbers: absolute (1e-6) or relative to the greater one (rel:1e-6) (default: 0)",
    )
    subparser.option(
        COMPARISON,
        "--git",
        action="store_true",
        help="take the arguments of a diff driver of git: `git config diff.nczarr.command 'nczarr diff --git'`",
    )
    for judgement in _list_judgements():
        for row in judgement.options:
            subparser.add(row)
    return subparser.complete()


def _list_judgements() -> list[DiffJudgement]:
    """Return what plugins can say of two datasets."""
    return [load(place) for place in list_own("judgement").values()]


def run(arguments: argparse.Namespace) -> int:
    """Compare; return 1 if there is a difference, the usual status after an error."""
    if arguments.git:
        return _run_for_git(arguments)
    for judgement in _list_judgements():
        first, *others = judgement.options
        for row in others:
            if getattr(arguments, row.name) and not getattr(arguments, first.name):
                return misuse("diff", f"{row.flags} belongs to {first.flags}")
    if arguments.second is None:
        return misuse("diff", "the following arguments are required: B")
    if arguments.rest:
        return misuse("diff", "two datasets are compared; --git takes the arguments of git")
    status, number = _compare(arguments)
    return status or (FAULTY if number else DONE)


def _run_for_git(arguments: argparse.Namespace) -> int:
    """Compare two states of a file, and return 0: git stops at any other status.

    The arguments are path, old file, its hash and mode, new file, its hash and mode; then the new path of a moved file.
    """
    if len(arguments.rest) not in (5, 6, 7):
        return misuse("diff", "--git takes the seven arguments that git gives to a diff driver")
    path, old, new = arguments.first, arguments.second, arguments.rest[2]
    new_path = arguments.rest[5] if len(arguments.rest) > 5 else path
    write_product([f"nczarr diff a/{path} b/{new_path}\n".encode("utf-8", "surrogateescape")])
    if os.devnull in (old, new):
        write_product([f"{'added' if old == os.devnull else 'removed'}\n".encode()])
        return DONE
    arguments.first, arguments.second, arguments.rest = old, new, []
    status, _ = _compare(arguments)
    if status != DONE:
        write_product([b"the two states cannot be compared\n"])
    return DONE


def _compare(arguments: argparse.Namespace) -> tuple[int, int]:
    """Print the differences; return the status of errors, and the number of differences."""
    from nczarr.pipeline.compare.difference import Tolerance

    try:
        tolerance = None if arguments.tolerance is None else Tolerance.parse(arguments.tolerance)
    except ValueError as error:
        return misuse("diff", f"--tolerance: {error}"), 0
    messages = Messages(arguments)
    differences: list[int] = []  # their number; none after an error
    status = messages.guard(lambda: differences.append(_diff(arguments, tolerance, messages)))
    return status, sum(differences)


def _diff(arguments: argparse.Namespace, tolerance: Tolerance | None, messages: Messages) -> int:
    """Print the differences, or look for one with `-q`; return their number."""
    from nczarr.pipeline.compare.diff import choose_parts, differences
    from nczarr.pipeline.compare.difference import json_lines, text_lines
    from nczarr.pipeline.omissions import DAMAGE, refuse

    report = messages.report
    options = options_of(arguments, allow_loss=UNREAD, survey=arguments.data)
    one = read_input(arguments.first, report, options)
    other = read_input(arguments.second, report, options)
    subset = subset_of(arguments, report)
    if one is None or other is None or subset is None or report.errors:
        return 0
    sides = choose_parts(one, other, subset, report, arguments.side)
    for side in sides or ():
        if arguments.data:
            refuse(side, options.run, report, DAMAGE)
    if sides is None or report.errors:
        return 0
    for judgement in _list_judgements():
        values = {row.name: getattr(arguments, row.name) for row in judgement.options}
        if values[judgement.options[0].name]:
            lines, number = judgement.judge(
                sides, (arguments.first, arguments.second), values, arguments.message_format
            )
            if not arguments.quiet:
                write_product(line.encode("utf-8", "surrogateescape") for line in lines)
            return number
    every = differences(*sides, data=arguments.data, storage=arguments.with_storage, tolerance=tolerance)
    numbers = itertools.count()
    counted = (difference for difference, _ in zip(every, numbers, strict=False))
    if arguments.quiet:
        next(counted, None)
    elif arguments.message_format == "json":
        write_product(line.encode() for line in json_lines(counted, arguments.second))
    else:
        write_product(line.encode("utf-8", "surrogateescape") for line in text_lines(counted))
    return next(numbers)
