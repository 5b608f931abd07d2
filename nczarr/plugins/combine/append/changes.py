"""Changes by an extension: keys of a store, array by array, or a reference document.

The document is the first source of a combination, and its target. Its old
targets are not opened, except for values that must be compared and are not in
it: those without the dimension, and the last of a coordinate.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from nczarr import names, registry
from nczarr.arrays.execution.counts import Step
from nczarr.arrays.regions import Index, grid_of
from nczarr.arrays.sources.sliced import slice_source
from nczarr.arrays.sources.source import ArraySource, find_unwritten, itemsize
from nczarr.arrays.sources.windows import choose_route
from nczarr.arrays.values.parts import is_fixed
from nczarr.ast.rectilinear import varies
from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show
from nczarr.link.tasks import WrittenPart
from nczarr.names import plugin_index
from nczarr.options import Options, Writing
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.phases import Input, for_reading
from nczarr.plan.chunk_lengths import survey
from nczarr.plan.plans import Conversion, PartTarget
from nczarr.plugins.combine.append.placement import Appended, AppendRequest, ExtendableTarget, Extension, Unchanged
from nczarr.plugins.combine.arrays.cell_positions import CellRun
from nczarr.plugins.combine.arrays.patchwork import as_patchwork, count_copied
from nczarr.plugins.combine.join import Combined, CombineRequest, combine_sources, is_divisible
from nczarr.plugins.combine.join.agreement import CombineSpec
from nczarr.plugins.combine.join.contribution import HELPS, report_repeated_values
from nczarr.plugins.combine.join.sources import Job, home_of, open_source
from nczarr.plugins.common.derived_groups import without_derived_groups
from nczarr.registry import REFERENCE
from nczarr.semantics.checked import Checked
from nczarr.stores.lock import Lock, NoLock
from nczarr.stores.overlay import Overlay
from nczarr.stores.stat import identity
from nczarr.stores.url import is_remote, real


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

    def list_stored(self) -> list[Index]:
        """Return the keys that exist in the new grid, those that an interrupted run left included. Raises OSError."""
        keys = self.new.keys
        return [] if keys is None else keys.list_stored()

    def steps(self) -> Iterator[Step]:
        """Yield the planned steps of the array: chunks that are copied, and chunks that are made."""
        array = self.array
        if array.source is None or array.only is None:
            return
        layout = array.target.layout
        per_key = math.prod(array.unit) // max(1, array.chunk_size)
        whole = len(array.only) * per_key
        count = count_copied(array.source, array.only, layout) if array.route == "copy" else 0
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

    def list_new_keys(self, *, only_stored: bool = False) -> list[str]:
        """Return the keys beyond the old lengths: those to make, or those that exist. Raises OSError."""
        return [
            change.array.key(index)
            for change in self.arrays
            for index in (change.list_stored() if only_stored else change.array.indices())
            if not change.is_old(index)
        ]


def plan_changes(work: Extension) -> Changes | None:
    """Return what changes in the store of a target; None after an error.

    Reports unextendable-target. Raises OSError.
    """
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
                if old is not None and old.lossy:
                    text = f"{what} has the lossy codec {', '.join(sorted(old.lossy))}, which would change the values"
                report.error("unextendable-target", text, helps=["write sources and target as a new one"])
            else:
                shapes[old.keys.chunk_keys.prefix] = joined_source.layout.shape
        type_name = checked.variables[path].type
        if not added and type_name != "string" and not is_fixed(type_name, checked.types):
            text = f"`{path}` has lists, whose records can be appended but not replaced"
            report.error("unextendable-target", text, helps=["leave it out of the sources with `--exclude`"])
    if report.errors > before:
        return None
    lengths = {
        ("".join(f"{segment}/" for segment in groups), name): whole.dimensions[path].size
        for path in way.dimensions
        for *groups, name in (names.split(path),)
    }
    place = plugin_index.find_place("resize", form.name)
    assert place is not None
    try:
        documents: dict[str, bytes] = registry.load(place)(store, shapes, lengths)
    except ValueError as error:
        report.error("unextendable-target", f"`{store.path}`: {error}")
        return None
    seen = phases.read(Overlay(store, documents), Report(), work.request.options, form)
    if seen is None or _list_shapes(without_derived_groups(seen)) != _list_shapes(whole):
        text = f"the metadata of `{store.path}` state the length of {way.shown} in a form that cannot be changed"
        report.error("unextendable-target", text, helps=["write sources and target as a new one"])
        return None
    changes = [
        _change_array(path, part, checked.parts[path][part], seen.parts[path][part], whole, axis, work)
        for path, axis in way.axes.items()
        for part in whole.parts.get(path, {})
    ]
    return Changes(documents, [change for change in changes if change]) if report.errors == before else None


def _is_added(work: Extension) -> bool:
    """Return whether all records of the target stay, and all others follow."""
    sizes = {work.target.checked.dimensions[path].size for path in work.way.dimensions}
    first, *others = work.pieces
    whole = len(sizes) > 1 or (first.start, first.stop) == (0, *sizes)
    return first.source == 0 and whole and all(piece.source for piece in others)


def _list_shapes(checked: Checked) -> tuple[object, ...]:
    """Return lengths, types and shapes, which are equal if a store is read as the new dataset."""
    sizes = {path: dimension.size for path, dimension in checked.dimensions.items()}
    types = {path: variable.type for path, variable in checked.variables.items()}
    parts = {path: {part: source.layout.shape for part, source in of.items()} for path, of in checked.parts.items()}
    return sizes, types, dict(checked.shapes), {path: shapes for path, shapes in parts.items() if shapes}


def _change_array(
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
    if old.layout.chunks != new.layout.chunks:  # those of a grid that a plugin reads may follow from the shape
        report.error("unextendable-target", f"`{path}` would have other chunks with its new length")
        return None
    stored = new.stored
    assert stored is not None
    assert new.keys is not None
    texts = isinstance(stored.dtype, str) and joined_source.layout.dtype == "|O"
    if texts and not _can_hold(path, old, joined_source, str(stored.dtype), grown[0] if grown else None, report):
        return None
    axis = grown[0] if grown else axis
    changed = _find_changed(pieces) if pieces else [(before[axis], after[axis])]
    layout = new.layout._replace(dtype=stored.dtype, codecs=stored.codecs)
    target = PartTarget(layout, find_unwritten(new), new.layout.fill is not None and not new.undefined)
    unit, limit = (layout.shards or layout.chunks)[axis], before[axis]
    numbers = sorted({number for low, high in changed for number in range(low // unit, -(-high // unit))})
    if not numbers or 0 in after:
        return None
    indices = _list_indices(new, joined_source, target, axis, numbers)
    source = as_patchwork(joined_source, layout, 1 if before[axis] and not (pieces and pieces[0].source) else 0)
    array = WrittenPart(path, part, new.keys.chunk_keys, target, source, choose_route(source, layout), tuple(indices))
    seen = {
        number for low, high in changed if low < limit for number in range(low // unit, -(-min(high, limit) // unit))
    }
    return Change(array, old, new, frozenset(array.key(index) for index in indices if index[axis] in seen))


def _list_indices(
    new: ArraySource, joined_source: ArraySource, target: PartTarget, axis: int, numbers: Sequence[int]
) -> list[Index]:
    """Return the keys with some numbers along an axis that hold more than fill, or did so, in C order."""
    shape, unit = target.layout.shape, target.layout.shards or target.layout.chunks
    assert new.keys is not None
    changed = set(numbers)
    indices = {index for index in new.keys.list_stored() if index[axis] in changed}
    dense = not target.sparse or find_unwritten(joined_source) != find_unwritten(new)
    for run in _runs(numbers):
        along = range(run.start * unit[axis], min(run.stop * unit[axis], shape[axis]))
        region = tuple(along if place == axis else range(length) for place, length in enumerate(shape))
        kind = ArraySource if dense else type(joined_source)
        blocks = kind.list_occupied(joined_source, unit, region)
        indices.update((*index[:axis], index[axis] + run.start, *index[axis + 1 :]) for index in blocks)
    return sorted(indices)


def _runs(numbers: Iterable[int]) -> Iterator[range]:
    """Yield ascending numbers as ranges without gaps."""
    for _, group in itertools.groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        run = [number for _, number in group]
        yield range(run[0], run[-1] + 1)


def _find_changed(pieces: Sequence[CellRun]) -> list[tuple[int, int]]:
    """Return the ranges of the records that are not those of the target."""
    ends = list(itertools.accumulate(piece.length for piece in pieces))
    return [(end - piece.length, end) for piece, end in zip(pieces, ends, strict=True) if piece.source]


def _can_hold(
    path: str, old: ArraySource, joined_source: ArraySource, dtype: str, axis: int | None, report: Report
) -> bool:
    """Return whether new texts can be stored in the array as it is. `axis`: the one that grows. Reports errors."""
    start = 0 if axis is None else old.layout.shape[axis]
    ranges = tuple(
        range(start, length) if number == axis else range(length)
        for number, length in enumerate(joined_source.layout.shape)
    )
    texts = survey(slice_source(joined_source, ranges), b"", characters=dtype[1] == "U")
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
        helps = ["write target and sources as a new store with `nczarr combine`"]
        report.error("unextendable-target", f"`{path}`: {reason}", helps=helps)
    return reason is None


SUFFIXES = (".parq", ".parquet")
"""Suffixes of folders of Parquet references."""


def read_document(path: str, report: Report, options: Options) -> Checked | None:
    """Return the content of a document; None after an error. Raises OSError."""
    opened_document = document(path, report, options)
    return None if opened_document is None else opened_document[0].checked


def document(path: str, report: Report, options: Options) -> tuple[ExtendableTarget, Writing] | None:
    """Return a document to extend, and how it is written again: references stay as they are.

    None after an error. Raises OSError.

    Reports unknown-format, unknown-target, and the faults of the document.
    """
    document_identity = None if is_remote(path) else identity(path, options.run.storage)
    options = options.change(parser=None)
    source = endpoints.open_source(path, report, options)
    form = None if source is None else endpoints.detect_format(source)
    if source is None:
        return None
    if form is None or form.name != REFERENCE or form.store.opens is None:
        helps = ["`nczarr refs combine` makes a document of several sources"]
        report.error("unknown-format", f"`{show(path)}` is not a reference document", helps=helps)
        return None
    if not isinstance(source, Source):
        if is_remote(path):
            text = f"`{show(path)}`: remote Parquet references cannot be replaced at once"
            report.error("unknown-target", text, helps=["extend a copy of the folder, or a JSON document"])
            return None
        if not path.rstrip("/").lower().endswith(SUFFIXES):
            text = f"`{show(path)}`: a folder of Parquet references that is written ends in `.parq` or `.parquet`"
            report.error("unknown-target", text, helps=["rename the folder"])
            return None
    store = registry.load(form.store.opens)(source, report, options)
    inner = None if store is None else registry.detect_store(store, opened=True)
    if store is None or inner is None:
        if not report.errors:
            report.error("unknown-format", f"`{show(path)}` contains no Zarr metadata")
        return None
    if inner.name not in form.store.inner:
        text = f"`{show(path)}` has metadata of the format `{inner.name}`, which is not written into documents"
        report.error("unknown-target", text)
        return None
    checked = phases.read(store, report, options.change(masking_fill=False), inner)
    if checked is None or report.errors:
        return None
    urls = [facts["url"] for facts in store.target_facts.values()]
    relative = bool(urls) and all("://" not in url and not url.startswith("/") for url in urls)
    relative = options.target.writing.relative or (relative and options.target.writing.base is None)
    writing = options.target.writing._replace(metadata=inner.name, inline=-1, relative=relative, keep_names=True)
    return ExtendableTarget(path, form, inner, store, checked, document_identity), writing


def dimensions(old: ExtendableTarget, first: Input, job: Job, report: Report) -> tuple[str, ...] | None:
    """Return the dimensions along which a document is extended; None after an error. Raises OSError, CompileError.

    It is the one whose length differs from that of the first new source, unless
    others are unlimited. If several or none do, the only unlimited one of these,
    or of all. Reports unmatched-dimension.
    """
    checked, source_report = open_source(first, job)
    for diagnostic in source_report.list_sorted():
        report.add(diagnostic)
    if checked is None:
        return None
    declared, others = old.checked.dimensions, checked.dimensions
    unlike = [path for path in declared if path in others and others[path].size != declared[path].size]
    grows = [path for path in declared if declared[path].unlimited or (path in others and others[path].unlimited)]
    if len(unlike) != 1 or (grows and unlike[0] not in grows):
        unlike = [path for path in unlike or declared if path in grows]
    if len(unlike) == 1:
        return (unlike[0],)
    text = f"lengths do not show along which dimension `{show(old.path)}` is extended by `{show(first.name)}`"
    listed = " or ".join(f"`--along {names.last(path)}`" for path in declared if path in others) or "`--along`"
    report.error("unmatched-dimension", text, helps=[f"name it with {listed}"])
    return None


def extend(request: AppendRequest, report: Report, step: Callable[[int], None] | None = None) -> Appended | None:
    """Extend a document; None after a reported error. Raises OSError, CompileError.

    The document is replaced at once; its lock is held from the reading on.
    """
    if request.region:
        text = f"`{show(request.target)}` is a reference document, whose records are not replaced"
        report.error("unextendable-target", text, helps=["leave `--region` out"])
        return None
    if request.options.run.dask is not None and not is_divisible(request.inputs, request.options.run.dask, report):
        return None
    if request.rehearsal:
        return _extend(request, NoLock(None), report, step)
    with endpoints.lock_place(request.target, report, request.options.run, replaces=True) as lock:
        return None if lock is None else _extend(request, lock, report, step)


def _extend(request: AppendRequest, lock: Lock, report: Report, step: Callable[[int], None] | None) -> Appended | None:
    """Extend a document that is locked, if it is written."""
    reading = for_reading(request.options)
    opened_document = document(request.target, report, reading)
    if opened_document is None:
        return None
    old, writing = opened_document
    combination = _combine(request, old, report, step)
    if combination is None or report.errors:
        return None
    writing = writing._replace(home=writing.home or home_of([source.name for source in request.inputs]))
    grid: Literal["regular", "rectilinear"] = "rectilinear" if _varies(old.checked) else request.options.layout.grid
    options = request.options.change(writing=writing, overwrite=True, dask=None, grid=grid)
    form = registry.find_format(REFERENCE)
    assert form is not None
    lengths = {path: (every[0], combination.totals[path]) for path, every in combination.lengths.items()}
    if request.rehearsal:
        steps = phases.steps(combination.checked, request.target, form, report, options)
        conversion = Conversion(request.target, form.name, len(combination.checked.variables))
        return None if steps is None else Appended(conversion, lengths, tuple(steps), combined=combination)
    if old.identity is not None:
        lock = Unchanged(lock, request.target, old.identity)
    path = real(request.target)  # a link stays one
    done = phases.write(combination.checked, path, form, report, options, lock=lock)
    return None if done is None else Appended(done._replace(target=request.target), lengths)


def _combine(
    request: AppendRequest, old: ExtendableTarget, report: Report, step: Callable[[int], None] | None
) -> Combined | None:
    """Return the document and the sources as one dataset; None after an error. `subset` selects in the sources."""
    options, writing = request.options, request.options.target.writing
    reading, storage = for_reading(options), options.run.storage.of("source")
    first = Input(request.target, partial(read_document, request.target, options=reading), portable=True, whole=True)
    form = writing.embed, request.recoding, _varies(old.checked), writing.inline
    spec = CombineSpec(request.along, None, *form, extends=True, ordered=not request.unsorted)
    spec = spec._replace(join=request.join, sort=request.sort, duplicates=request.duplicates, repack=request.repack)
    if not request.along:
        job = Job("", first, request.subset, spec, report.strict, storage)
        along = dimensions(old, request.inputs[0], job, report)
        if along is None:
            return None
        spec = spec._replace(along=along)
    combine_request = CombineRequest([first, *request.inputs], spec, subset=request.subset, options=options)
    combination = combine_sources(combine_request, report, step=step, read=old.checked)
    return combination if combination is not None and _is_new(request.target, combination, report) else None


def _varies(checked: Checked) -> bool:
    """Return whether chunks of a variable have several lengths along a dimension."""
    lengths = [variable.storage.chunks for variable in checked.variables.values()]
    return any(chunks is not None and varies(chunks) for chunks in lengths)


def _is_new(path: str, combination: Combined, report: Report) -> bool:
    """Return whether a document has no record of its sources yet. Reports misplaced-records; raises OSError."""
    before = report.errors
    for name in combination.repeated:
        report.error("misplaced-records", f"`{show(path)}` has the records of `{name}` already", helps=HELPS)
    for coordinate, fault in combination.unordered.items():
        if coordinate in combination.lengths:
            report_repeated_values(
                coordinate, show(path), combination.checked, combination.lengths[coordinate][0], report
            )
        if report.errors == before:
            fault.report(report)
    return report.errors == before
