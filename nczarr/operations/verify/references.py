"""Check that targets of references exist, are unchanged, and contain every referenced range.

References are processed in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, Crew, Task
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity
from nczarr.diagnostics.secrets import shown
from nczarr.stores.base import Reference, References
from nczarr.stores.stat import Facts, changes, noted

ROWS = 1 << 16
"""References per table."""

WHOLE = -1
"""Length of a reference to everything after its offset."""

UNKNOWN = -1
"""Unknown size of a target."""


class RangeTable(NamedTuple):
    """References: key i is bytes `offset[i]` to `offset[i] + length[i]` of target number `target[i]`."""

    keys: list[str]
    """Keys."""
    target: NDArray[np.int64]
    """Numbers of targets."""
    offset: NDArray[np.int64]
    """Starts in bytes."""
    length: NDArray[np.int64]
    """Lengths in bytes."""

    def beyond(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
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
        for change in changes(self.noted.get(url, Facts()), answer):
            text = f"`{_named(url)}`, the target of `{self.first[number]}`, has changed: {change}"
            self.faults.append(_fault("changed-target", text, self.first[number]))
        return UNKNOWN if answer.size is None else answer.size


def look_at(references: References, look: Look, report: Report, *, distant: bool) -> Looked:
    """Check all references. Reports unreachable-target, changed-target, range-beyond-target, once per fault.

    Memory depends on targets, not on references. Raises OSError, CompileError
    if entries are unreadable.
    """
    targets = _Targets(look, _noted(references.noted), DISTANT_WORKERS if distant else 1)
    useless: set[str] = set()
    count = 0
    for table in tables(references.entries(), targets.urls):
        targets.take(table)
        count += len(table.keys)
        for row in table.beyond(targets.sizes).tolist():
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


def _noted(member: Any) -> dict[str | None, Facts]:
    """Return the document's recorded properties of targets by URL."""
    targets = member.get("targets") if isinstance(member, Mapping) else None
    return {url: noted(facts) for url, facts in targets.items()} if isinstance(targets, Mapping) else {}


def _is_meant(references: References, key: str, url: str | None, table: RangeTable, row: int) -> bool:
    """Return whether an entry is the valid one of its key, not a replaced one."""
    length = int(table.length[row])
    return references.find(key) == Reference(url, int(table.offset[row]), None if length < 0 else length)


def _tell_beyond(key: str, url: str | None, table: RangeTable, row: int, size: int, report: Report) -> None:
    offset, length = int(table.offset[row]), int(table.length[row])
    what = f"{length} bytes at {offset}" if length >= 0 else f"the bytes from {offset}"
    text = f"`{key}` refers to {what} of `{_named(url)}`, which has {size}"
    report.add(_fault("range-beyond-target", text, key))


def _tell_failure(url: str | None, error: OSError | CompileError, key: str, count: int, report: Report) -> None:
    """Report an unreachable or forbidden target, with a key that uses it."""
    notes = [f"{count} references name it"] if count > 1 else []
    if isinstance(error, CompileError):
        for diagnostic in error.diagnostics:
            report.add(diagnostic._replace(notes=(*diagnostic.notes, *notes)))
        return
    text = f"`{_named(url)}`, the target of `{key}`, cannot be reached: {error.strerror or error}"
    report.add(_fault("unreachable-target", text, key, tuple(notes)))


def _fault(code: str, text: str, key: str, notes: Iterable[str] = ()) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, text, Label(key=key), notes=tuple(notes))


def _named(url: str | None) -> str:
    return shown(url) if url is not None else "null"
