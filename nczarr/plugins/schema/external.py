"""`compile --plugin CMD`: a program in any language that makes files from the analysed tree.

It gets one JSON object on standard input, and writes one to standard output:

    {"nczarr": "0.1.0", "protocol": 1, "name": "ocean", "source": "ocean.cdl", "ast": {…}, "nodes": [{…}]}
    {"files": [{"name": "ocean.md", "text": "…"}], "diagnostics": [{"severity": "error", "message": "…", "node": "/v"}]}

`ast` is the document of `--emit ast`, `nodes` are the records of `--emit analysed`. A file has `text`, or `base64`.
A diagnostic is shown at the place of its node in the source.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from nczarr import __version__
from nczarr.ast import walk
from nczarr.ast.json import dump
from nczarr.pipeline.emission import Emission
from nczarr.plugins.common.folder import write_files
from nczarr.plugins.common.nodes import label_of
from nczarr.plugins.schema.emissions import list_declarations
from nczarr.sdk import Checked, Diagnostic, Label, Severity, show

PROTOCOL = 1
"""Version of the two objects; a program may refuse another one."""

LARGEST = 64 << 20
"""Most bytes of an answer."""

SECONDS = 60.0
"""Time that a program has, unless the command line says otherwise."""

PAUSE = 0.02
"""Seconds between two looks at a program."""

CODES = {"error": "plugin-error", "warning": "plugin-warning", "note": "plugin-note"}


class FailedProgramError(Exception):
    """A program that did not answer as it must; the text says why."""


def make(emission: Emission, options: Mapping[str, Any], folder: str, *, overwrite: bool) -> None:
    """Run a program, and write its files. Reports failed-plugin, and what the program reports. Raises OSError."""
    report = emission.report
    try:
        seconds = float(options["program_seconds"] or SECONDS)
    except ValueError:
        report.error("failed-plugin", f"`{options['program_seconds']}` is not a number of seconds")
        return
    checked = emission.read()
    if checked is None:
        return
    try:
        answer = _ask(options["program"], _make_request(emission, checked), seconds)
        files = dict(_list_files(answer))
        for diagnostic in _list_diagnostics(answer, checked):
            report.add(diagnostic)
    except FailedProgramError as error:
        report.error("failed-plugin", f"the plugin `{show(options['program'])}` {error}")
        return
    if not report.errors:
        write_files(Path(folder), files, report, overwrite=overwrite)


def _make_request(emission: Emission, checked: Checked) -> bytes:
    source = checked.dataset.span.source
    request = {
        "nczarr": __version__,
        "protocol": PROTOCOL,
        "name": checked.dataset.name,
        "source": None if source is None else source.name,
        "ast": dump(checked.dataset),
        "nodes": list(list_declarations(emission)),
    }
    return json.dumps(request).encode()


def _ask(command: str, request: bytes, seconds: float) -> Any:
    """Return what a program answers. Raises FailedProgramError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise FailedProgramError(f"cannot be split into words: {error}") from error
    if not words:
        raise FailedProgramError("is empty")
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        asked.write(request)
        asked.seek(0)
        try:
            running = subprocess.Popen(words, stdin=asked, stdout=said, stderr=complained, start_new_session=True)
        except OSError as error:
            raise FailedProgramError(f"cannot be run: {error.strerror}") from error
        try:
            _await(running, said, complained, seconds)
        finally:
            _end(running)
        if running.returncode:
            raise FailedProgramError(f"ended with status {running.returncode}{_tail(complained)}")
        said.seek(0)
        try:
            return json.loads(said.read())
        except (ValueError, RecursionError) as error:
            raise FailedProgramError(f"wrote no JSON: {error}{_tail(complained)}") from error


def _await(running: subprocess.Popen[bytes], said: IO[bytes], complained: IO[bytes], seconds: float) -> None:
    """Wait until a program ends. Raises FailedProgramError if it takes too long or writes too much."""
    end = time.monotonic() + seconds
    while running.poll() is None:
        if time.monotonic() > end:
            raise FailedProgramError(f"did not end within {seconds:g} seconds{_tail(complained)}")
        if max(os.fstat(each.fileno()).st_size for each in (said, complained)) > LARGEST:
            break
        time.sleep(PAUSE)
    if max(os.fstat(each.fileno()).st_size for each in (said, complained)) > LARGEST:
        raise FailedProgramError(f"wrote more than {LARGEST >> 20} MiB")


def _end(running: subprocess.Popen[bytes]) -> None:
    """End a program with those that it started."""
    with suppress(ProcessLookupError):  # all of them ended
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def _tail(complained: IO[bytes]) -> str:
    """Return the last line that a program wrote to standard error."""
    size = os.fstat(complained.fileno()).st_size
    complained.seek(max(0, size - 2000))
    lines = complained.read().decode("utf-8", "replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return f"; it said: {last.strip()[:300]}" if last else ""


def _list_members(answer: Any, name: str) -> list[dict[str, Any]]:
    """Return a list of objects in an answer. Raises FailedProgramError."""
    found = answer.get(name, []) if isinstance(answer, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise FailedProgramError(f"wrote no object with a list of objects `{name}`")
    return found


def _list_files(answer: Any) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents. Raises FailedProgramError for a name that leads elsewhere, or that others take."""
    taken: set[str] = set()
    for file in _list_members(answer, "files"):
        name, text, encoded = (file.get(member) for member in ("name", "text", "base64"))
        if not isinstance(name, str) or not _is_inside(name):
            raise FailedProgramError(f"names the file `{show(str(name))}`, which is not below the folder")
        folded = name.casefold()
        if any(folded == each or folded.startswith(f"{each}/") or each.startswith(f"{folded}/") for each in taken):
            raise FailedProgramError(f"names the file `{show(name)}` twice")
        taken.add(folded)
        if isinstance(text, str) and encoded is None:
            yield name, text.encode("utf-8", "surrogatepass")
        elif isinstance(encoded, str) and text is None:
            try:
                yield name, base64.b64decode(encoded, validate=True)
            except ValueError as error:
                raise FailedProgramError(f"gives the file `{show(name)}` no base64: {error}") from error
        else:
            raise FailedProgramError(f"gives the file `{show(name)}` neither `text` nor `base64`")


def _is_inside(name: str) -> bool:
    """Return whether a name is one of a file below a folder, on every system."""
    segments = name.split("/")
    return (
        all(
            segment not in ("", ".", "..") and len(segment.encode()) < 256 and not set(segment) & set('\\:*?"<>|')
            for segment in segments
        )
        and name.isprintable()
    )


def _list_diagnostics(answer: Any, checked: Checked) -> Iterator[Diagnostic]:
    nodes = dict(walk(checked.dataset))
    for each in _list_members(answer, "diagnostics"):
        severity, message, path, help_text = (each.get(name) for name in ("severity", "message", "node", "help"))
        if severity not in CODES or not isinstance(message, str):
            raise FailedProgramError("wrote a diagnostic without a message, or whose severity is unknown")
        if path is not None and path not in nodes:
            raise FailedProgramError(f"wrote a diagnostic of `{show(str(path))}`, which no node is")
        label = Label() if path is None else label_of(nodes[path])
        helps = (help_text,) if isinstance(help_text, str) else ()
        yield Diagnostic(CODES[severity], Severity(severity), message, label, helps=helps)
