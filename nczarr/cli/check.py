"""`nczarr check SRC…`: what is wrong with datasets, and nothing else."""

from __future__ import annotations

import argparse
from functools import partial

from nczarr.cli.inputs import read_input
from nczarr.cli.shared import Messages, command, kind, storage_of
from nczarr.options import Options


def parser() -> argparse.ArgumentParser:
    """Arguments of `check`."""
    made = command("check", "Print diagnostics only. Status 1 if a source is in error.")
    made.add_argument("sources", metavar="SRC", nargs="+", help="what to check; - is standard input")
    made.add_argument("-k", "--kind", type=kind, metavar="KIND", help="as if compiled to this kind of netCDF file")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Check each source on its own; the status is the worst of all."""
    options = Options(kind=arguments.kind, storage=storage_of(arguments))
    messages = Messages(arguments)

    def check(path: str) -> None:
        from nczarr import pipeline

        checked = read_input(path, messages.report, options)
        if checked is not None and options.kind is not None and not messages.report.errors:
            pipeline.rehearse(checked, messages.report, options)

    return messages.guard(*(partial(check, path) for path in arguments.sources))
