"""`nczarr compile SCHEMA`: compile a text to a store or file."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from nczarr.cli.options import options_of, read_input
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.cli.streams import misuse, write_product
from nczarr.options import ARGUMENTS, TARGET, Options
from nczarr.registry import STORE

if TYPE_CHECKING:
    from nczarr.ast import Dataset

EXAMPLES = (
    ("make a netCDF-4 file from a schema", "compile ocean.cdl -o ocean.nc --kind nc4"),
    ("show the Zarr v3 documents that a schema would become", "compile ocean.cdl --to zarr3"),
)


def parser() -> Command:
    """Return the parser of `compile`."""
    subparser = Command(
        "compile",
        "[OPTION]… SCHEMA [-o DST]",
        "Compile a schema with its data to a store or file. Without -o, print the documents of the store.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS, "schema", metavar="SCHEMA", help="CDL, NCZarr notation or AST JSON; - is standard input"
    )
    subparser.option(TARGET, "-o", "--output", metavar="DST", help="target; - is standard output, for text formats")
    subparser.option(
        TARGET, "--to", metavar="FORMAT", help="format of the target (default: by its suffix, else nczarr)"
    )
    subparser.option(TARGET, "--dump-after", metavar="PASS", help=argparse.SUPPRESS)
    return subparser.completed()


def run(arguments: argparse.Namespace) -> int:
    """Compile one schema."""
    try:
        options = options_of(arguments, special=True)
    except ValueError as error:
        return misuse("compile", str(error))
    messages = Messages(arguments)
    return messages.guard(lambda: _compile(arguments, options, messages))


def _compile(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    from nczarr.operations.convert import ConvertRequest, prepare
    from nczarr.operations.pipeline import Input

    report = messages.report
    out = arguments.output
    printed = out in (None, "-")
    looker = _Looker(arguments.dump_after) if arguments.dump_after else None
    source = Input(arguments.schema, partial(read_input, arguments.schema, options=options, observe=looker))
    form = arguments.to or (STORE if printed else None)
    ready = prepare(ConvertRequest(source, "" if printed else out, form, options=options), report)
    if looker is not None:
        looker.check()
    elif ready is None:
        return
    elif not printed:
        ready.write(report)
    elif out is None and ready.form.binary:
        text = f"format `{ready.form.name}` is not a text format"
        report.error("unknown-target", text, helps=["name a file with `-o`"])
    else:
        write_product(ready.blocks(report) or ())


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
