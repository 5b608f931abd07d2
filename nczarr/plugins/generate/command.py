"""`nczarr generate LANGUAGE SCHEMA -o DIR`: programs from a schema."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nczarr import sdk
from nczarr.plugins.generate.languages import LANGUAGES, load
from nczarr.sdk import Command, Messages, options_of, read_input, write_product

EXAMPLES = (
    ("make a program in C", "generate c ocean.cdl -o program"),
    ("make a page about a schema", "generate html ocean.cdl -o pages"),
)


def parser() -> Command:
    """Return the parser of `generate`."""
    listed = "; ".join(f"{name}: {language.title}" for name, language in LANGUAGES.items())
    what = f"Make a program or a document from a schema with its data. {listed}."
    command = Command("generate", "[OPTION]… LANGUAGE SCHEMA -o DIR", what, EXAMPLES)
    command.option(sdk.ARGUMENTS, "language", metavar="LANGUAGE", choices=list(LANGUAGES), help=", ".join(LANGUAGES))
    command.option(sdk.ARGUMENTS, "schema", metavar="SCHEMA", help="schema or dataset; - is standard input")
    command.option(sdk.TARGET, "-o", "--output", metavar="DIR", required=True, help="folder, made if needed")
    command.option(sdk.TARGET, "--name", metavar="NAME", help="name of the program (default: that of the dataset)")
    return command.complete(sdk.READING, sdk.REPORTING, ("overwrite",))


def run(arguments: argparse.Namespace) -> int:
    """Write one program; return the status."""
    messages = Messages(arguments)
    return messages.guard(lambda: _generate(arguments, messages))


def _generate(arguments: argparse.Namespace, messages: Messages) -> None:
    report = messages.report
    checked = read_input(arguments.schema, report, options_of(arguments))
    if checked is None:
        return
    stem = "" if arguments.schema == "-" else Path(arguments.schema).stem
    files = load(arguments.language)(checked, arguments.name or checked.dataset.name or stem, report)
    if report.errors:
        return
    folder = Path(arguments.output)
    taken = [name for name in files if (folder / name).exists()]
    if taken and not arguments.overwrite:
        text = f"`{sdk.show(str(folder / taken[0]))}` exists"
        report.error("target-exists", text, helps=["`--overwrite` replaces the files of the program"])
        return
    _write_files(folder, files)
    write_product("".join(f"{folder / name}\n" for name in files).encode("utf-8", "surrogateescape").splitlines(True))


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files of a program, or none. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".nczarr-") as unfinished:
        for name, text in files.items():
            Path(unfinished, name).write_text(text, encoding="utf-8", errors="surrogateescape")
        for name in files:
            os.replace(Path(unfinished, name), folder / name)
