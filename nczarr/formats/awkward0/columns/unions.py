"""Awkward 2 unions with exact numbers.

Awkward's constructors merge a union's integers and floats, which loses digits
beyond 2 ** 53; here such contents stay separate.
"""

from __future__ import annotations

from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.awkward0.columns.cuts import missing
from nczarr.formats.awkward0.columns.nodes import BitMasked, Indexed, Masked

EXACT = 1 << 53
"""Limit up to which every integer is exact as a float."""


def union_of(tags: Any, index: Any, contents: list[Any]) -> Any:
    """Return the simplified union of layouts, from awkward indexes.

    One pass of awkward compares each content only with the first similar one,
    so passes repeat.
    """
    layout = _simplified(tags, index, contents)
    while layout.is_union and len(layout.contents) < len(contents):
        contents = list(layout.contents)
        layout = _simplified(layout.tags, layout.index, contents)
    return layout


def _simplified(tags: Any, index: Any, contents: list[Any]) -> Any:
    from inspect import signature

    from awkward.contents import UnionArray

    if not loses(contents):
        return UnionArray.simplified(tags, index, contents)
    if "mergecastable" in signature(UnionArray.simplified).parameters:
        return UnionArray.simplified(tags, index, contents, mergecastable="equiv")
    return UnionArray(tags, index, contents)  # awkward 2.6 merges all numbers or nothing


def chosen_of_union(column: Masked | BitMasked | Indexed, union: Any) -> Any:
    """Select items of a union whose numbers must not merge, as awkward's option constructors would do."""
    from awkward import contents, index

    match column:
        case Indexed():
            places = np.asarray(column.index).astype("i8")
        case Masked() | BitMasked():
            places = np.where(missing(column), -1, np.arange(len(column)))
    parts = list(union.contents)
    tags, inner = union.tags.data[places], union.index.data[places]
    if not isinstance(column, Indexed) or column.optional:
        behind = np.append(np.arange(len(parts[0])), -1)
        tags, inner = np.where(places < 0, 0, tags), np.where(places < 0, len(parts[0]), inner)
        parts[0] = contents.IndexedOptionArray.simplified(index.Index64(behind), parts[0])
        parts[1:] = [contents.UnmaskedArray.simplified(content) for content in parts[1:]]
    chosen = index.Index8(tags.astype("i1")), index.Index64(inner.astype("i8"))
    return _simplified(*chosen, parts)


def loses(layouts: list[Any]) -> bool:
    """Return whether merging the contents of a union would lose digits of large integers."""
    arrays: list[NDArray[Any]] = []

    def collect(layout: Any) -> None:
        data = getattr(layout, "data", None)
        if isinstance(data, np.ndarray):
            arrays.append(data)
        for content in getattr(layout, "contents", None) or [getattr(layout, "content", None)]:
            if content is not None:
                collect(content)

    for layout in layouts:
        collect(layout)
    kinds = {array.dtype.kind for array in arrays}
    if len(kinds & set("iufc")) < 2:
        return False
    wide = [array for array in arrays if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size]
    return any(int(array.max()) > EXACT or int(array.min()) < -EXACT for array in wide)
