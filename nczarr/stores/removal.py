"""Signals that wait, and removal of folders with many files, by a process of its own if that takes long.

A signal must end a run within seconds, but a million files are not removed in
seconds. The new name, `<name>.removed-<id>`, shows that nothing needs the folder.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess


_delayed: list[list[int]] = []
"""Signals that were delayed, by block."""


def is_signalled() -> bool:
    """Return whether a signal waits for the end of an `unstopped` block."""
    return any(_delayed)


@contextmanager
def unstopped() -> Iterator[None]:
    """Delay signals that end a run until the block is done. Python handles them in its main thread."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    delayed: list[int] = []
    _delayed.append(delayed)
    handlers = {}
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            handler = None if number is None else signal.getsignal(number)
            if number is not None and handler not in (None, signal.SIG_IGN):
                handlers[number] = handler
                signal.signal(number, lambda number, frame: delayed.append(number))
        yield
    finally:
        _delayed.pop()  # blocks are nested
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in delayed[:1]:
            signal.raise_signal(number)


_LONGEST_NAME = 255
"""Maximum bytes of a name in most file systems."""

PATIENCE = 1.0
"""Seconds of an ended run for the removal of its files; a process of its own does the rest."""

STRIDE = 64
"""Files that are removed between two looks at the clock."""

_REMOVE = "import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)"

_LONGEST_END = len(".replaced-00000000")

_WORD = re.compile(r"\.(partial|replaced|removed)-[0-9a-f]{8}$")

_removers: list[subprocess.Popen[bytes]] = []
"""Processes that remove folders. They outlive this one."""


def sibling(path: str, word: str) -> str:
    """Return a new sibling name, `<name>.<word>-<id>`; of a long name a digest stands for its end."""
    folder, name = os.path.split(path)
    return os.path.join(folder, extended(name, f".{word}-{os.urandom(4).hex()}"))


def extended(name: str, end: str) -> str:
    """Return a name with an end. A long name is cut, and ends with its digest: two targets never share a sibling."""
    data = os.fsencode(name)
    if len(data) > _LONGEST_NAME - _LONGEST_END:
        import hashlib

        digest = f"~{hashlib.sha256(data).hexdigest()[:16]}"
        name = os.fsdecode(data[: _LONGEST_NAME - _LONGEST_END - len(digest)]) + digest
    return name + end


def remove_folder(path: str, *, patience: float | None = None) -> str | None:
    """Remove a folder; return the name under which a process goes on removing it, None if it is gone.

    `patience`: seconds that it may take here; None: until a signal arrives. Raises
    FileNotFoundError.
    """
    removed = sibling(_WORD.sub("", path), "removed")
    try:
        os.rename(path, removed)
    except FileNotFoundError:
        raise
    except OSError:  # it is removed where it is
        removed = path
    end = None if patience is None else time.monotonic() + patience
    entries = count()

    def is_over() -> bool:
        """Look at the clock at every stride; a signal is no reason before the first: a small folder is gone at once."""
        number = next(entries)
        return number % STRIDE == 0 and (
            (number > 0 and is_signalled()) or (end is not None and time.monotonic() >= end)
        )

    if _is_emptied(removed, is_over):
        shutil.rmtree(removed, ignore_errors=True)
        return None
    return removed if _is_delegated(removed) else None


def leftovers(path: str) -> list[tuple[str, str]]:
    """Return what runs have left beside a local target: `partial`, `replaced` or `removed`, and the path. Sorted."""
    folder, name = os.path.split(os.path.abspath(path))
    matches = ((entry, _WORD.search(entry)) for entry in sorted(os.listdir(folder)))
    return [
        (match[1], os.path.join(folder, entry))
        for entry, match in matches
        if match is not None and entry == extended(name, match[0])
    ]


def go_on(folder: str) -> None:
    """Let a process of its own remove a folder whose removal was stopped."""
    _is_delegated(folder)


def _is_emptied(folder: str, is_over: Callable[[], bool]) -> bool:
    """Remove the content of a folder; return False if the time was over before. Failures are ignored."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if is_over():
                return False
            if not entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    os.unlink(entry.path)
            elif not _is_emptied(entry.path, is_over):
                return False
            else:
                with suppress(OSError):
                    os.rmdir(entry.path)
    return True


def _is_delegated(folder: str) -> bool:
    """Let a process of its own remove a folder; without one remove it here, and return False."""
    import subprocess  # only where a run is ended

    command = [sys.executable, "-I", "-S", "-c", _REMOVE, os.path.abspath(folder)]
    null = subprocess.DEVNULL
    try:
        _removers.append(subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True))
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True
