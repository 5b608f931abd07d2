"""Edits of a classic file: its header is written again where it is, before values that stay in their places.

The header may use the bytes up to the first value. Variables keep their offsets;
a removed one leaves a gap. New fixed variables, filled, follow at the end of a
file without records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.ast import ATOMIC, Dimension
from nczarr.ast.values import swap
from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show, word
from nczarr.formats.netcdf3.backend import header
from nczarr.formats.netcdf3.reader import ClassicHeader, VariableEntry, is_record, read_header
from nczarr.plugins.edit.header_changes import DimensionChange, HeaderEdit, NodeAddition
from nczarr.plugins.edit.patches.file_patch import BytePatch, FilePatch, PreparedFilePatch, compare_bytes
from nczarr.semantics.classic_layout import WIDTHS, ClassicLayout, VariablePlace, pad
from nczarr.semantics.restore_json import note_json
from nczarr.stores.url import is_remote

LARGEST_FILL = 256 << 20
"""Maximum bytes of fill values for new variables."""


class UneditableError(Exception):
    """A change that the file cannot have in its place."""


def edit(work: HeaderEdit, report: Report) -> PreparedFilePatch | None:
    """Return the changes of a file's bytes; None after an error. Reports data-edit, uneditable-target."""
    assert isinstance(work.source, Source)
    if is_remote(work.target):
        text = f"`{show(work.target)}` is a remote file, which cannot be edited"
        report.error("uneditable-target", text, helps=["edit a local copy"])
        return None
    try:
        return PreparedFilePatch(work.source.path, _Editor(work).patch())
    except UneditableError as refusal:
        helps = [f"`nczarr convert {word(work.target)} NEW --header-pad 64KiB` writes a file whose header has room"]
        report.error("data-edit", f"`{show(work.target)}` cannot be edited in its place: {refusal}", helps=helps)
        return None


class _HeaderPlace(NamedTuple):
    """Entry of a variable in the new header."""

    begin: int
    """Offset of its values."""
    vsize: int
    """Size that the header states."""


class _Editor:
    """Editor of one file."""

    def __init__(self, work: HeaderEdit) -> None:
        assert isinstance(work.source, Source)
        self.work = work
        self.data = work.source.data
        self.old: ClassicHeader = read_header(self.data)
        self.after = note_json(work.after)
        assert work.before.dataset.kind is not None
        self.kind = work.before.dataset.kind
        self.entries: dict[str, VariableEntry] = dict(zip(work.before.variables, self.old.variables, strict=True))
        self.records = self.old.records
        self.sources = {work.new_path("variable", path): path for path in work.before.variables}

    def patch(self) -> FilePatch:
        """Return the changes of the file. Raises UneditableError."""
        self._require_same_names()
        places = {
            path: _HeaderPlace(entry.begin, entry.vsize)
            for path, old_path in self.sources.items()
            if path in self.after.variables and (entry := self.entries[old_path])
        }
        self._check_records(places)
        for change in self.work.changes:
            if isinstance(change, DimensionChange):
                self._change_dimension(change, places)
        end, fill = self._add_variables(places)
        new = self._write_header(places)
        limit = min((place.begin for place in places.values()), default=None)
        if limit is not None and len(new) > limit:
            text = f"the new header has {len(new)} bytes, and the values begin at byte {limit}"
            raise UneditableError(f"{text}; the header has no room for {len(new) - limit} bytes")
        return self._compare(new, limit, end, fill)

    def _compare(self, new: bytes, limit: int | None, end: int, fill: bytes) -> FilePatch:
        """Return the bytes that differ; those of a longer old header become zeros."""
        size = max(len(new), self.old.size)
        if limit is not None:
            size = min(size, max(limit, len(new)))
        length = len(self.data)
        new += bytes(size - len(new))
        present = bytes(self.data[: min(size, length)])
        patches = list(compare_bytes(0, present, new[: len(present)]))
        tail = new[len(present) :]
        if fill or end > length:
            tail = tail or bytes(end - len(fill) - length)
            tail += fill
        if tail:
            patches.append(BytePatch(length, b"", tail))
        return FilePatch(tuple(patches), length, length + len(tail))

    def _require_same_names(self) -> None:
        """Raise UneditableError for names that the tree spells otherwise than the file."""
        dataset = self.work.before.dataset
        stored = [entry.name for entry in self.old.dimensions] + [entry.name for entry in self.old.variables]
        shown = [node.name for node in dataset.dimensions] + [node.name for node in dataset.variables]
        for name, other in zip(stored, shown, strict=True):
            if name != other or name != names.normal(name):
                raise UneditableError(f"its name `{name}` would be written as `{names.normal(other)}`")

    def _write_header(self, places: dict[str, _HeaderPlace]) -> bytes:
        """Return the header with the variables at the given places; without records, their number is "streaming"."""
        written = {
            path: VariablePlace(places[path].begin, 0, places[path].vsize, record=False)
            for path in self.after.variables
        }
        records = self.records if self.records is not None else 256 ** WIDTHS[self.kind].length - 1
        return header(self.after, self.kind, ClassicLayout(0, written, records, 0, 0))

    # ---- records -----------------------------------------------------------------------------------------------
    def _list_records(self) -> list[str]:
        """Return the FQNs before the edit of the variables with records."""
        return [path for path, entry in self.entries.items() if is_record(entry, self.old)]

    def _check_records(self, places: dict[str, _HeaderPlace]) -> None:
        """Raise UneditableError if a removal changes the distance of records."""
        growing = self._list_records()
        remaining = [path for path in growing if self.work.new_path("variable", path) in places]
        if remaining and len(remaining) < len(growing):
            removed = next(path for path in growing if path not in remaining)
            raise UneditableError(f"without `{removed}`, the records of the other variables must move")

    def _change_dimension(self, change: DimensionChange, places: dict[str, _HeaderPlace]) -> None:
        """Make a dimension unlimited or fixed, if the values stay where they are. Raises UneditableError."""
        if change.before.unlimited == change.after.unlimited:
            return
        users = [
            path
            for path, variable in self.work.before.variables.items()
            if change.path in variable.dimensions and self.work.new_path("variable", path) in places
        ]
        what = "unlimited" if change.after.unlimited else "fixed"
        if len(users) > 1:
            raise UneditableError(f"dimension `{change.path}` cannot become {what}: {len(users)} variables use it")
        if not change.after.unlimited and not change.after.size:
            raise UneditableError(f"dimension `{change.path}` cannot become fixed: its length is 0")
        self.records = change.after.size if change.after.unlimited else 0
        for path in users:
            entry, new_path = self.entries[path], self.work.new_path("variable", path)
            others = [place.begin for other, place in places.items() if other != new_path]
            if max(others, default=0) > entry.begin:
                text = f"dimension `{change.path}` cannot become {what}: `{path}` is not last in the file"
                raise UneditableError(text)
            record = change.after.unlimited
            size = math.prod(self.after.shapes[new_path][record:]) * ATOMIC[entry.type].size
            places[new_path] = _HeaderPlace(entry.begin, pad(size))
            fixed = [other for other in self.after.variables if other in places]
            if not record and fixed[-1] != new_path:
                raise UneditableError(f"dimension `{change.path}` cannot become fixed: `{path}` is not defined last")

    # ---- additions -----------------------------------------------------------------------------------------------
    def _add_variables(self, places: dict[str, _HeaderPlace]) -> tuple[int, bytes]:
        """Place new variables; return the end of the file, and the fill values that it has before that."""
        fill, length = b"", len(self.data)
        end = max(length, *(self._find_end_of_values(path) for path in places), 0) if places else 0
        new = [change.path for change in self.work.changes if isinstance(change, NodeAddition)]
        new = [path for path in new if path in self.after.variables]
        dimensions = self.after.dimensions
        if any(dimension.unlimited for dimension in _list_dimensions(self.work)):
            self.records = 0
        growing = [path for path in places if self._is_record(path)]
        for path in new:
            variable = self.after.variables[path]
            record = bool(variable.dimensions) and dimensions[str(variable.dimensions[0])].unlimited
            if growing and not record:
                raise UneditableError(f"`{path}` would follow the records, which grow")
            if record and self.records:
                raise UneditableError(f"`{path}` needs values in {self.records} records")
            shape = self.after.shapes[path][record:]
            size = math.prod(shape) * ATOMIC[variable.type].size
            begin = pad(end) if places else self._reserve()
            if growing and record:
                begin = max(places[one].begin + pad(self._record_size(one)) for one in growing)
            places[path] = _HeaderPlace(begin, pad(size))
            if record:
                growing.append(path)
                end = max(end, begin)
                continue
            if size > LARGEST_FILL:
                raise UneditableError(f"the fill values of `{path}` have {size} bytes; the limit is {LARGEST_FILL}")
            fill += bytes(begin - end) if fill else b""
            fill += self._fill(path, pad(size))
            end = begin + pad(size)
        return (end, fill) if fill or self._is_short(places) else (length, b"")

    def _is_short(self, places: dict[str, _HeaderPlace]) -> bool:
        """Return whether a record variable became a fixed one whose padding the file lacks."""
        changed = any(
            isinstance(change, DimensionChange) and not change.after.unlimited for change in self.work.changes
        )
        return changed and max(map(self._find_end_of_values, places), default=0) > len(self.data)

    def _reserve(self) -> int:
        """Return the size of a header that has one variable more than the present one."""
        dummy = {path: _HeaderPlace(0, 0) for path in self.after.variables}
        return pad(len(self._write_header(dummy)))

    def _is_record(self, path: str) -> bool:
        dimensions = self.after.variables[path].dimensions
        return bool(dimensions) and self.after.dimensions[str(dimensions[0])].unlimited

    def _record_size(self, path: str) -> int:
        return math.prod(self.after.shapes[path][1:]) * ATOMIC[self.after.variables[path].type].size

    def _find_end_of_values(self, path: str) -> int:
        """Return the end of a fixed variable's values with padding; the begin of others."""
        old_path = self.sources.get(path)
        begin = self.entries[old_path].begin if old_path in self.entries else 0
        if self._is_record(path):
            return begin
        return begin + pad(math.prod(self.after.shapes[path]) * ATOMIC[self.after.variables[path].type].size)

    def _fill(self, path: str, size: int) -> bytes:
        constant = self.after.fills[path]
        assert constant is not None
        assert isinstance(constant.data, bytes)
        element = swap(constant.data, len(constant.data))
        return (element * (size // len(element) + 1))[:size]


def _list_dimensions(work: HeaderEdit) -> Iterator[Dimension]:
    """Yield the new dimensions."""
    for change in work.changes:
        if isinstance(change, NodeAddition) and isinstance(change.node, Dimension):
            yield change.node
