"""Extension of an existing target by datasets, along a dimension that it has.

    target, sources ─ projection ─ placement ─ combine ─> one dataset ─ store / file ─> target

The sources are compared with the target before anything is written. The result
is a concatenation like that of `combine`. Of a store, only the keys that change
are written (`changes.py`, `store.py`), in the order of `stores/extension.py`; a
file is written again, beside its place.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

from nczarr import registry
from nczarr.arrays.codecs.chain import expressible
from nczarr.arrays.execution.counts import Counts, Watcher
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity, Source
from nczarr.diagnostics.secrets import NO_OPTIONS, show
from nczarr.link.target import emit
from nczarr.names import list_first, plugin_index
from nczarr.options import Options, RunOptions
from nczarr.pipeline import endpoints, omissions, phases
from nczarr.plan.plans import Conversion, FilePlan, conversion_of
from nczarr.plugins.cf.cell_bounds import align_bounds, text_of
from nczarr.plugins.combine.aggregation.instructions import is_aggregation
from nczarr.plugins.combine.append import placement
from nczarr.plugins.combine.append.placement import (
    Appended,
    AppendRequest,
    ExtendableTarget,
    Extension,
    Unchanged,
    place_runs,
)
from nczarr.plugins.combine.arrays.concatenate import compare_encodings
from nczarr.plugins.combine.arrays.patchwork import as_patchwork
from nczarr.plugins.combine.join import CombineSpec, combine
from nczarr.plugins.combine.join.agreement import Recoding, Way, settle
from nczarr.plugins.combine.join.recode import recode
from nczarr.plugins.combine.join.sources import Job, every_opened
from nczarr.plugins.combine.join.units import MAJORITY, convert_units, plan_units
from nczarr.plugins.common.derived_groups import without_derived_groups
from nczarr.registry import Format
from nczarr.semantics.checked import Checked
from nczarr.stores import extension
from nczarr.stores.base import JOURNAL, Store
from nczarr.stores.lock import Lock, NoLock
from nczarr.stores.memory import MemoryStore
from nczarr.stores.open import find_repository
from nczarr.stores.stat import identity
from nczarr.stores.url import BadURLError, is_remote, location, real, trim


def _rewrite_target(work: Extension) -> Appended | None:
    """Write a file that holds the whole dataset in the place of the target; None after a reported error.

    Raises OSError.
    """
    target, report = work.target, work.report
    whole = _patch(target.checked, work.whole, work.way)
    path = real(target.path)
    options = work.request.options.change(overwrite=True, kind=whole.dataset.kind)
    if work.request.rehearsal:
        planned = phases.plan(whole, target.form, report, options)
        steps = phases.steps(whole, path, target.form, report, options) if planned is not None else None
        if planned is None or steps is None or report.errors:
            return None
        assert isinstance(planned, FilePlan)
        return Appended(conversion_of(path, planned, Counts()), work.lengths, tuple(steps))
    mode = None if is_remote(path) else os.stat(path).st_mode
    lock = work.lock if target.identity is None else Unchanged(work.lock, path, target.identity)
    done = phases.write(whole, path, target.form, report, options, work.watch, lock)
    if done is None:
        return None
    if mode is not None:
        with suppress(OSError):
            os.chmod(path, mode & 0o7777)
    return Appended(done._replace(target=target.path), work.lengths)


def _patch(old: Checked, whole: Checked, way: Way) -> Checked:
    """Return the result in the grid of the file, so that its chunks are copied even if the last one is incomplete."""
    parts = dict(whole.parts)
    for path in way.axes:
        one, joined_source = (side.parts.get(path, {}).get("") for side in (old, whole))
        if one is None or joined_source is None or one.stored is None or joined_source.stored is not None:
            continue
        dtype, chunks, chain = one.stored
        if expressible(chain):
            layout = one.layout._replace(dtype=dtype, shape=joined_source.layout.shape, chunks=chunks, codecs=chain)
            parts[path] = {**parts[path], "": as_patchwork(joined_source, layout, 0)}
    return whole._replace(parts=parts)


def project(
    name: str, checked: Checked, form: Format, is_store: bool, report: Report, run: RunOptions
) -> Checked | None:
    """Return a source in the model of a format; None after a reported loss of values.

    Values and their arrays stay those of the source.
    """
    if not is_store or form.capabilities.typed_attributes:
        return checked
    own_report = Report(strict=report.strict)
    plain = Options.of(allow_loss=run.allow_loss, memory=run.memory)
    planned = phases.plan_store(checked, form, own_report, plain)
    documents = None if planned is None else dict(emit(planned, own_report))
    for finding in own_report.list_sorted():
        if finding.severity is Severity.ERROR:
            report.add(finding._replace(notes=(*finding.notes, f"of `{name}`")))
    if planned is None or documents is None or own_report.errors:
        return None
    back = phases.read(MemoryStore(documents), Report(), plain, form)
    if back is None:
        return checked
    before = report.errors
    for path in checked.parts.keys() & back.variables.keys():
        if not _is_same(checked, back, path):
            types_of_both = (
                f"is {checked.variables[path].type} in `{name}`, which the target holds as {back.variables[path].type}"
            )
            report.error("unequal-sources", f"`{path}` {types_of_both}", helps=[f"convert it to {form.name} first"])
    if report.errors > before:
        return None
    parts = {path: checked.parts.get(path, own_parts) for path, own_parts in back.parts.items()}
    return back._replace(parts=parts, omitted=checked.omitted)


def _is_same(one: Checked, other: Checked, path: str) -> bool:
    """Return whether a variable has the same elements in both."""
    first, second = one.variables[path].type, other.variables[path].type
    if "string" in (first, second):
        return first == second
    if not (is_fixed(first, one.types) and is_fixed(second, other.types)):
        return first == second
    return descr(first, one.types) == descr(second, other.types)


MISSING = "missing-values"
"""Warnings of files that are not read whole. A file that is written again would lose the rest."""

NAMED = 8
"""Maximum variables in a message."""

ATTEMPTS = 8
"""Maximum commits that one run tries, each on the content of the one that another writer made before it."""

ANEW = "write target and sources as a new one with `nczarr combine`"

__all__ = ["AppendRequest", "Appended", "append"]


def append(
    request: AppendRequest, report: Report, watch: Watcher | None = None, step: Callable[[int], None] | None = None
) -> Appended | None:
    """Extend a store, file, repository or reference document by sources, in order; None after a reported error.

    Ensures: the target reads as before or as after at any moment. `watch` is called
    with the bytes written, `step` after each source of a reference document.
    Reports unextendable-target, misplaced-records, and those of `combine` and of
    the pipeline. Raises OSError, CompileError.
    """
    request = request._replace(options=request.options.change(aggregation="keep"))  # inputs have their own
    if request.unnamed and _is_reversed(request, report):
        return None
    form = registry.for_target(request.target.rstrip("/"))
    if request.document or (form is not None and form.store.inner and not form.store.commits):
        from nczarr.plugins.combine.append.changes import extend

        if not request.document:
            request = request._replace(recoding=Recoding(request.units))
        return extend(request, report, step)
    place = endpoints.locate(request.target, report)
    folder = None if place is None or place.remote else find_repository(place.path)
    if folder is not None:
        place = endpoints.locate(folder.text, report)
    if place is None:
        return None
    repository_format = registry.find_format(place.repository.format) if place.repository else None
    unmet = None if repository_format is None else endpoints.unmet_mode(place, repository_format)
    if unmet is not None:
        report.error("bad-url", f"`{show(request.target)}`: {unmet}")
        return None
    options = request.options.change(storage=request.options.run.storage.at("target", place.server))
    request = request._replace(target=trim(place.path), options=options, command=_fingerprint(request))
    if request.rehearsal:
        return _extend(request, report, watch, NoLock(None))
    patience = placement.PATIENCE if repository_format is not None else 0
    with endpoints.lock_place(place.path, report, options.run, replaces=True, patience=patience) as lock:
        if repository_format is None and lock is not None:
            return _extend(request, report, watch, lock)
    return None if lock is None else _extend_branch(request, report, watch)  # which locks its commit alone


def _extend_branch(request: AppendRequest, report: Report, watch: Watcher | None) -> Appended | None:
    """Extend the branch of a repository, anew from its new content where another writer has moved it meanwhile."""
    for rebased in range(ATTEMPTS):
        try:
            done = _extend(request, report, watch, NoLock(None))
            return done and done._replace(rebased=rebased)
        except CompileError as error:
            if rebased + 1 == ATTEMPTS or [one.code for one in error.diagnostics] != ["busy-target"]:
                raise
    return None


def _is_reversed(request: AppendRequest, report: Report) -> bool:
    """Return whether a source seems to be the target: the only store or document. Reports unextendable-target."""
    sources = [source.name for source in request.inputs]
    stores = [name for name in sources if _is_store(name)]
    if len(stores) != 1 or _is_store(request.target):
        return False
    files = [name for name in (*sources, request.target) if name != stores[0]]
    place, words = (
        ("first", (stores[0], request.target, *files[:-1])) if request.document else ("last", (*files, *stores))
    )
    order = " ".join(map(show, words))
    target, store = show(request.target), show(stores[0])
    text = f"the {place} argument is the target that changes: `{target}`, but only `{store}` is a store or document"
    helps = [f"to extend `{store}`: `nczarr {'refs append' if request.document else 'append'} {order}`"]
    helps += [] if request.document else ["to extend a file by a store, convert the store to a file first"]
    report.error("unextendable-target", text, helps=helps)
    return True


def _is_store(path: str) -> bool:
    """Return whether a path or URL looks like that of a store or reference document."""
    try:
        place = location(path)
    except BadURLError:
        return False
    form = None if place.repository else registry.for_target(place.path.rstrip("/"))
    is_folder = bool(place.repository) or os.path.isdir(place.path)
    return is_folder if form is None else bool(form.emit or form.store.inner)


def _extend(request: AppendRequest, report: Report, watch: Watcher | None, lock: Lock) -> Appended | None:
    """Extend the target at a path or URL, which is locked if it can be; as `append`."""
    from nczarr.plugins.combine.append import store

    path, options = request.target, request.options
    if store.recover_target(request, report):
        return Appended(Conversion(path, "", 0), {}, completed=True)
    target = None if report.errors else open_target(path, report, options)
    if target is None:
        return None
    work = _join(target, request, report)
    if work is None:
        return None
    work = work._replace(watch=watch, lock=lock)
    return _rewrite_target(work) if target.store is None else store.extend(work)


def _fingerprint(request: AppendRequest) -> str | None:
    """Return a text that is equal for equal requests; None with a source that is not a path. Raises OSError.

    It tells a run that it continues one of the same sources and options.
    """
    import hashlib

    from nczarr import __version__

    losses = sorted(request.options.run.allow_loss)
    fitting = request.join, request.repack, request.units
    facts = [__version__, request.target, *map(repr, (request.along, request.region, request.subset, losses, fitting))]
    for source in request.inputs:
        if not source.portable:
            return None
        try:
            source_identity = identity(source.name, request.options.run.storage.of("source"))
        except (BadURLError, NotADirectoryError):  # the reader reports it, or it is a member of an archive
            return None
        if source_identity is None:
            return None
        facts += [source.name, source_identity]
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()


def open_target(path: str, report: Report, options: Options) -> ExtendableTarget | None:
    """Return the target at a path or URL; None (reported) if it cannot be extended. Raises OSError."""
    storage = options.run.storage.of("target")
    reading = options.change(storage=storage, kind=None, allow_loss=frozenset(), parser=None)
    file_identity = identity(path) if not is_remote(path) and os.path.isfile(path) else None
    source = endpoints.open_source(path, report, reading)
    if source is None:
        return None
    outer = form = endpoints.detect_format(source)
    if outer is not None and outer.store.opens is not None and outer.store.extends is not None:
        store = registry.load(outer.store.opens)(source, report, reading)
        if store is None:
            return None
        source = store
        form = registry.detect_store(store, opened=True)
    reason = _refusal(path, source, outer, form)
    if reason is None and options.target.virtual and not (outer is not None and outer.store.extends):
        reason = "has no virtual chunks, as repositories have", ["leave `--virtual` out"]
    if reason is not None or outer is None or form is None:
        text, helps = reason or ("is not in a format that can be read", [])
        report.error("unextendable-target", f"`{show(path)}` {text}", helps=helps)
        return None
    if not isinstance(source, Source):
        source.survey()
        journal = extension.parse(source.get(JOURNAL) or b"")
        source = source if journal is None else extension.view(source, journal)
    checked = phases.read(source, report, reading, form)
    lacking = []
    if isinstance(source, Source):
        lacking = [lack.message for lack in report.list_sorted() if lack.code == MISSING]
        lacking += [] if checked is None else [one.text for one in checked.omitted]
    for lack in lacking:
        text = f"`{show(path)}` would be written again without what is not read of it: {lack}"
        report.error("unextendable-target", text, helps=["write target and sources as a new one"])
    if checked is None or report.errors:
        return None
    if any(is_aggregation(variable) for variable in checked.variables.values()):
        text = f"`{show(path)}` is an aggregation file, whose header lists its fragments"
        helps = ["write it and the sources as a new one with `nczarr combine … NEW --to cfa`"]
        report.error("unextendable-target", text, helps=helps)
        return None
    return ExtendableTarget(path, outer, form, None if isinstance(source, Source) else source, checked, file_identity)


def _refusal(
    path: str, source: Source | Store, outer: Format | None, form: Format | None
) -> tuple[str, list[str]] | None:
    """Return why a target cannot be extended, and what to do instead; None if it can."""
    if outer is None or form is None:
        return None
    elsewhere = ["write sources and target as a new one with `nczarr refs combine … -o NEW`"]
    if outer.store.opens is not None and outer.store.extends is None:
        text = "is a reference document, which `nczarr refs append` extends"
        return ("is in a format that is only read", elsewhere) if outer.store.is_read_only else (text, [])
    if isinstance(source, Source):
        is_packed = not is_remote(path) and source.path != location(path).path
        can = bool(form.target.kinds or form.target.build) and form.writable
    else:
        is_packed, can = source.archive, bool(plugin_index.find_place("resize", form.name))
    if is_packed:
        text = "is compressed or an archive, whose content cannot be replaced"
        return text, ["convert it to a new target first", *elsewhere]
    return None if can else (f"has the format `{form.name}`, which cannot be extended", elsewhere)


def _join(target: ExtendableTarget, request: AppendRequest, report: Report) -> Extension | None:
    """Return the extension of the target by the sources as one dataset; None after an error."""
    target = target._replace(checked=without_derived_groups(target.checked)) if target.store else target
    name, first, before = show(target.path), target.checked, report.errors
    named = request.along
    if not named:
        from nczarr.plugins.combine.append.changes import dimensions

        job = Job("", request.inputs[0], request.subset, CombineSpec(), report.strict, NO_OPTIONS)
        named = dimensions(target, request.inputs[0], job, report) or ()
    way = settle(name, first, CombineSpec(named), report) if named else None
    if way is None:
        return None
    if request.units not in (None, MAJORITY, *(text_of(one, "units") for one in first.variables.values())):
        text = f"no variable of `{name}` has the units `{request.units}`, and a target keeps its own"
        report.error("inexact-units", text, helps=["`--units majority` converts the sources to them"])
        return None
    records = []
    for source_name, opened in every_opened(request.inputs, request.subset, report):
        dataset: Checked | None = opened
        if request.options.target.narrow:
            from nczarr.pipeline.narrow import narrow

            kind = first.dataset.kind if target.store is None else None
            dataset = narrow(opened, kind, report, request.options.run, like=first)
            if dataset is None:
                return None
        assert dataset is not None
        checked = project(source_name, dataset, target.form, target.store is not None, report, request.options.run)
        if checked is not None:
            omissions.refuse(checked, request.options.run, report)
            if request.units is not None:
                table, plan = plan_units(MAJORITY, ((name, first), (source_name, checked)), report, extends=True)
                for note in () if plan is None else (plan,):
                    report.add(note)
                checked = convert_units(source_name, checked, table, report)
            checked = recode(source_name, align_bounds(checked, first), first, Recoding(), report)
            records.append((source_name, checked))
    if report.errors > before:
        return None
    every = [(name, first), *records]
    fits = request.join == "exact" and not request.repack
    if request.region and not fits:
        text = "records are replaced in the grid and packing of the target: `--region` excludes `--join` and `--repack`"
        report.error("misplaced-records", text, helps=["convert the sources first"])
        return None
    along = tuple(way.dimensions)
    rule: Literal["last"] | None = "last" if request.region and len(along) == 1 else None
    spec = CombineSpec(
        along, in_place=True, ordered=False, join=request.join, duplicates=rule, repack=request.repack, extends=not fits
    )
    whole = combine(every, spec, report)
    pieces = place_runs(every, way, region=request.region, report=report)
    if whole is None or pieces is None or report.errors > before:
        return None
    if not fits and target.store is not None and not _has_target_grid(target, whole, way, report):
        return None
    _note_encodings(every, way, report)
    return Extension(request, target, whole, way, pieces, report)


def _has_target_grid(target: ExtendableTarget, whole: Checked, way: Way, report: Report) -> bool:
    """Return whether the result differs from a store only in records, which alone are added to it.

    Reports unextendable-target.
    """
    before, name, old = report.errors, show(target.path), target.checked
    new = [path for path in whole.variables if path not in old.variables]
    if new:
        report.error("unextendable-target", f"`{name}` has no variable `{new[0]}`, and gets none", helps=[ANEW])
    for path, dimension in old.dimensions.items():
        if path not in way.dimensions and whole.dimensions[path].size != dimension.size:
            text = f"a source has values of `{path}` that `{name}` lacks"
            report.error("unextendable-target", text, helps=["cut the source with `nczarr convert --sel`", ANEW])
    for path, variable in old.variables.items():
        if whole.variables[path].attributes != variable.attributes:
            text = f"`{path}` has no fill value in `{name}`, and a source lacks some of its cells"
            helps = [f"give it one first: `nczarr edit {name} --set '{path}@_FillValue=…'`", ANEW]
            report.error("unextendable-target", text, helps=helps)
    return report.errors == before


def _note_encodings(every: Sequence[tuple[str, Checked]], way: Way, report: Report) -> None:
    """Report reencoded-chunks for variables whose chunks or codecs are not those of the target."""
    reasons: dict[tuple[str, str], list[str]] = {}
    target = every[0][1]
    for name, checked in every[1:]:
        for path in way.axes:
            one, other = (side.parts.get(path, {}).get("") for side in (target, checked))
            if one is None or other is None or one.stored is None or other.stored is None:
                continue
            reason = compare_encodings(one.stored, other.stored)
            if reason is not None:
                reasons.setdefault((name, reason), []).append(path)
    for (name, reason), paths in reasons.items():
        listed = list_first(paths, NAMED)
        text = f"chunks of {listed} in `{name}` are encoded again: the target and the source have {reason}"
        report.add(Diagnostic("reencoded-chunks", Severity.NOTE, text))
