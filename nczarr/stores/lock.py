"""Lock of a target: a file beside it, locked by the system.

A lock is a file or an object beside the target (`.NAME.nczarr-lock`) that names
its holder. A local one is locked by the system (`flock`), which releases it when
the process ends, however it ends. One in a bucket is created by a conditional
request (`lock_object.py`).
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from contextlib import suppress
from typing import Protocol

from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import show
from nczarr.names.records import NamedTuple
from nczarr.stores import local_paths
from nczarr.stores.local_paths import add_path_to_errors

VERSION = 1

SUFFIX = ".nczarr-lock"
"""Suffix of locks."""

_LONGEST_NAME = 255  # NAME_MAX of most file systems
"""Maximum bytes of a name in most file systems."""

_UNLOCKABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""Failures of file systems without locks."""

CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)
"""Failures to create a lock where nothing can be created, so that nothing can be replaced either."""

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
"""A pipe in the place of a lock is opened without waiting for its other end."""

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Holder(NamedTuple):
    """Run that holds a lock."""

    run: str
    """Unique identifier of the run."""
    host: str
    """Name of its machine."""
    process: int
    since: str
    """Time when it took the lock, ISO 8601 in UTC."""
    machine: str
    """Identifier of the started system and its processes; empty if unknown."""
    start: str
    """Start of the process, as the system counts; empty if unknown."""
    beat: int = 0
    """Number of renewals."""

    @classmethod
    def this(cls) -> Holder:
        """Return this process as a holder of a new lock."""
        now, process = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.getpid()
        return cls(os.urandom(8).hex(), _host(), process, now, _machine(), _read_start(process) or "")

    @classmethod
    def parse(cls, data: bytes) -> Holder | None:
        """Return the holder in a lock; None for other content."""
        try:
            members = json.loads(data)
            if members.pop("nczarr_lock") != VERSION:
                return None
            holder = cls(**members)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        texts = (holder.run, holder.host, holder.since, holder.machine, holder.start)
        numbers = (holder.process, holder.beat)
        valid = all(isinstance(text, str) for text in texts) and all(type(number) is int for number in numbers)
        return holder if valid else None

    def bytes(self) -> bytes:
        """Return the content of a lock."""
        return (json.dumps({"nczarr_lock": VERSION, **self._asdict()}) + "\n").encode()

    @property
    def is_dead(self) -> bool:
        """True if the run has certainly ended; False on another machine."""
        if not self.machine or self.machine != _machine():
            return False
        ended = self.process == os.getpid() and self.run not in running
        return ended or _read_start(self.process) != self.start

    @property
    def words(self) -> str:
        """Description for messages."""
        return f"process {self.process} on `{self.host}`, since {self.since}"


running: set[str] = set()
"""Runs of this process that hold a lock."""


def _host() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import socket  # takes a fiftieth of a small run

    return socket.gethostname()


def _machine() -> str:
    """Return an identifier of the started system and of its process numbers; empty if unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino}"  # containers number processes anew
    except (OSError, ValueError):
        return ""


def _read_start(process: int) -> str | None:
    """Return the start of a running process, in ticks of the system; None if it does not run."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            members = file.read().rpartition(b")")[2].split()  # the name of a process may have `)`
    except OSError:
        return None
    return None if members[0] in (b"Z", b"X") else members[19].decode()  # Z: zombie; field 22: start time


class Lock(Protocol):
    """Lock of a target."""

    def is_held(self) -> bool:
        """Return whether it still belongs to this run. Raises OSError."""

    def release(self) -> None:
        """Release it. Raises OSError."""


class BusyTargetError(Exception):
    """Another run holds the lock."""

    def __init__(self, holder: Holder | None, remedy: str) -> None:
        super().__init__(remedy)
        self.holder = holder
        self.remedy = remedy


class NoLock(Lock):
    """Absence of a lock."""

    def __init__(self, reason: str | None) -> None:
        self.reason = reason
        """Why it is absent; None where nothing can be replaced."""

    def is_held(self) -> bool:
        """Return True: no run can take it over."""
        return True

    def release(self) -> None:
        """Do nothing."""


RELEASED = -1
"""File of a lock that was released."""


class LockFile(Lock):
    """Lock file, locked by the system until it is closed."""

    def __init__(self, path: str, file: int, *, killed: bool) -> None:
        self.path = path
        self.killed = killed
        """True if the lock is left of a run that was killed, which may have left more."""
        self._file = file
        _inherited.add(file)

    def is_held(self) -> bool:
        """Return whether the file is still in its place."""
        return _is_there(self.path, self._file)

    def release(self) -> None:
        """Remove the file, then close it, so that a run that waits for it finds that it is gone."""
        file, self._file = self._file, RELEASED
        if file == RELEASED:
            return
        if _is_there(self.path, file):
            with suppress(OSError):
                os.unlink(self.path)
        _inherited.discard(file)
        with suppress(OSError):  # nothing was written to it, and the system releases its lock even if this fails
            os.close(file)


_inherited: set[int] = set()
"""Open lock files. A forked process closes them, so that none keeps the lock of a run that was killed."""


def _close_inherited() -> None:
    for file in list(_inherited):
        with suppress(OSError):
            os.close(file)
    _inherited.clear()


if hasattr(os, "register_at_fork"):  # a forked child would hold the lock as well
    os.register_at_fork(after_in_child=_close_inherited)


def lock_name(name: str) -> str:
    """Return the name of the lock of a target with a name."""
    plain_name = f".{name}{SUFFIX}"
    if len(os.fsencode(plain_name)) <= _LONGEST_NAME:
        return plain_name
    import hashlib

    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()}{SUFFIX}"


def lock_file(target: str) -> Lock:
    """Lock a local target. Raises BusyTargetError, OSError.

    A store in a folder that cannot be written is locked inside. A run with other
    rights may lock it beside, so each looks at the other's place afterwards.
    """
    folder, name = os.path.split(local_paths.real(target))
    places = [os.path.join(folder, lock_name(name))]
    if os.path.isdir(target):
        places.append(os.path.join(folder, name, lock_name("")[1:]))
    for path in places:
        try:
            lock = _lock_file(path)
        except OSError as error:
            if error.errno in _UNLOCKABLE:
                return NoLock("its file system has no locks")
            if error.errno not in CLOSED:
                raise
            continue
        try:
            for other in places:
                if other != path:
                    _check_unlocked(other)
        except BaseException:
            lock.release()
            raise
        return lock
    return NoLock(None)


def _check_unlocked(path: str) -> None:
    """Check that no process holds a lock file, if it exists and can be read. Raises BusyTargetError, OSError."""
    try:
        file = os.open(path, os.O_RDONLY | _NOFOLLOW | _NONBLOCK)
    except OSError:
        return
    try:
        _lock(path, file)
    finally:
        os.close(file)


def _lock_file(path: str) -> LockFile:
    """Create and lock a file. Raises BusyTargetError, OSError."""
    while True:
        file = _open(path)
        try:
            with add_path_to_errors(path):
                _lock(path, file)
                killed = os.fstat(file).st_size > 0
            if _is_there(path, file):  # else its holder has removed it meanwhile
                with suppress(OSError):  # it says who holds it; the lock itself is the system's
                    os.ftruncate(file, 0)
                    os.pwrite(file, Holder.this().bytes(), 0)
                return LockFile(path, file, killed=killed)
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _lock(path: str, file: int) -> None:
    """Lock an open lock file. Raises BusyTargetError, OSError."""
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(errno.EEXIST, "it is not a regular file, as the lock of a target is", path)
    if not exclusive(file):
        holder = Holder.parse(os.pread(file, 4096, 0))
        raise BusyTargetError(holder, f"the lock `{path}` ends with its process, however that ends")


def _open(path: str) -> int:
    """Open a lock file; one of another user only for reading, which suffices to lock it. Raises OSError."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW | _NONBLOCK, 0o666)
    except PermissionError:
        if not os.path.lexists(path):
            raise
        return os.open(path, os.O_RDONLY | _NOFOLLOW | _NONBLOCK)


def _is_there(path: str, file: int) -> bool:
    """Return whether a path names an open file."""
    try:
        status = os.stat(path, follow_symlinks=False)
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.fstat(file))
    except OSError:
        return False


def exclusive(file: int) -> bool:
    """Lock an open file until it is closed; return False if another process has it locked. Raises OSError."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _exclusive_region(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _exclusive_region(file: int) -> bool:
    """Lock a byte far behind the content, which others may still read. Raises OSError."""
    import msvcrt

    os.lseek(file, 1 << 30, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except PermissionError:
        return False
    return True


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
