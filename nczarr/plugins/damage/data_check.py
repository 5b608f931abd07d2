"""Check of the data of one dataset: all its arrays, and a report of what is damaged in them."""

from __future__ import annotations

import math
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.execution.counts import bytes_text
from nczarr.arrays.execution.thread_pool import Crew, Task
from nczarr.arrays.regions import count_blocks, region_of
from nczarr.ast.dataset import BZIP2, CRC32C, DEFLATE, FLETCHER32, GZIP
from nczarr.ast.rectilinear import varies
from nczarr.diagnostics.catalog import CODES
from nczarr.pipeline.omissions import DAMAGE, refuse
from nczarr.pipeline.select.physical import is_numeric
from nczarr.pipeline.select.sections import ranges_of
from nczarr.pipeline.select.selection import Subset, place_of
from nczarr.pipeline.select.subset import dimension_ranges
from nczarr.plugins.common.nodes import label_of
from nczarr.plugins.damage.chunk_reader import ChunkBox, DamagedChunk, ReadArray, list_tasks
from nczarr.plugins.damage.values import UnfitValues, find_disorder, find_gaps, find_judge
from nczarr.sdk import (
    Checked,
    CheckRequest,
    CompileError,
    Diagnostic,
    Index,
    Label,
    Region,
    Report,
    RunOptions,
    phases,
    show,
)
from nczarr.semantics.checked import find_coordinates
from nczarr.stores.places import RemoteFile, find_remote_file

SHOWN = 8
"""Damaged chunks of an array that are listed one by one, of each kind."""

CHECKSUMS = frozenset({FLETCHER32, CRC32C, DEFLATE, GZIP, BZIP2, 65538})
"""Codecs by whose encoding a changed byte is found: checksums, and compressors that write one of their input."""

FAULTS = {
    "missing-chunk": "is missing",
    "truncated-chunk": "is cut off",
    "misfit-chunk": "has another size than its shape",
    "failed-checksum": "does not have its checksum",
    "unreadable-chunk": "cannot be decoded",
}
"""Fault of a chunk in words, by code."""


class DataSummary(NamedTuple):
    """Counts of a check."""

    path: str
    """The source as it is shown."""
    variables: int
    chunks: int
    """Chunks that were read."""
    decoded: int
    """Those of them that are encoded."""
    size: int
    """Bytes of values."""
    damaged: int
    """Chunks that cannot be read."""
    seconds: float

    @property
    def words(self) -> str:
        """Readable counts. The time is stated from one second."""
        counts = ((self.variables, "variable"), (self.chunks, "chunk"))
        texts = [f"{count:,} {what}{'s' * (count != 1)}" for count, what in counts]
        rest = f"{self.decoded:,} decoded, {self.damaged:,} damaged, {bytes_text(self.size)}"
        return f"`{self.path}`: {', '.join(texts)} read, {rest}" + (f", {self.seconds:.0f} s" * (self.seconds >= 1))

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {"result": "check", **self._asdict()}


class DataRequest(NamedTuple):
    """Part of a dataset that is checked, and options of the run."""

    subset: Subset
    share: float | None
    """Part of the chunks that is read; None: all."""
    archived: bool
    """True if the source is an archive, whose entries have checksums."""
    run: RunOptions
    watch: Callable[[int], None] | None = None
    """Called with the bytes that were read."""


def choose_part(checked: Checked, subset: Subset, report: Report) -> Checked | None:
    """Return the variables that a subset concerns, whole; None after a reported error. Raises OSError."""
    if not subset.variables and not subset.groups:
        return phases.select(checked, Subset(excluded=subset.excluded), report)
    places = (place_of(section, checked, report) for section in subset.sections)
    variables = (*subset.variables, *(path for path in places if path is not None))
    return phases.select(checked, Subset(variables, subset.groups, excluded=subset.excluded), report)


def find_regions(checked: Checked, subset: Subset, report: Report) -> Mapping[str, Region]:
    """Return the selected cells of variables of which not all are selected. Raises OSError, CompileError."""
    cut = dimension_ranges(subset, checked.dimensions, checked, report)
    places = [(place_of(section, checked, report), section) for section in subset.sections]
    sections = ranges_of([(path, section) for path, section in places if path is not None], checked, report)
    regions: dict[str, Region] = {}
    for path, variable in checked.variables.items():
        whole = sections.get(path) or tuple(map(range, checked.shapes[path]))
        axes = zip(variable.dimensions, whole, strict=True)
        region = tuple(cut.get(axis, part) if isinstance(axis, str) else part for axis, part in axes)
        if region != tuple(map(range, checked.shapes[path])):
            regions[path] = region
    return regions


def check_data(checked: Checked, request: DataRequest, name: str, report: Report) -> DataSummary | None:
    """Read the chunks of a dataset and report what is damaged; None after an error in the request. Raises OSError."""
    part, began, before = choose_part(checked, request.subset, report), time.monotonic(), report.errors
    regions = {} if part is None else find_regions(part, request.subset, report)
    if part is None or report.errors > before:
        return None
    refuse(part, request.run, report, DAMAGE)
    member = _find_member(checked)
    sound = None if member is None or regions or request.share is not None else member.is_sound()
    if sound is False:
        where = checked.dataset.span.source
        text = f"`{show(where.name if where else name)}` does not have its checksum in the archive: bytes were changed"
        report.error("failed-checksum", text, helps=["take the file from a copy of the archive"])
    is_checked = request.archived if member is None else sound is not None
    work = _DataCheck(part, regions, request._replace(archived=is_checked), report)
    size, damaged = work.read()
    work.judge_coordinates()
    work.note_chunks()
    seconds = time.monotonic() - began
    return DataSummary(name, len(part.variables), work.chunks, work.decoded, size, damaged, seconds)


def _find_member(checked: Checked) -> RemoteFile | None:
    """Return the file in an archive, read there in place, that is a dataset; None for others. Raises OSError."""
    source = checked.dataset.span.source
    file = None if source is None else find_remote_file(source.path)
    return file if file is not None and file.inside is not None else None


def check_all(checked: Checked, request: CheckRequest, report: Report) -> None:
    """Read all chunks of a dataset and report what is damaged. Raises OSError, CompileError."""
    asked = DataRequest(Subset(), None, is_archive(request.path), request.options.run)
    check_data(checked, asked, request.path, report)


def is_archive(path: str) -> bool:
    """Return whether a source is an archive, whose entries have checksums."""
    return os.path.isfile(path) and zipfile.is_zipfile(path)


class _DataCheck:
    """One check of all arrays of a dataset."""

    def __init__(self, checked: Checked, regions: Mapping[str, Region], request: DataRequest, report: Report) -> None:
        self.checked = checked
        self.regions = regions
        self.request = request
        self.report = report
        self.cut = {one.path for one in checked.omitted if one.code in DAMAGE}
        """Variables that the end of the file cuts."""
        self.chunks = self.decoded = self.unchecked = 0
        self.lost: dict[str, list[ChunkBox]] = {}
        """Chunks of the shards of each array whose index cannot be read."""
        self.in_shards = 0
        """Chunks in the shards of the array in hand that do not have the checksum of their archive."""
        self.unwritten: dict[str, tuple[str, Index | None]] = {}
        """Number of missing chunks in words, and the first one, of each array that lacks some."""

    def _list_arrays(self) -> Iterator[ReadArray]:
        """Yield the arrays of the dataset, with the cells to read, None for all; empty ones are skipped."""
        for path, parts in self.checked.parts.items():
            judge = find_judge(self.checked, path)
            for part, source in parts.items():
                layout, region = source.layout, self.regions.get(path)
                rank = 0 if region is None else len(region)
                has_axes = layout.shape[:rank] == self.checked.shapes[path] and not varies(layout.chunks)
                cells = None if region is None or not has_axes else (*region, *map(range, layout.shape[rank:]))
                if 0 not in layout.shape and (cells is None or all(cells)):
                    label = f"{path}/{part}" if part else path
                    lacks = path in self.cut and source.viewed and source.manifest() is not None
                    yield ReadArray(path, label, source, cells, None if part else judge, lacks)

    def read(self) -> tuple[int, int]:
        """Read all chunks, and report the damaged ones and unfit values; return the bytes and damaged chunks."""
        run, size, count = self.request.run, 0, 0
        arrays = list(self._list_arrays())
        is_distant = any(array.source.distant for array in arrays)
        with Crew(run.workers, run.memory, distant=is_distant) as crew:
            for array in arrays:
                damaged: list[DamagedChunk] = []
                unfit: dict[tuple[str, str], UnfitValues] = {}
                for done in crew.results(self._list_tasks(array, damaged)):
                    size += done.size
                    damaged += done.damaged
                    for one in done.unfit:
                        _merge(unfit, one)
                    if self.request.watch is not None:
                        self.request.watch(done.size)
                damaged = self._take_lost_together(damaged)
                count += max(len(damaged), self.in_shards)  # a damaged shard has the damaged chunks
                count += self._count_lost(array) if self.request.share is None else 0
                self.in_shards = 0
                self._report_damage(array, damaged)
                for one in unfit.values():
                    self._report_unfit(array.path, one)
        return size, count

    def _list_tasks(self, array: ReadArray, damaged: list[DamagedChunk]) -> Iterator[Task]:
        """Yield the tasks of an array, and count its chunks; an array whose chunks cannot be listed is damaged."""
        try:
            stored, total = array.count_chunks(), math.prod(map(len, array.ranges))
            lost = self.lost[array.name] = list(array.list_lost()) if stored < total else []
            missing = total - stored - self._count_lost(array)
            if missing > 0:
                self.unwritten[array.name] = f"{missing:,} of {total:,} chunks", array.find_unwritten(lost)
            yield from list_tasks(array, self.request.share)
        except CompileError as error:
            for each in error.diagnostics:
                self.report.add(each._replace(notes=(*each.notes, f"no chunk of `{array.name}` is found")))
            return
        share = self.request.share
        chunks = stored + self._count_lost(array) if share is None else math.ceil(stored * share)
        codecs = {codec.id for codec in array.source.layout.codecs}
        self.chunks += chunks
        self.decoded += chunks if codecs else 0
        is_archived = self.request.archived and self._check_shards(array)
        if not (is_archived or array.source.given or codecs & CHECKSUMS):
            self.unchecked += chunks

    def _check_shards(self, array: ReadArray) -> bool:
        """Compare the shards of an array with their checksums in the archive; return whether its chunks have any.

        Chunks are ranges of a shard, which an archive has no checksum of: its checksum is that of the shard.
        """
        source, keys = array.source, array.source.keys
        if source.layout.shards is None or keys is None:
            return True
        if array.region is not None or self.request.share is not None:
            return False
        for home in source.list_occupied(source.layout.shards):
            try:
                keys.read_whole(home)
            except CompileError as error:
                key, reason = keys.chunk_keys.key(home), error.diagnostics[0].message
                text = f"shard {_show(home)} of `{array.name}`, `{key}`, {FAULTS['failed-checksum']}: {reason}"
                self._add("failed-checksum", text, error.diagnostics[0].primary)
                shard = region_of(home, source.layout.shards, source.layout.shape)
                cells = tuple(range(part.start, part.stop) for part in shard)
                self.in_shards += count_blocks(source.list_occupied(source.layout.chunks, cells))
        return True

    def _report_damage(self, array: ReadArray, damaged: list[DamagedChunk]) -> None:
        """Report damaged chunks by code, the first ones of each with their places, and the number of the others."""
        by_code: dict[str, list[DamagedChunk]] = {}
        for one in sorted(damaged, key=lambda one: one.chunk):
            by_code.setdefault(one.code, []).append(one)
        for code, chunks in by_code.items():
            rest = len(chunks) - SHOWN
            more = (f"{rest:,} further chunks of `{array.name}` have the same fault",) if rest > 0 else ()
            for one in chunks[:SHOWN]:
                key = one.label.key if one.label.offset is None else None
                where = f", `{key}`," if key else f", {one.place}," if one.place else ""
                text = f"chunk {_show(one.chunk)} of `{one.name}`{where} {FAULTS[code]}: {one.reason}"
                notes = (*((f"it is {one.place}",) if key and one.place else ()), *more)
                if (box := self._find_lost(one)) is not None:
                    notes = (f"none of the {math.prod(map(len, box)):,} chunks of its shard is found", *notes)
                home = label_of(self.checked.variables[array.path])
                label = one.label if one.label.span.source else home._replace(key=one.label.key or home.key)
                self._add(code, text, label, notes)
                more = ()

    def _count_lost(self, array: ReadArray) -> int:
        """Return the number of chunks that are not listed because the index of their shard cannot be read."""
        return sum(math.prod(map(len, box)) - 1 for box in self.lost.get(array.name, ()))

    def _find_lost(self, one: DamagedChunk) -> ChunkBox | None:
        """Return the chunks of the shard of a chunk, if the index of the shard cannot be read."""
        boxes = self.lost.get(one.name, ())
        return next((box for box in boxes if all(map(range.__contains__, box, one.chunk))), None)

    def _take_lost_together(self, damaged: list[DamagedChunk]) -> list[DamagedChunk]:
        """Return damaged chunks, of a shard whose index cannot be read the first one alone."""
        seen: list[ChunkBox] = []
        chosen = []
        for one in sorted(damaged, key=lambda one: one.chunk):
            box = self._find_lost(one)
            if box is None or box not in seen:
                chosen.append(one)
            if box is not None:
                seen.append(box)
        return chosen

    def _report_unfit(self, path: str, one: UnfitValues) -> None:
        variable = self.checked.variables[path]
        chunks = self.checked.parts[path][""].layout.chunks
        chunk = tuple(at // length for at, length in zip(one.first, chunks, strict=True))
        more = f"; so {'is' if one.number == 2 else 'are'} {one.number - 1:,} more" if one.number > 1 else ""
        text = f"the value {one.shown} at {_show(one.first)} of `{path}`, in chunk {_show(chunk)}, {one.reason}{more}"
        self._add(one.code, text, label_of(variable))

    def _add(self, code: str, text: str, label: Label, notes: tuple[str, ...] = ()) -> None:
        self.report.add(Diagnostic(code, CODES[code].severity, text, label, notes=notes))

    def judge_coordinates(self) -> None:
        """Report coordinates that are out of order, and gaps in those of times."""
        for path in find_coordinates(self.checked):
            has_values = path in self.checked.parts and self.checked.shapes[path] != (0,)
            if not (has_values and is_numeric(self.checked, path)) or path in self.cut:
                continue
            ends = self.regions.get(path, (range(self.checked.shapes[path][0]),))[0]
            try:
                disorder = find_disorder(self.checked, path, range(ends.start, ends.stop))
                gaps = () if disorder else find_gaps(self.checked, path)
            except (OSError, CompileError):  # its chunks are reported
                continue
            if disorder is not None:
                self._report_unfit(path, disorder)
            elif gaps:
                more = f"; {len(gaps) - 1} more" if len(gaps) > 1 else ""
                text = f"`{path}` has a longer step than elsewhere: {gaps[0]}{more}"
                self._add("irregular-step", text, label_of(self.checked.variables[path]))

    def note_chunks(self) -> None:
        """Note chunks that are not stored, and chunks in which a changed byte may stay unseen."""
        for name, (missing, first) in self.unwritten.items():
            variable = self.checked.variables.get(name) or self.checked.variables.get(names.parent(name))
            label = Label() if variable is None else label_of(variable)
            where = "" if first is None else f", first {_show(first)}"
            self._add("unwritten-chunks", f"{missing} of `{name}` are not stored{where}", label)
        if self.unchecked:
            verb = "has" if self.unchecked == 1 else "have"
            counts = f"{self.unchecked:,} of {self.chunks:,} chunks {verb} no checksum"
            text = f"{counts}: changed bytes may stay unseen there"
            self._add("unchecked-chunks", text, Label())


def _merge(unfit: dict[tuple[str, str], UnfitValues], one: UnfitValues) -> None:
    """Add unfit values of a block to those of others."""
    before = unfit.get((one.code, one.reason))
    if before is not None:
        first = min(one, before, key=lambda each: each.first)
        one = first._replace(number=one.number + before.number)
    unfit[one.code, one.reason] = one


def _show(index: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, index))})"
