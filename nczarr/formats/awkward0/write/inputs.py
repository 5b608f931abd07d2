"""Values that can be persisted as columns or JSON: columns, awkward and NumPy arrays, texts, numbers, lists.

Nothing is pickled; other values are reported.
"""

from __future__ import annotations

import sys
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report
from nczarr.formats.awkward0.columns import nodes as nodes
from nczarr.formats.common.awkward.expressions import DEEPEST


class JsonInput(NamedTuple):
    """A value stored in the document itself."""

    value: Any
    """The value."""


class NotJsonValueError(Exception):
    """A value that JSON cannot represent, with its place."""


def taken(value: Any, report: Report) -> nodes.Column | JsonInput | None:
    """Convert a value to a column or JSON. Returns None and reports an error if impossible."""
    if isinstance(value, nodes.Column):
        return value
    if "awkward" in sys.modules:
        from nczarr.formats.awkward0.columns import awkward2

        if awkward2.is_awkward(value):
            return awkward2.column_of(value, report)
    if "numpy" in sys.modules and isinstance(value, np.ndarray):
        return of_numpy(value, report)
    try:
        return JsonInput(json_of(value))
    except NotJsonValueError as error:
        report.error(
            "unsuited-array",
            str(error),
            helps=["give a NumPy or Awkward array, or a column of nczarr.awkward0; nothing is pickled"],
        )
        return None


def json_of(value: Any, place: str = "/", depth: int = 0) -> Any:
    """Return a Python or NumPy value losslessly as JSON. Raises NotJsonError."""
    if depth > DEEPEST:
        raise NotJsonValueError(f"lists and dictionaries nested more than {DEEPEST} deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [json_of(item, nodes.below(place, n), depth + 1) for n, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: json_of(item, nodes.below(place, name), depth + 1) for name, item in value.items()}
    number = _number(value)
    if number is None:
        shown = repr(value)
        raise NotJsonValueError(
            f"`{place}` is {shown if len(shown) < 40 else type(value).__name__}, which JSON cannot represent exactly"
        )
    return number


def _number(value: Any) -> bool | int | float | None:
    """Return a number as JSON, None if no JSON number equals it or it is not a number."""
    if "numpy" in sys.modules:
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, np.timedelta64):
            return None
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        near = float(value)
        return near if isfinite(near) and near == value else None
    return None


def of_numpy(values: NDArray[Any], report: Report) -> nodes.Column | None:
    """Return a NumPy array of any dtype as a column, masked if it has a mask.

    Shape (): None and an error.
    """
    if values.ndim == 0:
        report.error(
            "unsuited-array",
            "an array without dimensions has no length, which the protocol requires",
            helps=["give `array.reshape(1)`, or `array.item()` for the number only"],
        )
        return None
    if not isinstance(values, np.ma.MaskedArray):
        return nodes.Flat(np.asarray(values))
    if values.dtype.names is not None:
        names = values.dtype.names
        parts = [of_numpy(values[name], report) for name in names]
        if values.ndim > 1 or not names or None in parts:
            report.error("unsuited-array", "a masked array of structures has more than one dimension")
            return None
        return nodes.TableNode(names, tuple(part for part in parts if part is not None), len(values))
    masked = np.ma.getmaskarray(values)
    column: nodes.Column = nodes.Masked(masked.reshape(-1), nodes.Flat(np.asarray(values.data).reshape(-1)))
    for size in values.shape[:0:-1]:
        count = len(column) // size if size else int(np.prod(values.shape[: values.ndim - 1]))
        column = nodes.regular(column, count, size)
    return column
