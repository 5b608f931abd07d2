"""`nczarr edit TARGET`: change the header of a dataset in its place."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.cli import misuse, write_product
from nczarr.cli.options import options_of
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import show, word
from nczarr.options import ARGUMENTS, READING, REPORTING, RUN, TARGET

if TYPE_CHECKING:
    from nczarr.plugins.edit.edit_header import EditRequest, EditResult

EXAMPLES = (
    ("correct an attribute, and rename a variable", "edit ocean.nc --set '/temp@units=\"K\"' --rename /temp=sst"),
    ("see what a new name would change", "edit ocean.nc --rename /time=t --dry-run"),
)


class EditRecord(NamedTuple):
    """Result of the command."""

    done: EditResult

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {
            "result": "edit",
            "target": show(self.done.target),
            "changes": list(self.done.lines),
            "undo_file": self.done.undo_file,
            "recovered": self.done.recovered,
        }


class _Instruction(argparse.Action):
    """Option that collects instructions in order, with its name."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Append one."""
        namespace.instructions = [*namespace.instructions, (option_string, values)]


def parser() -> Command:
    """Return the parser of `edit`."""
    subparser = Command(
        "edit",
        "[OPTION]… TARGET",
        "Change the header of a dataset where it lies: attributes, names, empty variables, removals. Values are not "
        "read or written; what needs them written again is refused. Without instructions, the header is opened as "
        "CDL in the editor ($VISUAL, $EDITOR). Paths are those before the edit. At any moment the target reads as "
        "before or as after, and an undo file is written that restores it.",
        EXAMPLES,
    )
    subparser.set_defaults(instructions=[])
    subparser.option(ARGUMENTS, "target", metavar="TARGET", help="file, store or URL")
    subparser.option(
        TARGET,
        "--set",
        action=_Instruction,
        dest="instructions",
        metavar="PATH@NAME=VALUES",
        help='set an attribute; values as in CDL ("K", 0.f, 100.f), with a type before the path if needed '
        "('string /v@names=\"a\"'); @NAME is an attribute of the root; repeatable",
    )
    subparser.option(
        TARGET,
        "--delete",
        action=_Instruction,
        dest="instructions",
        metavar="PATH",
        help="remove an attribute (PATH@NAME), a variable, a group, or (dim:PATH) an unused dimension; repeatable",
    )
    subparser.option(
        TARGET,
        "--rename",
        action=_Instruction,
        dest="instructions",
        metavar="PATH=NEW",
        help="rename an attribute (PATH@NAME=NEW), or a node: a coordinate variable with its dimension, "
        "var:PATH and dim:PATH one of them; repeatable",
    )
    subparser.option(
        TARGET, "--header", metavar="FILE", help="CDL of the new header (nczarr dump -h), - is standard input"
    )
    subparser.option(
        TARGET,
        "--merge",
        nargs=2,
        metavar=("BASE", "OTHER"),
        help="make the changes of the header that lead from BASE to OTHER, unless TARGET's own ones contradict them; "
        "a merge driver of git: `git config merge.nczarr.driver 'nczarr edit %%A --merge %%O %%B'`",
    )
    subparser.option(TARGET, "--undo", metavar="FILE", help="reverse the edit of this undo file")
    subparser.option(TARGET, "--undo-file", metavar="FILE", help="undo file to write (default: TARGET.undo-1.json, …)")
    subparser.option(RUN, "--recover", action="store_true", help="only restore a target whose edit was interrupted")
    return subparser.complete(READING, REPORTING, {"dry_run"})


def run(arguments: argparse.Namespace) -> int:
    """Edit; return the status."""
    ways = [
        arguments.header is not None or bool(arguments.instructions),
        arguments.merge is not None,
        arguments.undo is not None,
        arguments.recover,
    ]
    if sum(ways) > 1:
        return misuse("edit", "--merge, --undo and --recover take no other instructions")
    messages = Messages(arguments)
    return messages.guard(lambda: _edit(arguments, messages, use_editor=not any(ways)))


def _edit(arguments: argparse.Namespace, messages: Messages, *, use_editor: bool) -> None:
    """Parse, compare, write. Raises OSError."""
    from nczarr.plugins.edit.edit_header import EditRequest, edit, parse_instruction

    report, target = messages.report, arguments.target
    parsed = [parse_instruction(option, text, report) for option, text in arguments.instructions]
    if report.errors:
        return
    request = EditRequest(
        target,
        tuple(instruction for instruction in parsed if instruction is not None),
        None if arguments.header is None else _read_header(arguments.header),
        merge=None if arguments.merge is None else tuple(arguments.merge),
        undo=None if arguments.undo is None else _read(arguments.undo),
        undo_file=arguments.undo_file,
        rehearsal=arguments.dry_run,
        options=options_of(arguments),
    )
    done = _edit_text(request, messages) if use_editor else edit(request, report)
    if done is None or report.errors:
        return
    try:
        if not arguments.quiet:
            write_product(f"{line}\n".encode("utf-8", "surrogateescape") for line in done.lines)
    finally:  # the target is changed, whether or not anybody reads the lines
        messages.result(f"`{show(arguments.target)}`: {_summarize(arguments, done)}", EditRecord(done))


def _read(path: str) -> bytes:
    """Return the content of a file. Raises OSError."""
    with open(path, "rb") as file:
        return file.read()


def _read_header(path: str) -> Source:
    """Return the text of a new header. Raises OSError."""
    from nczarr.cli.options import standard_input
    from nczarr.stores.open import open_source

    return standard_input() if path == "-" else open_source(path)


def _edit_text(request: EditRequest, messages: Messages) -> EditResult | None:
    """Let the user change the header as text, and apply the changes. Raises OSError."""
    from nczarr.plugins.edit.edit_header import edit, header_text

    if not request.rehearsal and edit(request, messages.report) is None:  # restores what an interrupted edit left
        return None
    header = header_text(request.target, messages.report, request.options)
    if header is None or messages.report.errors:
        return None
    number, path = tempfile.mkstemp(prefix="nczarr-", suffix=".cdl")
    with open(number, "wb") as file:
        file.write(header.text)
    _open_editor(path)
    text = _read(path)
    done = edit(request._replace(header=Source(path, text), base=header.fingerprint), messages.report)
    if messages.report.errors:
        messages.remark(f"the text is kept: nczarr edit {word(request.target)} --header {path}")
    else:
        os.unlink(path)
    return done


def _open_editor(path: str) -> None:
    """Let the user's editor change a file. Raises OSError if it cannot be started, or fails."""
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    status = subprocess.run([*words, path], check=False).returncode
    if status:
        raise OSError(f"the editor `{words[0]}` ended with status {status}; nothing was changed")


def _summarize(arguments: argparse.Namespace, done: EditResult) -> str:
    """Return one line on what was done."""
    if arguments.undo is not None:
        return "the edit would be reversed" if arguments.dry_run else "the edit is reversed"
    recovered = "an interrupted edit was reversed; " * done.recovered
    if not done.changes:
        return recovered + "nothing to change"
    number = len(done.changes)
    counted = f"{number} change{'s' * (number != 1)}"
    if done.undo_file is None:
        return f"{recovered}{counted}{' merged' if arguments.merge and not arguments.dry_run else ', not written'}"
    return f"{recovered}{counted}; to reverse: nczarr edit {word(done.target)} --undo {word(done.undo_file)}"
