"""Putting a finished target in its place: it grows beside it and is renamed once; and what may stand in its way."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nczarr.stores.base import ROOT_KEYS

_LONGEST_NAME = 255
"""Bytes that a name may have in most file systems."""


unfinished: set[str] = set()
"""Paths of files and folders in the making. `remove_unfinished` removes them where the process ends at once."""


def partial(path: str) -> str:
    """Return a new name beside a target where it may grow, and note it as unfinished."""
    made = sibling(path, "partial")
    unfinished.add(made)
    return made


def remove_unfinished() -> None:
    """Remove every unfinished target of this process. What cannot be removed is left."""
    import shutil

    for path in list(unfinished):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)


def sibling(path: str, word: str) -> str:
    """A new name beside a target, `<name>.<word>-<id>`, cut where a file system would refuse its length."""
    folder, name = os.path.split(path)
    end = f".{word}-{os.urandom(4).hex()}"
    begin = os.fsdecode(os.fsencode(name)[: _LONGEST_NAME - len(end)])
    return os.path.join(folder, begin + end)


def put_in_place(partial: str, target: str, *, overwrite: bool) -> None:
    """Rename a finished file or folder to its final name; with `overwrite` an old one steps aside and is removed.

    A signal that ends the run is heard when all is done: at no moment may an old target be left under another name.
    Raises OSError, FileExistsError if an old one may not be overwritten; then it is left as it was.
    """
    with unstopped():
        _put_in_place(partial, target, overwrite=overwrite)
        unfinished.discard(partial)


@contextmanager
def unstopped() -> Iterator[None]:
    """Keep signals that end a run until the block is done, then deliver them. Python hears them in its main thread."""
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
    aside = sibling(target, "replaced")
    os.rename(target, aside)
    try:
        os.rename(partial, target)
    except OSError:
        os.rename(aside, target)
        raise
    _remove(aside)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    else:
        os.unlink(path)


def obstacle(path: str, *, store: bool) -> str | None:
    """Why what stands at `path` is not replaced, in words that follow the name; None if it may be.

    A file makes way for any target, a link as such, an empty folder or one that is a store for another store. A
    folder of anything else may be somebody's home. Raises OSError if the place cannot be looked at.
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
        return "is a folder with other things than a store in it"
    return None
