"""Records of sources that a document has already: by the values of its coordinate, or by the places of their chunks."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from nczarr.arrays.chunks.chunk_references import WHOLE
from nczarr.arrays.chunks.table_chunk_array import TableChunkArray
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.operations.combine.contribution import VariablePiece
from nczarr.operations.compare.difference import shown
from nczarr.select.reader import whole_parts
from nczarr.stores.url import is_remote

HELPS = ("append each source once", "`nczarr refs combine` makes a document in which records repeat")


class KnownPlaces:
    """Places of the chunks of a document, to recognize a source without a coordinate."""

    def __init__(self, pieces: Mapping[str, VariablePiece]) -> None:
        self._arrays = {path: piece.located for path, piece in pieces.items() if piece.located is not None}
        self._targets = {target for array in self._arrays.values() for target in _targets(array)}

    def have(self, pieces: Mapping[str, VariablePiece]) -> bool:
        """Return whether every chunk of a source that is at a place is in the document already."""
        arrays = {path: piece.located for path, piece in pieces.items()}
        placed = {path: array for path, array in arrays.items() if array is not None and len(array.table.chunk)}
        if not placed or not all(self._targets.issuperset(_targets(array)) for array in placed.values()):
            return False
        return all(path in self._arrays and _is_within(array, self._arrays[path]) for path, array in placed.items())


def _targets(array: TableChunkArray) -> Iterable[str]:
    return (path if is_remote(path) else os.path.realpath(path) for path in array.table.sources)


def _is_within(one: TableChunkArray, other: TableChunkArray) -> bool:
    """Return whether all bytes of one array are bytes of another; their chunks may differ."""
    numbers: dict[str, int] = {}
    for target in (*_targets(one), *_targets(other)):
        numbers.setdefault(target, len(numbers))
    there = _merged(_places(other, numbers))
    for target, begin, end in _places(one, numbers).tolist():
        at = bisect_right(there, (target, begin), key=lambda row: row[:2]) - 1
        if at < 0 or there[at][0] != target or there[at][2] < end:
            return False
    return True


def _places(array: TableChunkArray, numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """Return target, begin and end of each chunk, sorted, shape (chunks, 3)."""
    table = array.table
    targets = np.array([numbers[target] for target in _targets(array)] or [0], np.int64)[table.source]
    ends = np.where(table.length == WHOLE, np.iinfo(np.int64).max, table.offset + table.length)
    rows = np.stack([targets, table.offset, ends], axis=1)
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


def _merged(rows: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return sorted ranges with adjacent ones as one: target, begin, end."""
    merged: list[tuple[int, int, int]] = []
    for target, begin, end in rows.tolist():
        if merged and merged[-1][0] == target and begin <= merged[-1][2]:
            merged[-1] = (target, merged[-1][1], max(merged[-1][2], end))
        else:
            merged.append((target, begin, end))
    return merged


def report_repeated_values(path: str, name: str, combined: Checked, length: int, report: Report) -> None:
    """Report misplaced-records for values of a coordinate that a document has already, or that repeat.

    `name`: that of the document; `length`: number of its records. Raises OSError.
    """
    source = whole_parts(combined, path)[""]
    values: NDArray[Any] = source.read((slice(0, source.layout.shape[0]),))
    old, new = values[:length], values[length:]
    distinct, counts = np.unique(new, return_counts=True)
    repeated = distinct[(counts > 1) | np.isin(distinct, old)]
    if len(repeated):
        more = f" and {len(repeated) - 1} more" if len(repeated) > 1 else ""
        text = f"`{name}` would have {shown(repeated[0])}{more} of `{path}` several times"
        report.error("misplaced-records", text, helps=HELPS)
