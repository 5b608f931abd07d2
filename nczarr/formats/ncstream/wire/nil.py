"""Strings that are NIL, which the wire cannot tell from empty ones: runs of places, in a field of ours (1000)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nczarr.formats.ncstream.wire.limits import bad

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def with_nil(items: list[Any], runs: NDArray[np.uint64], offset: int) -> list[Any]:
    """The same list with None where `runs`, a first place and a count in turn, say so."""
    if not len(runs):
        return items
    if len(runs) % 2:
        raise bad("a run of NIL strings has a place without a count", offset)
    after = 0
    for first, count in zip(runs[::2].tolist(), runs[1::2].tolist(), strict=True):
        if first < after or first + count > len(items):
            raise bad(f"a run of {count} NIL strings from {first} on, of {len(items)} strings", offset)
        after = first + count
        items[first:after] = [None] * count
    return items


def nil_runs(items: Sequence[bytes | None]) -> list[int]:
    """The first place and the count of each run of NIL strings."""
    found: list[int] = []
    if None not in items:
        return found
    for place, item in enumerate(items):
        if item is not None:
            continue
        if found and found[-2] + found[-1] == place:
            found[-1] += 1
        else:
            found += (place, 1)
    return found
