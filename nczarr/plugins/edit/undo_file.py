"""Undo files: JSON documents that reverse an edit, and the commit of a prepared edit around them.

    {"nczarr_undo": 1, "target": "ocean.nc", "header": "9f…", "previous": "0c…", "form": "bytes", …}

`header` and `previous` are fingerprints of the header after and before the edit.
The members behind `form` belong to it (`FORMS`). A prepared edit is carried out in steps:

    undo file   is there before the target changes
    commit      the target reads as after
    check       it is read again; a target that does not read as expected is restored
    conclude    the journal is removed

What fails or is interrupted before the end leaves the target as it was, and no
undo file. What fails behind the commit is a CommittedError, and the undo file stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from itertools import count
from typing import Any

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show, word
from nczarr.plugins.edit.header_changes import PreparedEdit
from nczarr.semantics.checked import Checked
from nczarr.stores import local_paths
from nczarr.stores.commitment import CommittedError
from nczarr.stores.finish import add_end, delay_signals, partial, unfinished
from nczarr.stores.url import is_remote, location, trim

VERSION = 1

FORMS: Mapping[str, str] = {
    "bytes": "nczarr.plugins.edit.patches.file_patch:prepare_undo",
    "documents": "nczarr.plugins.edit.patches.document_commit:prepare_undo",
}
"""Functions `(path, members, Report, Options) -> PreparedEdit | None` by form of undo file, as lazy strings."""


def fingerprint(checked: Checked) -> str:
    """Return a digest of a header: names, types, lengths, attributes and storage."""
    root = checked.dataset.model_copy(update={"name": ""})
    return hashlib.sha256(root.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


def parse_undo(data: bytes, report: Report) -> dict[str, Any] | None:
    """Return the members of an undo file; None after an unmatched-undo."""
    try:
        members = json.loads(data)
        if members["nczarr_undo"] == VERSION and members["form"] in FORMS:
            texts = [members[name] for name in ("target", "header", "previous")]
            if all(isinstance(text, str) for text in texts):
                return dict(members)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    report.error("unmatched-undo", "the undo file is damaged, or not one of this version")
    return None


def can_write_undo(target: str, path: str | None, report: Report) -> bool:
    """Return whether an undo file can be made at a path, if one is given. Reports target-exists, unknown-target."""
    if path is None:
        return True
    helps = ["choose another name for the undo file"]
    if os.path.lexists(path):
        report.error("target-exists", f"`{show(path)}` exists", helps=helps)
        return False
    real, name = local_paths.real(path), local_paths.name_of(path)
    is_inside = not is_remote(target) and local_paths.segments_below(real, trim(target)) is not None
    if is_inside and (name.startswith(".") or name == "zarr.json"):
        report.error("unknown-target", f"`{show(path)}` is the name of a document of the store", helps=helps)
        return False
    return True


def write_undo(target: str, path: str | None, members: Mapping[str, Any]) -> str:
    """Write an undo file and return its path: a new one beside the target if no path is given. Raises OSError."""
    data = _encode(members)
    if path is not None:
        _write(path, data)
        return path
    repository = location(target).repository
    base = (trim(target) if repository is None else repository.place).rstrip("/")
    if is_remote(base):
        base = local_paths.name_of(base) or "dataset"
    folder, name = local_paths.split(base)
    for number in count(1):
        place = local_paths.join(folder, add_end(name, f".undo-{number}.json"))
        try:
            _write(place, data)
        except FileExistsError:
            continue
        return place
    raise AssertionError


def replace_undo(path: str, members: Mapping[str, Any]) -> None:
    """Write an undo file of this run again, whole or not at all. Raises OSError."""
    growing = partial(path)
    try:
        _write(growing, _encode(members))
        os.replace(growing, path)
    finally:
        unfinished.discard(growing)
        with suppress(FileNotFoundError):
            os.unlink(growing)


def _encode(members: Mapping[str, Any]) -> bytes:
    return (json.dumps({"nczarr_undo": VERSION, **members}, indent=1) + "\n").encode()


def _write(path: str, data: bytes) -> None:
    """Write a new file so that it survives a crash of the system. Raises OSError; no half of a file stays."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        os.unlink(path)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = path
        raise


def carry_out(
    prepared: PreparedEdit, target: str, undo_file: str | None, is_right: Callable[[], bool] = lambda: True
) -> bool:
    """Write a target; return whether it is changed, else it is as it was.

    Parameters
    ----------
    prepared
        What is written.
    target
        Path or URL.
    undo_file
        Path of the undo file, which exists; None without one.
    is_right
        Function that reads the target again; False restores it.

    Raises
    ------
    CommittedError
        The target is changed, but not all of it is in its place.
    OSError, CompileError
        The target is as it was.
    """
    with nullcontext() if is_remote(target) else delay_signals():  # a server may answer late
        try:
            prepared.commit()
            try:
                is_changed = is_right()
            except BaseException:
                prepared.abandon()
                raise
        except BaseException as error:
            if not (is_remote(target) and isinstance(error, OSError)):  # it may have got the journal in spite of it
                _remove(undo_file)
            raise
        if is_changed:
            _conclude(prepared, target, undo_file)
        else:
            prepared.abandon()
            _remove(undo_file)
    return is_changed


def _conclude(prepared: PreparedEdit, target: str, undo_file: str | None) -> None:
    try:
        prepared.conclude()
    except CommittedError as error:
        error.add_note(f"complete it: `nczarr edit {word(target)} --recover`")
        if undo_file is not None:
            error.add_note(f"reverse it then: `nczarr edit {word(target)} --undo {word(undo_file)}`")
        raise
    except OSError:
        _remove(undo_file)
        raise


def _remove(undo_file: str | None) -> None:
    """Remove an undo file that reverses nothing."""
    if undo_file is not None:
        with suppress(OSError):  # it says itself of which header it is: no edit takes it
            os.unlink(undo_file)
