"""`nczarr refs VERB`: reference documents as documents (expand, compact), and the verbs of `refs_*.py`."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from nczarr.cli import refs_combine
from nczarr.cli.inputs import standard_input
from nczarr.cli.shared import Messages, command, size, storage_of
from nczarr.cli.streams import write_product
from nczarr.secrets import shown
from nczarr.source import Source

EXPAND, COMPACT, COMBINE = "expand", "compact", "combine"
PIECE = 1 << 20


def parser() -> argparse.ArgumentParser:
    """Arguments of `refs`: a verb, and those of the verb."""
    made = argparse.ArgumentParser(
        prog="nczarr refs",
        description="Make and rewrite reference documents, which map the keys of a store to bytes of other files.",
        allow_abbrev=False,
    )
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Verb)
    verbs.add_parser(EXPAND, help="write a document as version 0: templates rendered, generators written out")
    verbs.add_parser(COMPACT, help="write a document as version 1: what is regular as generators and templates")
    verbs.add_parser(COMBINE, help="make one dataset of many, by references or as a store or file")
    return made


class _Verb(argparse.ArgumentParser):
    """The parser of one verb; made when its help or arguments are asked for."""

    def __init__(self, prog: str, **_: object) -> None:
        verb = prog.rpartition(" ")[2]
        shared = command(f"refs {verb}", "")
        super().__init__(
            prog=prog, description=_DESCRIPTIONS[verb], parents=[shared], add_help=False, allow_abbrev=False
        )
        if verb == COMBINE:
            refs_combine.add_arguments(self)
            return
        self.add_argument("source", metavar="SRC", help="a document: a file or URL; - is standard input")
        self.add_argument("-o", dest="target", metavar="OUT", help="write to this file or URL (default: stdout)")
        self.add_argument("--overwrite", action="store_true", help="replace OUT if it is there")
        if verb == EXPAND:
            self.add_argument(
                "--set",
                dest="templates",
                action="append",
                type=_template,
                default=[],
                metavar="NAME=TEXT",
                help="replace or add a template; repeatable",
            )
        for name, kind, text in _LIMITS:
            self.add_argument(f"--max-{name}", type=kind, metavar="N", help=text)


_DESCRIPTIONS = {
    EXPAND: "Write a reference document of version 1 as version 0, an entry a line; generators are streamed.",
    COMPACT: "Write a reference document as version 1: families of chunks as generators, repeated URLs as templates.",
    COMBINE: refs_combine.DESCRIPTION,
}


def _number(text: str) -> int:
    """A limit. Raises ArgumentTypeError for anything but a positive integer."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**15):
        raise argparse.ArgumentTypeError(f"{text!r} is no limit, 1 or more")
    return int(text)


_LIMITS = (
    ("entries", _number, "entries of the expanded document (10000000)"),
    ("text", size, "characters of a rendered text (65536)"),
    ("depth", _number, "levels of an expression (100)"),
    ("document", size, "bytes of SRC (1GiB)"),
    ("output", size, "bytes of the expanded document (8GiB)"),
)


def _template(text: str) -> tuple[str, str]:
    """A template by name. Raises ArgumentTypeError."""
    name, found, value = text.partition("=")
    if not found or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=TEXT")
    return name, value


def run(arguments: argparse.Namespace) -> int:
    """Do one verb; the status is that of every command."""
    if arguments.verb == COMBINE:
        return refs_combine.run(arguments)
    messages = Messages(arguments)
    return messages.guard(lambda: _work(arguments, messages))


def _work(arguments: argparse.Namespace, messages: Messages) -> None:
    """Read, write. Raises OSError, CompileError."""
    from nczarr import refs

    report = messages.report
    target = arguments.target
    if target is not None and not arguments.overwrite and _exists(target, arguments):
        report.error("target-exists", f"`{shown(target)}` exists", helps=["`--overwrite` replaces it"])
        return
    wanted = {name: getattr(arguments, f"max_{name}") for name, _, _ in _LIMITS}
    limits = refs.Limits()._replace(**{name: value for name, value in wanted.items() if value is not None})
    with _source(arguments) as source:
        if arguments.verb == EXPAND:
            _put(arguments, refs.expanded(source, report, limits, dict(arguments.templates)))
        else:
            made = refs.compacted(source, report, limits)
            _put(arguments, [json.dumps(made, separators=(",", ":")).encode() + b"\n"])


def _exists(target: str, arguments: argparse.Namespace) -> bool:
    """Whether something stands at the place of the target. Raises OSError."""
    from nczarr.stores.url import is_remote

    if not is_remote(target):
        return os.path.lexists(target)
    from nczarr.stores.looking import obstacle

    return obstacle(target, storage_of(arguments).of("target"), store=False) is not None


@contextmanager
def _source(arguments: argparse.Namespace) -> Iterator[Source]:
    """The document. Raises OSError."""
    from nczarr.stores.single import open_source
    from nczarr.stores.url import is_remote

    if arguments.source == "-":
        yield standard_input()
    elif is_remote(arguments.source):
        from nczarr.stores.connection import Connection
        from nczarr.stores.spool import fetched

        yield open_source(
            fetched(Connection(arguments.source, storage_of(arguments).of("source"))), shown(arguments.source)
        )
    else:
        yield open_source(arguments.source)


def _put(arguments: argparse.Namespace, pieces: Iterable[bytes]) -> None:
    """Write a product, whole or not at all: also to standard output. Raises OSError."""
    if arguments.target is None:
        with tempfile.SpooledTemporaryFile(max_size=PIECE) as spool:
            _fill(spool, pieces)
            spool.seek(0)
            write_product(iter(lambda: spool.read(PIECE), b""))
        return
    from nczarr.stores.single import beside

    storage = storage_of(arguments).of("target")
    with beside(arguments.target, storage) as unfinished, open(unfinished.path, "wb") as file:
        _fill(file, pieces)


def _fill(file: IO[bytes], pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        file.write(piece)
