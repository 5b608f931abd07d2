"""`nczarr pyramid SRC [DST]`: write a dataset with overviews, add them to a store, or bring them up to date."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nczarr.cli import misuse
from nczarr.cli.options import inputs_of, options_of, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.progress import CommandResult, print_plan, progress, summary
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, CONVERTING, TARGET, Option

if TYPE_CHECKING:
    from nczarr.options import Options

PYRAMID = "pyramid"

EXAMPLES = (
    ("write a map with overviews into a Zarr store", "pyramid ocean.nc levels.zarr --to zarr3"),
    ("add overviews to a store, with the largest value of each cell", "pyramid ocean.zarr --method temp=max"),
)

OPTIONS: tuple[Option, ...] = (
    Option("overviews", (), TARGET, "--levels", "text", "N",
           "number of levels above the first (default: until the last one has at most 256 cells along each dimension)",
           common=True),
    Option("factor", (), TARGET, "--factor", "text", "N",
           "cells along each dimension that become one in the next level (default: 2)"),
    Option("along", (), TARGET, "--along", "texts", "NAME,…",
           "reduced dimensions (default: those of maps, by coordinates or by usual names)"),
    Option("methods", (), TARGET, "--method", "texts", "[NAME=]METHOD",
           "mean, nearest, mode, min or max, for all variables of numbers or for one; repeatable (default: mean, mode "
           "for classes, nearest for other than numbers)", common=True),
    Option("boundary", (), TARGET, "--boundary", "text", None,
           "cells at the end that are fewer than the factor: pad makes one cell of them, trim leaves them out "
           "(default: pad)", ("pad", "trim"), "pad"),
    Option("unpack", (), TARGET, "--unpack",
           help="write means of packed numbers and of integers as double (default: rounded, in the same type)"),
    Option("convention", (), TARGET, "--convention", "texts", "NAME",
           "metadata: geo (GeoZarr: multiscales, spatial: and proj:) or ome (OME-Zarr 0.5); repeatable (default: geo)",
           common=True),
    Option("update", (), TARGET, "--update",
           help="compute the levels of an existing pyramid where SRC, or its own level 0, has grown", common=True),
)  # fmt: skip
"""Options of pyramids, in the order of the help."""


def parser() -> Command:
    """Return the parser of `pyramid`."""
    subparser = Command(
        PYRAMID,
        "[OPTION]… SRC [DST]",
        "Write a dataset with overviews: level 0 is the source itself, whose chunks are copied, and each further level "
        "has one cell for several of the level below, with its coordinates. One pass over the source computes all "
        "levels. Without DST, or if it is SRC, the levels are added to the store.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "source", metavar="SRC", help="file, store or URL; - is standard input")
    subparser.option(ARGUMENTS, "target", metavar="DST", nargs="?", help="target (default: SRC, a Zarr store)")
    subparser.option(TARGET, "--to", metavar="FORMAT", help="format of the target (default: by its suffix)")
    return subparser.complete(CONVERTING, own=OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Write a pyramid; return the status."""
    from nczarr.plugins.pyramid.reduce import METHODS
    from nczarr.plugins.pyramid.spec import PyramidSpec

    if arguments.target is None and arguments.source == "-":
        return misuse(PYRAMID, "name the target of a dataset on standard input")
    try:
        options = options_of(arguments, special=True).change(unpack=False)  # it is asked for the levels alone
        levels = None if arguments.overviews is None else int(arguments.overviews)
        factor = 2 if arguments.factor is None else int(arguments.factor)
    except ValueError as error:
        return misuse(PYRAMID, str(error))
    methods = {}
    for text in arguments.methods:
        name, _, method = text.rpartition("=")
        if method not in METHODS:
            return misuse(PYRAMID, f"`{method}` is not a method: use {', '.join(METHODS)}")
        methods[name] = method
    along = tuple(name for text in arguments.along or () for name in text.split(",") if name)
    spec = PyramidSpec(levels, factor, along, methods, arguments.boundary, arguments.unpack)
    spec = spec._replace(conventions=tuple(dict.fromkeys(arguments.convention)) or spec.conventions)
    problem = spec.problem()
    if problem is not None:
        return misuse(PYRAMID, problem)
    messages = Messages(arguments)
    return messages.guard(lambda: _run(arguments, spec, options, messages))


def _run(arguments: argparse.Namespace, spec: object, options: Options, messages: Messages) -> None:
    """Read, compute, write. Raises OSError, CompileError."""
    from contextlib import ExitStack

    from nczarr.plugins.pyramid.spec import PyramidRequest
    from nczarr.plugins.pyramid.write import write_pyramid

    report = messages.report
    subset = subset_of(arguments, report)
    if subset is None:
        return
    (source,) = inputs_of([arguments.source], options, arguments.form)
    target = arguments.source if arguments.target is None else arguments.target
    request = PyramidRequest(source, target, spec, arguments.to, subset, options, arguments.update)  # type: ignore[arg-type]
    with ExitStack() as shown:
        done = write_pyramid(
            request,
            report,
            lambda checked: shown.enter_context(progress(arguments, target, checked)),
            rehearsal=arguments.dry_run,
        )
    if done is None or report.errors:
        return
    if done.conversion is None:
        print_plan(arguments, iter(done.steps), target, (), done.rewritten)
        return
    result = CommandResult(PYRAMID, target, 1, (done.conversion,), replaced_keys=done.rewritten)
    replaced = f", {done.rewritten} key{'s' * (done.rewritten != 1)} replaced" if done.rewritten else ""
    messages.result(f"`{show(target)}`: {summary([done.conversion], arguments.to)}{replaced}", result)
