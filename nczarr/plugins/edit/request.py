"""Request and result of an edit."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.diagnostics.report import Source
from nczarr.options import Options
from nczarr.plugins.edit.header_changes import HeaderChange
from nczarr.plugins.edit.instructions import Instruction


class EditRequest(NamedTuple):
    """Changes of the header of a dataset in its place."""

    target: str
    """Path or URL."""
    instructions: tuple[Instruction, ...] = ()
    """Attributes to set, names to change, things to remove."""
    header: Source | None = None
    """CDL text of the new header; None: the present one with the instructions."""
    merge: tuple[str, str] | None = None
    """Paths of the common base and of another state, whose changes of the header are applied; excludes the others."""
    base: str | None = None
    """Fingerprint of the header from which `header` was made; None: not compared."""
    undo: bytes | None = None
    """Content of an undo file, whose edit is reversed; excludes the others."""
    undo_file: str | None = None
    """Path of the undo file to write; None: a new one beside the target."""
    rehearsal: bool = False
    """Only show the changes."""
    options: Options = Options()


class EditResult(NamedTuple):
    """Result of an edit."""

    target: str
    """Path or URL."""
    changes: tuple[HeaderChange, ...]
    """Changes of the header; empty for a reversed edit."""
    lines: tuple[str, ...]
    """Changes, and what is written for them, for people."""
    undo_file: str | None = None
    """Path of the undo file; None: nothing was written, or an edit was reversed."""
    recovered: bool = False
    """True if an interrupted edit was reversed before."""
