"""Keys of a store that an extension changes, array by array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nczarr import names, registry
from nczarr.arrays.execution.counts import Step
from nczarr.arrays.regions import Index, grid_of
from nczarr.arrays.sources.patchwork import copied, patched
from nczarr.arrays.sources.sliced import sliced
from nczarr.arrays.sources.source import ArraySource, itemsize, unwritten_of
from nczarr.arrays.sources.windows import way as route
from nczarr.arrays.values.parts import is_fixed
from nczarr.ast.rectilinear import varies
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.link.tasks import WrittenPart
from nczarr.operations.append.placement import Extension, RecordRun
from nczarr.plan.chunk_lengths import survey
from nczarr.plan.plans import PartTarget
from nczarr.stores.overlay import Overlay


class Change(NamedTuple):
    """Keys of one array that change."""

    array: WrittenPart
    """The array with all its keys to make."""
    old: ArraySource
    """The array of the target as it was."""
    new: ArraySource
    """The array of the target with the new length."""
    visible: frozenset[str]
    """Keys in which readers of the old lengths would see other values."""

    @property
    def prefix(self) -> str:
        """Key prefix of the array."""
        return self.array.chunk_keys.prefix

    def keys(self) -> Iterator[str]:
        """Yield the keys to make."""
        return (self.array.key(index) for index in self.array.indices())

    def is_old(self, index: Index) -> bool:
        """Return whether a key belongs to the array as it was."""
        counts = grid_of(self.old.layout.shape, self.array.unit)
        return all(number < count for number, count in zip(index, counts, strict=True))

    def stored(self) -> list[Index]:
        """Return the keys that exist in the new grid, those that an interrupted run left included. Raises OSError."""
        keys = self.new.keys
        return [] if keys is None else keys.stored()

    def steps(self) -> Iterator[Step]:
        """Yield the planned steps of the array: chunks that are copied, and chunks that are made."""
        array = self.array
        if array.source is None or array.only is None:
            return
        layout = array.target.layout
        per_key = math.prod(array.unit) // max(1, array.chunk_size)
        whole = len(array.only) * per_key
        count = copied(array.source, array.only, layout) if array.route == "copy" else 0
        size = array.chunk_size * array.element
        if count:
            yield Step(array.path, array.part, "copy", count, layout.chunks, count * size)
        if whole > count:
            way_of_making = "transcode" if array.route == "copy" else array.route
            yield Step(array.path, array.part, way_of_making, whole - count, layout.chunks, (whole - count) * size)


class Changes(NamedTuple):
    """Everything that an extension changes in a store."""

    documents: dict[str, bytes]
    """Documents with the new lengths, by key."""
    arrays: list[Change]
    """Arrays with keys to make."""

    def keys_beyond(self, *, stored: bool = False) -> list[str]:
        """Return the keys beyond the old lengths: those to make, or those that exist. Raises OSError."""
        return [
            change.array.key(index)
            for change in self.arrays
            for index in (change.stored() if stored else change.array.indices())
            if not change.is_old(index)
        ]


def changes_of(work: Extension) -> Changes | None:
    """Return what changes in the store of a target; None after an error.

    Reports unextendable-target. Raises OSError.
    """
    from nczarr.operations import pipeline

    target, whole, way, report = work.target, work.whole, work.way, work.report
    form, store, checked = target.form, target.store, target.checked
    assert store is not None
    before, added = report.errors, _is_added(work)
    shapes: dict[str, tuple[int, ...]] = {}
    for path in way.axes:
        for part, joined_source in whole.parts.get(path, {}).items():
            old = checked.parts.get(path, {}).get(part)
            if old is None or old.keys is None or not old.rewritable or varies(old.layout.chunks):
                what = f"`{path}`" + (f", part `{part}`," if part else "")
                text = f"{what} is stored in a form that cannot be extended"
                report.error("unextendable-target", text, helps=["write sources and target as a new one"])
            else:
                shapes[old.keys.chunk_keys.prefix] = joined_source.layout.shape
        type_name = checked.variables[path].type
        if not added and type_name != "string" and not is_fixed(type_name, checked.types):
            text = f"`{path}` has lists, whose records can be appended but not replaced"
            report.error("unextendable-target", text, helps=["leave it out of the sources with `--var`"])
    if report.errors > before:
        return None
    lengths = {
        ("".join(f"{segment}/" for segment in groups), name): whole.dimensions[path].size
        for path in way.dimensions
        for *groups, name in (names.split(path),)
    }
    assert form.resizes is not None
    try:
        documents: dict[str, bytes] = registry.load(form.resizes)(store, shapes, lengths)
    except ValueError as error:
        report.error("unextendable-target", f"`{store.path}`: {error}")
        return None
    seen = pipeline.read(Overlay(store, documents), Report(), work.request.options, form)
    if seen is None or _described(seen) != _described(whole):
        text = f"the metadata of `{store.path}` state the length of {way.shown} in a form that cannot be changed"
        report.error("unextendable-target", text, helps=["write sources and target as a new one"])
        return None
    changes = [
        _change(path, part, checked.parts[path][part], seen.parts[path][part], whole, axis, work)
        for path, axis in way.axes.items()
        for part in whole.parts.get(path, {})
    ]
    return Changes(documents, [change for change in changes if change]) if report.errors == before else None


def _is_added(work: Extension) -> bool:
    """Return whether all records of the target stay, and all others follow."""
    sizes = {work.target.checked.dimensions[path].size for path in work.way.dimensions}
    first, *others = work.pieces
    whole = len(sizes) > 1 or (first.start, first.stop) == (0, *sizes)
    return first.dataset == 0 and whole and all(piece.dataset for piece in others)


def _described(checked: Checked) -> tuple[object, ...]:
    """Return lengths, types and shapes, which are equal if a store is read as the new dataset."""
    sizes = {path: dimension.size for path, dimension in checked.dimensions.items()}
    types = {path: variable.type for path, variable in checked.variables.items()}
    parts = {path: {part: source.layout.shape for part, source in of.items()} for path, of in checked.parts.items()}
    return sizes, types, dict(checked.shapes), {path: shapes for path, shapes in parts.items() if shapes}


def _change(
    path: str, part: str, old: ArraySource, new: ArraySource, whole: Checked, axis: int, work: Extension
) -> Change | None:
    """Return the change of one array; None without one, or after an error."""
    joined_source, report = whole.parts[path][part], work.report
    pieces = () if _is_added(work) else work.pieces
    before, after = old.layout.shape, new.layout.shape
    grown = [number for number, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    if len(grown) > 1 or (grown and part and grown[0] and grown[0] != axis):
        report.error("unextendable-target", f"`{path}` cannot be extended along an inner dimension of its lists")
        return None
    stored = new.stored
    assert stored is not None
    assert new.keys is not None
    texts = isinstance(stored.dtype, str) and joined_source.layout.dtype == "|O"
    if texts and not _hold(path, old, joined_source, str(stored.dtype), grown[0] if grown else None, report):
        return None
    axis = grown[0] if grown else axis
    changed = _changed(pieces) if pieces else [(before[axis], after[axis])]
    layout = new.layout._replace(dtype=stored.dtype, codecs=stored.codecs)
    target = PartTarget(layout, unwritten_of(new), new.layout.fill is not None and not new.undefined)
    unit, limit = (layout.shards or layout.chunks)[axis], before[axis]
    numbers = sorted({number for low, high in changed for number in range(low // unit, -(-high // unit))})
    if not numbers or 0 in after:
        return None
    indices = _indices(new, joined_source, target, axis, numbers)
    source = patched(joined_source, layout, 1 if before[axis] and not (pieces and pieces[0].dataset) else 0)
    array = WrittenPart(path, part, new.keys.chunk_keys, target, source, route(source, layout), tuple(indices))
    seen = {
        number for low, high in changed if low < limit for number in range(low // unit, -(-min(high, limit) // unit))
    }
    return Change(array, old, new, frozenset(array.key(index) for index in indices if index[axis] in seen))


def _indices(
    new: ArraySource, joined_source: ArraySource, target: PartTarget, axis: int, numbers: Sequence[int]
) -> list[Index]:
    """Return the keys with some numbers along an axis that hold more than fill, or did so, in C order."""
    shape, unit = target.layout.shape, target.layout.shards or target.layout.chunks
    assert new.keys is not None
    changed = set(numbers)
    indices = {index for index in new.keys.stored() if index[axis] in changed}
    dense = not target.sparse or unwritten_of(joined_source) != unwritten_of(new)
    for run in _runs(numbers):
        along = range(run.start * unit[axis], min(run.stop * unit[axis], shape[axis]))
        region = tuple(along if place == axis else range(length) for place, length in enumerate(shape))
        blocks = ArraySource.occupied(joined_source, unit, region) if dense else joined_source.occupied(unit, region)
        indices.update((*index[:axis], index[axis] + run.start, *index[axis + 1 :]) for index in blocks)
    return sorted(indices)


def _runs(numbers: Iterable[int]) -> Iterator[range]:
    """Yield ascending numbers as ranges without gaps."""
    for _, group in itertools.groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        run = [number for _, number in group]
        yield range(run[0], run[-1] + 1)


def _changed(pieces: Sequence[RecordRun]) -> list[tuple[int, int]]:
    """Return the ranges of the records that are not those of the target."""
    ranges, position = [], 0
    for piece in pieces:
        if piece.dataset:
            ranges.append((position, position + piece.length))
        position += piece.length
    return ranges


def _hold(
    path: str, old: ArraySource, joined_source: ArraySource, dtype: str, axis: int | None, report: Report
) -> bool:
    """Return whether new texts can be stored in the array as it is. `axis`: the one that grows. Reports errors."""
    start = 0 if axis is None else old.layout.shape[axis]
    ranges = tuple(
        range(start, length) if number == axis else range(length)
        for number, length in enumerate(joined_source.layout.shape)
    )
    texts = survey(sliced(joined_source, ranges), b"", characters=dtype[1] == "U")
    reason = None
    if texts.nil or (axis != 0 and survey(old, b"").nil):
        reason = "it has NIL strings, whose positions the target states apart from their values"
    elif not texts.utf8:
        reason = "the sources have texts that are not UTF-8"
    elif dtype[1] == "S" and (texts.longest > itemsize(dtype) or texts.trailing or texts.nul):
        reason = f"the sources have texts of {texts.longest} bytes, and the target those of {itemsize(dtype)}"
    elif dtype[1] == "U" and (4 * texts.characters > itemsize(dtype) or texts.trailing):
        reason = f"the sources have texts of {texts.characters} characters, too long for the target"
    if reason is not None:
        report.error("unextendable-target", f"`{path}`: {reason}")
    return reason is None
