"""`nczarr migrate STORE --to FORMAT`: give a Zarr store the documents of another format, in its place."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.cli import misuse, write_product
from nczarr.cli.options import options_of
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show, word
from nczarr.options import ARGUMENTS, REPORTING, SOURCE, TARGET, Option
from nczarr.registry import label_format

if TYPE_CHECKING:
    from nczarr.plugins.edit.document_change import DocumentChange
    from nczarr.plugins.edit.migrate_store import Migration

COMMAND = "migrate"

EXAMPLES = (
    ("show which documents of a store would change", "migrate ocean.zarr --to nczarr3 --dry-run"),
    ("take a migration back", "migrate old.zarr --undo old.zarr.undo-1.json"),
)

SHARED = frozenset({"storage", "allow_loss", "zarr_names", "dry_run"})
"""Options that other commands have as well."""

OPTIONS = (
    Option(
        "masking_fill",
        section=SOURCE,
        flags="--mask-fill",
        help="state fill values of Zarr v2 as `_FillValue`, because xarray takes them so",
    ),
    Option(
        "consolidated",
        section=TARGET,
        flags="--consolidated",
        takes="switch",
        help="write the metadata of all nodes in one key of the root as well (default: if the store has them)",
    ),
)
"""Options of this command alone."""


class MigrationResult(NamedTuple):
    """Result of the command."""

    change: DocumentChange
    """Documents before and after."""
    source: str | None = None
    """Format that the store had; None if a migration was taken back."""
    form: str | None = None
    """Format that the store has now; None if a migration was taken back."""

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {
            "result": COMMAND,
            "target": show(self.change.target),
            "source_format": self.source,
            "format": self.form,
            "documents": self.change.count_actions(),
            "undo": self.change.undo,
        }


def parser() -> Command:
    """Return the parser of `migrate`."""
    subparser = Command(
        COMMAND,
        "[OPTION]… STORE (--to FORMAT | --undo FILE)",
        "Give a Zarr store the documents of another format, in its place. No chunk is read or moved: the new documents "
        "describe the chunks, keys and codecs that are there. They are read and compared before anything is written. "
        "At any moment the store reads as before or as after; an undo file restores every document.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "target", metavar="STORE", help="Zarr store: a folder or URL")
    subparser.option(
        TARGET,
        "--to",
        metavar="FORMAT",
        help="format that the store gets: zarr3, nczarr (Zarr v2 with netCDF's metadata; repairs old dialects), "
        "nczarr3 or zarr2",
    )
    subparser.option(
        TARGET, "--keep", action="store_true", help="leave the old documents beside the new ones, for old readers"
    )
    subparser.option(TARGET, "--undo", metavar="FILE", help="restore the documents that FILE holds")
    subparser.option(
        TARGET, "--undo-file", metavar="FILE", help="name of the undo file (default: STORE.undo-1.json, or the next)"
    )
    return subparser.complete(REPORTING, SHARED, own=OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Migrate, or take a migration back; return the status."""
    if (arguments.to is None) == (arguments.undo is None):
        return misuse(COMMAND, "name a format with --to, or an undo file with --undo")
    if arguments.undo is not None and (arguments.dry_run or arguments.keep or arguments.undo_file is not None):
        return misuse(COMMAND, "--undo takes no other options of the target")
    messages = Messages(arguments)
    done: list[MigrationResult] = []
    status = messages.guard(lambda: _run(arguments, messages, done))
    for result in done:
        messages.result(_summary(arguments, result), result)
    return status


def _run(arguments: argparse.Namespace, messages: Messages, done: list[MigrationResult]) -> None:
    """Migrate or take back. Raises OSError."""
    from nczarr.plugins.edit.document_change import show_patch, take_back
    from nczarr.plugins.edit.migrate_store import MigrateRequest, migrate

    options = options_of(arguments, masking_fill=arguments.masking_fill)
    if arguments.undo is not None:
        change = take_back(arguments.target, arguments.undo, messages.report, options)
        if change is not None:
            done.append(MigrationResult(change))
        return
    request = MigrateRequest(
        arguments.target, arguments.to, options, arguments.keep, arguments.dry_run, arguments.undo_file
    )
    migration: Migration | None = migrate(request, messages.report)
    if migration is None or messages.report.errors:
        return
    if arguments.dry_run:
        write_product(line.encode("utf-8", "surrogateescape") for line in show_patch(migration.change))
    done.append(MigrationResult(migration.change, migration.source, migration.form))


def _summary(arguments: argparse.Namespace, result: MigrationResult) -> str:
    """Return one line on what was done."""
    counts = result.change.count_actions()
    texts = [f"{count} {action}" for action, count in counts.items() if count]
    counted = ", ".join(texts) or "nothing to change"
    number = sum(counts.values())
    what = f"{number} document{'s' * (number != 1)} ({counted})" if texts else counted
    name = f"`{show(result.change.target)}`"
    if arguments.undo is not None:
        return f"{name}: {what}, as before"
    formats = " → ".join(label_format(name) for name in (result.source, result.form) if name is not None)
    if arguments.dry_run:
        return f"{name}: {formats}, {what}; nothing was written"
    undo = result.change.undo
    back = "" if undo is None else f"; to take it back: nczarr migrate {word(result.change.target)} --undo {word(undo)}"
    return f"{name}: {formats}, {what}{back}"
