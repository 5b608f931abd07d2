"""Targets on their way: lock, journal, publication by one rename, removal, and signals that wait for a step's end.

One writer at a time: a target is locked before it is read for comparison, until
its commit. A place that has neither locks nor conditional requests is written
without a lock; `unlocked-target` says so if something is replaced there.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain, count
from typing import TYPE_CHECKING

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.stores import local_paths
from nczarr.stores.base import JOURNAL, ROOT_KEYS
from nczarr.stores.commitment import OldTargetStaysError, after_commit
from nczarr.stores.lock import CLOSED, BusyTargetError, Lock, LockFile, NoLock, busy, lock_file
from nczarr.stores.places import find_places
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    import subprocess


_delayed: list[list[int]] = []
"""Signals that were delayed, by block."""


def is_signalled() -> bool:
    """Return whether a signal waits for the end of an `delay_signals` block."""
    return any(_delayed)


@contextmanager
def delay_signals() -> Iterator[None]:
    """Delay signals that end a run until the block is done. Python handles them in its main thread."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():  # Python runs handlers in the main thread alone
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


_LONGEST_NAME = 255  # NAME_MAX of most file systems
"""Maximum bytes of a name in most file systems."""

PATIENCE = 1.0
"""Seconds of an ended run for the removal of its files; a process of its own does the rest."""

STRIDE = 64
"""Files that are removed between two looks at the clock."""

_REMOVE = "import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)"

_LONGEST_END = len(".replaced-00000000")

_WORD = r"\.(partial|replaced|removed)-[0-9a-f]{8}$"

_removers: list[subprocess.Popen[bytes]] = []
"""Processes that remove folders. They outlive this one."""


def sibling(path: str, word: str) -> str:
    """Return a new sibling name, `<name>.<word>-<id>`; of a long name a digest stands for its end."""
    folder, name = os.path.split(path)
    return os.path.join(folder, add_end(name, f".{word}-{os.urandom(4).hex()}"))


def add_end(name: str, end: str) -> str:
    """Return a name with an end. A long name is cut, and ends with its digest: two targets never share a sibling.

    So does one with a backslash, which the netCDF library takes for a separator of folders.
    """
    data = os.fsencode(name)
    if len(data) > _LONGEST_NAME - _LONGEST_END or b"\\" in data:
        import hashlib

        digest = f"~{hashlib.sha256(data).hexdigest()[:16]}"
        kept = data[: _LONGEST_NAME - _LONGEST_END - len(digest)].replace(b"\\", b"_")
        name = os.fsdecode(kept) + digest
    return name + end


def edit_journal(path: str) -> str:
    """Return the place of the journal of an edit of a local file; links lead to the file itself."""
    folder, name = os.path.split(local_paths.real(path))
    return os.path.join(folder, add_end(f".{name}", ".nczarr-edit"))


def is_edit_unfinished(path: str) -> bool:
    """Return whether an edit of a local file was begun and not finished."""
    return os.path.lexists(edit_journal(path))


def remove_folder(path: str, *, patience: float | None = None) -> str | None:
    """Remove a folder; return the name under which a process goes on removing it, None if it is gone.

    `patience`: seconds that it may take here; None: until a signal arrives. Raises
    OSError if it stays, FileNotFoundError if it was not there.
    """
    removed = sibling(re.sub(_WORD, "", path), "removed")
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
        import shutil  # its import takes a hundredth of a small run

        try:
            shutil.rmtree(removed)
        except FileNotFoundError:  # another process removes it too
            shutil.rmtree(removed, ignore_errors=True)
        except OSError as error:
            raise OSError(error.errno, error.strerror, removed) from error
        return None
    return removed if _is_delegated(removed) else None


def leftovers(path: str) -> list[tuple[str, str]]:
    """Return what runs have left beside a local target: `partial`, `replaced` or `removed`, and the path. Sorted."""
    folder, name = os.path.split(local_paths.absolute(path))
    matches = ((entry, re.search(_WORD, entry)) for entry in sorted(os.listdir(folder)))
    return [
        (match[1], os.path.join(folder, entry))
        for entry, match in matches
        if match is not None and entry == add_end(name, match[0])
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

    command = [sys.executable, "-I", "-S", "-c", _REMOVE, local_paths.absolute(folder)]
    null = subprocess.DEVNULL
    try:
        _removers.append(subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True))
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True


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
    then it is unchanged. Raises OldTargetStaysError if an old one cannot be removed.
    """
    with delay_signals():
        old = _put_in_place(partial, target, overwrite=overwrite)
        unfinished.discard(partial)
        with after_commit(target):
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
    if _exchange(partial, target):
        return partial
    aside = sibling(target, "replaced")
    os.rename(target, aside)
    try:
        os.rename(partial, target)
    except OSError:
        os.rename(aside, target)
        raise
    return aside


_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
"""Arguments of Linux's `renameat2`: the current folder, and that both names stay."""


def _exchange(one: str, other: str) -> bool:
    """Exchange two names at once, so that at no moment one is missing; return False where the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _remove(path: str) -> None:
    """Remove what a target was. Raises OldTargetStaysError."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            remove_folder(path)
        else:
            os.unlink(path)
    except OSError as error:
        reason = f"its old content stays in `{show(error.filename)}`: {error.strerror}"
        raise OldTargetStaysError(error.errno, reason) from error


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
    return "is a folder that is not a store" if names and not set(ROOT_KEYS).intersection(names) else None


BETWEEN = 0.05
"""Seconds between two attempts to take the lock of another run."""


@contextmanager
def lock_target(
    path: str, report: Report, storage: StorageOptions, *, replaces: bool, patience: float = 0
) -> Iterator[Lock | None]:
    """Hold the lock of the target at a path or URL; None after a reported error.

    `replaces`: something is replaced there, so a place without locks is worth a
    warning. `patience`: seconds to wait for another run. Reports busy-target,
    unlocked-target. Raises OSError.
    """
    steps = nullcontext if is_remote(path) else delay_signals  # a server may answer late: there a signal is heard
    lock: Lock | None = None
    try:
        deadline = time.monotonic() + patience
        while lock is None:
            try:
                with steps():
                    if is_remote(path):
                        lock = find_places(path).lock(path, storage.of("target"), checks=replaces)
                    else:
                        lock = lock_file(path)
            except BusyTargetError as error:
                if time.monotonic() >= deadline:
                    report.add(busy(path, error.holder, error.remedy))
                    break
                time.sleep(BETWEEN)
        if isinstance(lock, NoLock) and lock.reason is not None and replaces:
            text = f"`{show(path)}` is written without a lock: {lock.reason}"
            report.warning("unlocked-target", text, helps=["let no other run write it at the same time"])
        yield lock
    except OSError as error:
        folder = os.path.dirname(local_paths.real(path))
        if error.errno in CLOSED and not is_remote(path) and os.path.isdir(folder) and not os.access(folder, os.W_OK):
            error.add_note(f"the folder `{folder}` cannot be written, where a new target is made beside its place")
        raise
    finally:
        try:
            if isinstance(lock, LockFile) and lock.killed:
                _report_leftovers(path, report)
            if lock is not None:
                with steps():
                    lock.release()
        except KeyboardInterrupt:  # between the end of the block and the delay of signals
            if lock is not None:
                lock.release()
            raise


def _report_leftovers(path: str, report: Report) -> None:
    """Report abandoned-target for what killed runs have left beside a target; one that was being removed still is."""
    # `append` writes beside what a link names
    places = dict.fromkeys((local_paths.absolute(path), local_paths.real(path)))
    for word, place in chain.from_iterable(map(leftovers, places)):
        if word == "removed":
            go_on(place)
            continue
        holds = "the target as it was before" if word == "replaced" else "an incomplete target"
        text = f"a run that was killed has left {holds} in `{place}`"
        can_resume = word != "replaced" and os.path.exists(local_paths.join(place, JOURNAL))
        helps = ["continue it by the same command with `--resume`"] if can_resume else []
        report.warning("abandoned-target", text, helps=[*helps, "remove it if it is not needed"])
