"""Extension of a store: the keys that change, in an order that an interruption does not harm, and their verification.

New records are read again before they become visible, and compared with the sources.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext

from nczarr import registry
from nczarr.arrays.chunks.manifest import KeyListing
from nczarr.arrays.execution.counts import Counts, Step
from nczarr.arrays.execution.thread_pool import limit
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import all_of, cut_along, repeat_chunks
from nczarr.arrays.sources.source import ArraySource
from nczarr.ast.rectilinear import largest
from nczarr.diagnostics.report import UNREAD, CompileError, Report, Source
from nczarr.diagnostics.secrets import show
from nczarr.link.run import link
from nczarr.link.tasks import WrittenPart
from nczarr.names import list_first
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.compare.values import values
from nczarr.plan.chunk_lengths import check_chunk
from nczarr.plan.plans import StorePlan, conversion_of
from nczarr.plugins.combine.append import placement
from nczarr.plugins.combine.append.changes import Change, Changes, plan_changes
from nczarr.plugins.combine.append.placement import Appended, AppendRequest, Extension
from nczarr.plugins.common import store_changes
from nczarr.semantics.checked import Checked, whole_parts
from nczarr.stores import extension
from nczarr.stores.base import JOURNAL, Store
from nczarr.stores.extension import STAGED, ExtendJournal
from nczarr.stores.local_paths import add_path_to_errors
from nczarr.stores.lock import NoLock, assure, report_changed
from nczarr.stores.ranges import Range

PIECE = 1 << 20
"""Values compared at once."""


def verify_journal(work: Extension, journal: ExtendJournal) -> bool:
    """Compare a store as it will be with a committed journal; return False after unequal-target. Raises OSError."""
    storage = work.request.options.run.storage.of("target")
    opened = endpoints.open_source(work.target.path, Report(), Options.of(storage=storage, unfinished=True))
    assert opened is not None and not isinstance(opened, Source)  # noqa: PT018
    opened.survey()
    reading = Report()
    return _verify(
        work, phases.read(extension.view(opened, journal), reading, _reading(work), work.target.form), reading
    )


def verify_snapshot(work: Extension, place: str | None) -> bool:
    """Compare a snapshot of a repository, which no branch names yet; False after unequal-target. Raises OSError."""
    assert place is not None
    reading = Report()
    return _verify(work, phases.read_path(place, reading, _reading(work)), reading)


def _reading(work: Extension) -> Options:
    storage = work.request.options.run.storage.of("target")
    return work.request.options.change(allow_loss=UNREAD, storage=storage, verify=False, parser=None, kind=None)


def _verify(work: Extension, again: Checked | None, reading: Report) -> bool:
    """Compare the records of an extended dataset with the sources; False after unequal-target. Raises OSError."""
    report, name = work.report, show(work.target.path)
    if again is None or reading.errors:
        first = next((f": {one.message}" for one in reading.list_sorted()), "")
        report.error("unequal-target", f"`{name}` could not be read with the new records{first}")
        return False
    before = report.errors
    for path, axis in work.way.axes.items():
        try:
            text = _compare(work, path, axis, again)
        except CompileError as failure:
            text = str(failure)
        if text is not None:
            report.error("unequal-target", f"`{path}` was not written to `{name}` as the sources have it: {text}")
    return report.errors == before


def _compare(work: Extension, path: str, axis: int, again: Checked) -> str | None:
    """Return in words how a variable differs from what the sources have; None if it is equal."""
    expected = whole_parts(work.whole, path)
    found = whole_parts(again, path) if path in again.variables else {}
    if expected.keys() == found.keys() == {""}:
        return _find_difference(work, axis, expected[""], found[""])
    if not found:
        return "it is missing"
    difference = values(work.whole, again, path)
    return None if difference is None else difference.message


def _find_difference(work: Extension, axis: int, expected: ArraySource, found: ArraySource) -> str | None:
    """Return the first place of the new records where two arrays differ, in words; None if they are equal."""
    shape = expected.layout.shape
    if shape != found.layout.shape:
        return f"the shape is {found.layout.shape}, not {shape}"
    chunks = repeat_chunks(tuple(max(1, one) for one in largest(found.layout.chunks)), shape, PIECE)
    for begin, end in _list_records(work):
        region = list(all_of(shape))
        region[axis] = slice(begin, end)
        for part in cut_along(tuple(region), chunks):
            one, other = expected.read(part), found.read(part)
            same = one == other
            if one.dtype.kind == "f":
                same |= np.isnan(one) & np.isnan(other)
            if not np.all(same):
                place = [int(index[0]) + span.start for index, span in zip(np.nonzero(~same), part, strict=True)]
                return f"the first difference is at ({', '.join(map(str, place))})"
    return None


def _list_records(work: Extension) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the records that come from the sources."""
    begin = 0
    for run in work.pieces:
        if run.source != 0:
            yield begin, begin + run.length
        begin += run.length


def recover_target(request: AppendRequest, report: Report) -> bool:
    """Put the work of a committed but interrupted extension in its place; return whether it was of this command.

    A rehearsal changes nothing. Raises OSError.
    """
    options = request.options
    reading = options.change(storage=options.run.storage.of("target"), parser=None)
    source = endpoints.open_source(request.target, report, reading)
    if source is None or isinstance(source, Source) or source.versioned:
        return False
    journal = extension.parse(source.get(JOURNAL) or b"")
    if journal is None or journal.state != "committed" or request.rehearsal:
        return False
    store_changes.complete(store_changes.extensible(request.target, options.run.storage), journal)
    return journal.command is not None and journal.command == request.command


def extend(work: Extension, changes: Changes | None = None) -> Appended | None:
    """Write the changes of a store, or what joining makes; return None after a reported error. Raises OSError."""
    target, options, report = work.target, work.request.options, work.report
    changes = plan_changes(work) if changes is None else changes
    if changes is None:
        return None
    plan = StorePlan(work.whole, target.form._replace(name=target.outer.name), options)
    for change in changes.arrays:
        check_chunk(plan, change.array.path, change.array.part, change.array.decoded, report)
    if report.errors:
        return None
    rewritten = sum(change.is_old(index) for change in changes.arrays for index in change.array.indices())
    counts, steps = Counts(work.watch), tuple[Step, ...]()
    if work.request.rehearsal:
        steps = tuple(step for change in changes.arrays for step in change.steps())
    else:
        with limit(options.run.workers, options.run.memory), add_path_to_errors(target.path):
            if target.outer.store.extends is None:
                _StoreExtension(work, changes, counts).write()
            else:
                _commit(work, changes, counts)
    if report.errors:
        return None
    done = conversion_of(target.path, plan, counts)
    if options.run.verify and not work.request.rehearsal:
        done = done._replace(verified_with=("nczarr",))
    return Appended(done, work.lengths, steps, rewritten)


def _commit(work: Extension, changes: Changes, counts: Counts) -> None:
    """Write everything into a new commit. Reports busy-target; raises OSError, CompileError with busy-target."""
    target, options, report = work.target, work.request.options, work.report
    assert target.outer.store.extends is not None
    if not (changes.documents or changes.arrays):  # icechunk makes no commit without a change
        return
    if options.target.message is None:
        verb = "Replace records by" if work.request.region else "Append"
        options = options.change(message=f"{verb} {list_first((show(one.name) for one in work.request.inputs), 3)}")
    store = registry.load(target.outer.store.extends)(target.path, options, target.store)
    try:
        for key in sorted(changes.documents, key=store_changes.turn):
            store.put(key, changes.documents[key])
        writing = _Writing(store, frozenset(), frozenset())
        numbered: Iterable[tuple[int, WrittenPart]] = enumerate(change.array for change in changes.arrays)
        if options.target.virtual:
            from nczarr.link.target import refer_added  # few runs refer to chunks

            numbered = refer_added(numbered, store, options.target.writing.inline, counts, writing.written)
        link(numbered, writing, options.run, counts)
        store.remove(_find_vanished(changes.arrays, writing))
        is_free, wait = isinstance(work.lock, NoLock), placement.PATIENCE
        taken = endpoints.lock_place(target.path, report, options.run, replaces=True, patience=wait)
        with taken if is_free else nullcontext(work.lock) as lock:
            if lock is not None and options.run.verify:
                store.seal()
                lock = lock if verify_snapshot(work, store.sealed) else None
            if lock is not None and assure(lock, target.path, report):
                store.finish()
    finally:
        store.abort()


def _find_vanished(changes: Iterable[Change], writing: _Writing) -> list[str]:
    """Return the keys that exist, but have become fill. Raises OSError."""
    gone = []
    for change in changes:
        old = {change.array.key(index) for index in change.list_stored() if change.is_old(index)}
        gone += sorted(old.intersection(change.keys()).difference(writing.written))
    return gone


class _StoreExtension:
    """Extension of a store by changes, with a journal. Methods raise OSError."""

    def __init__(self, work: Extension, changes: Changes, counts: Counts) -> None:
        assert work.target.store is not None
        self.work = work
        self.changes = changes
        self.counts = counts
        self.store = store_changes.extensible(work.target.path, work.request.options.run.storage)
        prefixes = tuple(change.prefix for change in changes.arrays)
        run, base = store_changes.new_run(), self._digest(work.target.store)
        self.journal = ExtendJournal(work.request.command, base, run, "writing", work.lengths, prefixes, {}, (), ())

    def write(self) -> None:
        """Write everything. Reports unextendable-target, busy-target."""
        arrays, options = self.changes.arrays, self.work.request.options
        done = self._begin()
        if done is None:
            return
        visible = frozenset(key for change in arrays for key in change.visible)
        if options.run.verify:  # chunks that exist stay until the new ones were compared
            old = (
                change.array.key(index) for change in arrays for index in change.array.indices() if change.is_old(index)
            )
            visible = visible.union(old)
        writing = _Writing(self.store, visible, done)
        try:
            link(enumerate(change.array for change in arrays), writing, options.run, self.counts)
            if not self._may_commit():
                self._report_change()
                return
        except (OSError, KeyboardInterrupt) as error:
            if self.work.request.command is None:
                self._undo()
            elif isinstance(error, OSError):
                error.add_note(f"`{show(self.work.target.path)}` reads as before; continue with the same command")
            raise
        except CompileError:  # the same command would find the same chunk
            self._undo()
            raise
        staged = tuple(sorted(key for key in writing.written if key in visible))
        documents, removed = store_changes.texts_of(self.changes.documents), tuple(_find_vanished(arrays, writing))
        journal = self.journal._replace(state="committed", documents=documents, staged=staged, removed=removed)
        if options.run.verify and not verify_journal(self.work, journal):
            self._undo()
            return
        self.store.put(JOURNAL, journal.bytes())
        store_changes.apply(self.store, journal)

    def _begin(self) -> frozenset[str] | None:
        """Put the journal; return the keys that an interrupted run of the same command has put.

        Until the store is known to be as it was compared, and free of chunks of other
        runs, the journal has no command, so that no run takes such chunks for its own.
        None after an error. Reports unextendable-target, busy-target.
        """
        store, request = self.store, self.work.request
        old = extension.parse(store.get(JOURNAL) or b"")
        if old is not None and old.is_of(self.journal):
            store.tidy()
            self.journal = self.journal._replace(run=old.run)
            return frozenset(key.removeprefix(STAGED) for key in store.keys(STAGED)).union(
                self.changes.list_new_keys(only_stored=True)  # nothing existed there before that run
            )
        if old is not None:
            is_over = not isinstance(self.work.lock, NoLock)  # else it would have the lock
            if not (is_over and old.command is None) and not request.discard:
                state = "was interrupted" if is_over else "is running, or was interrupted"
                text = f"an extension of `{show(self.work.target.path)}` by another command {state}"
                helps = ["complete it with its own command", "discard its work with `--discard`"]
                if not is_over:
                    helps[1] = f"if it does not run any more, {helps[1]}"
                self.work.report.error("unextendable-target", text, helps=helps)
                return None
            store.tidy()
            store.remove([JOURNAL])
        if not self._claim():
            self._report_change()
            return None
        self._clean(old)
        store.put(JOURNAL, self.journal.bytes())
        return frozenset()

    def _report_change(self) -> None:
        self.work.report.add(report_changed(f"`{show(self.work.target.path)}`"))

    def _claim(self) -> bool:
        """Put the journal without its command; return False if another run has the store, or changed it."""
        if not self.store.claim(self.journal._replace(command=None).bytes()):
            return False
        is_same = self._digest(self.store) == self.journal.base
        if not is_same:
            self.store.remove([JOURNAL])
        return is_same

    def _may_commit(self) -> bool:
        """Return whether journal and lock are those of the run, and the documents as they were.

        Under documents that have changed, what was put is removed.
        """
        now = extension.parse(self.store.get(JOURNAL) or b"")
        if now is None or now.run != self.journal.run:
            return False
        if self._digest(self.store) != self.journal.base:
            self._undo()
            return False
        return self.work.lock.is_held()

    def _undo(self) -> None:
        """Remove what a run has put that cannot be continued, the journal last."""
        self.store.remove([*self.changes.list_new_keys(), *self.store.keys(STAGED)])
        self.store.remove([JOURNAL])
        self.store.tidy()

    def _digest(self, store: Store) -> str:
        """Return a digest of the documents that change, as they are."""
        document_hash = hashlib.sha256()
        for key in sorted(self.changes.documents):
            data = store.get(key) or b""
            document_hash.update(f"{key} {len(data)}\n".encode("utf-8", "surrogateescape") + data)
        return document_hash.hexdigest()

    def _clean(self, old: ExtendJournal | None) -> None:
        """Remove chunks beyond the lengths of the store, and those staged by an abandoned run."""
        gone = self.changes.list_new_keys(only_stored=True)
        if old is not None:
            gone += self.store.keys(STAGED)
            for source in (array for parts in self.work.target.checked.parts.values() for array in parts.values()):
                if source.keys is not None and source.keys.chunk_keys.prefix in old.arrays:
                    gone += _list_keys_beyond(source.keys, len(source.layout.shape), self.store)
        self.store.remove(dict.fromkeys(gone))


def _list_keys_beyond(listing: KeyListing, rank: int, store: Store) -> Iterator[str]:
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
