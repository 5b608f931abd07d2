"""How the chunks of an array in a store are encoded."""

from __future__ import annotations

from typing import Any, NamedTuple

from nczarr.arrays.source import Descr


class Encoding(NamedTuple):
    """How the chunks of an array are encoded.

    `dtype`: the element as it is stored, byte order included; `"|O"` for texts behind their lengths. `steps`: numcodecs
    configurations in the order of encoding. `permutation`: axes of the array in the order in which they are stored,
    None: as they are. `index_steps`, `index_first`: of shards, where there are any.
    """

    dtype: Descr
    steps: tuple[dict[str, Any], ...] = ()
    permutation: tuple[int, ...] | None = None
    index_steps: tuple[dict[str, Any], ...] = ()
    index_first: bool = False


def in_one(bounds: list[tuple[int, int]], chunks: tuple[int, ...]) -> bool:
    """Whether a region lies in one chunk, or is empty."""
    return all(
        stop <= start or (stop - 1) // each == start // each for (start, stop), each in zip(bounds, chunks, strict=True)
    ) or any(stop <= start for start, stop in bounds)
