"""`nczarr dump SRC`: print a dataset as text; short options are those of `ncdump`."""

from __future__ import annotations

import argparse

from nczarr.cli.inputs import read_input
from nczarr.cli.parser import ARGUMENTS, SELECTION, TEXT, Command, command, following_of, storage_of
from nczarr.cli.shared import Messages
from nczarr.cli.streams import write_product
from nczarr.options import Options
from nczarr.registry import having

FORMS = (*having("dumped"), "keys", "tree")

EXAMPLES = (
    ("print the header of a file as ncdump does", "dump -h ocean.nc"),
    ("print the data of one variable only, with storage attributes", "dump -s -v temp ocean.zarr"),
)


def parser() -> Command:
    """Return the parser of `dump`; `-h` prints the header, so help is `--help` only."""
    subparser = command(
        "dump",
        "[OPTION]… SRC",
        "Print a dataset as text. Short options have the meaning that they have in ncdump.",
        EXAMPLES,
        short_help=False,
    )
    subparser.option(ARGUMENTS, "source", metavar="SRC", help="file, store or URL to print; - is standard input")
    subparser.option(
        TEXT,
        "--as",
        dest="form",
        choices=FORMS,
        default=FORMS[0],
        help=f"form of the text (default: {FORMS[0]})",
    )
    subparser.option(SELECTION, "-h", dest="header", action="store_true", help="print the header only, without data")
    subparser.option(
        SELECTION, "-c", dest="coordinates", action="store_true", help="print the data of coordinate variables only"
    )
    subparser.option(
        SELECTION,
        "-v",
        dest="variables",
        action="append",
        default=[],
        metavar="NAME,…",
        help="print the data of these variables only; repeatable",
    )
    subparser.option(
        SELECTION,
        "-g",
        dest="groups",
        action="append",
        default=[],
        metavar="NAME,…",
        help="print the data of these groups only; repeatable",
    )
    subparser.option(TEXT, "-s", dest="special", action="store_true", help="print special (virtual) attributes as well")
    subparser.option(
        TEXT, "-n", dest="name", metavar="NAME", help="name of the dataset in the text (default: its own, else SRC)"
    )
    return subparser


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
