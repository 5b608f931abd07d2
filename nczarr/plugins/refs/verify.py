"""Verification of a reference document: its targets, its ranges, and decoding of chunks.

    ReferenceStore ─ look_at ─> targets and ranges          Checked ─ read ─> chunks

All references are checked in columns: targets exist, are unchanged, and contain
every referenced range. Chunks are read by the usual reader. Each fault is a
diagnostic with key and target.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from nczarr import registry
from nczarr.arrays.chunks.manifest import KeyListing
from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, Crew, Task
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, count_blocks, region_of
from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.arrays.sources.windows import TEXT, TIMES
from nczarr.ast.rectilinear import volume
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity, Source
from nczarr.diagnostics.secrets import show
from nczarr.options import Options, RunOptions
from nczarr.pipeline import phases
from nczarr.plugins.refs.mapping import open_keys
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Reference, References, Store, is_metadata, is_safe
from nczarr.stores.references import ReferenceStore, describe_changes
from nczarr.stores.stat import Facts, read_noted

ROWS = 1 << 16
"""References per table."""

WHOLE = -1
"""Length of a reference to everything after its offset."""

UNKNOWN = -1
"""Unknown size of a target."""


class RangeTable(NamedTuple):
    """References: key i is bytes `offset[i]` to `offset[i] + length[i]` of target number `target[i]`."""

    keys: list[str]
    target: NDArray[np.int64]
    """Numbers of targets."""
    offset: NDArray[np.int64]
    """Starts in bytes."""
    length: NDArray[np.int64]
    """Lengths in bytes."""

    def find_rows_beyond(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows beyond the end of their target: int64, shape (rows,).

        `sizes`: bytes of every target, int64, shape (targets,); rows of targets
        of unknown size are not returned.
        """
        ends = self.offset + np.maximum(self.length, 0)
        size = sizes[self.target]
        rows: NDArray[np.int64] = np.flatnonzero((ends > size) & (size != UNKNOWN))
        return rows


def tables(entries: Iterable[tuple[str, bytes | Reference]], urls: dict[str | None, int]) -> Iterator[RangeTable]:
    """Yield the references among entries. `urls`: receives a number for each new URL."""
    rows = iter(entries)
    while True:
        keys: list[str] = []
        targets: list[int] = []
        offsets: list[int] = []
        lengths: list[int] = []
        seen = 0
        for key, entry in islice(rows, ROWS):
            seen += 1
            if isinstance(entry, Reference):
                url, offset, length = entry
                keys.append(key)
                targets.append(urls.setdefault(url, len(urls)))
                offsets.append(offset)
                lengths.append(WHOLE if length is None else length)
        if not seen:
            return
        if keys:
            yield RangeTable(keys, _column(targets), _column(offsets), _column(lengths))


def _column(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


Look = Callable[[str | None], Facts]
"""Function that returns a target's properties. Raises OSError if it is unreachable, CompileError if it is forbidden."""


class Looked(NamedTuple):
    """Result of checking all references."""

    references: int
    """Number of references."""
    targets: int
    """Number of targets."""
    useless: frozenset[str]
    """Keys of ranges beyond the end of their target."""
    closed: frozenset[str | None]
    """URLs of unreadable targets."""


class _Targets:
    """Targets so far, by number."""

    def __init__(self, look: Look, noted: Mapping[str | None, Facts], workers: int) -> None:
        self.look = look
        self.noted = noted
        self.workers = workers
        self.urls: dict[str | None, int] = {}
        self.names: list[str | None] = []
        self.sizes: NDArray[np.int64] = np.zeros(0, np.int64)
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)
        self.first: list[str] = []
        """A key of each."""
        self.failures: dict[int, OSError | CompileError] = {}
        self.faults: list[Diagnostic] = []

    def take(self, table: RangeTable) -> None:
        """Check new targets, and count references."""
        count = len(self.sizes)
        numbers, rows = np.unique(table.target, return_index=True)
        for number, row in zip(numbers.tolist(), rows.tolist(), strict=True):
            if number >= count:
                self.first.append(table.keys[row])
        fresh = list(islice(self.urls, count, None))
        self.names += fresh
        with Crew(self.workers, 1) as crew:
            tasks = (Task(partial(self._facts, url), here=self.workers == 1) for url in fresh)
            sizes = [self._settle(count + at, url, answer) for at, (url, answer) in
                     enumerate(zip(fresh, crew.results(tasks), strict=True))]  # fmt: skip
        self.sizes = np.concatenate((self.sizes, np.array(sizes, np.int64)))
        self.counts = np.concatenate((self.counts, np.zeros(len(fresh), np.int64)))
        self.counts += np.bincount(table.target, minlength=len(self.counts))

    def _facts(self, url: str | None) -> Facts | OSError | CompileError:
        try:
            return self.look(url)
        except (OSError, CompileError) as error:
            return error

    def _settle(self, number: int, url: str | None, answer: Facts | OSError | CompileError) -> int:
        """Return the size of a target, and record its faults."""
        if not isinstance(answer, Facts):
            self.failures[number] = answer
            return UNKNOWN
        self.faults += describe_changes(url, self.first[number], self.noted.get(url, Facts()), answer)
        return UNKNOWN if answer.size is None else answer.size


def look_at(references: References, look: Look, report: Report, *, distant: bool) -> Looked:
    """Check all references. Reports unreachable-target, changed-target, range-beyond-target, once per fault.

    Memory depends on targets, not on references. Raises OSError, CompileError
    if entries are unreadable.
    """
    targets = _Targets(look, _note(references.noted), DISTANT_WORKERS if distant else 1)
    useless: set[str] = set()
    count = 0
    for table in tables(references.entries(), targets.urls):
        targets.take(table)
        count += len(table.keys)
        for row in table.find_rows_beyond(targets.sizes).tolist():
            key = table.keys[row]
            url = targets.names[int(table.target[row])]
            if key not in useless and _is_meant(references, key, url, table, row):
                useless.add(key)
                _tell_beyond(key, url, table, row, int(targets.sizes[table.target[row]]), report)
    for fault in targets.faults:
        report.add(fault)
    names = targets.names
    for number, error in targets.failures.items():
        _tell_failure(names[number], error, targets.first[number], int(targets.counts[number]), report)
    return Looked(count, len(names), frozenset(useless), frozenset(names[number] for number in targets.failures))


def _note(member: Any) -> dict[str | None, Facts]:
    """Return the document's recorded properties of targets by URL."""
    targets = member.get("targets") if isinstance(member, Mapping) else None
    return {url: read_noted(facts) for url, facts in targets.items()} if isinstance(targets, Mapping) else {}


def _is_meant(references: References, key: str, url: str | None, table: RangeTable, row: int) -> bool:
    """Return whether an entry is the valid one of its key, not a replaced one."""
    length = int(table.length[row])
    return references.find(key) == Reference(url, int(table.offset[row]), None if length < 0 else length)


def _tell_beyond(key: str, url: str | None, table: RangeTable, row: int, size: int, report: Report) -> None:
    offset, length = int(table.offset[row]), int(table.length[row])
    what = f"{length} bytes at {offset}" if length >= 0 else f"the bytes from {offset}"
    text = f"`{key}` refers to {what} of `{_name(url)}`, which has {size}"
    report.add(_fault("range-beyond-target", text, key))


def _tell_failure(url: str | None, error: OSError | CompileError, key: str, count: int, report: Report) -> None:
    """Report an unreachable or forbidden target, with a key that uses it."""
    notes = [f"{count} references name it"] if count > 1 else []
    if isinstance(error, CompileError):
        for diagnostic in error.diagnostics:
            report.add(diagnostic._replace(notes=(*diagnostic.notes, *notes)))
        return
    text = f"`{_name(url)}`, the target of `{key}`, cannot be reached: {error.strerror or error}"
    report.add(_fault("unreachable-target", text, key, tuple(notes)))


def _fault(code: str, text: str, key: str, notes: Iterable[str] = ()) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, text, Label(key=key), notes=tuple(notes))


def _name(url: str | None) -> str:
    return show(url) if url is not None else "null"


BATCH = 16
"""Chunks per work item."""


class ChunkFault(NamedTuple):
    """An unreadable chunk."""

    name: str
    """Displayable path of its array."""
    chunk: Index
    """Its grid index."""
    key: str | None
    """Its key, if it has one."""
    reason: OSError | CompileError


def arrays(checked: Checked) -> Iterator[tuple[str, ArraySource]]:
    """Yield every array with its displayable path."""
    for path, parts in checked.parts.items():
        for part, source in parts.items():
            yield f"{path}/{part}" if part else path, source


def choose_chunks(name: str, source: ArraySource, sample: int | None) -> Iterator[Index]:
    """Yield the stored chunks of an array, or a sample of them. Raises OSError."""
    chunks = source.layout.chunks
    if sample is None:
        return source.list_occupied(chunks)
    count = count_blocks(source.list_occupied(chunks))
    if count <= sample:
        return source.list_occupied(chunks)
    places = set(random.Random(f"{name} {count}").sample(range(count), sample))
    return (index for place, index in enumerate(source.list_occupied(chunks)) if place in places)


def read_chunks(
    checked: Checked, sample: int | None, memory: int, skip: Callable[[str], bool]
) -> Iterator[tuple[int, list[ChunkFault]]]:
    """Read all chunks, or `sample` of each array; yield the number read and their faults, per batch.

    `skip`: returns whether to skip a key. Raises OSError if chunks cannot be
    listed.
    """
    with_chunks = [(name, source) for name, source in arrays(checked) if 0 not in source.layout.shape]
    far = any(source.distant for _, source in with_chunks)

    def tasks() -> Iterator[Task]:
        for name, source in with_chunks:
            need = TIMES * volume(source.layout.chunks) * (itemsize(source.layout.dtype) or TEXT)
            selected = iter(choose_chunks(name, source, sample))
            while batch := tuple(islice(selected, BATCH)):
                yield Task(partial(_read_batch, name, source, batch, skip), need)

    with Crew(None, memory, distant=far) as crew:
        yield from crew.results(tasks())


def _read_batch(
    name: str, source: ArraySource, batch: tuple[Index, ...], skip: Callable[[str], bool]
) -> tuple[int, list[ChunkFault]]:
    """Decode chunks; return the number read and the faults. `skip`: keys that are not to be read."""
    keys, layout = source.keys, source.layout
    count, faults = 0, []
    for index in batch:
        key = None if keys is None or layout.shards else keys.chunk_keys.key(index)
        if key is not None and skip(key):
            continue
        count += 1
        try:
            source.read(region_of(index, layout.chunks, layout.shape))
        except (OSError, CompileError) as error:
            faults.append(ChunkFault(name, index, key, error))
    return count, faults


def list_strays(checked: Checked, references: References) -> Iterator[str]:
    """Yield valid keys of references that are neither chunks nor documents. Raises OSError."""
    owners: dict[str, KeyListing] = {}
    count = 0
    for _, source in arrays(checked):
        if source.keys is not None:
            count += count_blocks(source.list_occupied(source.layout.shards or source.layout.chunks))
            owners[source.keys.chunk_keys.prefix] = source.keys
    if count == sum(1 for key, _ in references.entries() if not is_metadata(key)):  # every key is one of a chunk
        return
    for key, entry in references.entries():
        if not isinstance(entry, Reference) or is_metadata(key) or not is_safe(key):
            continue
        prefix = key[: key.rfind("/") + 1]
        while prefix not in owners and prefix:
            prefix = prefix[: prefix.rfind("/", 0, -1) + 1]
        owner = owners.get(prefix)
        if owner is None or not owner.holds(key):
            yield key


class Summary(NamedTuple):
    """Counts of a verification."""

    references: int
    """Number of references."""
    targets: int
    """Number of targets."""
    chunks: int
    """Number of chunks that were read."""

    @property
    def words(self) -> str:
        """Readable counts."""
        counts = [f"{self.references} reference{'s' * (self.references != 1)}"]
        counts.append(f"{self.targets} target{'s' * (self.targets != 1)}")
        counts.append(f"{self.chunks} chunk{'s' * (self.chunks != 1)} read")
        return ", ".join(counts)


def verify(source: Source | Store, sample: int | None, report: Report, options: Options) -> Summary | None:
    """Verify a document or folder of Parquet references, with all targets; return None for other sources.

    `sample`: chunks to read of each array; 0: none, None: all. Faults are
    reported. Raises OSError, CompileError if the document itself is unreadable.
    """
    opening = Report(strict=report.strict)
    opening.hides = lambda diagnostic: diagnostic.code == "changed-target"  # below: an error, remote ones too
    store = open_keys(source, opening, options)
    for diagnostic in opening.list_sorted():
        report.add(diagnostic)
    if store is None:
        return None
    looked = look_at(store.references, store.facts, report, distant=store.distant)
    count = 0
    if sample != 0:
        own_report = Report(strict=report.strict)
        checked = phases.read(store, own_report, options, registry.detect_store(store, opened=True))
        for diagnostic in own_report.list_sorted():
            report.add(diagnostic)
        if checked is not None:
            for key in islice(list_strays(checked, store.references), report.limit):
                text = f"`{key}` is not a chunk of any array and is never read"
                report.add(Diagnostic("stray-reference", Severity.WARNING, text, Label(key=key)))
            count = _read_chunks(checked, store, looked, sample, report, options.run)
    return Summary(looked.references, looked.targets, count)


def _read_chunks(
    checked: Checked, store: ReferenceStore, looked: Looked, sample: int | None, report: Report, run: RunOptions
) -> int:
    """Read chunks, report unreadable ones, and return the number read; skip keys and targets known as useless."""

    def skip(key: str) -> bool:
        if key in looked.useless:
            return True
        entry = store.references.find(key) if looked.closed else None
        return isinstance(entry, Reference) and entry.url in looked.closed

    count = 0
    for read, faults in read_chunks(checked, sample, run.memory, skip):
        count += read
        for fault in faults:
            _tell(fault, store, report)
    return count


def _tell(fault: ChunkFault, store: ReferenceStore, report: Report) -> None:
    """Report an unreadable chunk with its key and target."""
    entry = None if fault.key is None else store.references.find(fault.key)
    target = f", bytes of `{show(entry.url)}`," if isinstance(entry, Reference) and entry.url is not None else ""
    what = f"`{fault.key}`" if fault.key is not None else f"chunk {fault.chunk} of `{fault.name}`"
    place, reason = Label(key=fault.key or store.path), fault.reason
    if isinstance(reason, OSError):
        text = f"{what}{target} cannot be read: {reason.strerror or reason}"
        report.add(Diagnostic("unreadable-chunk", Severity.ERROR, text, place))
        return
    for diagnostic in reason.diagnostics:
        has_key = fault.key is not None and fault.key in diagnostic.message
        text = diagnostic.message if has_key else f"{what}{target}: {diagnostic.message}"
        report.add(diagnostic._replace(message=text, primary=place))
