"""Arguments of Python functions as inputs of operations, and reports of operations as exceptions."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from nczarr.api.handle import DatasetHandle, find_object_reader, open_object, report_losses
from nczarr.ast import Dataset as Tree
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Options, RunOptions
from nczarr.pipeline.phases import Input, for_reading, input_at

if TYPE_CHECKING:
    import xarray

    from nczarr.plan.plans import Conversion
    from nczarr.semantics.checked import Checked

Dataset: TypeAlias = (
    "str | os.PathLike[str] | DatasetHandle | Tree | xarray.Dataset | xarray.DataArray | xarray.DataTree"
)
"""A path, a URL, an open dataset, a tree, or an object of xarray."""


def input_of(source: Dataset, options: Options, form: str | None = None, *, values: bool = True) -> Input:
    """Return one source, of whose variables all `values` are read or not."""
    return inputs_of([source], options, form, values=values)[0]


def inputs_of(
    sources: Dataset | Iterable[Dataset], options: Options, form: str | None = None, *, values: bool = True
) -> list[Input]:
    """Return sources in order; open datasets belong to this process, and are named by their numbers if need be."""
    is_single = isinstance(sources, str | os.PathLike | DatasetHandle | Tree) or find_object_reader(sources) is not None
    every = cast("Iterable[Dataset]", [sources] if is_single else sources)
    reading, unpack = for_reading(options, values=values), options.reading.unpack
    return [
        Input(source.dataset.name or f"dataset {number}", partial(_check, source, options.run), unpack=unpack)
        if isinstance(source, DatasetHandle)
        else input_at(os.fspath(source), reading, form)
        for number, source in enumerate(map(open_if_object, every), 1)
    ]


def open_if_object(source: Dataset) -> str | os.PathLike[str] | DatasetHandle:
    """Return a path or handle as it is, a tree or an object of another library as a dataset. Raises TypeError."""
    return source if isinstance(source, str | os.PathLike | DatasetHandle) else open_object(source, Options())


def _check(source: DatasetHandle, run: RunOptions, report: Report) -> Checked | None:
    """Return the content of an open dataset; None if reading it lost values."""
    checked = report_losses(source, report, run)
    return None if report.errors else checked


def raise_errors(report: Report, target: str | None = None) -> None:
    """Raise the errors of an operation: FileExistsError for a target that is in the way, else CompileError."""
    if not report.errors:
        return
    diagnostics = report.list_sorted()
    if any(diagnostic.code == "target-exists" for diagnostic in diagnostics):
        raise FileExistsError(errno.EEXIST, "the target exists; overwrite=True replaces it", target)
    raise CompileError(diagnostics)


def finish(done: Conversion | None, target: str, report: Report) -> Conversion:
    """Return a conversion with its diagnostics. Raises FileExistsError, CompileError."""
    raise_errors(report, target)
    if done is None:
        raise CompileError(report.list_sorted())
    return done._replace(diagnostics=tuple(report.list_sorted()))
