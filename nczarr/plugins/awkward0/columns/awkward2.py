"""Conversion between columns and Awkward 2 arrays.

Buffers are shared where possible, and byte-swapped where necessary, because
awkward has native arrays only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import np
from nczarr.diagnostics.report import CompileError, Report
from nczarr.plugins.awkward0.columns import nodes
from nczarr.plugins.awkward0.columns.awkward2_layouts import FUNCTION, layout_of
from nczarr.plugins.awkward0.wire.limits import say

if TYPE_CHECKING:
    import awkward as ak


def to_awkward(column: nodes.Column) -> ak.Array:
    """Return a column as an Awkward 2 array with the same values and types.

    Chunks become one array; sparse arrays become dense; fixed-length texts
    become lists of bytes or characters; the function of objects becomes the
    parameter `awkward0`. Raises CompileError for columns without an awkward
    layout: recursive arrays, unions of more than 127 contents, texts invalid in
    their encoding.
    """
    import awkward as ak

    report = Report()
    try:
        layout = layout_of(column, report)
    except RecursionError:
        report.error("unsuited-array", "the array is nested too deeply")
    if report.errors:
        raise CompileError(report.list_sorted())
    return ak.Array(layout)


def of_awkward(array: Any) -> nodes.Column:
    """Return an Awkward 2 array as a column. Raises CompileError for one without values (typetracer).

    Warns, as `serialize` does, of what the protocol cannot store: record names,
    parameters, tuples, regular list lengths, categories, arrays of unknown
    type.
    """
    report = Report()
    column = column_of(array, report)
    say(report, column, caller=None)
    assert column is not None
    return column


def is_awkward(candidate: Any) -> bool:
    """Return whether a value is an array, record or layout of Awkward 2. Imports nothing."""
    ak = sys.modules.get("awkward")
    return ak is not None and isinstance(candidate, ak.Array | ak.Record | ak.contents.Content | ak.record.Record)


def column_of(array: Any, report: Report) -> nodes.Column | None:
    """Convert an awkward array, record or layout; reports an error and returns None if it has no values."""
    import awkward as ak

    attributes = getattr(array, "attrs", None)
    if attributes:
        report.warning("lost-parameters", f"attributes of the array are left out: {', '.join(map(repr, attributes))}")
    layout = ak.to_layout(array)
    if isinstance(layout, ak.record.Record):
        report.warning("lost-parameters", "a single record is written as a table of one item")
        layout = layout.array[layout.at : layout.at + 1]
    if layout.backend.name == "typetracer":
        report.error("unsuited-array", "the array has a type but no values (typetracer)")
        return None
    if not getattr(layout, "is_all_materialized", True):  # buffers that are read when they are asked for: awkward 2.8
        layout = ak.materialize(layout, highlevel=False)
    if layout.backend.name != "cpu":
        layout = ak.to_backend(layout, "cpu", highlevel=False)
    return _Columns(report).column(layout, "/")


class _Columns:
    """Converter of layouts to columns; one layout object gives one column. `place` as in `encoder.py`."""

    def __init__(self, report: Report) -> None:
        from awkward import contents

        self._kinds = contents
        self._report = report
        self._known: dict[int, tuple[Any, nodes.Column]] = {}

    def column(self, layout: Any, place: str) -> nodes.Column:
        if id(layout) not in self._known:
            self._known[id(layout)] = layout, self._column(layout, place)
        return self._known[id(layout)][1]

    def _column(self, layout: Any, place: str) -> nodes.Column:
        """Convert a layout to a column, within `Objects` if a parameter names the function that makes objects."""
        self._lose_parameters(layout, place)
        column = self._convert_layout(layout, place)
        function = (layout._parameters or {}).get(FUNCTION)
        if isinstance(function, dict) and "function" in function:
            kwargs = tuple(function.get("kwargs", {}).items())
            return nodes.Objects(column, tuple(function["function"]), tuple(function.get("args", ())), kwargs)
        return column

    def _convert_layout(self, layout: Any, place: str) -> nodes.Column:
        kinds, inner = self._kinds, nodes.below(place, "[]")
        match layout:
            case kinds.EmptyArray():
                self._lose(place, "is of unknown type, written as float64")
                return nodes.Flat(np.empty(0, "<f8"))
            case kinds.NumpyArray():
                return nodes.Flat(layout.data)
            case kinds.RegularArray():
                return self._regular(layout, place, inner)
            case kinds.ListOffsetArray():
                lists = nodes.ListNode(layout.offsets.data, self._items(layout, inner))
                return self._as_text(layout, lists)
            case kinds.ListArray():
                starts, stops = layout.starts.data, layout.stops.data
                return self._as_text(layout, nodes.Spans(starts, stops[: len(starts)], self._items(layout, inner)))
            case kinds.RecordArray():
                return self._convert_records(layout, place)
            case kinds.ByteMaskedArray():
                return nodes.Masked(layout.mask.data, self.column(layout.content, place), not layout.valid_when)
            case kinds.BitMaskedArray():
                content = self.column(layout.content[: layout.length], place)
                return nodes.BitMasked(layout.mask.data, content, not layout.valid_when, bool(layout.lsb_order))
            case kinds.UnmaskedArray():
                return nodes.Masked(np.zeros(len(layout), np.bool_), self.column(layout.content, place))
            case kinds.IndexedOptionArray():
                return nodes.Indexed(layout.index.data, self.column(layout.content, place), optional=True)
            case kinds.IndexedArray():
                return nodes.Indexed(layout.index.data, self.column(layout.content, place))
            case kinds.UnionArray():
                tags, parts = layout.tags.data, enumerate(layout.contents)
                contents = tuple(self.column(content, nodes.below(place, f"#{n}")) for n, content in parts)
                return nodes.Union(tags, layout.index.data[: len(tags)], contents)
            case _:
                raise AssertionError(f"{type(layout).__name__} is not a layout of awkward 2")

    def _items(self, layout: Any, place: str) -> nodes.Column:
        """Return the content of lists; for texts, their bytes without parameters."""
        if layout.parameter("__array__") in ("string", "bytestring"):
            return nodes.Flat(layout.content.data)
        return self.column(layout.content, place)

    def _as_text(self, layout: Any, lists: nodes.ListNode | nodes.Spans) -> nodes.Column:
        encoding = {"string": "utf-8", "bytestring": None}
        kind = layout.parameter("__array__")
        return nodes.TextNode(lists, encoding[kind]) if kind in encoding else lists

    def _regular(self, layout: Any, place: str, inner: str) -> nodes.Column:
        """Convert rows of numbers to multidimensional arrays, bytes to opaque values, other regular lists to lists."""
        count, size = len(layout), layout.size
        content = self._items(layout, inner)
        text = layout.parameter("__array__") in ("string", "bytestring")
        if size and layout.parameter("__array__") == "bytestring":
            raw = np.ascontiguousarray(layout.content.data[: count * size])
            return nodes.Flat(raw.view(f"V{size}"))
        if isinstance(content, nodes.Flat) and size and not text:
            return nodes.Flat(content.values[: count * size].reshape(count, size, *content.values.shape[1:]))
        self._lose(place, f"has {'texts' if text else 'lists'} of {size} items each; the fixed length is lost")
        return self._as_text(layout, nodes.regular(content, count, size))

    def _convert_records(self, layout: Any, place: str) -> nodes.Column:
        if layout.is_tuple:
            self._lose(place, "has tuples, written as records with the names 0, 1, …")
        names = tuple(layout.fields)
        pairs = zip(names, layout.contents, strict=True)
        columns = tuple(self.column(content, nodes.below(place, name)) for name, content in pairs)
        return nodes.TableNode(names, columns, len(layout))

    def _lose_parameters(self, layout: Any, place: str) -> None:
        """Report the layout's parameters that a column does not keep, such as `categorical`, as losses."""
        lists = self._kinds.ListOffsetArray, self._kinds.ListArray, self._kinds.RegularArray
        is_text = isinstance(layout, lists) and layout.parameter("__array__") in ("string", "bytestring")
        for name, value in (layout._parameters or {}).items():
            if value is None or name == FUNCTION or (name == "__array__" and is_text):
                continue
            what = "is categorical" if (name, value) == ("__array__", "categorical") else f"has {name!r}: {value!r}"
            self._lose(place, f"{what}, which is left out")

    def _lose(self, place: str, what: str) -> None:
        self._report.warning("lost-parameters", f"`{place}` {what}")
