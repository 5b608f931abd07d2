"""`nczarr generate LANGUAGE SCHEMA -o DIR`: programs from a schema."""

from __future__ import annotations

import argparse
from pathlib import Path

from nczarr import sdk
from nczarr.plugins.common.folder import write_files
from nczarr.plugins.generate.contract import generate_from
from nczarr.plugins.generate.languages import CONTRACT, LANGUAGES, load
from nczarr.sdk import Command, Messages, misuse, options_of, read_input

EXAMPLES = (
    ("make a program in C", "generate c ocean.cdl -o program"),
    ("draft a contract from examples", "generate contract ocean.nc ocean.zarr -o contracts"),
)


def parser() -> Command:
    """Return the parser of `generate`."""
    listed = "; ".join(f"{name}: {language.title}" for name, language in LANGUAGES.items())
    what = f"Make a program or a document from a schema with its data. {listed}."
    command = Command("generate", "[OPTION]… LANGUAGE SCHEMA… -o DIR", what, EXAMPLES)
    command.option(sdk.ARGUMENTS, "language", metavar="LANGUAGE", choices=list(LANGUAGES), help=", ".join(LANGUAGES))
    command.option(
        sdk.ARGUMENTS,
        "schemas",
        metavar="SCHEMA",
        nargs="+",
        help="schema or dataset; - is standard input; several examples for a contract",
    )
    command.option(sdk.TARGET, "-o", "--output", metavar="DIR", required=True, help="folder, made if needed")
    command.option(sdk.TARGET, "--name", metavar="NAME", help="name of the program (default: that of the dataset)")
    return command.complete(sdk.READING, sdk.REPORTING, ("overwrite",))


def run(arguments: argparse.Namespace) -> int:
    """Write one program; return the status."""
    if len(arguments.schemas) > 1 and arguments.language != CONTRACT:
        return misuse("generate", f"only `{CONTRACT}` is made from several datasets")
    messages = Messages(arguments)
    return messages.guard(lambda: _generate(arguments, messages))


def _generate(arguments: argparse.Namespace, messages: Messages) -> None:
    """Generate the files from one schema, a contract from several, and write them unless an error is reported."""
    report, (first, *others) = messages.report, arguments.schemas
    options = options_of(arguments)
    read = [read_input(path, report, options) for path in (first, *others)]
    examples = [checked for checked in read if checked is not None]
    if len(examples) < len(read):
        return
    stem = "" if first == "-" else Path(first).stem
    name = arguments.name or examples[0].dataset.name or stem
    if arguments.language == CONTRACT:
        files = generate_from(examples, name, report)
    else:
        files = load(arguments.language)(examples[0], name, report)
    if not report.errors:
        encoded = {file: text.encode("utf-8", "surrogateescape") for file, text in files.items()}
        write_files(Path(arguments.output), encoded, report, overwrite=arguments.overwrite)
