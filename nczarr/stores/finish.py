"""Targets on their way: the journal of an unfinished store, publication by one rename, checks of existing ones."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Literal, NamedTuple

from nczarr.stores.base import ROOT_KEYS
from nczarr.stores.removal import PATIENCE, remove_folder, sibling, unstopped

VERSION = 1


class StoreJournal(NamedTuple):
    """Content of the journal of an unfinished store: a key that exists from the first write to the last.

    It identifies the run by a fingerprint. An equal run may resume the store
    (`--resume`): keys are atomic, so existing data keys are complete and have
    the bytes that this run would write. So the store itself is the list of
    finished work. Readers refuse a store with a journal. It contains no
    secrets: the source is in its displayable form.
    """

    fingerprint: str | None
    """Fingerprint of source and plan; None for a source without identity: a stream, or values in memory."""
    source: str = ""
    """Path or URL of the source in its displayable form."""
    state: Literal["clearing", "writing"] = "writing"
    """`clearing` while keys of an old store are removed, then `writing`."""
    run: str = ""
    """Unique identifier of the run that began the store, to detect concurrent runs."""

    def bytes(self) -> bytes:
        """Return the document."""
        import json

        return (json.dumps({"nczarr_journal": VERSION, **self._asdict()}, indent=1) + "\n").encode()

    def is_of(self, other: StoreJournal) -> bool:
        """Return whether both have the same fingerprint."""
        return self.fingerprint is not None and self.fingerprint == other.fingerprint


def parsed(data: bytes) -> StoreJournal:
    """Parse a journal; other versions or damaged ones have no fingerprint."""
    import json

    try:
        document = json.loads(data)
        fingerprint, source, run = document.get("fingerprint"), document.get("source"), document.get("run", "")
        if document.get("nczarr_journal") != VERSION or not (isinstance(source, str) and isinstance(run, str)):
            return StoreJournal(None)
        if not isinstance(fingerprint, str):
            return StoreJournal(None, run=run)
        return StoreJournal(fingerprint, source, "clearing" if document.get("state") == "clearing" else "writing", run)
    except (ValueError, AttributeError, RecursionError):
        return StoreJournal(None)


unfinished: set[str] = set()
"""Paths of unfinished files and folders; `remove_unfinished` removes them if the process ends suddenly."""


def partial(path: str) -> str:
    """Return a new temporary sibling name of a target, and register it as unfinished."""
    temporary = sibling(path, "partial")
    unfinished.add(temporary)
    return temporary


def remove_unfinished() -> None:
    """Remove every unfinished target of this process; ignore failures."""
    for path in list(unfinished):
        with suppress(OSError):
            if os.path.isdir(path) and not os.path.islink(path):
                remove_folder(path, patience=PATIENCE)
            else:
                os.unlink(path)


def put_in_place(partial: str, target: str, *, overwrite: bool) -> None:
    """Rename a finished file or folder to its final name; with `overwrite` replace an old one.

    Signals are delayed, so that an old target never remains under another name.
    Raises OSError, FileExistsError if an old target may not be overwritten;
    then it is unchanged.
    """
    with unstopped():
        old = _put_in_place(partial, target, overwrite=overwrite)
        unfinished.discard(partial)
        if old is not None:
            _remove(old)


def _put_in_place(partial: str, target: str, *, overwrite: bool) -> str | None:
    """Rename; return the place of an old target that is to be removed."""
    if not os.path.lexists(target):
        os.rename(partial, target)
        return None
    if not overwrite:
        raise FileExistsError(f"{target} exists")
    if not os.path.isdir(partial) and (os.path.islink(target) or not os.path.isdir(target)):
        os.replace(partial, target)  # a file for a file: at no moment is there none
        return None
    if _exchanged(partial, target):
        return partial
    aside = sibling(target, "replaced")
    os.rename(target, aside)
    try:
        os.rename(partial, target)
    except OSError:
        os.rename(aside, target)
        raise
    return aside


_HERE, _EXCHANGE = -100, 2
"""Arguments of Linux's `renameat2`: the current folder, and that both names stay."""


def _exchanged(one: str, other: str) -> bool:
    """Exchange two names at once, so that at no moment one is missing; return False where the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        remove_folder(path)
    else:
        os.unlink(path)


def obstacle(path: str, *, store: bool) -> str | None:
    """Return why the target at `path` is not replaced, as a predicate, or None.

    Any target may replace a file or a link itself; a store may replace an empty
    folder or a store. Other folders may be user data. Raises OSError if the
    place is inaccessible.
    """
    mode = os.lstat(path).st_mode
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        return None
    if not stat.S_ISDIR(mode):
        return "is neither a file nor a folder"
    if not store:
        return "is a folder"
    names = os.listdir(path)
    if names and not set(ROOT_KEYS).intersection(names):
        return "is a folder that is not a store"
    return None
