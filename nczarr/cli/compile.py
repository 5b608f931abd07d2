"""`nczarr compile SCHEMA`: compile a text to a store or file."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from nczarr.cli.inputs import read_input
from nczarr.cli.parser import ARGUMENTS, TARGET, Command, command
from nczarr.cli.shared import Messages
from nczarr.cli.streams import misuse, write_product
from nczarr.cli.targets import add_target_options, options_of
from nczarr.options import Options
from nczarr.registry import STORE

if TYPE_CHECKING:
    from nczarr.ast import Dataset

EXAMPLES = (
    ("make a netCDF-4 file from a schema", "compile ocean.cdl -o ocean.nc --kind nc4"),
    ("show the Zarr v3 documents that a schema would become", "compile ocean.cdl --to zarr3"),
)


def parser() -> Command:
    """Return the parser of `compile`."""
    subparser = command(
        "compile",
        "[OPTION]… SCHEMA [-o DST]",
        "Compile a schema with its data to a store or file. Without -o, print the documents of the store.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS, "schema", metavar="SCHEMA", help="CDL, NCZarr notation or AST JSON; - is standard input"
    )
    subparser.option(TARGET, "-o", "--output", metavar="DST", help="target; - is standard output, for text formats")
    add_target_options(subparser, to="format of the target (default: by its suffix, else nczarr)")
    subparser.option(TARGET, "--dump-after", metavar="PASS", help=argparse.SUPPRESS)
    return subparser


def run(arguments: argparse.Namespace) -> int:
    """Compile one schema."""
    try:
        options = options_of(arguments)
    except ValueError as error:
        return misuse("compile", str(error))
    messages = Messages(arguments)
    return messages.guard(lambda: _compile(arguments, options, messages))


def _compile(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    from nczarr.operations import pipeline, targets

    report = messages.report
    out = arguments.output
    shown = out in (None, "-")
    form = targets.target_format("" if shown else out, arguments.to or (STORE if shown else None), report)
    if form is None:
        return
    looker = _Looker(arguments.dump_after) if arguments.dump_after else None
    checked = read_input(arguments.schema, report, options, observe=looker)
    if looker is not None:
        looker.check()
    elif checked is not None and not report.errors and not shown:
        pipeline.write(checked, out, form, report, options)
    elif checked is not None and not report.errors:
        if out is None and form.binary:
            report.error(
                "unknown-target", f"format `{form.name}` is not a text format", helps=["name a file with `-o`"]
            )
            return
        write_product(pipeline.blocks(checked, form, report, options) or ())


class _Looker:
    """Observer that prints the tree after one pass."""

    def __init__(self, wanted_pass: str) -> None:
        self.wanted = wanted_pass
        self.seen: list[str] = []

    def __call__(self, name: str, dataset: Dataset) -> None:
        """Print the tree if the pass is the requested one."""
        from nczarr.ast.text import text

        self.seen.append(name)
        if name == self.wanted:
            sys.stdout.write(text(dataset))

    def check(self) -> None:
        """Report an unknown pass."""
        if self.wanted not in self.seen:
            sys.stderr.write(f"nczarr compile: no pass `{self.wanted}` was run; passes: {', '.join(self.seen)}\n")
