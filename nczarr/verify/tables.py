"""References in columns, and those beyond the end of their targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.stores.reference import Reference

ROWS = 1 << 16
"""References per table."""

WHOLE = -1
"""Length of a reference to everything after its offset."""

UNKNOWN = -1
"""Unknown size of a target."""


class Table(NamedTuple):
    """References: key i is bytes `offset[i]` … `offset[i] + length[i]` of target number `target[i]`."""

    keys: list[str]
    target: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]

    def beyond(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows beyond the end of their target, by all targets' sizes; unknown sizes are ignored."""
        ends = self.offset + np.maximum(self.length, 0)
        size = sizes[self.target]
        found: NDArray[np.int64] = np.flatnonzero((ends > size) & (size != UNKNOWN))
        return found


def tables(entries: Iterable[tuple[str, bytes | Reference]], urls: dict[str | None, int]) -> Iterator[Table]:
    """Yield the references among entries. `urls`: receives a number for each new URL."""
    rows = iter(entries)
    while True:
        keys: list[str] = []
        targets: list[int] = []
        offsets: list[int] = []
        lengths: list[int] = []
        seen = 0
        for key, entry in islice(rows, ROWS):
            seen += 1
            if isinstance(entry, Reference):
                url, offset, length = entry
                keys.append(key)
                targets.append(urls.setdefault(url, len(urls)))
                offsets.append(offset)
                lengths.append(WHOLE if length is None else length)
        if not seen:
            return
        if keys:
            yield Table(keys, _column(targets), _column(offsets), _column(lengths))


def _column(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)
