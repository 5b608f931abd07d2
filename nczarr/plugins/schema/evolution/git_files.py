"""`diff --against REVISION`: files, and their state in a revision of git."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nczarr.options import COMPARISON
from nczarr.sdk import DONE, Option, RunWrapper, misuse
from nczarr.stores import local_paths

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
        raise OSError(fault if fault and not text else text or fault)
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
