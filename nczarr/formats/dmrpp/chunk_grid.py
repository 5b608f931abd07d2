"""Positions of chunks in the chunk grid of their variable."""

from __future__ import annotations

import itertools
from array import array

from nczarr.formats.dmrpp.references import Ranges
from nczarr.formats.dmrpp.types import FaultError, whole
from nczarr.formats.dmrpp.xml_reader import Chunks, Element


def chunk_lengths(block: Element, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the chunk lengths, None for contiguous data. Raises FaultError."""
    sizes = block.all("dmrpp:chunkDimensionSizes")
    if not sizes:
        return None
    lengths = tuple(whole(word, "length of chunks") for word in sizes[0].text.split())
    if len(sizes) > 1 or len(lengths) != len(shape) or 0 in lengths:
        raise FaultError(f"its chunks have the lengths `{sizes[0].text[:40]}`, and it has {len(shape)} dimensions")
    return lengths


def targets_of(rows: Chunks, url: str | None) -> tuple[tuple[str | None, ...], array[int] | None]:
    """Return the targets of chunks, and the index of each chunk's target."""
    if not rows.hrefs:
        return (url,), None
    places: dict[str | None, int] = {}
    targets = array("q", (places.setdefault(rows.hrefs.get(row, url), len(places)) for row in range(len(rows))))
    return tuple(places), targets


def numbers_of(rows: Chunks, shape: tuple[int, ...], chunks: tuple[int, ...], counts: tuple[int, ...]) -> array[int]:
    """Return the linear indices of chunks. Raises FaultError for positions off the grid."""
    rank, numbers = len(shape), array("q")
    for row in range(len(rows)):
        position = rows.positions[row * rank : row * rank + rank]
        number = 0
        for start, length, extent, count in zip(position, chunks, shape, counts, strict=True):
            if start % length or start >= extent:
                raise FaultError(f"no chunk of it can lie at {list(position)}")
            number = number * count + start // length
        if number >> 63:
            raise FaultError("it has more chunks than can be counted")
        numbers.append(number)
    return numbers


def in_order(ranges: Ranges) -> Ranges:
    """Return the chunks in C order. Raises FaultError for duplicates."""
    numbers = ranges.numbers
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    if any(numbers[one] == numbers[other] for one, other in itertools.pairwise(order)):
        raise FaultError("two chunks of it lie in one place")
    if order == list(range(len(numbers))):
        return ranges

    def sorted_column(column: array[int]) -> array[int]:
        return array("q", (column[row] for row in order))

    return ranges._replace(
        numbers=sorted_column(numbers),
        offsets=sorted_column(ranges.offsets),
        lengths=sorted_column(ranges.lengths),
        targets=None if ranges.targets is None else sorted_column(ranges.targets),
    )
