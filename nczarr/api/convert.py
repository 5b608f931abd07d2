"""`nczarr.convert`: from any format to any other, for callers in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from nczarr.api.handle import DatasetHandle, options_from, report_losses
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.endpoints import targets
from nczarr.options import (
    DEFAULT_MAX_SIZE,
    DEFAULT_MEMORY,
    FOLLOWING,
    WRITING,
    Following,
    Section,
    Subset,
    Writing,
    part_in_words,
)
from nczarr.plan.conversion import Conversion
from nczarr.secrets import StorageOptions

if TYPE_CHECKING:
    from nczarr.check.checked import Checked
    from nczarr.options import Options


def convert(
    source: str | os.PathLike[str] | DatasetHandle,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    from_format: str | None = None,
    kind: str | None = None,
    chunks: Mapping[str, Sequence[int] | int] | None = None,
    shards: Mapping[str, Sequence[int] | int | str] | str | None = None,
    codecs: Mapping[str, str] | str | None = None,
    order: Literal["C", "F"] | None = None,
    separator: Literal[".", "/"] | None = None,
    tables: bool = False,
    consolidated: bool = False,
    overwrite: bool = False,
    allow_loss: Iterable[str] = (),
    max_size: int = DEFAULT_MAX_SIZE,
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    variables: Iterable[str] = (),
    groups: Iterable[str] = (),
    sections: Iterable[str] = (),
    fixed: bool = False,
    verify: bool = False,
    resume: bool = False,
    dask: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    writing: Writing = WRITING,
    following: Following = FOLLOWING,
) -> Conversion:
    """Convert a file, store or open dataset, whole or not at all; returns what was done, losses and warnings among it.

    `format` of the target is that of its suffix unless it is given, `from_format` is found by content. `variables`,
    `groups` and `sections` (`"temp(0:9:2, :, 5)"`) choose a part; `fixed`: no dimension may grow. `memory`: bytes of
    chunks under way; `workers`: threads. With `verify` the target is read again and compared, but for variables that
    `allow_loss` gave up. `resume` goes on with a target that the same run has begun. `dask`: the address of the
    scheduler of a cluster that does the work. `storage_options` are for URLs, as the library of their protocol takes
    them; `source.` or `target.` in front of a name: for one side alone. `writing`, `following`: of references
    (`nczarr.refs`). Others: those of `write`.

    Raises FileExistsError if the target is there and `overwrite` is not given, CompileError if the source is in error,
    something would be lost that `allow_loss` does not name, or the target is not equal, OSError if one is out of reach.
    """
    from nczarr import pipeline
    from nczarr.stores.spool import passing

    report, variables, groups, sections = Report(), tuple(variables), tuple(groups), tuple(sections)
    options = options_from(
        kind=kind,
        chunks=chunks,
        shards=shards,
        codecs=codecs,
        order=order,
        separator=separator,
        tables=tables,
        consolidated=consolidated,
        overwrite=overwrite,
        allow_loss=allow_loss,
        max_size=max_size,
    )._replace(
        memory=memory,
        workers=workers,
        verify=verify,
        resume=resume,
        dask=dask,
        storage=StorageOptions(storage_options),
        writing=writing,
        following=following,
        source=None if isinstance(source, DatasetHandle) else os.fspath(source),
        part=part_in_words(variables, groups, sections, fixed=fixed),
    )
    wanted = Subset(variables, groups, _sections(sections, report))
    form = targets.target_format(path := os.fspath(target), format, report)
    checked = done = None
    with passing():
        if form is not None and not report.errors:
            checked = _part(source, from_format, wanted, report, options, fixed=fixed)
        if form is not None and checked is not None and not report.errors:
            done = pipeline.write(checked, path, form, report, options)
    return _told(done, path, report)


def _told(done: Conversion | None, path: str, report: Report) -> Conversion:
    """What was done, with what was found on the way. Raises FileExistsError, CompileError."""
    found = report.sorted()
    if any(each.code == "target-exists" for each in found):
        raise FileExistsError(path)
    if done is None or any(each.severity is Severity.ERROR for each in found):
        raise CompileError(found)
    return done._replace(diagnostics=tuple(found))


def _sections(texts: Iterable[str], report: Report) -> tuple[Section, ...]:
    """The sections of some texts; what is none is reported."""
    found: list[Section] = []
    for text in texts:
        from nczarr.select.section_syntax import sections

        found += sections(text, report, "section")
    return tuple(found)


def _part(
    source: str | os.PathLike[str] | DatasetHandle,
    form: str | None,
    wanted: Subset,
    report: Report,
    options: Options,
    *,
    fixed: bool,
) -> Checked | None:
    """What is wanted of a dataset; None if an error stands in the report."""
    from nczarr import pipeline

    checked = _checked(source, form, report, options)
    if checked is not None and not report.errors:
        checked = pipeline.select(checked, wanted, report)
    if fixed and checked is not None and not report.errors:
        from nczarr.select.subset import fixed as without_growth

        checked = without_growth(checked)
    return checked


def _checked(
    source: str | os.PathLike[str] | DatasetHandle, form: str | None, report: Report, options: Options
) -> Checked | None:
    if isinstance(source, DatasetHandle):
        report_losses(source, report, options)
        return None if report.errors else source.checked
    from nczarr import pipeline

    return pipeline.read_path(os.fspath(source), report, options._replace(kind=None, survey=True), form)


def write(
    dataset: DatasetHandle,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    kind: str | None = None,
    chunks: Mapping[str, Sequence[int] | int] | None = None,
    shards: Mapping[str, Sequence[int] | int | str] | str | None = None,
    codecs: Mapping[str, str] | str | None = None,
    order: Literal["C", "F"] | None = None,
    separator: Literal[".", "/"] | None = None,
    tables: bool = False,
    consolidated: bool = False,
    overwrite: bool = False,
    allow_loss: Iterable[str] = (),
    max_size: int = DEFAULT_MAX_SIZE,
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    writing: Writing = WRITING,
) -> tuple[Diagnostic, ...]:
    """Write a dataset to a new target, whole or not at all; returns the warnings, losses among them.

    `kind`: of a netCDF file, in any spelling; without it the dataset's own, else the smallest that holds everything.
    `order`: of elements within chunks, `separator`: of indices in their keys, where the target lets choose. `tables`:
    records are tables in Awkward archives.
    `max_size`: bytes that a netCDF file or archive may declare.
    `memory`: bytes of chunks under way; `workers`: threads.
    `writing`: how references are written (`nczarr.refs.Writing`).

    Raises FileExistsError if the target is there and `overwrite` is not given, CompileError if something would
    be lost that `allow_loss` does not name, or was left out when the dataset was opened (`DatasetHandle.losses`);
    OSError if the target is out of reach.
    """
    done = convert(
        dataset,
        path,
        format,
        kind=kind,
        chunks=chunks,
        shards=shards,
        codecs=codecs,
        order=order,
        separator=separator,
        tables=tables,
        consolidated=consolidated,
        overwrite=overwrite,
        allow_loss=allow_loss,
        max_size=max_size,
        memory=memory,
        workers=workers,
        storage_options=storage_options,
        writing=writing,
    )
    return done.diagnostics
