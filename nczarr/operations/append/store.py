"""Extension of a store: the keys that change, in an order that an interruption does not harm."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence

from nczarr import registry
from nczarr.arrays.chunks.manifest import KeyListing
from nczarr.arrays.execution.counts import Counts, Watcher
from nczarr.arrays.execution.thread_pool import limited
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError, Report
from nczarr.diagnostics.secrets import shown
from nczarr.diagnostics.source import Source
from nczarr.link.run import link
from nczarr.operations import endpoints
from nczarr.operations.append.changes import Change, Changes, changes_of
from nczarr.operations.append.placement import RecordRun
from nczarr.operations.append.request import Appended, AppendRequest, ExtendableTarget
from nczarr.operations.combine.spec import Way
from nczarr.options import Options
from nczarr.plan.chunk_lengths import check_chunk
from nczarr.plan.plans import StorePlan, conversion_of
from nczarr.stores import extension
from nczarr.stores.base import JOURNAL, Store
from nczarr.stores.extension import STAGED, ExtendJournal, Extensible
from nczarr.stores.lock import Lock, NoLock
from nczarr.stores.locking import assure, changed
from nczarr.stores.open import named
from nczarr.stores.ranges import Range


def recovered(path: str, request: AppendRequest, report: Report, options: Options) -> bool:
    """Put the work of a committed but interrupted extension in its place; return whether it was of this command.

    A rehearsal changes nothing. Raises OSError.
    """
    journal = _journal_of(path, report, options)
    if journal is None or journal.state != "committed" or request.rehearsal:
        return False
    extension.apply(_extensible(path, options), journal)
    return journal.command is not None and journal.command == request.command


def _journal_of(path: str, report: Report, options: Options) -> ExtendJournal | None:
    """Return the journal of an extension at a path or URL; None without one. Raises OSError."""
    source = endpoints.opened(path, report, options._replace(storage=options.storage.of("target")))
    if source is None or isinstance(source, Source) or source.versioned:
        return None
    data = source.get(JOURNAL)
    return None if data is None else extension.parsed(data)


def _extensible(path: str, options: Options) -> Extensible:
    from nczarr.stores.extension import extensible

    return extensible(path, options.storage)


def extended(
    target: ExtendableTarget,
    whole: Checked,
    way: Way,
    pieces: Sequence[RecordRun],
    request: AppendRequest,
    report: Report,
    options: Options,
    watch: Watcher | None,
    lock: Lock,
) -> Appended | None:
    """Write what changes in a store that is to hold `whole`; return None after a reported error. Raises OSError."""
    assert target.store is not None
    changes = changes_of(target.store, target.form, target.checked, whole, way, pieces, report, options)
    if changes is None:
        return None
    plan = StorePlan(whole, target.form._replace(name=target.outer.name), options)
    for change in changes.arrays:
        check_chunk(plan, change.array.path, change.array.part, change.array.decoded, report)
    if report.errors:
        return None
    rewritten = sum(change.is_old(index) for change in changes.arrays for index in change.array.indices())
    counts = Counts(watch)
    if request.rehearsal:
        steps = tuple(step for change in changes.arrays for step in change.steps())
        return Appended(conversion_of(target.path, plan, counts), changes.lengths, steps, rewritten)
    with limited(options.workers, options.memory), named(target.path):
        if target.outer.extends is None:
            _write(target, changes, request, options, counts, report, lock)
        else:
            _commit(target, changes, options, counts, report, lock)
    if report.errors:
        return None
    return Appended(conversion_of(target.path, plan, counts), changes.lengths, (), rewritten)


def _commit(
    target: ExtendableTarget, changes: Changes, options: Options, counts: Counts, report: Report, lock: Lock
) -> None:
    """Write everything into a new commit. Reports busy-target; raises OSError, CompileError with busy-target."""
    assert target.outer.extends is not None
    store = registry.load(target.outer.extends)(target.path, options, target.store)
    try:
        for key in sorted(changes.documents, key=extension.turn):
            store.put(key, changes.documents[key])
        writing = _Writing(store, frozenset(), frozenset())
        link(enumerate(change.array for change in changes.arrays), writing, options, counts)
        store.remove(_vanished(changes.arrays, writing))
        if assure(lock, target.path, report):
            store.finish()
    finally:
        store.abort()


def _vanished(changes: Iterable[Change], writing: _Writing) -> list[str]:
    """Return the keys that exist, but have become fill. Raises OSError."""
    gone = []
    for change in changes:
        old = [change.array.key(index) for index in change.stored() if change.is_old(index)]
        expected = set(change.keys())
        gone += [key for key in old if key in expected and key not in writing.written]
    return gone


def _write(
    target: ExtendableTarget,
    changes: Changes,
    request: AppendRequest,
    options: Options,
    counts: Counts,
    report: Report,
    lock: Lock,
) -> None:
    """Write everything into a store with a journal. Reports unextendable-target, busy-target; raises OSError."""
    assert target.store is not None
    store = _extensible(target.path, options)
    journal = ExtendJournal(
        request.command,
        _digest(target.store, changes),
        extension.new_run(),
        "writing",
        changes.lengths,
        tuple(change.prefix for change in changes.arrays),
        {},
        (),
        (),
    )
    begun = _begun(target, changes, store, journal, request, report, lock)
    if begun is None:
        return
    journal, done = begun
    visible = frozenset(key for change in changes.arrays for key in change.visible)
    writing = _Writing(store, visible, done)
    try:
        link(enumerate(change.array for change in changes.arrays), writing, options, counts)
        if not _is_ours(changes, store, journal, lock):
            report.add(changed(f"`{shown(target.path)}`"))
            return
    except OSError as error:
        if request.command is None:
            _undo(changes, store)
        else:
            error.add_note(f"`{shown(target.path)}` reads as before; continue with the same command")
        raise
    except CompileError:  # the same command would find the same chunk
        _undo(changes, store)
        raise
    staged = tuple(sorted(key for key in writing.written if key in visible))
    journal = journal._replace(
        state="committed",
        documents=extension.texts_of(changes.documents),
        staged=staged,
        removed=tuple(_vanished(changes.arrays, writing)),
    )
    store.put(JOURNAL, journal.bytes())
    extension.apply(store, journal)
    if staged:
        store.tidy()


def _begun(
    target: ExtendableTarget,
    changes: Changes,
    store: Extensible,
    journal: ExtendJournal,
    request: AppendRequest,
    report: Report,
    lock: Lock,
) -> tuple[ExtendJournal, frozenset[str]] | None:
    """Put the journal; return it with the keys that an interrupted run of the same command has put.

    Until the store is known to be as it was compared, and free of chunks of other
    runs, the journal has no command, so that no run takes such chunks for its own.
    None after an error. Reports unextendable-target, busy-target; raises OSError.
    """
    old = extension.parsed(store.get(JOURNAL) or b"")
    if old is not None and old.is_of(journal):
        store.tidy()
        return journal._replace(run=old.run), _done(changes.arrays, store)
    if old is not None:
        is_over = not isinstance(lock, NoLock)  # else it would have the lock
        if not (is_over and old.command is None) and not request.discard:
            state = "was interrupted" if is_over else "is running, or was interrupted"
            text = f"an extension of `{shown(target.path)}` by another command {state}"
            helps = ["complete it with its own command", "discard its work with `--discard`"]
            if not is_over:
                helps[1] = f"if it does not run any more, {helps[1]}"
            report.error("unextendable-target", text, helps=helps)
            return None
        store.tidy()
        store.remove([JOURNAL])
    if not _is_claimed(changes, store, journal):
        report.add(changed(f"`{shown(target.path)}`"))
        return None
    _clean(target.checked, changes, store, old)
    store.put(JOURNAL, journal.bytes())
    return journal, frozenset()


def _is_claimed(changes: Changes, store: Extensible, journal: ExtendJournal) -> bool:
    """Put the journal without its command; return False if another run has the store, or changed it. Raises OSError."""
    if not store.claim(journal._replace(command=None).bytes()):
        return False
    is_same = _digest(store, changes) == journal.base
    if not is_same:
        store.remove([JOURNAL])
    return is_same


def _is_ours(changes: Changes, store: Extensible, journal: ExtendJournal, lock: Lock) -> bool:
    """Return whether the run may commit: journal and lock are its own, the documents as they were. Raises OSError.

    Under documents that have changed, what was put is removed.
    """
    now = extension.parsed(store.get(JOURNAL) or b"")
    if now is None or now.run != journal.run:
        return False
    if _digest(store, changes) != journal.base:
        _undo(changes, store)
        return False
    return lock.is_held()


def _undo(changes: Changes, store: Extensible) -> None:
    """Remove what a run has put that cannot be continued, the journal last. Raises OSError."""
    new = [
        change.array.key(index)
        for change in changes.arrays
        for index in change.array.indices()
        if not change.is_old(index)
    ]
    store.remove([*new, *store.keys(STAGED)])
    store.remove([JOURNAL])
    store.tidy()


def _digest(store: Store, changes: Changes) -> str:
    """Return a digest of the documents that change, as they are. Raises OSError."""
    document_hash = hashlib.sha256()
    for key in sorted(changes.documents):
        data = store.get(key) or b""
        document_hash.update(f"{key} {len(data)}\n".encode("utf-8", "surrogateescape") + data)
    return document_hash.hexdigest()


def _done(changes: Iterable[Change], store: Store) -> frozenset[str]:
    """Return the keys that an interrupted run of the same command has put. Raises OSError.

    Beyond the old lengths nothing existed before that run. Keys at the old edge
    are made again.
    """
    keys = {key.removeprefix(STAGED) for key in store.keys(STAGED)}
    for change in changes:
        keys.update(change.array.key(index) for index in change.stored() if not change.is_old(index))
    return frozenset(keys)


def _clean(checked: Checked, changes: Changes, store: Extensible, old: ExtendJournal | None) -> None:
    """Remove chunks beyond the lengths of a store, and those staged by an abandoned run. Raises OSError."""
    gone = [
        change.array.key(index) for change in changes.arrays for index in change.stored() if not change.is_old(index)
    ]
    if old is not None:
        gone += store.keys(STAGED)
        for source in (array for parts in checked.parts.values() for array in parts.values()):
            if source.keys is not None and source.keys.chunk_keys.prefix in old.arrays:
                gone += _beyond(source.keys, len(source.layout.shape), store)
    store.remove(dict.fromkeys(gone))


def _beyond(listing: KeyListing, rank: int, store: Store) -> Iterator[str]:
    """Yield the keys of chunks outside of an array's grid. Raises OSError."""
    keys = listing.chunk_keys
    for key in store.keys(keys.prefix):
        if keys.index_of(key, (sys.maxsize,) * rank) is not None and not listing.holds(key):
            yield key


class _Writing(Store):
    """Target of the chunks: puts those that are visible beside their places, and knows what it has put."""

    def __init__(self, store: Store, visible: frozenset[str], done: frozenset[str]) -> None:
        self.store = store
        self.path = store.path
        self.distant, self.sequential = store.distant, store.sequential
        self.visible = visible
        self.done = done
        self.written: set[str] = set(done)

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key in its place, or None. Raises OSError."""
        return self.store.get(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted. Raises OSError."""
        return self.store.keys(prefix)

    def is_done(self, key: str) -> bool:
        """Return whether an interrupted run has put this key."""
        return key in self.done

    def _place(self, key: str) -> str:
        self.written.add(key)
        return STAGED + key if key in self.visible else key

    def put(self, key: str, data: bytes) -> None:
        """Set a key. Raises OSError, UnsafeKeyError."""
        self.store.put(self._place(key), data)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Set a key to pieces. Raises OSError, UnsafeKeyError."""
        self.store.put_pieces(self._place(key), pieces)
