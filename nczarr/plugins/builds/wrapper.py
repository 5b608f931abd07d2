"""Options of a run in a build, and the run around the command."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nczarr.sdk import RUN, Option, RunWrapper, complain, misuse
from nczarr.stores import local_paths

if TYPE_CHECKING:
    from nczarr.plugins.builds.fingerprint import State

PAUSE = 0.3
"""Seconds between two looks at the inputs."""

OPTIONS = (
    Option(
        "depfile",
        section=RUN,
        flags="--depfile",
        takes="text",
        metavar="FILE",
        help="write the files that the target depends on as a rule for Make and Ninja",
        bytes=False,
    ),
    Option(
        "if_changed",
        section=RUN,
        flags="--if-changed",
        help="do nothing if the target was made by this command from the same inputs, else replace it; "
        "TARGET.nczarr-inputs.json keeps what they were",
        bytes=False,
    ),
    Option(
        "watch",
        section=RUN,
        flags="--watch",
        help="run again when an input changes, until interrupted; replaces the target",
        bytes=False,
    ),
)


def run(arguments: argparse.Namespace, call: Callable[[argparse.Namespace], int], words: Sequence[str]) -> int:
    """Run a command with what a build asks of it; return its status."""
    target = getattr(arguments, "target", None) or getattr(arguments, "output", None)
    if not (arguments.depfile or arguments.if_changed or arguments.watch):
        return call(arguments)
    if target is None or target == "-" or "://" in target:
        return misuse(arguments.command, "--depfile, --if-changed and --watch need a target that is a file or folder")
    if arguments.depfile and not local_paths.is_folder(local_paths.parent_of(arguments.depfile) or os.curdir):
        return misuse(arguments.command, f"the folder of `{arguments.depfile}` does not exist")
    if not arguments.watch:
        return _run_once(arguments, call, words, target)[0]
    from nczarr.plugins.builds.fingerprint import look_at

    while True:
        status, inputs = _run_once(arguments, call, words, target)
        complain(f"nczarr: watching {len(inputs)} file{'s' * (len(inputs) != 1)}; status {status}")
        sys.stderr.flush()
        try:
            while all(look_at(path) == state for path, state in inputs.items()):
                time.sleep(PAUSE)
        except KeyboardInterrupt:  # the usual end: nothing is written meanwhile
            return status


def _run_once(
    arguments: argparse.Namespace, call: Callable[[argparse.Namespace], int], words: Sequence[str], target: str
) -> tuple[int, dict[str, State]]:
    """Return the status of a run, and its inputs as they were before it: they may change while it runs."""
    from nczarr.plugins.builds.fingerprint import (
        is_current,
        list_files,
        list_inputs,
        look_at,
        recording,
        write_depfile,
        write_fingerprint,
    )

    asked = [word for word in words if word != "--watch"]
    sources = _list_sources(arguments)
    passes = getattr(arguments, "passes", None) or ()
    has_depfile = not arguments.depfile or os.path.exists(arguments.depfile)
    if arguments.if_changed and has_depfile and is_current(target, asked):
        return 0, {path: look_at(path) for path in list_inputs((), sources, passes, target)}
    arguments.overwrite = arguments.overwrite or arguments.if_changed or arguments.watch
    before = {path: look_at(path) for source in sources for path in list_files(source)}
    with recording() as opened:
        status = call(arguments)
    states = {local_paths.absolute(path): state for path, state in {**opened, **before}.items()}
    listed = list_inputs(opened, sources, passes, target)
    inputs = {path: states.get(local_paths.absolute(path)) or look_at(path) for path in listed}
    if status != 0:
        return status, inputs
    try:
        if arguments.if_changed and all(look_at(path) == state for path, state in inputs.items()):
            write_fingerprint(target, asked, inputs)
        if arguments.depfile:
            unfinished = f"{arguments.depfile}.partial"
            with open(unfinished, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(write_depfile(target, inputs))
            os.replace(unfinished, arguments.depfile)
    except OSError as fault:
        return misuse(arguments.command, f"`{fault.filename}`: {fault.strerror}"), inputs
    return status, inputs


def _list_sources(arguments: argparse.Namespace) -> list[str]:
    """Return the paths of the sources that are files or folders."""
    named: str | list[str] = next(
        getattr(arguments, name) for name in ("sources", "source") if hasattr(arguments, name)
    )
    every = [named] if isinstance(named, str) else list(named)
    return [source for source in every if source != "-" and ("://" not in source or source.startswith("file://"))]


WRAPPER = RunWrapper(OPTIONS, run, if_given=True)
