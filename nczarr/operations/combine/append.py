"""Extension of a reference document: the document is the first source of a combination, and its target.

Old targets are not opened, except for values that must be compared and are not
in the document: those without the dimension, and the last of a coordinate.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Literal, NamedTuple

from nczarr import registry
from nczarr.arrays.execution.counts import Watcher
from nczarr.ast.rectilinear import varies
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.diagnostics.source import Source
from nczarr.operations import pipeline, sources, targets
from nczarr.operations.combine import Combined, combined
from nczarr.operations.combine.repetition import HELPS, report_repeated_values
from nczarr.operations.combine.sources import Input, Job, for_reading, home_of, opened
from nczarr.operations.combine.spec import CombineSpec, Recoding
from nczarr.options import Options, Subset, Writing
from nczarr.plan.plans import Conversion
from nczarr.registry import REFERENCE
from nczarr.stores.lock import Lock, Unchanged
from nczarr.stores.stat import identity
from nczarr.stores.url import is_remote

SUFFIXES = (".parq", ".parquet")
"""Suffixes of folders of Parquet references."""


class ExtendedDocument(NamedTuple):
    """A document to extend."""

    checked: Checked
    """Its content."""
    metadata: str
    """Format of its Zarr metadata."""
    relative: bool
    """True if it names its targets relative to itself."""
    identity: str | None
    """Text that changes with the document."""

    def writing(self, writing: Writing) -> Writing:
        """Return how it is written again: references stay as they are."""
        relative = writing.relative or (self.relative and writing.base is None)
        return writing._replace(metadata=self.metadata, inline=-1, relative=relative, keep_names=True)


def read_document(path: str, report: Report, options: Options) -> Checked | None:
    """Return the content of a document; None after an error. Raises OSError."""
    extended = document(path, report, options)
    return None if extended is None else extended.checked


def document(path: str, report: Report, options: Options) -> ExtendedDocument | None:
    """Return a document to extend; None after an error. Raises OSError.

    Reports unknown-format, unknown-target, and the faults of the document.
    """
    document_identity = None if is_remote(path) else identity(path, options.storage)
    source = sources.opened(path, report, options)
    form = None if source is None else sources.detected(source)
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
    return ExtendedDocument(checked, inner.name, relative, document_identity)


def dimensions(extended: ExtendedDocument, first: Input, job: Job, name: str, report: Report) -> tuple[str, ...] | None:
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
    declared, others = extended.checked.dimensions, checked.dimensions
    unlike = [path for path in declared if path in others and others[path].size != declared[path].size]
    if len(unlike) != 1:
        grows = {path for path in declared if declared[path].unlimited or (path in others and others[path].unlimited)}
        unlike = [path for path in unlike or declared if path in grows]
    if len(unlike) == 1:
        return (unlike[0],)
    text = f"lengths do not show along which dimension `{shown(name)}` is extended by `{shown(first.name)}`"
    report.error("unmatched-dimension", text, helps=["name it with `--along`"])
    return None


class DocumentExtension(NamedTuple):
    """A document with further sources, before it is written."""

    path: str
    """Path or URL of the document."""
    document: ExtendedDocument
    """The document as it was."""
    combined: Combined
    """All sources as one dataset."""
    options: Options
    """Options for writing."""

    @classmethod
    def of(
        cls,
        path: str,
        inputs: Sequence[Input],
        along: tuple[str, ...],
        recoding: Recoding | None,
        subset: Subset,
        options: Options,
        report: Report,
        step: Callable[[int], None] | None = None,
    ) -> DocumentExtension | None:
        """Read the new sources; return None after a reported error. Raises OSError, CompileError.

        `subset` selects in the new sources, not in the document.
        """
        reading = for_reading(options)
        extended = document(path, report, reading)
        if extended is None:
            return None
        writing = options.writing
        first = Input(path, partial(read_document, path, options=reading), portable=True, whole=True)
        lengths = [variable.storage.chunks for variable in extended.checked.variables.values()]
        varying = any(chunks is not None and varies(chunks) for chunks in lengths)
        spec = CombineSpec(along, None, writing.embed, recoding, varying, writing.inline, extends=True)
        if not along:
            job = Job("", first, subset, spec, report.strict, options.storage.of("source"))
            extended_dimensions = dimensions(extended, inputs[0], job, path, report)
            if extended_dimensions is None:
                return None
            spec = spec._replace(along=extended_dimensions)
        storage = options.storage.of("source")
        combination = combined(
            [first, *inputs],
            subset,
            spec,
            report,
            storage=storage,
            workers=options.workers,
            dask=options.dask,
            step=step,
            read=extended.checked,
        )
        if combination is None or not _is_new(path, combination, report):
            return None
        names = [source.name for source in inputs]
        writing = extended.writing(writing._replace(home=writing.home or home_of(names)))
        grid: Literal["regular", "rectilinear"] = "rectilinear" if varying else options.grid
        return cls(path, extended, combination, options._replace(writing=writing, overwrite=True, dask=None, grid=grid))


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


def locked(path: str, report: Report, options: Options) -> AbstractContextManager[Lock | None]:
    """Hold the lock of a document from its reading to its replacement; None after an error. Raises OSError."""
    return targets.locked_place(path, report, options, replaces=True)


def write(extension: DocumentExtension, lock: Lock, report: Report, watch: Watcher | None = None) -> Conversion | None:
    """Replace the document at once; return the result, None after an error. Raises OSError."""
    form = registry.named(REFERENCE)
    assert form is not None
    if extension.document.identity is not None:
        lock = Unchanged(lock, extension.path, extension.document.identity)
    path = extension.path if is_remote(extension.path) else os.path.realpath(extension.path)  # a link stays one
    conversion = pipeline.write(extension.combined.checked, path, form, report, extension.options, watch, lock)
    return None if conversion is None else conversion._replace(target=extension.path)
