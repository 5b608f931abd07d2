"""Commit of a prepared edit, between its undo file and the removal of its journal.

    undo file   is there before the target changes
    commit      the target reads as after
    check       it is read again; a target that does not read as expected is restored
    conclude    the journal is removed

What fails or is interrupted before the end leaves the target as it was, and no
undo file. What fails behind the commit is a CommittedError, and the undo file stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress

from nczarr.diagnostics.secrets import word
from nczarr.plugins.edit.header_changes import PreparedEdit
from nczarr.stores.commitment import CommittedError
from nczarr.stores.finish import delay_signals
from nczarr.stores.url import is_remote


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
