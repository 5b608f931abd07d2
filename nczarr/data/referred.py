"""Chunks of an array as references: what a target gets that holds no chunks, only where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nczarr.data.source import Columns, Index

WHOLE = -1
"""The length of a reference to all of a target."""

BATCH = 1 << 14
"""Chunks whose indices become Python's numbers at once."""


class Referred(NamedTuple):
    """The chunks of one array. `prefix` is what their keys begin with, `counts` how many there may be along each
    dimension, `separator` and `lead` make the rest of a key (`0.1`, or `c/0/1`; a scalar's is `0`, or the lead).

    `columns.source` counts `columns.sources`, which are URLs; a length of `WHOLE` with offset 0 is a whole target. No row
    has a mask. Rows are in the order of `columns.chunk`, each once.
    """

    prefix: str
    counts: tuple[int, ...]
    columns: Columns
    separator: str = "."
    lead: str = ""

    def keys(self) -> Iterator[str]:
        """The key of each row."""
        import numpy as np

        head = self.prefix + (self.lead + (self.separator if self.counts else "") if self.lead else "")
        chunk = self.columns.chunk
        if not self.counts:
            yield from (head or "0" if self.lead else f"{head}0" for _ in range(len(chunk)))
            return
        for start in range(0, len(chunk), BATCH):
            axes = [axis.tolist() for axis in np.unravel_index(chunk[start : start + BATCH], self.counts)]
            if len(axes) == 1:
                yield from (f"{head}{number}" for number in axes[0])
            else:
                yield from (head + self.separator.join(map(str, index)) for index in zip(*axes, strict=True))


def index_of(number: int, counts: tuple[int, ...]) -> Index:
    """The place in a grid of the chunk of this number, in C order."""
    index = []
    for count in reversed(counts):
        number, place = divmod(number, count)
        index.append(place)
    return tuple(reversed(index))
