"""`nczarr fmt SRC…`: format CDL and NCZarr notation in one style."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from nczarr.cli import FAULTY, write_product
from nczarr.cli.options import standard_input
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, TARGET

EXAMPLES = (
    ("format a schema where it lies", "fmt ocean.cdl"),
    ("show what would change", "fmt --diff ocean.cdl"),
)


class FormattedText(NamedTuple):
    """Result for one file."""

    path: str
    changed: bool

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {"result": "fmt", "target": show(self.path), "changed": self.changed}


def parser() -> Command:
    """Return the parser of `fmt`."""
    subparser = Command(
        "fmt",
        "[OPTION]… SRC…",
        "Format CDL and NCZarr notation in the form that ncdump and nczarr print. Comments, spellings of values, "
        "empty lines, and line breaks in lists of values stay. There is one style, and no option of style. Each run "
        "checks that the dataset stays the same before a file is replaced.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS,
        "sources",
        metavar="SRC",
        nargs="+",
        help="file to format in its place; - is standard input, whose formatted text is printed",
    )
    subparser.option(
        TARGET,
        "--check",
        action="store_true",
        help="print the names of files that are not formatted; write nothing; the exit status is then 1",
    )
    subparser.option(TARGET, "--diff", action="store_true", help="print the changes as a unified diff; write nothing")
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Format each source; return the worst status, 1 if `--check` finds one that is not formatted."""
    messages = Messages(arguments)
    done: list[FormattedText] = []
    status = messages.guard(*(partial(_format_one, arguments, messages, done, path) for path in arguments.sources))
    return max(status, FAULTY) if arguments.check and any(text.changed for text in done) else status


def _format_one(arguments: argparse.Namespace, messages: Messages, done: list[FormattedText], path: str) -> None:
    """Format one source. Raises OSError."""
    from nczarr.plugins.fmt.reformat import reformat, replace_text
    from nczarr.stores.open import open_source

    source = standard_input() if path == "-" else open_source(path)
    text = reformat(source, messages.report)
    if text is None:
        return
    result = FormattedText(source.name, source.data[:] != text)
    done.append(result)
    if arguments.diff:
        write_product(_list_changes(source.name, source.data[:], text))
    if arguments.check and result.changed:
        write_product([f"{source.name}\n".encode("utf-8", "surrogateescape")])
    if arguments.check or arguments.diff:
        return
    if path == "-":
        write_product([text])
    elif result.changed and replace_text(path, text, messages.report):
        messages.result(f"`{show(path)}`: formatted", result)


def _list_changes(name: str, old: bytes, new: bytes) -> Iterator[bytes]:
    """Yield the lines of a unified diff; nothing if both texts are equal."""
    path = name.encode("utf-8", "surrogateescape")
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for line in difflib.diff_bytes(difflib.unified_diff, before, after, path, path + b" (formatted)"):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
