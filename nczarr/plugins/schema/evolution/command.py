"""Options of `diff` about schemas: `--compat`, which changes break programs, and `--against REVISION`, files in git."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nczarr.diagnostics.render import json_record, visible
from nczarr.options import COMPARISON
from nczarr.pipeline.compare.judgement import DiffJudgement
from nczarr.plugins.schema.evolution.rules import MODES, Compatibility, SchemaChange
from nczarr.sdk import DONE, Checked, Diagnostic, Label, Option, RunWrapper, Severity, misuse
from nczarr.stores import local_paths

OPTIONS = (
    Option(
        "compat",
        section=COMPARISON,
        flags="--compat",
        takes="text",
        metavar="MODE",
        choices=MODES,
        help="class the changes from A to B instead, as versions of a schema; the status is 1 if programs of A cannot "
        "read B (backward), programs of B cannot read A (forward), or either (full)",
    ),
    Option(
        "changelog",
        section=COMPARISON,
        flags="--changelog",
        help="with --compat, print the changes as Markdown",
    ),
)


def judge(
    sides: tuple[Checked, Checked], names: tuple[str, str], options: Mapping[str, Any], message_format: str
) -> tuple[Iterator[str], int]:
    """Return the lines to print, and the number of changes that break the asked compatibility."""
    from nczarr.plugins.schema.evolution.changes import list_changes

    mode: Compatibility = options["compat"]
    changes = list(list_changes(*sides))
    broken = sum(change.breaks(mode) for change in changes)
    if message_format == "json":
        return _list_records(changes, mode, names[1]), broken
    if options["changelog"]:
        return write_changelog(changes, mode, *names), broken
    return _list_lines(changes, mode), broken


def _list_lines(changes: Sequence[SchemaChange], mode: Compatibility) -> Iterator[str]:
    """Yield a line for each change: breaking ones first."""
    rows = [("breaking" if each.breaks(mode) else "compatible", visible(each.path), each) for each in changes]
    rows.sort(key=lambda row: row[0])
    widths = [max((len(text) for text in column), default=0) for column in zip(*(row[:2] for row in rows), strict=True)]
    for verdict, path, change in rows:
        yield f"{verdict:<{widths[0]}}  {path:<{min(widths[1], 40)}}  {change.rule}: {visible(change.message)}\n"


def _list_records(changes: Iterable[SchemaChange], mode: Compatibility, second: str) -> Iterator[str]:
    for change in changes:
        severity = Severity.ERROR if change.breaks(mode) else Severity.NOTE
        record = json_record(Diagnostic(change.rule, severity, f"`{change.path}`: {change.message}", Label()))
        record |= {"file": second, "path": change.path, "backward": change.backward, "forward": change.forward}
        yield json.dumps(record, ensure_ascii=True) + "\n"


def write_changelog(changes: Sequence[SchemaChange], mode: Compatibility, old: str, new: str) -> Iterator[str]:
    """Yield the changes as Markdown, breaking ones first."""
    yield f"## Changes from {_quote(old)} to {_quote(new)}\n"
    for title, breaking in (("Breaking", True), ("Compatible", False)):
        some = [change for change in changes if change.breaks(mode) is breaking]
        if some:
            yield f"\n### {title} ({mode})\n\n"
        for change in some:
            yield f"- {_quote(change.path)}: {change.rule.replace('-', ' ')}, {_escape(change.message)}\n"
    if not changes:
        yield "\nNothing changed.\n"


def _quote(text: str) -> str:
    """Return a text as code of Markdown."""
    shown = visible(text)
    fence = "``" if "`" in shown else "`"
    return f"{fence} {shown} {fence}" if "`" in shown else f"`{shown}`"


def _escape(text: str) -> str:
    """Return a message without what Markdown or HTML would take for markup."""
    shown = visible(text)
    for character in "\\*_[]<>":
        shown = shown.replace(character, f"\\{character}")
    return shown


JUDGEMENT = DiffJudgement(OPTIONS, judge)


OPTION = Option(
    "against",
    section=COMPARISON,
    flags="--against",
    takes="text",
    metavar="REVISION",
    help="compare each file with its state in a revision of git, such as HEAD or origin/main; skip new files",
)


class NotInRevisionError(Exception):
    """A file that a revision does not have."""


@contextmanager
def at_revision(path: str, revision: str) -> Iterator[str]:
    """Give the path of a copy of a file as a revision has it, which is removed at the end.

    Raises NotInRevisionError; OSError without git, outside of a repository, or for an unknown revision.
    """
    folder, name = local_paths.split(local_paths.absolute(path))
    _run(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", fault=f"no revision `{revision}`")
    if not _run(folder, "ls-tree", "--name-only", revision, "--", name):
        raise NotInRevisionError(path)
    with tempfile.TemporaryDirectory(prefix="nczarr-") as copies:
        copy = local_paths.join(copies, name)
        with open(copy, "wb") as file:
            file.write(_run(folder, "show", f"{revision}:./{name}"))
        yield copy


def _run(folder: str, *words: str, fault: str = "") -> bytes:
    """Return what git prints. Raises OSError."""
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise OSError("git is not installed") from error
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise OSError(text or fault)
    return done.stdout


def run(arguments: argparse.Namespace, call: Callable[[argparse.Namespace], int], words: Sequence[str]) -> int:
    """Compare files with their state in a revision of git; return the worst status."""
    if arguments.against is None:
        return call(arguments)
    paths = [path for path in (arguments.first, arguments.second, *arguments.rest) if path is not None]
    worst = DONE
    for path in paths:
        try:
            with at_revision(path, arguments.against) as old:
                arguments.first, arguments.second, arguments.rest = old, path, []
                worst = max(worst, call(arguments))
        except NotInRevisionError:
            continue
        except OSError as fault:
            return misuse("diff", f"--against: {fault}")
    return worst


WRAPPER = RunWrapper((OPTION,), run)
