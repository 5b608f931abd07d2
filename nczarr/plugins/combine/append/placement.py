"""Request, target and result of an extension, and places of the sources' records by the values of the coordinate.

Records continue the coordinate strictly: after the last value, in the direction
of the target. With `region`, records that the target has already, by the same
values of the coordinate, are replaced; the others follow. The lock of a target
that is replaced as a whole also says whether the target is still the one that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.execution.counts import Step, Watcher
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline.phases import Input
from nczarr.pipeline.select.selection import Subset
from nczarr.plan.plans import Conversion
from nczarr.plugins.combine.arrays.cell_positions import CellRun
from nczarr.plugins.combine.join import Combined, Recoding
from nczarr.plugins.combine.join.agreement import Join, Way, is_coordinate
from nczarr.plugins.combine.join.coordinate_order import NATURAL, Duplicates, by_values, natural_key, words_of
from nczarr.registry import Format
from nczarr.semantics.checked import Checked, whole_parts
from nczarr.stores.base import Store
from nczarr.stores.lock import Lock, NoLock
from nczarr.stores.stat import identity


class AppendRequest(NamedTuple):
    """Request for an extension."""

    inputs: Sequence[Input]
    """The sources in order."""
    target: str
    """Path or URL of the target."""
    along: tuple[str, ...] = ()
    """Names of dimensions, simple or from the root; without them they are found by lengths."""
    subset: Subset = Subset()
    """Requested part of the sources."""
    options: Options = Options()
    region: bool = False
    """Replace the records whose coordinates the target has already."""
    recoding: Recoding | None = None
    """Units of all times, for reference documents; None: they must be equal."""
    join: Join = "exact"
    """Treatment of variables and coordinates that differ from those of the target."""
    sort: bool = False
    """Sort the records of a reference document by their coordinate."""
    duplicates: Duplicates | None = None
    """Rule for records of a reference document with equal coordinates; None: an error."""
    repack: bool = False
    """Give the sources the packing of the target."""
    unsorted: bool = False
    """Keep the order of the sources in a reference document, whatever the coordinate says."""
    units: str | None = None
    """Units of the target, or `majority`: values of the sources are converted to them. None: they must be equal."""
    rehearsal: bool = False
    """Write nothing."""
    discard: bool = False
    """Discard the unfinished work of another command, which must not run any more."""
    document: bool = False
    """True if the target must be a reference document, whatever its name."""
    unnamed: bool = False
    """True if the order of arguments alone tells the target from the sources."""
    command: str | None = None
    """Fingerprint of the sources and options, for resuming; None without one."""


class Appended(NamedTuple):
    """Result of an extension."""

    conversion: Conversion
    """Chunks and bytes by route."""
    lengths: dict[str, tuple[int, int]]
    """Lengths before and after by FQN of the dimension."""
    steps: tuple[Step, ...] = ()
    """Planned work, of a rehearsal alone."""
    rewritten: int = 0
    """Number of keys of the target that were replaced."""
    completed: bool = False
    """True if an earlier run of the command had committed, and this one put its work in place."""
    combined: Combined | None = None
    """The sources of a rehearsal, of a reference document alone."""
    rebased: int = 0
    """Times that the commit was made again, because another writer had moved the branch."""


class ExtendableTarget(NamedTuple):
    """An existing target that can be extended."""

    path: str
    """Path or URL."""
    outer: Format
    form: Format
    """Format of its documents: of a repository, that inside."""
    store: Store | None
    checked: Checked
    identity: str | None = None
    """Text that changes with a local file; None for others."""


class Extension(NamedTuple):
    """One extension of a target, once its sources are read."""

    request: AppendRequest
    target: ExtendableTarget
    whole: Checked
    """The dataset that it is to hold."""
    way: Way
    """The dimensions that grow."""
    pieces: Sequence[CellRun]
    """Records of the result in order."""
    report: Report
    """Collected diagnostics."""
    watch: Watcher | None = None
    """Called with the bytes written."""
    lock: Lock = NoLock(None)
    """The lock of the target."""

    @property
    def lengths(self) -> dict[str, tuple[int, int]]:
        """Lengths before and after by FQN of the dimension."""
        old, new = self.target.checked.dimensions, self.whole.dimensions
        return {path: (old[path].size, new[path].size) for path in sorted(self.way.dimensions)}


PATIENCE = 10
"""Seconds to wait for the commit of another run to a local repository."""

ANEW = "a target grows at its end: write target and sources as a new one with `nczarr combine … --sort`"

Named = tuple[str, Checked]
"""A dataset and its name."""


def place_runs(every: Sequence[Named], way: Way, *, region: bool, report: Report) -> list[CellRun] | None:
    """Return the pieces of the result in order; None if misplaced-records is reported.

    `every`: the target, then the sources. Raises OSError.
    """
    before = report.errors
    runs: list[CellRun] | None = None
    if region and len(way.dimensions) > 1:
        report.error("misplaced-records", f"records of {way.shown} have no common place: name one dimension")
        return None
    for dimension in sorted(way.dimensions):
        sizes = [checked.dimensions[dimension].size for _, checked in every if dimension in checked.dimensions]
        runs = [CellRun(number, 0, size) for number, size in enumerate(sizes)]
        coordinate = dimension if _has_coordinate(every[0][1], dimension) else None
        if coordinate is not None:
            runs = _in_order(every, coordinate, runs, region=region, report=report)
        elif region:
            text = f"`{every[0][0]}` has no coordinate `{dimension}`, so the places of the records are unknown"
            report.error("misplaced-records", text, helps=["append the records without `--region`"])
    return runs if report.errors == before else None


def _has_coordinate(checked: Checked, dimension: str) -> bool:
    return dimension in checked.variables and is_coordinate(dimension, checked, stacked=False)


def _values(checked: Checked, path: str) -> NDArray[Any]:
    """Return a coordinate's values, shape (length,). Raises OSError."""
    source = whole_parts(checked, path)[""]
    return source.read((slice(0, source.layout.shape[0]),))


def _in_order(
    every: Sequence[Named], path: str, pieces: list[CellRun], *, region: bool, report: Report
) -> list[CellRun]:
    """Return the pieces of all datasets by the values of a coordinate. Reports misplaced-records."""
    name, target = every[0]
    values_so_far = _values(target, path)
    values_of_each, last, before = [values_so_far], name, report.errors
    faults: list[tuple[str, bool]] = []
    """Messages, and whether the target has a record with the same coordinate."""
    if region and len(np.unique(values_so_far)) < len(values_so_far):
        text = f"`{name}` has a value of `{path}` several times, so the places of the records are unknown"
        report.error("misplaced-records", text, helps=["append the records without `--region`"])
        return pieces
    for source_name, checked in every[1:]:
        alike = _has_coordinate(checked, path) and checked.variables[path].type == target.variables[path].type
        if not alike:
            continue  # a fault of the models
        values = _values(checked, path)
        values_of_each.append(values)
        if not len(values):
            continue
        at = _place(values_so_far, values) if region else len(values_so_far)
        fault = _fault(values_so_far, values, at, source_name, last, words_of(target, path))
        if fault is not None:
            able = not region and len(np.intersect1d(values_so_far, values)) > 0
            faults.append((f"the values of `{path}` do not {fault}", able))
            continue
        values_so_far = np.concatenate([values_so_far[:at], values, values_so_far[at + len(values) :]])
        last = source_name
    follow = _is_natural_order_right(every, values_of_each) if faults and not region else False
    for fault, able in faults:
        helps = [NATURAL] if follow else []
        helps += ["replace the records of equal coordinates with `--region auto`"] if able else []
        report.error("misplaced-records", fault, helps=helps or [ANEW])
    if not region or report.errors > before or len(values_of_each) < len(every):
        return pieces
    return by_values(values_of_each, sort=False).arrange(np.arange(len(every)), "last")[0]


def _is_natural_order_right(every: Sequence[Named], values_of_each: Sequence[NDArray[Any]]) -> bool:
    """Return whether values increase if the sources follow the target in the natural order of their names."""
    if len(values_of_each) < len(every):
        return False
    order = sorted(range(1, len(every)), key=lambda number: natural_key(every[number][0]))
    joined = np.concatenate([values_of_each[number] for number in (0, *order)])
    return bool((joined[1:] > joined[:-1]).all())


def _place(values_so_far: NDArray[Any], values: NDArray[Any]) -> int:
    """Return where the target has the first value; its end if it does not have it."""
    matches = np.flatnonzero(values_so_far == values[0])
    return int(matches[0]) if len(matches) else len(values_so_far)


def _fault(
    values_so_far: NDArray[Any], values: NDArray[Any], at: int, name: str, last: str, show: Callable[[Any], str]
) -> str | None:
    """Return why the values of a source do not fit at a place, or None.

    `values_so_far`: the values so far; `last`: the name of the dataset that has the last; `show`: words for a value.
    """
    shared = values_so_far[at : at + len(values)]
    differ = np.flatnonzero(shared != values[: len(shared)])
    if len(differ):
        place = int(differ[0])
        text = f"{show(values[place])} in `{name}` where the target has {show(shared[place])}"
        return f"match: {text}"
    tail = (
        values_so_far[max(0, len(values_so_far) - 2) :] if at + len(values) > len(values_so_far) else values_so_far[:0]
    )
    fresh = values[len(shared) :]
    line = np.concatenate([tail, fresh]) if len(fresh) else fresh
    if len(line) < 2:
        return None
    falls = bool(line[1] < line[0])
    rest = line[len(tail) - 1 :] if len(tail) else line
    wrong = np.flatnonzero(~((rest[1:] < rest[:-1]) if falls else (rest[1:] > rest[:-1])))
    if not len(wrong):
        return None
    place = int(wrong[0])
    word = "decrease" if falls else "increase"
    where = f" in `{last}`" if place == 0 and len(tail) else ""
    return f"{word}: {show(rest[place + 1])} in `{name}` after {show(rest[place])}{where}"


class Unchanged(Lock):
    """Lock of a local target that is replaced as a whole: lost also if a program without locks changes it."""

    def __init__(self, lock: Lock, path: str, identity: str) -> None:
        self._lock = lock
        self._path = path
        self._identity = identity

    def is_held(self) -> bool:
        """Return whether the lock is held and the target is as it was. Raises OSError."""
        return self._lock.is_held() and identity(self._path) == self._identity

    def release(self) -> None:
        """Release the lock. Raises OSError."""
        self._lock.release()
