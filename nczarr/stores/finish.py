"""Targets on their way: the journal of an unfinished store, publication by one rename, checks of existing ones."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple

from nczarr.stores.base import ROOT_KEYS

VERSION = 1


class Journal(NamedTuple):
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

    def is_of(self, other: Journal) -> bool:
        """Return whether both have the same fingerprint."""
        return self.fingerprint is not None and self.fingerprint == other.fingerprint


def parsed(data: bytes) -> Journal:
    """Parse a journal; other versions or damaged ones have no fingerprint."""
    import json

    try:
        found = json.loads(data)
        fingerprint, source, run = found.get("fingerprint"), found.get("source"), found.get("run", "")
        if found.get("nczarr_journal") != VERSION or not (isinstance(source, str) and isinstance(run, str)):
            return Journal(None)
        if not isinstance(fingerprint, str):
            return Journal(None, run=run)
        return Journal(fingerprint, source, "clearing" if found.get("state") == "clearing" else "writing", run)
    except (ValueError, AttributeError, RecursionError):
        return Journal(None)


_LONGEST_NAME = 255
"""Maximum bytes of a name in most file systems."""


unfinished: set[str] = set()
"""Paths of unfinished files and folders; `remove_unfinished` removes them if the process ends suddenly."""


def partial(path: str) -> str:
    """Return a new temporary sibling name of a target, and register it as unfinished."""
    made = sibling(path, "partial")
    unfinished.add(made)
    return made


def remove_unfinished() -> None:
    """Remove every unfinished target of this process; ignore failures."""
    import shutil

    for path in list(unfinished):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)


def sibling(path: str, word: str) -> str:
    """Return a new sibling name, `<name>.<word>-<id>`, cut to a valid length."""
    folder, name = os.path.split(path)
    end = f".{word}-{os.urandom(4).hex()}"
    begin = os.fsdecode(os.fsencode(name)[: _LONGEST_NAME - len(end)])
    return os.path.join(folder, begin + end)


def put_in_place(partial: str, target: str, *, overwrite: bool) -> None:
    """Rename a finished file or folder to its final name; with `overwrite` replace an old one.

    Signals are delayed, so that an old target never remains under another name.
    Raises OSError, FileExistsError if an old target may not be overwritten;
    then it is unchanged.
    """
    with unstopped():
        _put_in_place(partial, target, overwrite=overwrite)
        unfinished.discard(partial)


@contextmanager
def unstopped() -> Iterator[None]:
    """Delay signals that end a run until the block is done. Python handles them in its main thread."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept: list[int] = []
    known = {}
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            handler = None if number is None else signal.getsignal(number)
            if number is not None and handler not in (None, signal.SIG_IGN):
                known[number] = handler
                signal.signal(number, lambda number, frame: kept.append(number))
        yield
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)
        for number in kept[:1]:
            signal.raise_signal(number)


def _put_in_place(partial: str, target: str, *, overwrite: bool) -> None:
    if not os.path.lexists(target):
        os.rename(partial, target)
        return
    if not overwrite:
        raise FileExistsError(f"{target} exists")
    if not os.path.isdir(partial) and (os.path.islink(target) or not os.path.isdir(target)):
        os.replace(partial, target)  # a file for a file: at no moment is there none
        return
    if _exchanged(partial, target):
        _remove(partial)
        return
    aside = sibling(target, "replaced")
    os.rename(target, aside)
    try:
        os.rename(partial, target)
    except OSError:
        os.rename(aside, target)
        raise
    _remove(aside)


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
        import shutil

        shutil.rmtree(path)
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
    held = os.listdir(path)
    if held and not set(ROOT_KEYS).intersection(held):
        return "is a folder that is not a store"
    return None
