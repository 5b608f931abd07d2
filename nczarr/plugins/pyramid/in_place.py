"""Pyramids in existing stores: new levels beside the arrays of a store, and levels of what has grown.

The store is planned as it will be. Its documents change by the difference of what the back end writes for both states
(plugin `edit`), and keys of chunks are written with the journal of an extension (plugin `combine`), so that the store
reads as before or as after at any moment. Keys are made where a level lacks cells along a dimension that has grown,
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import Index, every_block, grid_of
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import ArraySource, Layout, Parts, find_unwritten, numpy_dtype
from nczarr.arrays.sources.windows import choose_route
from nczarr.ast.renaming import NODE_KINDS, rename_tree
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show, word
from nczarr.link.tasks import WrittenPart, arrays
from nczarr.names.records import frozen
from nczarr.pipeline import endpoints, omissions, phases
from nczarr.plan.chunk_lengths import fill_whole
from nczarr.plan.plans import Conversion, PartTarget, StorePlan
from nczarr.plugins.combine.append import open_target
from nczarr.plugins.combine.append.changes import Change, Changes
from nczarr.plugins.combine.append.placement import AppendRequest, ExtendableTarget, Extension
from nczarr.plugins.combine.append.store import extend, recover_target
from nczarr.plugins.combine.arrays.cell_positions import CellRun
from nczarr.plugins.combine.join.agreement import Way
from nczarr.plugins.edit.header_changes import HeaderEdit
from nczarr.plugins.edit.zarr.edit import StoreEditor
from nczarr.plugins.pyramid.build import PyramidBuilder
from nczarr.plugins.pyramid.conventions import without_metadata
from nczarr.plugins.pyramid.spec import CODE, PyramidPlan, PyramidRequest, PyramidResult, find_record, plan_pyramid
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.stores.lock import Lock, NoLock
from nczarr.stores.overlay import Overlay
from nczarr.stores.url import trim


class Growth(NamedTuple):
    """A store and the pyramid that it is to hold."""

    target: ExtendableTarget
    whole: Checked
    """The store afterwards, with the arrays of the levels that are computed."""
    plan: PyramidPlan
    lengths: Mapping[str, int] = MappingProxyType({})
    """Lengths of the reduced dimensions for which the levels were computed before."""


def extend_pyramid(request: PyramidRequest, report: Report, *, rehearsal: bool) -> PyramidResult | None:
    """Add levels to a store, or bring them up to date; None after an error. Raises OSError, CompileError.

    Reports unsuited-pyramid, and what `append` reports of targets.
    """
    place = endpoints.locate(request.target, report)
    if place is None:
        return None
    options = request.options.change(storage=request.options.run.storage.at("target", place.server))
    request = request._replace(target=trim(place.path), options=options)
    if rehearsal:
        return _extend(request, NoLock(None), report, rehearsal=True)
    with endpoints.lock_place(place.path, report, options.run, replaces=True) as lock:
        return None if lock is None else _extend(request, lock, report, rehearsal=False)


def _extend(request: PyramidRequest, lock: Lock, report: Report, *, rehearsal: bool) -> PyramidResult | None:
    append = AppendRequest((), request.target, options=request.options, rehearsal=rehearsal)
    if recover_target(append, report):
        return PyramidResult(Conversion(request.target, "", 0))
    target = None if report.errors else open_target(request.target, report, request.options)
    if target is None:
        return None
    if target.store is None:
        text = f"`{show(target.path)}` is a file, to which no levels are added"
        report.error(CODE, text, helps=[f"write a new target: `nczarr pyramid {word(target.path)} NEW.zarr`"])
        return None
    growth = _update(request, target, report) if request.update else _begin(request, target, report)
    if growth is None or report.errors:
        return None
    work = _plan_work(growth, append, lock, report)
    done = None if work is None else extend(*work)
    if done is None:
        return None
    steps = done.steps if rehearsal else ()
    return PyramidResult(None if rehearsal else done.conversion, steps, done.rewritten)


# ---- the dataset afterwards -----------------------------------------------------------------------------------------
def _begin(request: PyramidRequest, target: ExtendableTarget, report: Report) -> Growth | None:
    """Return a store with new levels; None after an error."""
    if find_record(target.checked) is not None:
        text = f"`{show(target.path)}` has levels already"
        report.error(CODE, text, helps=["`--update` brings them up to date"])
        return None
    if request.subset.cuts or request.subset.sections:
        text = "levels are added for whole variables, and not for a part of their cells"
        report.error(CODE, text, helps=["write a new target, or select by `--var` alone"])
        return None
    omissions.refuse(target.checked, request.options.run, report)
    chosen = phases.select(target.checked, request.subset, report)
    plan = None if chosen is None or report.errors else plan_pyramid(chosen, request.spec, report)
    if plan is None:
        return None
    whole = PyramidBuilder(target.checked, plan, request.options.run.memory, nested=False).build(report)
    return None if whole is None else Growth(target, whole, plan)


def _update(request: PyramidRequest, target: ExtendableTarget, report: Report) -> Growth | None:
    """Return a store with the levels that its level 0, or the source, has now; None after an error."""
    record = find_record(target.checked)
    if record is None:
        text = f"`{show(target.path)}` has no levels of `nczarr pyramid`"
        report.error(CODE, text, helps=["leave `--update` out to add them"])
        return None
    nested = "/0" in target.checked.groups
    if request.in_place:
        level_0 = _find_level_0(target.checked, record.levels, nested=nested, report=report)
    else:
        level_0 = phases.read_part(request.source, request.subset, report)
    plan = None if level_0 is None or report.errors else plan_pyramid(level_0, record.spec, report, record.methods)
    if plan is None or level_0 is None:
        return None
    whole = PyramidBuilder(level_0, plan, request.options.run.memory, nested=nested).build(report)
    if whole is None:
        return None
    if whole.variables.keys() != target.checked.variables.keys():
        names_of_others = sorted(whole.variables.keys() ^ target.checked.variables.keys())
        text = f"`{names_of_others[0]}` is not in both `{show(request.source.name)}` and the pyramid"
        report.error(CODE, text, helps=["write the pyramid again: `--overwrite`"])
        return None
    both = {path: (one.size, whole.dimensions[path].size) for path, one in target.checked.dimensions.items()}
    shrunk = next((path for path, (old, new) in both.items() if new < old), None)
    if shrunk is not None:
        text = f"`{shrunk}` of the pyramid has the length {both[shrunk][0]}, and would have {both[shrunk][1]}"
        report.error(CODE, text, helps=["write the pyramid again: `--overwrite`"])
        return None
    return Growth(target, whole, plan, record.lengths)


def _find_level_0(checked: Checked, levels: int, *, nested: bool, report: Report) -> Checked | None:
    """Return the dataset of level 0 by itself: the group `0`, or all but the levels."""
    if nested:
        group = checked.groups["/0"]
        tree = checked.dataset.model_copy(
            update={name: getattr(group, name) for name in ("types", "dimensions", "variables", "attributes", "groups")}
        )
        tables = (checked.groups, checked.types, checked.dimensions, checked.variables)
        renamed = {
            kind: {path: path[2:] for path in table if path.startswith("/0/")}
            for kind, table in zip(NODE_KINDS, tables, strict=True)
        }
        tree = rename_tree(tree, renamed)
        parts = {path[2:]: one for path, one in checked.parts.items() if path.startswith("/0/")}
    else:
        own = {str(level) for level in range(1, levels + 1)}
        groups = tuple(group for group in checked.dataset.groups if group.name not in own)
        tree = checked.dataset.model_copy(update={"groups": groups})
        parts = {path: one for path, one in checked.parts.items() if names.split(path)[0] not in own}
    tree = tree.model_copy(update={"attributes": without_metadata(tree.attributes)})
    return check(Unchecked(tree, parts=parts), report)


# ---- documents and keys ---------------------------------------------------------------------------------------------
def _plan_work(growth: Growth, append: AppendRequest, lock: Lock, report: Report) -> tuple[Extension, Changes] | None:
    """Return what changes in a store; None after an error. Raises OSError."""
    target, whole, options = growth.target, growth.whole, append.options
    assert target.store is not None
    is_new = any(path not in target.checked.variables for path in whole.variables)
    sizes = target.checked.dimensions
    grown = {path: (sizes[path].size, one.size) for path, one in whole.dimensions.items() if path in sizes}
    grown = {path: lengths for path, lengths in grown.items() if lengths[0] < lengths[1]}
    is_verifiable = not is_new and growth.plan.lengths == growth.lengths and len(set(grown.values())) < 2
    if options.run.verify and not is_verifiable:
        text = "`--verify` reads new targets, and what is added to levels along one dimension that is not reduced"
        report.error(CODE, text, helps=["write a new target, or leave it out"])
        return None
    added: StorePlan | None = None
    if is_new:
        options = options.change(
            chunks=fill_whole(options.layout.chunks, whole), shards=fill_whole(options.layout.shards, whole), kind=None
        )
        added = phases.plan_store(whole, target.form, report, options)
        if added is None:
            return None
    documents = _plan_documents(target, whole, added, append, report)
    if documents is None:
        return None
    seen = phases.read(Overlay(target.store, documents), Report(), append.options, target.form)
    changes = [] if added is None else list(_list_added(target.checked, added))
    if seen is not None:
        changes += _list_grown(growth, seen)
    way, pieces = Way(dimensions=frozenset(grown)), list[CellRun]()
    if grown and options.run.verify:
        way, pieces = _find_records(growth, changes, grown)
    work = Extension(append, target, whole, way, pieces, report, lock=lock)
    return work, Changes(documents, changes)


def _find_records(
    growth: Growth, changes: list[Change], grown: Mapping[str, tuple[int, int]]
) -> tuple[Way, list[CellRun]]:
    """Return the arrays whose new records are verified, and these records. `grown`: both lengths of each dimension."""
    ((old, new),) = set(grown.values())
    variables = growth.whole.variables
    axes = {
        change.array.path: axis
        for change in changes
        for axis, one in enumerate(variables[change.array.path].dimensions)
        if one in grown
    }
    return Way(axes, frozenset(grown)), [CellRun(0, 0, old), CellRun(1, 0, new - old)]


def _plan_documents(
    target: ExtendableTarget, whole: Checked, added: StorePlan | None, append: AppendRequest, report: Report
) -> dict[str, bytes] | None:
    """Return the documents that change; None after an error. Raises OSError."""
    assert target.store is not None
    parts: dict[str, Parts] = {}
    for path, sources in whole.parts.items():
        parts[path] = {}
        for part, source in sources.items():
            old = target.checked.parts.get(path, {}).get(part)
            if old is not None:
                shape = source.layout.shape
                parts[path][part] = old if shape == old.layout.shape else StatedArray(old.layout._replace(shape=shape))
            elif added is not None:
                parts[path][part] = StatedArray(added.targets[path][part].layout)
    after = whole._replace(parts=parts)
    renamed = {kind: dict[str, str]() for kind in NODE_KINDS}
    edit = HeaderEdit(append.target, target.store, target.form, target.checked, after, (), renamed, append.options)
    before = report.errors
    patch = StoreEditor(edit, target.store, report).prepare()
    return None if patch is None or report.errors > before else patch.puts()


@frozen
class StatedArray(ArraySource):
    """Array of which documents state the layout, before it has any chunks."""

    layout: Layout


def _list_added(old: Checked, plan: StorePlan) -> Iterator[Change]:
    """Yield the arrays that a store lacks, with all their keys."""
    for array in arrays(plan):
        if array.path not in old.variables:
            layout = array.target.layout
            empty = (0,) * len(layout.shape)
            nothing = ArrayInMemory(layout._replace(shape=empty), np.empty(empty, numpy_dtype(layout.dtype)))
            yield Change(array._replace(only=tuple(array.indices())), nothing, nothing, frozenset())


def _list_grown(growth: Growth, seen: Checked) -> Iterator[Change]:
    """Yield the arrays that are longer than before, with the keys that change."""
    for path, sources in growth.whole.parts.items():
        for part, source in sources.items():
            old = growth.target.checked.parts.get(path, {}).get(part)
            new = seen.parts.get(path, {}).get(part)
            if old is None or new is None or 0 in source.layout.shape:
                continue
            first = _find_first(growth, path, old.layout.shape, source.layout.shape)
            if not first:
                continue
            assert new.stored is not None and new.keys is not None  # noqa: PT018
            layout = new.layout._replace(dtype=new.stored.dtype, codecs=new.stored.codecs)
            target = PartTarget(layout, find_unwritten(new), new.layout.fill is not None and not new.undefined)
            unit = layout.shards or layout.chunks
            indices, visible = _find_changed(source.layout.shape, old.layout.shape, first, unit)
            keys = new.keys.chunk_keys
            array = WrittenPart(path, part, keys, target, source, choose_route(source, layout), tuple(indices))
            yield Change(array, old, new, frozenset(map(array.key, visible)))


def _find_first(growth: Growth, path: str, before: Index, shape: Index) -> dict[int, int]:
    """Return the first cell that changes, by axis along which an array of level 0 or of another level has grown.

    The last cell of a level may have been one of fewer cells of level 0, also where the level becomes no longer.
    """
    plan, first = growth.plan, {axis: old for axis, old in enumerate(before) if old != shape[axis]}
    level = names.split(path)[0]
    if level not in map(str, range(1, plan.levels + 1)) or plan.spec.boundary == "trim":
        return first
    for axis, reference in enumerate(growth.whole.variables[path].dimensions):
        dimension = names.fqn(names.split(str(reference))[1:])
        old = growth.lengths.get(dimension, 0)
        if old < plan.lengths.get(dimension, 0):
            first[axis] = old // plan.spec.factor ** int(level)
    return first


def _find_changed(
    shape: Index, before: Index, first: dict[int, int], unit: tuple[int, ...]
) -> tuple[list[Index], list[Index]]:
    """Return the keys with cells that change, in C order, and those where readers of the old lengths see a change."""
    counts = grid_of(shape, unit)
    changed, visible = set[Index](), set[Index]()
    for axis, cell in first.items():
        start = cell // unit[axis]
        block = (*counts[:axis], counts[axis] - start, *counts[axis + 1 :])
        for offset in every_block(block, (1,) * len(counts)):
            index = (*offset[:axis], offset[axis] + start, *offset[axis + 1 :])
            changed.add(index)
            if cell < before[axis] and index[axis] * unit[axis] < before[axis]:
                visible.add(index)
    return sorted(changed), sorted(visible)
