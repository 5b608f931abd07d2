"""New stores behind fsspec: in place, refused by readers while the journal exists; or a zip archive.

Order: the journal; data keys; all documents, the root's last; a comparison of
the listing with the sent keys and lengths; removal of the journal. An
interrupted run leaves the journal. The same run can resume (`--resume`) without
sending existing data keys again, because objects are atomic. Protocols without
atomic objects send every key again.

With `overwrite` the old store is removed first, beginning with its root
documents; `clearing` in the journal marks remaining content as old.

Existing stores, whose objects are replaced, are here too.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

from nczarr.diagnostics.report import CompileError
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.remote_store import TRIES, ObjectFacts, RemoteStore, md5, md5_of
from nczarr.plugins.remote.transfer import send
from nczarr.stores import ranges
from nczarr.stores.base import HELD, JOURNAL, StoreJournal, is_metadata, parse_journal, safe_key
from nczarr.stores.commitment import note_commit
from nczarr.stores.lock import report_changed
from nczarr.stores.ranges import Range
from nczarr.stores.zip import ZipTarget


class RemoteTarget(RemoteStore):
    """An unfinished store.

    Raises FileExistsError for content that is neither resumable nor to be
    overwritten, CompileError with busy-target for one that another run has just
    begun, OSError if the place is unreachable.
    """

    def __init__(
        self,
        url: str,
        options: StorageOptions = NO_OPTIONS,
        *,
        journal: StoreJournal,
        overwrite: bool = False,
        resume: bool = False,
    ) -> None:
        super().__init__(url, options)
        self._journal = journal
        self._open = True
        listed = self._list()
        begun = parse_journal(self._fetch(JOURNAL, None) or b"") if JOURNAL in listed else None
        old = {key for key in listed if key != JOURNAL}
        if begun is not None and resume and begun.is_of(journal):
            self._journal = journal = journal._replace(run=begun.run)
            if begun.state == "writing":
                self._go_on(listed)
                old = set()
        elif (begun is not None or old) and not overwrite:
            raise FileExistsError(errno.EEXIST, _describe_obstacle(begun), self.path)
        if old:
            self._put(JOURNAL, journal._replace(state="clearing").bytes())
            self._clear(old)
        if begun is None and not old:
            self._claim(journal)
        elif begun != journal:
            self._put(JOURNAL, journal.bytes())

    def _begin(self) -> None:
        super()._begin()
        self._lock = Lock()
        self._sent: dict[str, list[int]] = {}
        self._open = False
        self._spoilt = False
        self._done: set[str] = set()

    def _claim(self, journal: StoreJournal) -> None:
        """Put the journal at a free place, so that one of two concurrent runs gets it.

        Raises CompileError with busy-target if the other run gets it, where the
        protocol can detect this.
        """
        data = journal.bytes()
        with suppress(OSError):  # not all know how to create; what is there then tells
            self.connection.call("pipe_file", JOURNAL, data, mode="create")
        stored = self._fetch(JOURNAL, None)
        other = parse_journal(stored or b"")
        if stored != data and (other.fingerprint is not None or other.run):
            raise CompileError([report_changed(f"`{self.path}`")])
        if stored != data:
            self._put(JOURNAL, data)

    def _go_on(self, listed: dict[str, ObjectFacts]) -> None:
        """Accept the data keys of an earlier run."""
        if self.connection.is_object_store:
            for key, facts in listed.items():
                if key != JOURNAL and not is_metadata(key):
                    self._note(key, facts.size or 0)
                    self._done.add(key)

    def _clear(self, keys: Iterable[str]) -> None:
        """Remove keys: root documents, then other documents, then data."""
        documents = {key for key in keys if is_metadata(key)}
        root = {key for key in documents if "/" not in key}
        for some in (root, documents - root, set(keys) - documents):
            self.connection.remove(sorted(some))

    def is_done(self, key: str) -> bool:
        """Return whether an earlier run put this key."""
        return key in self._done

    def put(self, key: str, data: bytes) -> None:
        """Set a key. Raises OSError, UnsafeKeyError."""
        self._put(safe_key(key), data)
        self._note(key, len(data))

    def _put(self, key: str, data: bytes) -> None:
        """Send an object until the server confirms its digest. Raises OSError."""
        for _ in range(TRIES):
            try:
                answer = self.connection.call("pipe_file", key, data, size=len(data))
            except FileNotFoundError:
                if self.connection.is_object_store:
                    raise
                self.connection.call("makedirs", key.rpartition("/")[0], exist_ok=True)
                answer = self.connection.call("pipe_file", key, data, size=len(data))
            tag = md5_of(answer) if isinstance(answer, dict) else None
            if tag is None or not self._tags_are_digests or tag == md5(data):
                return
            self._tags_are_digests = self.connection.tags_are_digests(key)  # not all answers tell the encryption
            if not self._tags_are_digests:
                return
        try:
            self.connection.remove([key])
        except OSError:
            self._spoilt = True
        raise OSError(errno.EIO, f"it was sent {TRIES} times, and arrived with other bytes each time", self._show(key))

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Set a key to pieces; large ones use a temporary file. Raises OSError, UnsafeKeyError."""
        every = ((ranges.pieces(piece) if isinstance(piece, Range) else (piece,)) for piece in ranges.join(pieces))
        stream = itertools.chain.from_iterable(every)
        buffered, size = [], 0
        safe_key(key)
        for data in stream:
            buffered.append(data)
            size += len(data)
            if size > HELD:
                break
        else:
            self.put(key, b"".join(buffered))
            return
        try:
            with tempfile.NamedTemporaryFile(prefix="nczarr-", buffering=0) as file:  # one with a buffer that cannot
                while buffered:  # be written when it is closed would stay
                    ranges.write(file.fileno(), buffered.pop(0))
                for data in stream:
                    ranges.write(file.fileno(), data)
                size = file.tell()
                send(self.connection, file.name, key)
        except OSError as error:
            if error.errno and error.filename is None:
                error.filename = tempfile.gettempdir()  # the system says why, not where
            raise
        self._note(key, size)

    def _note(self, key: str, size: int) -> None:
        """Count a sent key and its bytes by folder."""
        folder = key.rpartition("/")[0]
        if self.is_done(key):
            return
        with self._lock:
            sent = self._sent.setdefault(folder, [0, 0])
            sent[0] += 1
            sent[1] += size

    def _is_own(self, facts: ObjectFacts | None) -> bool:
        """Return whether the listed journal is that of this run or the one that it resumes."""
        if facts is not None and facts.md5 == md5(self._journal.bytes()):
            return True
        stored = self._fetch(JOURNAL, None) if facts is not None else None
        return stored is not None and parse_journal(stored).run == self._journal.run

    def seal(self) -> None:
        """Check that all sent keys exist. Raises OSError, CompileError with busy-target if another run interfered."""
        listed = self._list()
        journal = listed.get(JOURNAL)
        if not self._is_own(journal):
            self._open = False  # it is the other's
            mixed = "write it again with `--overwrite`: it may contain data of both runs"
            raise CompileError([report_changed(f"`{self.path}`", mixed)])
        totals_by_folder: dict[str, list[int]] = {}
        for key, facts in listed.items():
            totals = totals_by_folder.setdefault(key.rpartition("/")[0], [0, 0])
            totals[0] += key != JOURNAL
            totals[1] += (facts.size or 0) if key != JOURNAL else 0
        for folder, (count, size) in self._sent.items():
            totals = totals_by_folder.get(folder, [0, 0])
            if totals[0] < count or totals[1] < size:
                self._spoilt = True
                text = f"{count} objects of {size} bytes were sent, but {totals[0]} of {totals[1]} bytes are stored"
                raise OSError(errno.EIO, text, self._show(folder))

    def finish(self) -> None:
        """Check the store and remove the journal. Raises OSError, CompileError with busy-target."""
        self.seal()
        self.connection.remove([JOURNAL])
        note_commit(self.path)
        self._open = False

    def suspend(self) -> bool:
        """End an incomplete run; return whether it can be resumed."""
        going_on = self._open and self._journal.fingerprint is not None and not self._spoilt
        if going_on:
            self._open = False
        return going_on

    def abort(self) -> None:
        """Remove everything, the journal last, unless finished or suspended."""
        if not self._open:
            return
        self._open = False
        with suppress(OSError):  # out of reach: what is there stays unfinished, and is refused
            listed = self._list()
            if not self._is_own(listed.get(JOURNAL)):
                return
            self._clear([key for key in listed if key != JOURNAL])
            self.connection.remove([JOURNAL])


def _describe_obstacle(journal: StoreJournal | None) -> str:
    """Return, as a predicate, the obstacle to a store: another store, or one with this journal."""
    if journal is None:
        return "already exists"
    if journal.fingerprint is None:
        return "is incomplete, and its journal does not belong to a run that can continue"
    return f"is incomplete, from `{journal.source}`; the source, an option or the version differs"


class SentZip(ZipTarget):
    """An unfinished archive in a temporary folder, sent when finished; it appears remotely whole or not at all."""

    def __init__(self, url: str, options: StorageOptions = NO_OPTIONS) -> None:
        self._url = url
        self._connection = FileConnection(url, options)
        self._folder = tempfile.mkdtemp(prefix="nczarr-")
        super().__init__(os.path.join(self._folder, os.path.basename(self._connection.root)))

    def finish(self) -> None:
        """Write the central directory, and send the archive. Raises OSError."""
        self.seal()
        send(self._connection, self.path)
        note_commit(self._url)
        self._open = False
        shutil.rmtree(self._folder, ignore_errors=True)

    def abort(self) -> None:
        """Remove the archive unless finished."""
        super().abort()
        shutil.rmtree(self._folder, ignore_errors=True)


IN_FLIGHT = 16
"""Documents that are sent to a server at a time."""


class ExtensibleObjects(RemoteTarget):
    """Objects below a URL. Raises OSError if the protocol does not replace objects at once."""

    def __init__(self, url: str, options: StorageOptions = NO_OPTIONS) -> None:
        RemoteStore.__init__(self, url, options)
        if not self.connection.is_object_store:
            text = "this protocol does not replace objects at once, so the target could be seen half written"
            raise OSError(errno.EOPNOTSUPP, text, self.path)

    def is_done(self, key: str) -> bool:
        """Return False: the run knows what is done."""
        return False

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key as they are now, or None. Raises OSError, UnsafeKeyError."""
        return self._fetch(safe_key(key), None)

    def claim(self, journal: bytes) -> bool:
        """Create the journal; return False if there is one already. Raises OSError."""
        if self.get(JOURNAL) is not None:
            return False
        with suppress(OSError):  # not all know how to create; what is there then tells
            self.connection.call("pipe_file", JOURNAL, journal, mode="create")
        stored = self.get(JOURNAL)
        if stored is None:
            self._put(JOURNAL, journal)
            stored = self.get(JOURNAL)
        return stored == journal

    def put_several(self, documents: Mapping[str, bytes]) -> None:
        """Set keys, some at a time. Raises OSError, UnsafeKeyError."""
        with ThreadPoolExecutor(IN_FLIGHT) as threads:
            for _ in threads.map(self.put, documents, documents.values()):
                pass

    def move(self, key: str, target: str) -> None:
        """Copy an object and remove the first; a missing one is in its place. Raises OSError."""
        data = self.get(key)
        if data is not None:
            self._put(safe_key(target), data)
            self.connection.remove([key])

    def move_folder(self, folder: str, target: str) -> None:
        """Raise OSError: a bucket has no folders that move at once."""
        raise OSError(errno.EOPNOTSUPP, "keys of a bucket do not move at once", self.path)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored. Raises OSError."""
        some: Collection[str] = list(keys)
        if some:
            self.connection.remove(list(some))

    def tidy(self) -> None:
        """Do nothing: no object is incomplete."""
        return
