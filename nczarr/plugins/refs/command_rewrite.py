"""`nczarr refs expand` and `nczarr refs compact`: rewrite reference documents."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

from nczarr.cli import write_product
from nczarr.cli.options import options_of, standard_input
from nczarr.cli.parser import Command, Example, integer, size
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.options import ARGUMENTS, LIMITS, REFERENCES, TARGET

if TYPE_CHECKING:
    from nczarr.stores.url import Location

EXPAND, COMPACT = "expand", "compact"
PIECE = 1 << 20


def expand() -> Command:
    """Return the parser of `refs expand`."""
    subparser = _rewriting(
        EXPAND,
        "Write a reference document of version 1 as version 0, one entry per line: templates are rendered, and "
        "generators are written out.",
        (
            ("write out templates and generators", "refs expand refs.json -o plain.json"),
            ("render a template with another value", "refs expand refs.json --set u=s3://bucket/data"),
        ),
    )
    subparser.option(
        REFERENCES,
        "--set",
        dest="templates",
        action="append",
        type=_template,
        default=[],
        metavar="NAME=TEXT",
        help="replace or add a template; repeatable",
    )
    return subparser.complete()


def compact() -> Command:
    """Return the parser of `refs compact`."""
    return _rewriting(
        COMPACT,
        "Write a reference document as version 1: regular families of chunks become generators, and repeated URLs "
        "become templates.",
        (
            ("make a document smaller", "refs compact plain.json -o small.json"),
            ("read Parquet references, write a JSON document", "refs compact ocean.parq -o small.json --overwrite"),
        ),
    ).complete()


def _rewriting(verb: str, description: str, examples: tuple[Example, ...]) -> Command:
    """Return a parser with the options that `expand` and `compact` share."""
    subparser = Command(f"refs {verb}", "[OPTION]… SRC [-o DST]", description, examples)
    subparser.option(
        ARGUMENTS,
        "source",
        metavar="SRC",
        help="reference document: a file, a URL or a folder of Parquet references; - is standard input",
    )
    subparser.option(TARGET, "-o", dest="target", metavar="DST", help="file or URL to write (default: standard output)")
    subparser.option(
        REFERENCES,
        "--jinja",
        "--source-jinja",
        action="store_true",
        help="read templates beyond the built-in grammar by jinja2",
    )
    for name, kind, metavar, text in _LIMITS:
        subparser.option(LIMITS, f"--max-{name}", common=False, type=kind, metavar=metavar, help=text)
    return subparser


_number = integer(1, 10**15 - 1, "a limit, 1 or more")
_LIMITS = (
    ("entries", _number, "N", "entries of the expanded document (default: 10000000)"),
    ("text", size, "SIZE", "characters of a rendered text (default: 65536)"),
    ("depth", _number, "N", "levels of an expression (default: 100)"),
    ("document", size, "SIZE", "bytes of SRC (default: 1GiB)"),
    ("output", size, "SIZE", "bytes of the expanded document (default: 8GiB)"),
)
"""Limits: name, parser, metavar, help."""


def _template(text: str) -> tuple[str, str]:
    """Return a template by name. Raises ArgumentTypeError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=TEXT")
    return name, value


def run(arguments: argparse.Namespace) -> int:
    """Rewrite the document; return the status."""
    messages = Messages(arguments)
    return messages.guard(lambda: _run(arguments, messages))


def _run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Lock the target, read and write. Raises OSError, CompileError."""
    from nczarr.pipeline import endpoints

    if arguments.target in (None, "-"):
        _rewrite(arguments, messages)
        return
    options = options_of(arguments)
    with endpoints.lock_place(arguments.target, messages.report, options.run, replaces=arguments.overwrite) as lock:
        if lock is not None:
            _rewrite(arguments, messages)


def _rewrite(arguments: argparse.Namespace, messages: Messages) -> None:
    """Read and write, with the target locked. Raises OSError, CompileError."""
    from nczarr.pipeline import endpoints
    from nczarr.plugins.refs import api as refs

    report, options, place = messages.report, options_of(arguments), None
    storage = options.run.storage
    if arguments.target not in (None, "-"):
        place = endpoints.locate(arguments.target, report)
        if place is None or not endpoints.is_free(place, None, report, options):
            return
        storage = storage.at("target", place.server)
    source = standard_input() if arguments.source == "-" else endpoints.open_source(arguments.source, report, options)
    if source is None:
        return
    maxima = {name: getattr(arguments, f"max_{name}") for name, *_ in _LIMITS}
    limits = refs.Limits(jinja=arguments.jinja)._replace(
        **{name: value for name, value in maxima.items() if value is not None}
    )
    if arguments.command == f"refs {EXPAND}":
        pieces: Iterable[bytes] = refs.expand_source(source, report, limits, dict(arguments.templates))
    else:
        pieces = refs.write_document(refs.compact_source(source, report, limits))
    _put(place, storage.of("target"), pieces)


def _put(place: Location | None, storage: StorageOptions, pieces: Iterable[bytes]) -> None:
    """Write a product atomically, or to standard output. Raises OSError."""
    if place is None:
        with tempfile.SpooledTemporaryFile(max_size=PIECE) as spool:
            _fill(spool, pieces)
            spool.seek(0)
            write_product(iter(lambda: spool.read(PIECE), b""))
        return
    from nczarr.stores.local_paths import add_path_to_errors
    from nczarr.stores.open import write_beside

    path = place.path
    with add_path_to_errors(path), write_beside(path, storage) as unfinished, open(unfinished.path, "wb") as file:
        _fill(file, pieces)


def _fill(file: IO[bytes], pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        file.write(piece)
