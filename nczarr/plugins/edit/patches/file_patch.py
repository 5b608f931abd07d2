"""Changes of some bytes of a local file in its place, with a journal beside it that restores the file.

    journal   `.NAME.nczarr-edit`: old and new bytes and lengths, on the disk before the first write
    write     the new bytes; then the file is read again by the caller
    conclude  the journal is removed

Until the journal is removed, `recover` restores every old byte. Readers refuse a
file that has one. An undo file holds the same bytes.
"""

from __future__ import annotations

import base64
import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.diagnostics.secrets import show
from nczarr.stores import local_paths
from nczarr.stores.commitment import note_commit
from nczarr.stores.finish import delay_signals, edit_journal, partial, unfinished
from nczarr.stores.local_paths import add_path_to_errors
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options

VERSION = 1


class BytePatch(NamedTuple):
    """New bytes at one place. Both have one length, except at the end of the file."""

    offset: int
    old: bytes
    new: bytes


class FilePatch(NamedTuple):
    """Changes of one file."""

    patches: tuple[BytePatch, ...]
    """Places that change, in order, without overlaps."""
    old_length: int
    """Bytes of the file before."""
    new_length: int
    """Bytes of the file afterwards."""

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON document."""
        patches = [[patch.offset, _encode(patch.old), _encode(patch.new)] for patch in self.patches]
        return {"old_length": self.old_length, "new_length": self.new_length, "patches": patches}

    @classmethod
    def parse(cls, members: Mapping[str, Any]) -> FilePatch:
        """Return the patch in a document. Raises ValueError for other members."""
        try:
            patches = [
                BytePatch(int(offset), base64.b64decode(old, validate=True), base64.b64decode(new, validate=True))
                for offset, old, new in members["patches"]
            ]
            patch = cls(tuple(patches), int(members["old_length"]), int(members["new_length"]))
        except (KeyError, TypeError) as error:
            raise ValueError("not a patch") from error
        grows = sum(len(one.new) - len(one.old) for one in patches)
        if min(patch.old_length, patch.new_length) < 0 or patch.new_length - patch.old_length != grows:
            raise ValueError("the lengths of the file do not follow from the changes")
        end = 0
        for one in patches:
            if one.offset < end:
                raise ValueError("places overlap")
            end = one.offset + max(len(one.old), len(one.new))
        return patch

    def reverse(self) -> FilePatch:
        """Return the patch that restores the old bytes."""
        patches = tuple(BytePatch(patch.offset, patch.new, patch.old) for patch in self.patches)
        return FilePatch(patches, self.new_length, self.old_length)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def compare_bytes(offset: int, old: bytes, new: bytes) -> Iterator[BytePatch]:
    """Yield the places at which two texts of one length differ; near ones are joined."""
    assert len(old) == len(new)
    start = at = 0
    block = 64
    pending: tuple[int, int] | None = None
    for start in range(0, len(new), block):
        at = min(start + block, len(new))
        if old[start:at] == new[start:at]:
            continue
        if pending is not None and pending[1] == start:
            pending = pending[0], at
            continue
        if pending is not None:
            yield BytePatch(offset + pending[0], old[slice(*pending)], new[slice(*pending)])
        pending = start, at
    if pending is not None:
        yield BytePatch(offset + pending[0], old[slice(*pending)], new[slice(*pending)])


class PreparedFilePatch:
    """Edit of a local file, as `PreparedEdit`."""

    def __init__(self, path: str, patch: FilePatch) -> None:
        self.path = local_paths.real(path)
        self.patch = patch

    def describe(self) -> Iterator[str]:
        """Yield one line on what is written."""
        size = sum(len(patch.new) for patch in self.patch.patches)
        places = len(self.patch.patches)
        grows = self.patch.new_length - self.patch.old_length
        longer = f"; the file grows by {grows} bytes" if grows > 0 else ""
        yield f"{size} bytes are written at {places} place{'s' * (places != 1)} of the file{longer}"

    def undo(self) -> dict[str, Any]:
        """Return the members of the undo file."""
        return {"form": "bytes", **self.patch.members()}

    def commit(self) -> None:
        """Write the new bytes. Raises OSError; then the file is as it was, unless its system fails."""
        with delay_signals(), _open_locked(self.path) as number:
            _require(number, self.path, self.patch)
            _write_journal(self.path, self.patch)
            try:
                _apply(number, self.patch)
            except OSError:
                _restore(number, self.patch)
                os.unlink(edit_journal(self.path))
                _sync_folder(self.path)
                raise

    def abandon(self) -> None:
        """Restore the old bytes. Raises OSError."""
        with delay_signals():
            recover(self.path)

    def conclude(self) -> None:
        """Remove the journal. Raises OSError; then the old bytes are restored, because readers refuse the file."""
        try:
            with suppress(FileNotFoundError):
                os.unlink(edit_journal(self.path))
        except OSError:
            self.abandon()
            raise
        note_commit(self.path)
        _sync_folder(self.path)


def prepare_undo(path: str, members: Mapping[str, Any], report: Report, options: Options) -> PreparedFilePatch | None:
    """Return the edit that reverses another one; None after an unmatched-undo. Raises OSError."""
    try:
        patch = FilePatch.parse(members).reverse()
    except ValueError:
        report.error("unmatched-undo", "the undo file is damaged")
        return None
    with open(path, "rb") as file, add_path_to_errors(path):
        if not _matches(file.fileno(), patch):
            text = f"`{show(path)}` is not restored: its bytes have changed since the edit"
            report.error("unmatched-undo", text)
            return None
    return PreparedFilePatch(path, patch)


def recover(path: str) -> bool:
    """Restore a file whose edit was interrupted; return False without a journal. Raises OSError."""
    if is_remote(path) or not os.path.lexists(place := edit_journal(path)):
        return False
    path = local_paths.real(path)
    patch = _read_journal(place)
    with delay_signals(), _open_locked(path) as number:
        if not _is_between(number, patch):
            text = f"the file is not the one whose edit was interrupted; remove the journal `{place}`"
            raise OSError(errno.ESTALE, text, path)
        _restore(number, patch)
        os.unlink(place)
        _sync_folder(path)
    return True


@contextmanager
def _open_locked(path: str) -> Iterator[int]:
    """Open a file for writing, locked by the system as HDF5 locks it. Raises OSError."""
    number = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        _lock(number, path)
        with add_path_to_errors(path):
            yield number
    finally:
        os.close(number)


def _lock(number: int, path: str) -> None:
    """Lock an open file; file systems without locks need none. Raises OSError if another process uses it."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EBUSY, "another process has the file open", path) from None
    except OSError:
        return


def _read(number: int, offset: int, size: int) -> bytes:
    """Return bytes of a file; fewer at its end."""
    pieces = []
    while size > 0:
        piece = os.pread(number, size, offset)
        if not piece:
            break
        pieces.append(piece)
        offset, size = offset + len(piece), size - len(piece)
    return b"".join(pieces)


def write_at(number: int, data: bytes, offset: int) -> None:
    """Write bytes at a place of a file. Raises OSError."""
    view = memoryview(data)
    while view:
        count = os.pwrite(number, view, offset)
        view, offset = view[count:], offset + count


def _matches(number: int, patch: FilePatch) -> bool:
    """Return whether a file has the old bytes and length."""
    if os.fstat(number).st_size != patch.old_length:
        return False
    return all(_read(number, one.offset, len(one.old)) == one.old for one in patch.patches)


def _require(number: int, path: str, patch: FilePatch) -> None:
    """Raise OSError for a file that does not have the old bytes and length."""
    if not _matches(number, patch):
        raise OSError(errno.ESTALE, "the file has changed since it was opened", path)


def _is_between(number: int, patch: FilePatch) -> bool:
    """Return whether every byte is one of those before or after the patch."""
    low, high = sorted((patch.old_length, patch.new_length))
    if not low <= os.fstat(number).st_size <= high:
        return False
    for one in patch.patches:
        size = max(len(one.old), len(one.new))
        present = _read(number, one.offset, size)
        shared = min(len(one.old), len(one.new))
        if any(byte not in pair for byte, *pair in zip(present, one.old[:shared], one.new[:shared], strict=False)):
            return False
    return True


def _apply(number: int, patch: FilePatch) -> None:
    """Write the new bytes, the end of the file first. Raises OSError."""
    for one in reversed(patch.patches):
        write_at(number, one.new, one.offset)
    if os.fstat(number).st_size != patch.new_length:
        os.ftruncate(number, patch.new_length)
    os.fsync(number)


def _restore(number: int, patch: FilePatch) -> None:
    """Write the old bytes. Raises OSError."""
    _apply(number, patch.reverse())


def _write_journal(path: str, patch: FilePatch) -> None:
    """Write the journal, whole, and wait until it is on the disk. Raises OSError."""
    body = json.dumps(patch.members())
    digest = _digest(body)
    growing = partial(path)
    try:
        with open(growing, "w", encoding="ascii") as file:
            file.write(json.dumps({"nczarr_edit": VERSION, "digest": digest, "patch": body}))
            file.flush()
            os.fsync(file.fileno())
        os.replace(growing, edit_journal(path))
    except BaseException:
        with suppress(OSError):
            os.unlink(growing)
        raise
    finally:
        unfinished.discard(growing)
    _sync_folder(path)


def _digest(body: str) -> str:
    from hashlib import sha256  # loads OpenSSL, which every start would wait for

    return sha256(body.encode()).hexdigest()


def _read_journal(place: str) -> FilePatch:
    """Return the patch of a journal. Raises OSError for a damaged one."""
    try:
        with open(place, encoding="ascii") as file:
            document = json.load(file)
        body = document["patch"]
        if document["nczarr_edit"] == VERSION and _digest(body) == document["digest"]:
            return FilePatch.parse(json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise OSError(errno.EIO, "the journal of an interrupted edit is damaged", place)


def _sync_folder(path: str) -> None:
    """Wait until the entries of a file's folder are on the disk, where the system can."""
    with suppress(OSError):
        number = os.open(local_paths.parent_of(path) or ".", os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
