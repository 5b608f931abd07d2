"""Survey of an array's strings: lengths, NILs, and fitness for a fixed-length array.

Reads the array once, in slabs of whole rows, only where it may have been
written.
"""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.regions import first_of, linear_block, region_of
from nczarr.arrays.sources.source import ArraySource
from nczarr.ast.plain import is_utf8
from nczarr.plan.plans import Runs

SLAB = 1 << 18
"""Strings inspected at once."""


class Strings(NamedTuple):
    """Survey of an array of strings."""

    size: int = 0
    """Bytes of all strings with 4-byte lengths."""
    longest: int = 0
    """Bytes of the longest string."""
    nul: bool = False
    """True if a string contains NUL."""
    utf8: bool = True
    """True if all strings are UTF-8."""
    nil: Runs = ()
    """Runs of NIL strings."""
    characters: int = 0
    """Code points of the longest string; 0 unless asked for."""
    trailing: bool = False
    """True if a string ends with NUL."""


def survey(source: ArraySource | None, fill: bytes, *, characters: bool = False) -> Strings:
    """Inspect the fill, and every string that may differ from it. `characters`: count code points."""
    longest, nul, utf8 = len(fill), b"\0" in fill, is_utf8(fill)
    most, trailing = _characters(fill) if characters else 0, fill.endswith(b"\0")
    if source is None:
        return Strings(0, longest, nul, utf8, (), most, trailing)
    nil: list[int] = []
    size = 0
    shape = source.layout.shape
    slab = linear_block(shape, SLAB)
    for index in source.occupied(slab):
        region = region_of(index, slab, shape)
        first = first_of(region, shape)
        for number, text in enumerate(source.read(region).reshape(-1)):
            size += 4 + len(text or b"")
            if text is None:
                nil.append(first + number)
                continue
            longest = max(longest, len(text))
            nul = nul or b"\0" in text
            trailing = trailing or text.endswith(b"\0")
            utf8 = utf8 and (text.isascii() or is_utf8(text))
            if characters:
                most = max(most, _characters(text))
    return Strings(size, longest, nul, utf8, tuple(_runs(sorted(nil))), most, trailing)


def _characters(text: bytes) -> int:
    """Return the code points of a text; bytes that are not UTF-8 count one each."""
    return len(text.decode("utf-8", "replace"))


def _runs(indices: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and sum(runs[-1]) == index:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((index, 1))
    return runs
