"""`nczarr dump SRC`: print a dataset as text; short options are those of `ncdump`."""

import argparse

from nczarr.cli import misuse, write_product
from nczarr.cli.options import options_of, read_input, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.options import ARGUMENTS, TEXT, Options
from nczarr.registry import STORE, list_names_with

FORMS = (*list_names_with("display.dumped"), "keys", "tree")

EXAMPLES = (
    ("print the header of a file as ncdump does", "dump -h ocean.nc"),
    ("print a part of one variable, with storage attributes", "dump -s ocean.zarr --var temp --dim lat=0:1"),
)


def parser() -> Command:
    """Return the parser of `dump`; `-h` prints the header, so help is `--help` only."""
    subparser = Command(
        "dump",
        "[OPTION]… SRC",
        "Print a dataset as text. Short options have the meaning that they have in ncdump.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "source", metavar="SRC", help="file, store or URL to print; - is standard input")
    subparser.option(
        TEXT, "--as", dest="form", choices=FORMS, default=FORMS[0], help=f"form of the text (default: {FORMS[0]})"
    )
    subparser.option(TEXT, "--to", metavar="FORMAT", help=f"with --as keys, format of the store (default: {STORE})")
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Print one dataset."""
    from nczarr.diagnostics.report import VALUE_LOSSES

    # a dump is for people: what it cannot say is a warning
    options = options_of(arguments, allow_loss=VALUE_LOSSES - {"format-conflict"})
    if arguments.to is not None and arguments.form != "keys":
        return misuse("dump", "--to belongs to --as keys")
    messages = Messages(arguments)
    return messages.guard(lambda: _dump(arguments, options, messages))


def _dump(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    from nczarr.diagnostics.report import suggest
    from nczarr.pipeline.phases import dump, select
    from nczarr.registry import find_format, formats

    checked = read_input(arguments.source, messages.report, options)
    subset = subset_of(arguments, messages.report)
    if checked is not None and subset:
        checked = select(checked, subset, messages.report)
    if checked is None or messages.report.errors:
        return
    if options.text.name is None and not checked.dataset.name:
        from nczarr.names import stem

        options = options.change(name=stem(arguments.source) or None)
    name = arguments.to or arguments.form
    form = find_format(name)
    if arguments.to is not None and (form is None or form.emit is None):
        text = f"`{arguments.to}` is not a format of stores"
        known = [each.name for each in formats() if each.emit is not None]
        messages.report.error("unknown-target", text, helps=[*suggest(arguments.to, known)])
        return
    escapes = None if form is None else form.display.string_escapes
    write_product(dump(checked, name, messages.report, options) or (), escapes)
