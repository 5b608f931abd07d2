"""Extension of a reference document: the document is the first source of a combination, and its target.

Old targets are not opened, except for values that must be compared and are not
in the document: those without the dimension, and the last of a coordinate.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Literal

from nczarr import registry
from nczarr.ast.rectilinear import varies
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.diagnostics.source import Source
from nczarr.operations import endpoints, pipeline
from nczarr.operations.append.placement import Appended, AppendRequest, ExtendableTarget
from nczarr.operations.combine import Combined, CombineRequest, combined, is_divisible
from nczarr.operations.combine.contribution import HELPS, report_repeated_values
from nczarr.operations.combine.sources import Job, home_of, opened
from nczarr.operations.combine.spec import CombineSpec
from nczarr.operations.pipeline import Input, for_reading
from nczarr.options import Options, Writing
from nczarr.plan.plans import Conversion
from nczarr.registry import REFERENCE
from nczarr.stores.lock import Lock, NoLock, Unchanged
from nczarr.stores.stat import identity
from nczarr.stores.url import is_remote

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
    document_identity = None if is_remote(path) else identity(path, options.storage)
    source = endpoints.opened(path, report, options)
    form = None if source is None else endpoints.detected(source)
    if source is None:
        return None
    if form is None or form.name != REFERENCE or form.opens is None:
        helps = ["`nczarr refs combine` makes a document of several sources"]
        report.error("unknown-format", f"`{shown(path)}` is not a reference document", helps=helps)
        return None
    if not isinstance(source, Source):
        if is_remote(path):
            text = f"`{shown(path)}`: remote Parquet references cannot be replaced at once"
            report.error("unknown-target", text, helps=["extend a copy of the folder, or a JSON document"])
            return None
        if not path.rstrip("/").lower().endswith(SUFFIXES):
            text = f"`{shown(path)}`: a folder of Parquet references that is written ends in `.parq` or `.parquet`"
            report.error("unknown-target", text, helps=["rename the folder"])
            return None
    store = registry.load(form.opens)(source, report, options)
    inner = None if store is None else registry.detect_store(store, opened=True)
    if store is None or inner is None:
        if not report.errors:
            report.error("unknown-format", f"`{shown(path)}` contains no Zarr metadata")
        return None
    if inner.name not in form.inner:
        text = f"`{shown(path)}` has metadata of the format `{inner.name}`, which is not written into documents"
        report.error("unknown-target", text)
        return None
    checked = pipeline.read(store, report, options._replace(masking_fill=False), inner)
    if checked is None or report.errors:
        return None
    urls = [facts["url"] for facts in store.target_facts.values()]
    relative = bool(urls) and all("://" not in url and not url.startswith("/") for url in urls)
    relative = options.writing.relative or (relative and options.writing.base is None)
    writing = options.writing._replace(metadata=inner.name, inline=-1, relative=relative, keep_names=True)
    return ExtendableTarget(path, form, inner, store, checked, document_identity), writing


def dimensions(old: ExtendableTarget, first: Input, job: Job, report: Report) -> tuple[str, ...] | None:
    """Return the dimensions along which a document is extended; None after an error. Raises OSError, CompileError.

    It is the one whose length differs from that of the first new source. If
    several or none do, the only unlimited one of these, or of all. Reports
    unmatched-dimension.
    """
    checked, source_report = opened(first, job)
    for diagnostic in source_report.sorted():
        report.add(diagnostic)
    if checked is None:
        return None
    declared, others = old.checked.dimensions, checked.dimensions
    unlike = [path for path in declared if path in others and others[path].size != declared[path].size]
    if len(unlike) != 1:
        grows = {path for path in declared if declared[path].unlimited or (path in others and others[path].unlimited)}
        unlike = [path for path in unlike or declared if path in grows]
    if len(unlike) == 1:
        return (unlike[0],)
    text = f"lengths do not show along which dimension `{shown(old.path)}` is extended by `{shown(first.name)}`"
    report.error("unmatched-dimension", text, helps=["name it with `--along`"])
    return None


def extended(request: AppendRequest, report: Report, step: Callable[[int], None] | None = None) -> Appended | None:
    """Extend a document; None after a reported error. Raises OSError, CompileError.

    The document is replaced at once; its lock is held from the reading on.
    """
    if request.region:
        text = f"`{shown(request.target)}` is a reference document, whose records are not replaced"
        report.error("unextendable-target", text, helps=["leave `--region` out"])
        return None
    if request.options.dask is not None and not is_divisible(request.inputs, request.options.dask, report):
        return None
    if request.rehearsal:
        return _extended(request, NoLock(None), report, step)
    with endpoints.locked_place(request.target, report, request.options, replaces=True) as lock:
        return None if lock is None else _extended(request, lock, report, step)


def _extended(
    request: AppendRequest, lock: Lock, report: Report, step: Callable[[int], None] | None
) -> Appended | None:
    """Extend a document that is locked, if it is written."""
    reading = for_reading(request.options)
    opened_document = document(request.target, report, reading)
    if opened_document is None:
        return None
    old, writing = opened_document
    combination = _combined(request, old, report, step)
    if combination is None or report.errors:
        return None
    writing = writing._replace(home=writing.home or home_of([source.name for source in request.inputs]))
    grid: Literal["regular", "rectilinear"] = "rectilinear" if _varies(old.checked) else request.options.grid
    options = request.options._replace(writing=writing, overwrite=True, dask=None, grid=grid)
    form = registry.named(REFERENCE)
    assert form is not None
    lengths = {path: (every[0], sum(every)) for path, every in combination.lengths.items()}
    if request.rehearsal:
        steps = pipeline.steps(combination.checked, request.target, form, report, options)
        conversion = Conversion(request.target, form.name, len(combination.checked.variables))
        return None if steps is None else Appended(conversion, lengths, tuple(steps), combined=combination)
    if old.identity is not None:
        lock = Unchanged(lock, request.target, old.identity)
    remote = is_remote(request.target)
    path = request.target if remote else os.path.realpath(request.target)  # a link stays one
    done = pipeline.write(combination.checked, path, form, report, options, lock=lock)
    return None if done is None else Appended(done._replace(target=request.target), lengths)


def _combined(
    request: AppendRequest, old: ExtendableTarget, report: Report, step: Callable[[int], None] | None
) -> Combined | None:
    """Return the document and the sources as one dataset; None after an error. `subset` selects in the sources."""
    options, writing = request.options, request.options.writing
    reading, storage = for_reading(options), options.storage.of("source")
    first = Input(request.target, partial(read_document, request.target, options=reading), portable=True, whole=True)
    spec = CombineSpec(
        request.along, None, writing.embed, request.recoding, _varies(old.checked), writing.inline, extends=True
    )
    if not request.along:
        job = Job("", first, request.subset, spec, report.strict, storage)
        along = dimensions(old, request.inputs[0], job, report)
        if along is None:
            return None
        spec = spec._replace(along=along)
    combine_request = CombineRequest([first, *request.inputs], spec, subset=request.subset, options=options)
    combination = combined(combine_request, report, step=step, read=old.checked)
    return combination if combination is not None and _is_new(request.target, combination, report) else None


def _varies(checked: Checked) -> bool:
    """Return whether chunks of a variable have several lengths along a dimension."""
    lengths = [variable.storage.chunks for variable in checked.variables.values()]
    return any(chunks is not None and varies(chunks) for chunks in lengths)


def _is_new(path: str, combination: Combined, report: Report) -> bool:
    """Return whether a document has no record of its sources yet. Reports misplaced-records; raises OSError."""
    before = report.errors
    for name in combination.repeated:
        report.error("misplaced-records", f"`{shown(path)}` has the records of `{name}` already", helps=HELPS)
    for coordinate in combination.unordered:
        if coordinate in combination.lengths:
            report_repeated_values(
                coordinate, shown(path), combination.checked, combination.lengths[coordinate][0], report
            )
    return report.errors == before
