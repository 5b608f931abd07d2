"""One writer at a time: a target is locked before it is read for comparison, until its commit.

A place that has neither locks nor conditional requests is written without a
lock; `unlocked-target` says so if something is replaced there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain

from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.stores.finish import delay_signals
from nczarr.stores.lock import CLOSED, BusyTargetError, Holder, Lock, LockFile, NoLock, lock_file
from nczarr.stores.url import is_remote


@contextmanager
def lock_target(path: str, report: Report, storage: StorageOptions, *, replaces: bool) -> Iterator[Lock | None]:
    """Hold the lock of the target at a path or URL; None after a reported error.

    `replaces`: something is replaced there, so a place without locks is worth a
    warning. Reports busy-target, unlocked-target. Raises OSError.
    """
    steps = nullcontext if is_remote(path) else delay_signals  # a server may answer late: there a signal is heard
    lock: Lock | None = None
    try:
        try:
            with steps():
                lock = _take(path, storage, replaces=replaces)
        except BusyTargetError as error:
            report.add(busy(path, error.holder, error.remedy))
        if isinstance(lock, NoLock) and lock.reason is not None and replaces:
            text = f"`{show(path)}` is written without a lock: {lock.reason}"
            report.warning("unlocked-target", text, helps=["let no other run write it at the same time"])
        yield lock
    except OSError as error:
        folder = os.path.dirname(os.path.realpath(path))
        if error.errno in CLOSED and not is_remote(path) and os.path.isdir(folder) and not os.access(folder, os.W_OK):
            error.add_note(f"the folder `{folder}` cannot be written, where a new target is made beside its place")
        raise
    finally:
        if isinstance(lock, LockFile) and lock.killed:
            _report_leftovers(path, report)
        if lock is not None:
            with steps():
                lock.release()


def _take(path: str, storage: StorageOptions, *, replaces: bool) -> Lock:
    if is_remote(path):
        from nczarr.stores.lock_object import lock_object

        return lock_object(path, storage.of("target"), checks=replaces)
    return lock_file(path)


def _report_leftovers(path: str, report: Report) -> None:
    """Report abandoned-target for what killed runs have left beside a target; one that was being removed still is."""
    from nczarr.stores.finish import go_on, leftovers

    places = dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))  # `append` writes beside what a link names
    for word, place in chain.from_iterable(map(leftovers, places)):
        if word == "removed":
            go_on(place)
            continue
        holds = "the target as it was before" if word == "replaced" else "an incomplete target"
        text = f"a run that was killed has left {holds} in `{place}`"
        helps = [] if word == "replaced" else ["continue it by the same command with `--resume`"] * os.path.isdir(place)
        report.warning("abandoned-target", text, helps=[*helps, "remove it if it is not needed"])


def busy(path: str, holder: Holder | None = None, *helps: str) -> Diagnostic:
    """Return busy-target for a target at a path or URL that another run writes."""
    who = "another run" if holder is None else f"another run: {holder.words}"
    again = "run the command again when that run has ended"
    return Diagnostic("busy-target", Severity.ERROR, f"`{show(path)}` is being written by {who}", helps=(again, *helps))


def assure(lock: Lock, path: str, report: Report) -> bool:
    """Return whether a run may replace the target: its lock is not lost. Reports busy-target; raises OSError."""
    if lock.is_held():
        return True
    report.add(report_changed(f"`{show(path)}`"))
    return False


def report_changed(target: str, *helps: str) -> Diagnostic:
    """Return busy-target for a target, as messages name it, that another writer has changed."""
    text = f"another writer has changed or taken over {target} meanwhile"
    again = "run the command again when that writer has ended"
    return Diagnostic("busy-target", Severity.ERROR, text, helps=(again, *helps))
