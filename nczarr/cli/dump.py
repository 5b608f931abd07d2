"""`nczarr dump SRC`: print a dataset as text; short options are those of `ncdump`."""

from __future__ import annotations

import argparse

from nczarr.cli.inputs import read_input
from nczarr.cli.shared import Messages, command, following_of, storage_of
from nczarr.cli.streams import write_product
from nczarr.options import Options
from nczarr.registry import having

FORMS = (*having("dumped"), "keys", "tree")


def parser() -> argparse.ArgumentParser:
    """Return the parser of `dump`; `-h` prints the header, so help is `--help` only."""
    made = command("dump", "Print a dataset as text.", short_help=False)
    made.add_argument("source", metavar="SRC", help="what to print; - is standard input")
    told = f"form of the text (default: {FORMS[0]})"
    made.add_argument("--as", dest="form", choices=FORMS, default=FORMS[0], help=told)
    made.add_argument("-h", dest="header", action="store_true", help="header only, no data")
    made.add_argument("-c", dest="coordinates", action="store_true", help="data of coordinate variables only")
    made.add_argument("-s", dest="special", action="store_true", help="show special (virtual) attributes")
    made.add_argument(
        "-v", dest="variables", action="append", default=[], metavar="VAR,…", help="data of these variables"
    )
    made.add_argument("-g", dest="groups", action="append", default=[], metavar="GRP,…", help="data of these groups")
    made.add_argument("-n", dest="name", metavar="NAME", help="name of the dataset in the text")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Print one dataset."""
    from nczarr.diagnostics.value_losses import VALUE_LOSSES

    options = Options(
        header_only=arguments.header,
        coordinates_only=arguments.coordinates,
        special=arguments.special,
        variables=tuple(name for names in arguments.variables for name in names.split(",")),
        groups=tuple(name for names in arguments.groups for name in names.split(",")),
        name=arguments.name,
        allow_loss=VALUE_LOSSES - {"format-conflict"},  # a dump is for people: what it cannot say is a warning
        verbose=arguments.verbose,
        storage=storage_of(arguments),
        following=following_of(arguments),
    )
    messages = Messages(arguments)
    return messages.guard(lambda: _dump(arguments, options, messages))


def _dump(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    from nczarr.api.dump import dump

    checked = read_input(arguments.source, messages.report, options)
    if checked is None or messages.report.errors:
        return
    if options.name is None and not checked.dataset.name:
        from nczarr.names import stem

        options = options._replace(name=stem(arguments.source) or None)
    write_product(dump(checked, arguments.form, messages.report, options) or ())
