"""Lock of a target at a URL: an object that is created by a conditional request, and renewed while the run lasts.

    create   with `If-None-Match: *`: one of several runs succeeds
    renew    each `PAUSE` seconds, on S3 with `If-Match`
    remove   when the run ends

Nothing ends the lock of a killed run. Its machine sees that the process is gone;
others see that the lock was not renewed for `EXPIRES` seconds, by the clock of
the server, and take it over. A server that ignores conditions lets the same
object be created twice, so a second creation tells.
"""

from __future__ import annotations

import errno
import threading
from contextlib import suppress

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.remote.connection import S3, FileConnection
from nczarr.plugins.remote.remote_store import TRIES, md5, md5_of
from nczarr.stores.lock import SUFFIX, BusyTargetError, Holder, Lock, NoLock, lock_name, running
from nczarr.stores.stat import facts_at

PAUSE = 20.0
"""Seconds between renewals."""

EXPIRES = 120.0
"""Seconds after which a lock that was not renewed is taken over."""

_conditional: dict[str, bool] = {}
"""Servers that heed conditions, and those that do not, by protocol and URL."""


def lock_url(url: str) -> str:
    """Return the URL of the lock of a target: beside it, or inside a bucket."""
    folder, _, name = url.rstrip("/").rpartition("/")
    if folder.endswith(":/") and not folder.startswith("memory:"):
        return f"{folder}/{name}/{SUFFIX}"
    return f"{folder}/{lock_name(name)}"


def lock_object(url: str, storage: StorageOptions, *, checks: bool) -> Lock:
    """Lock the target at a URL; `checks`: find out whether the server heeds conditions.

    Raises BusyTargetError, OSError.
    """
    if not FileConnection(url, storage).is_object_store:
        return NoLock("its protocol does not create objects conditionally")
    place, holder = FileConnection(lock_url(url), storage), Holder.this()
    running.add(holder.run)
    lock: Lock | None = None
    try:
        _take(place, holder)
        if checks and not _is_conditional(place, holder):
            place.remove([""])
            return NoLock("its server does not heed the condition `If-None-Match`")
        lock = LockObject(place, holder)
    except PermissionError as error:
        return NoLock(f"the lock `{place.shown}` cannot be created: {error.strerror}")
    except OSError as error:
        error.filename = FileConnection(url, storage).shown  # the user named the target, and knows nothing of its lock
        raise
    finally:
        if lock is None:
            running.discard(holder.run)
    return lock


def _take(place: FileConnection, holder: Holder) -> None:
    """Create a lock, or take over that of a dead run. Raises BusyTargetError, OSError."""
    if _create(place, holder):
        return
    data = _content(place)
    if data is None:  # it was released meanwhile
        if not _create(place, holder):
            raise BusyTargetError(None, _remedy(place))
        return
    other = Holder.parse(data)
    is_dead = other is not None and other.is_dead
    if not (is_dead or _age(place, holder) > EXPIRES) or not _replace(place, data, holder):
        raise BusyTargetError(other, _remedy(place))


def _remedy(place: FileConnection) -> str:
    return f"a run that is dead loses the lock `{place.shown}` after {EXPIRES:.0f} seconds"


def _create(place: FileConnection, holder: Holder) -> bool:
    """Create a lock; return whether it is that of the holder. Raises OSError."""
    data = holder.bytes()
    for _ in range(TRIES):
        try:
            answer = place.call("pipe_file", "", data, mode="create")
        except OSError as error:  # a repeated request finds the lock that the first one has made
            content = _content(place)
            if content is None and not isinstance(error, FileExistsError):
                raise
            return content == data
        tag = md5_of(answer) if isinstance(answer, dict) else None
        if tag is None or tag == md5(data):
            return True
        place.remove([""])
    raise OSError(errno.EIO, f"it was sent {TRIES} times, and arrived with other bytes each time", place.shown)


def _content(place: FileConnection) -> bytes | None:
    """Return the content of a lock; None without a lock. Raises OSError."""
    try:
        data: bytes = place.call("cat_file", "")
    except FileNotFoundError:
        return None
    return data


def _run_of(place: FileConnection) -> str | None:
    """Return the run that holds a lock; None without a lock. Raises OSError."""
    holder = Holder.parse(_content(place) or b"")
    return None if holder is None else holder.run


def _is_conditional(place: FileConnection, holder: Holder) -> bool:
    """Return whether the server refuses to create an object that exists."""
    key = f"{place.protocol} {place.place.server} {place.options.get('endpoint_url')}"
    if key not in _conditional:
        try:
            place.call("pipe_file", "", holder.bytes(), mode="create")
            _conditional[key] = False
        except OSError:
            _conditional[key] = True
    return _conditional[key]


def _age(place: FileConnection, holder: Holder) -> float:
    """Return the seconds since a lock was renewed, by the clock of the server; 0 if unknown. Raises OSError."""
    probe = place.share_system(f"{place.url}-{holder.run}")
    probe.call("pipe_file", "", holder.bytes())
    try:
        now, then = facts_at(probe).modified, facts_at(place).modified
    except FileNotFoundError:
        return 0.0
    finally:
        with suppress(OSError):
            probe.remove([""])
    return 0.0 if now is None or then is None else (now - then) / 1e9


def _replace(place: FileConnection, data: bytes, holder: Holder) -> bool:
    """Put a lock in the place of one with these bytes; return False if that has changed meanwhile. Raises OSError."""
    try:
        tag = facts_at(place).tag
    except FileNotFoundError:
        return False
    if _content(place) != data:
        return False
    if place.protocol in S3 and tag is not None:
        with suppress(OSError):  # what is there then tells
            place.replace(holder.bytes(), tag)
        return _content(place) == holder.bytes()
    if holder.beat:
        place.call("pipe_file", "", holder.bytes())
        return True
    place.remove([""])
    return _create(place, holder)


class LockObject(Lock):
    """Lock at a URL, renewed by a thread."""

    def __init__(self, place: FileConnection, holder: Holder) -> None:
        self._place = place
        self._holder = holder
        self._ended = threading.Event()
        self._is_lost = False
        self._thread = threading.Thread(target=self._renew, name="nczarr-lock", daemon=True)
        self._thread.start()

    def _renew(self) -> None:
        """Renew the lock until the run ends. An unreachable server is asked again; the lock may be lost then.

        A renewal whose answer was lost is in the lock, so each begins with what is there.
        """
        while not self._ended.wait(PAUSE):
            with suppress(OSError):
                data = _content(self._place) or b""
                holder = Holder.parse(data)
                if holder is None or holder.run != self._holder.run:
                    self._is_lost = True
                    return
                _replace(self._place, data, holder._replace(beat=holder.beat + 1))

    def is_held(self) -> bool:
        """Return whether the lock names this run. Raises OSError."""
        return not self._is_lost and _run_of(self._place) == self._holder.run

    def release(self) -> None:
        """Remove the lock if it is still that of this run. An unreachable one expires."""
        self._ended.set()
        self._thread.join(PAUSE)
        running.discard(self._holder.run)
        with suppress(OSError):
            if self.is_held():
                self._place.remove([""])
