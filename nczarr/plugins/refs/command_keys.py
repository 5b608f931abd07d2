"""`nczarr refs ls` and `nczarr refs cat`: keys of a reference document, and the bytes that they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from nczarr.cli import write_product
from nczarr.cli.options import options_of, standard_input
from nczarr.cli.parser import Command, Example
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import suggest
from nczarr.diagnostics.secrets import show
from nczarr.names import readable
from nczarr.options import ARGUMENTS, OUTPUT, SELECTION

if TYPE_CHECKING:
    from nczarr.plugins.refs.mapping import ReferenceMapping

LS, CAT = "refs ls", "refs cat"


def list_keys() -> Command:
    """Return the parser of `refs ls`."""
    subparser = _reading(
        LS,
        "[OPTION]… SRC [DIR]",
        "List the keys of a reference document, or of a folder in it. No target is read.",
        (
            ("list what is at the root", "refs ls refs.json"),
            ("list every key, with its size and place", "refs ls -l --recursive refs.json"),
        ),
    )
    subparser.option(ARGUMENTS, "folder", nargs="?", default="", metavar="DIR", help="folder (default: the root)")
    subparser.option(SELECTION, "--recursive", action="store_true", help="list the keys of all folders below")
    subparser.option(OUTPUT, "-l", dest="long", action="store_true", help="list the sizes and places of keys, too")
    return subparser.complete()


def print_keys() -> Command:
    """Return the parser of `refs cat`."""
    subparser = _reading(
        CAT,
        "[OPTION]… SRC KEY…",
        "Write the bytes of keys of a reference document to standard output, as they are.",
        (
            ("print a document of a store", "refs cat refs.json .zgroup"),
            ("save the bytes of a chunk", "refs cat refs.json temp/0.0.0 > chunk"),
        ),
    )
    subparser.option(ARGUMENTS, "keys", nargs="+", metavar="KEY", help="keys, one behind the other")
    return subparser.complete()


def _reading(name: str, usage: str, description: str, examples: tuple[Example, ...]) -> Command:
    subparser = Command(name, usage, description, examples)
    subparser.option(
        ARGUMENTS,
        "source",
        metavar="SRC",
        help="reference document: a file, a URL or a folder of Parquet references; - is standard input",
    )
    return subparser


def run(arguments: argparse.Namespace) -> int:
    """List or print; return the status."""
    messages = Messages(arguments)
    work = _list if arguments.command == LS else _print
    return messages.guard(lambda: _open(arguments, messages, work))


def _open(
    arguments: argparse.Namespace,
    messages: Messages,
    work: Callable[[argparse.Namespace, Messages, ReferenceMapping], None],
) -> None:
    """Open the document, and do the work of a command. Raises OSError, CompileError."""
    from nczarr.pipeline import endpoints
    from nczarr.plugins.refs.mapping import ReferenceMapping, open_keys

    options, path = options_of(arguments), arguments.source
    source = standard_input() if path == "-" else endpoints.open_source(path, messages.report, options)
    store = None if source is None else open_keys(source, messages.report, options)
    if store is not None:
        work(arguments, messages, ReferenceMapping(store))


def _list(arguments: argparse.Namespace, messages: Messages, refs: ReferenceMapping) -> None:
    folder = arguments.folder.rstrip("/")
    prefix = f"{folder}/" if folder else ""
    listed = [key for key in refs if key.startswith(prefix)] if arguments.recursive else refs.list(folder)
    if not listed and folder:
        _report_missing(folder, [each for each in refs.list("") if each.endswith("/")], messages)
        return
    write_product(_show(key, arguments, refs) for key in listed)


def _show(key: str, arguments: argparse.Namespace, refs: ReferenceMapping) -> bytes:
    """Return the line of a key or folder."""
    is_folder = key.endswith("/") and key not in refs
    place = None if is_folder else refs.locate(key)
    size = None if is_folder else (len(refs[key]) if place is None else place.length)
    if not arguments.long:
        return f"{readable(key)}\n".encode("utf-8", "surrogateescape")
    shown = "" if is_folder else "?" if size is None else str(size)  # a whole target is not asked
    where = "" if is_folder else "in the document" if place is None else f"{show(place.url or '')}@{place.offset}"
    return f"{shown:>12}  {readable(key)}{'  ' if where else ''}{where}\n".encode("utf-8", "surrogateescape")


def _print(arguments: argparse.Namespace, messages: Messages, refs: ReferenceMapping) -> None:
    missing = [key for key in arguments.keys if key not in refs]
    for key in missing:
        _report_missing(key, list(refs), messages)
    if not missing:
        write_product(_read(arguments.keys, refs))


def _read(keys: list[str], refs: ReferenceMapping) -> Iterator[bytes]:
    for key in keys:
        yield refs[key]


def _report_missing(key: str, known: list[str], messages: Messages) -> None:
    messages.report.error("unmatched-name", f"the document has no key `{readable(key)}`", helps=suggest(key, known))
