"""`nczarr refs VERB`: expand and compact reference documents, and the verbs of `refs_*.py`."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

from nczarr.cli import refs_combine, refs_verify
from nczarr.cli.inputs import standard_input
from nczarr.cli.shared import Messages, command, integer, size, storage_of
from nczarr.cli.streams import write_product
from nczarr.options import Options
from nczarr.secrets import StorageOptions, shown

if TYPE_CHECKING:
    from nczarr.stores.url import Location

EXPAND, COMPACT, COMBINE, VERIFY = "expand", "compact", "combine", "verify"
OWN = {COMBINE: refs_combine, VERIFY: refs_verify}
"""Verbs with their own modules."""
PIECE = 1 << 20


def parser() -> argparse.ArgumentParser:
    """Return the parser of `refs`."""
    made = argparse.ArgumentParser(
        prog="nczarr refs",
        description="Make and rewrite reference documents, which map the keys of a store to bytes of other files.",
        allow_abbrev=False,
    )
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Verb)
    verbs.add_parser(EXPAND, help="write a document as version 0: templates rendered, generators written out")
    verbs.add_parser(COMPACT, help="write a document as version 1: what is regular as generators and templates")
    verbs.add_parser(COMBINE, help="make one dataset of many, by references or as a store or file")
    verbs.add_parser(VERIFY, help="look at every target and range of a document, and decode chunks")
    return made


class _Verb(argparse.ArgumentParser):
    """Parser of one verb, made when its help or arguments are needed."""

    def __init__(self, prog: str, **_: object) -> None:
        verb = prog.rpartition(" ")[2]
        shared = command(f"refs {verb}", "")
        super().__init__(
            prog=prog, description=_DESCRIPTIONS[verb], parents=[shared], add_help=False, allow_abbrev=False
        )
        if verb in OWN:
            OWN[verb].add_arguments(self)
            return
        self.add_argument(
            "source",
            metavar="SRC",
            help="a document: a file or URL, or a folder of Parquet references; - is standard input",
        )
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
        self.add_argument("--jinja", action="store_true", help="render texts beyond the grammar with jinja2's sandbox")
        for name, kind, text in _LIMITS:
            self.add_argument(f"--max-{name}", type=kind, metavar="N", help=text)


_DESCRIPTIONS = {
    EXPAND: "Write a reference document of version 1 as version 0, an entry a line; generators are streamed.",
    COMPACT: "Write a reference document as version 1: families of chunks as generators, repeated URLs as templates.",
    COMBINE: refs_combine.DESCRIPTION,
    VERIFY: refs_verify.DESCRIPTION,
}


_number = integer(1, 10**15 - 1, "limit, 1 or more")
_LIMITS = (
    ("entries", _number, "entries of the expanded document (10000000)"),
    ("text", size, "characters of a rendered text (65536)"),
    ("depth", _number, "levels of an expression (100)"),
    ("document", size, "bytes of SRC (1GiB)"),
    ("output", size, "bytes of the expanded document (8GiB)"),
)


def _template(text: str) -> tuple[str, str]:
    """Return a template by name. Raises ArgumentTypeError."""
    name, found, value = text.partition("=")
    if not found or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=TEXT")
    return name, value


def run(arguments: argparse.Namespace) -> int:
    """Run one verb; return the status."""
    if arguments.verb in OWN:
        status: int = OWN[arguments.verb].run(arguments)
        return status
    messages = Messages(arguments)
    return messages.guard(lambda: _work(arguments, messages))


def _work(arguments: argparse.Namespace, messages: Messages) -> None:
    """Read and write. Raises OSError, CompileError."""
    from nczarr import refs
    from nczarr.endpoints import sources
    from nczarr.stores.connection import MissingProtocolError
    from nczarr.stores.url import BadURLError

    report = messages.report
    storage = storage_of(arguments)
    place = None
    if arguments.target not in (None, "-"):
        place = sources.located(arguments.target, report)
        if place is None:
            return
        storage = storage.at("target", place.server)
        try:
            free = _is_free(place, storage.of("target"), arguments, messages)
        except (BadURLError, MissingProtocolError) as error:
            sources.unusable(place.path, error, report)
            return
        if not free:
            return
    options = Options(storage=storage)
    source = standard_input() if arguments.source == "-" else sources.opened(arguments.source, report, options)
    if source is None:
        return
    wanted = {name: getattr(arguments, f"max_{name}") for name, _, _ in _LIMITS}
    limits = refs.Limits(jinja=arguments.jinja)._replace(
        **{name: value for name, value in wanted.items() if value is not None}
    )
    if arguments.verb == EXPAND:
        pieces: Iterable[bytes] = refs.expanded(source, report, limits, dict(arguments.templates))
    else:
        pieces = refs.written(refs.compacted(source, report, limits))
    _put(place, storage.of("target"), pieces)


def _is_free(place: Location, storage: StorageOptions, arguments: argparse.Namespace, messages: Messages) -> bool:
    """Return whether the target can be made; reports obstacles.

    Raises OSError, BadURLError, MissingProtocolError.
    """
    problem: str | None = None
    if place.remote:
        from nczarr.stores.probe import obstacle as there

        found = there(place.path, storage, store=False)
        if found is not None and not (arguments.overwrite and found.replaceable):
            problem = found.words if arguments.overwrite else "exists"
    elif os.path.lexists(place.path):
        from nczarr.stores.finish import obstacle as here

        problem = here(place.path, store=False) if arguments.overwrite else "exists"
    helps = (
        ["choose another name, or remove the target yourself"] if arguments.overwrite else ["`--overwrite` replaces it"]
    )
    if problem is not None:
        messages.report.error("target-exists", f"`{shown(place.path)}` {problem}", helps=helps)
    return problem is None


def _put(place: Location | None, storage: StorageOptions, pieces: Iterable[bytes]) -> None:
    """Write a product atomically, or to standard output. Raises OSError."""
    if place is None:
        with tempfile.SpooledTemporaryFile(max_size=PIECE) as spool:
            _fill(spool, pieces)
            spool.seek(0)
            write_product(iter(lambda: spool.read(PIECE), b""))
        return
    from nczarr.stores.single import beside

    with beside(place.path, storage) as unfinished, open(unfinished.path, "wb") as file:
        _fill(file, pieces)


def _fill(file: IO[bytes], pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        file.write(piece)
