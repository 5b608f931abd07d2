"""Data frames and series of pandas as datasets of xarray, without what pandas' own `to_xarray` changes.

A column is a variable, and each level of the index is a dimension with its
coordinate. Where `to_xarray` overwrites, renames or rounds, the column or the
values are kept, or the frame is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.api.builder.pieces import UnsuitedValueError, caller
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import CompileError, Diagnostic, Report
from nczarr.plugins.xarray.objects.declare import UNNAMED
from nczarr.plugins.xarray.objects.pandas_columns import Column, convert_column, mark_missing, store_column

if TYPE_CHECKING:
    from xarray import Dataset

SPARSE = 64
"""Cells of a grid for each row, above which a large grid is refused."""

LARGE = 1 << 24
"""Cells of a large grid."""


class FrameDataset(NamedTuple):
    """A dataset made of a data frame."""

    dataset: Dataset
    """The dataset; its integers have `_FillValue` where items were missing."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about details that the dataset does not keep."""


class _Grid(NamedTuple):
    """Index of a frame as dimensions."""

    levels: dict[str, Any]
    """Index of each dimension by name."""
    cells: NDArray[np.intp] | None
    """Place of each row in the grid of the levels; None: the rows are the cells."""


def is_frame(data: object) -> bool:
    """Return whether an object is a data frame or series of pandas; pandas is not imported."""
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "to_xarray")


def read_frame(data: Any, encoding: Mapping[Any, Any] | None, *, is_classic: bool) -> FrameDataset:
    """Return a data frame or series as a dataset. Raises CompileError with all diagnostics.

    `encoding`: by column. `is_classic`: the types are those of classic files.
    """
    import xarray

    report = Report()
    is_series = not hasattr(data, "columns")
    if is_series:
        data = data.to_frame(UNNAMED if data.name is None else data.name)
    _check_columns(data, report)
    grid = _read_index(data, report)
    if grid is None or report.errors:
        raise CompileError(report.list_sorted())
    attributes = {} if is_series else dict(data.attrs)
    own = {name: _own_attributes(data[name], attributes) for name in data.columns}
    dimensions, shape = tuple(grid.levels), tuple(map(len, grid.levels.values()))
    columns = {name: (dimensions, data[name], "column") for name in data.columns if name not in grid.levels}
    indexes = {name: ((name,), index, "index") for name, index in grid.levels.items()}
    variables: dict[str, Any] = {}
    for name, (axes, series, role) in (columns | indexes).items():
        what, requested = f"{role} {name!r}", (encoding or {}).get(name)
        requested = requested if isinstance(requested, Mapping) else {}
        try:
            column = convert_column(series, what) or Column(np.array(series, object))
            if role == "column" and grid.cells is not None:
                column = _scatter(column, grid.cells, shape)
            stored = store_column(column, requested, what, is_classic=is_classic)
            given = own.get(name, {})
            _check_attributes(given, stored.attributes, what)
        except UnsuitedValueError as refused:
            helps = [refused.remedy] if refused.remedy else []
            report.error(refused.code, str(refused), caller(), helps=helps)
            continue
        for detail in column.lost:
            report.warning("pandas-dtype", f"{what}: the dataset does not keep {detail}", caller())
        variables[name] = xarray.Variable(axes, stored.values, given | stored.attributes, stored.encoding)
    if report.errors:
        raise CompileError(report.list_sorted())
    coordinates = xarray.Coordinates({name: variables.pop(name) for name in grid.levels}, indexes={})
    return FrameDataset(xarray.Dataset(variables, coordinates, attributes), tuple(report.list_sorted()))


def _own_attributes(column: Any, shared: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """Return the attributes of a column; pandas gives it those of its frame as well, which are `shared`."""
    return {name: value for name, value in column.attrs.items() if name not in shared}


def _check_attributes(given: Mapping[Hashable, Any], needed: Mapping[str, Any], what: str) -> None:
    """Raise UnsuitedValueError for a given attribute whose name the marks of missing items need."""
    for name in needed:
        if name in given:
            text = f"{what} has missing items, which need the attribute `{name}`, and `attrs` has another"
            raise UnsuitedValueError(
                "duplicate-name", text, f"remove it: `attrs.pop({name!r})`; `encoding` takes a `_FillValue`"
            )


def _check_columns(frame: Any, report: Report) -> None:
    """Report names of columns that are no texts, or that several columns have."""
    for name in dict.fromkeys(frame.columns):
        if not isinstance(name, str) or not name:
            remedy = "`frame.columns = frame.columns.map(str)` makes the names texts"
            if isinstance(name, tuple):
                remedy = '`frame.columns = ["_".join(map(str, name)) for name in frame.columns]` makes the names texts'
            text = f"the name of column {name!r} is {'empty' if name == '' else 'not a text'}"
            report.error("bad-name", text, caller(), helps=[remedy])
    counts: Counter[Hashable] = Counter(frame.columns)
    for name, count in counts.items():
        if count > 1:
            text = f"{count} columns have the name {name!r}"
            helps = ["give each its own name: set `frame.columns` to a list of different texts"]
            report.error("duplicate-name", text, caller(), helps=helps)


def _read_index(frame: Any, report: Report) -> _Grid | None:
    """Return the dimensions of a frame; None after an error. Reports bad-name, duplicate-name, unencodable-variable."""
    index = frame.index
    names = [_level_name(frame, number, name, report) for number, name in enumerate(index.names)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        helps = ["rename them: `frame.rename_axis([…])`"]
        report.error(
            "duplicate-name", f"several levels of the index have the name {repeated[0]!r}", caller(), helps=helps
        )
    if report.errors:
        return None
    if index.nlevels == 1:
        return _Grid({names[0]: index}, None)
    index = index.remove_unused_levels()
    remedy = "`frame.reset_index()` makes columns of the levels, and keeps the rows"
    text = None
    missing = [name for name, codes in zip(names, index.codes, strict=True) if (codes < 0).any()]
    shape = tuple(map(len, index.levels))
    if missing:
        text = f"index {missing[0]!r} has missing items"
    elif not index.is_unique:
        repeated_row = index[index.duplicated()][0]
        text = f"several rows have the index {repeated_row!r}, and the cells of a grid have one value each"
    elif prod(shape) > max(LARGE, SPARSE * len(index)):
        text = f"the grid of the index has {prod(shape)} cells for {len(index)} rows"
    if text is not None:
        report.error("unencodable-variable", text, caller(), helps=[remedy])
        return None
    cells = np.ravel_multi_index(tuple(index.codes), shape) if len(index) else np.zeros(0, np.intp)
    return _Grid(dict(zip(names, index.levels, strict=True)), cells)


def _level_name(frame: Any, number: int, name: Hashable, report: Report) -> str:
    """Return the name of a level of the index; a level without one gets the name that `reset_index` gives it."""
    columns = set(frame.columns)
    if name is None:
        choices = ["index", "level_0"] if frame.index.nlevels == 1 else [f"level_{number}"]
        name = next((choice for choice in choices if choice not in columns), choices[-1])
    if not isinstance(name, str) or not name:
        text = f"the name of index {name!r} is {'empty' if name == '' else 'not a text'}"
        report.error("bad-name", text, caller(), helps=['name it by a text: `frame.rename_axis("x")`'])
        return str(name)
    if name in columns and not _is_same(frame, name):
        text = f"an index and a column have the name {name!r}"
        helps = ['rename the index: `frame.rename_axis("x")`, or leave it out: `frame.reset_index(drop=True)`']
        report.error("duplicate-name", text, caller(), helps=helps)
    return name


def _is_same(frame: Any, name: str) -> bool:
    """Return whether the column of a name repeats the only level of the index."""
    import pandas as pd

    column = frame[name]
    return frame.index.nlevels == 1 and hasattr(column, "dtype") and bool(frame.index.equals(pd.Index(column)))


def _scatter(column: Column, cells: NDArray[np.intp], shape: tuple[int, ...]) -> Column:
    """Return a column as a grid, whose other cells are missing."""
    dtype = column.values.dtype
    values = np.full(prod(shape), None, dtype) if dtype.kind == "O" else np.zeros(prod(shape), dtype)
    missing = np.ones(prod(shape), bool)
    values[cells] = column.values
    missing[cells] = False if column.missing is None else column.missing
    marked = mark_missing(values, missing)
    mask = None if marked.missing is None else marked.missing.reshape(shape)
    return Column(marked.values.reshape(shape), mask, column.lost)
