"""Chunks of arrays in groups of one pattern, as columns, and the generators that make them.

Comes in: entries of version 0. Goes out: a `Family` for each text around the numbers of key and URL, whose columns are
indices, offset, length and the numbers of the URL; and its generators, affine ones and packed ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.formats.reference.fitting import Fit, Grid, as_range, fit, grid
from nczarr.formats.reference.writing import PACKED, fitted, hole, joined, pack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

DIGITS = 15
"""Numbers of keys and URLs have at most so many digits, or are texts."""

LARGEST = 2**60
"""Ranges of generators end below."""

MOST = 16
"""Keys and URLs with more numbers are left as they are."""

LONGEST = 4096
"""So are those of more characters."""

FEWEST = 3
"""Families have at least so many chunks."""

REGULAR = 0.9
"""The part of a grid's chunks that an affine generator must get right."""

_TAIL = re.compile(r"[0-9]+(?:[./][0-9]+)*")
_RUN = re.compile(rf"([0-9]{{1,{DIGITS}}})")


class Pattern(NamedTuple):
    """What keys of a family have in common: texts around the numbers of key and URL, and whether they have ranges."""

    key: tuple[str, ...]
    url: tuple[str, ...]
    ranged: bool


class Row(NamedTuple):
    """One chunk: its key, the numbers of key and URL, the digits of the latter, its range."""

    key: str
    indices: tuple[int, ...]
    numbers: tuple[str, ...]
    offset: int
    length: int


class Family(NamedTuple):
    """Chunks with one pattern as columns; `widths` are digits of the numbers of URLs that begin with zeros, else 0."""

    pattern: Pattern
    indices: list[Integers]
    columns: list[Integers]
    widths: list[int]


def grouped(refs: dict[str, Any]) -> dict[Pattern, list[Row]]:
    """The chunks that could be families, in the order of their keys."""
    groups: dict[Pattern, list[Row]] = {}
    urls: dict[str, list[str]] = {}
    for key, value in refs.items():
        if not isinstance(value, list) or value[0] is None:
            continue
        found = _split(key)
        url = value[0]
        if found is None or len(found[1]) > MOST or max(len(key), len(url)) > LONGEST:
            continue
        if url not in urls:
            urls[url] = _RUN.split(url)
        parts = urls[url]
        if len(parts) > 2 * MOST:
            continue
        pattern = Pattern(found[0], tuple(parts[::2]), len(value) == 3)
        offset, length = value[1:] if pattern.ranged else (0, 0)
        if offset + length < LARGEST:
            groups.setdefault(pattern, []).append(Row(key, found[1], tuple(parts[1::2]), offset, length))
    return groups


def _split(key: str) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """A key as texts and the indices between them; None if it does not end in indices."""
    found = _TAIL.match(key[::-1])
    if found is None:
        return None
    start = len(key) - found.end()
    if start and key[start - 1] != "/":
        start = key.find("/", start) + 1
        if not start:
            return None
    parts = re.split(r"([0-9]+)", key[start:])
    if any(len(part) > DIGITS or (part[0] == "0" and part != "0") for part in parts[1::2]):
        return None
    return (key[:start] + parts[0], *parts[2::2]), tuple(map(int, parts[1::2]))


def family_of(pattern: Pattern, rows: list[Row]) -> Family | None:
    """Chunks as columns; None if some number of their URLs has zeros before it in no regular way."""
    import numpy as np

    def column(values: Any) -> Integers:
        return np.fromiter(values, dtype=np.int64, count=len(rows))

    columns = [column(row.offset for row in rows), column(row.length for row in rows)] if pattern.ranged else []
    widths = []
    for place in range(len(pattern.url) - 1):
        lengths = {len(row.numbers[place]) for row in rows}
        padded = any(row.numbers[place][0] == "0" and len(row.numbers[place]) > 1 for row in rows)
        if padded and len(lengths) > 1:
            return None
        widths.append(lengths.pop() if padded else 0)
        columns.append(column(int(row.numbers[place]) for row in rows))
    indices = [column(row.indices[axis] for row in rows) for axis in range(len(pattern.key) - 1)]
    return Family(pattern, indices, columns, widths)


def generators(family: Family) -> Iterator[dict[str, Any]]:
    """The generators of a family: one, or two of which the second replaces entries of the first."""
    import numpy as np

    family, found = arranged(family)
    if found is None:
        line = np.arange(len(family.indices[0]), dtype=np.int64)
        flat = (0,) * len(family.indices)
        fits = [Fit(int(each.min()), flat, each - each.min()) for each in family.columns]
        yield _packed(family, fits, line)
        return
    fits = [fit(column, found) for column in family.columns]
    odd = np.zeros(len(found.order), dtype=bool)
    for each in fits:
        odd |= each.rest != 0
    wrong = np.flatnonzero(odd)
    if len(wrong) <= (1 - REGULAR) * len(odd):
        yield _affine(family, found, fits)
        if not len(wrong):
            return
    else:
        wrong = np.arange(len(odd), dtype=np.int64)
    yield _packed(family, fits, wrong)


def arranged(family: Family) -> tuple[Family, Grid | None]:
    """A family in the order of the grid that it fills; as it is if it fills none."""
    found = grid(family.indices)
    if found is None:
        return family, None
    indices = [column[found.order] for column in family.indices]
    return family._replace(indices=indices, columns=[column[found.order] for column in family.columns]), found


def _affine(family: Family, found: Grid, fits: list[Fit]) -> dict[str, Any]:
    """A generator with a dimension for each index."""
    names = [f"i{axis}" if len(found.values) > 8 else "ijklmnop"[axis] for axis in range(len(found.values))]
    sums = [fitted(each, names) for each in fits]
    dimensions = {name: as_range(values) for name, values in zip(names, found.values, strict=True)}
    return generator(family, names, sums, dimensions)


def _packed(family: Family, fits: list[Fit], rows: Integers) -> dict[str, Any]:
    """A generator with one dimension, of a number for each of some chunks.

    It holds the indices, in their bounding box, and what each column adds to its affine part.
    """
    indices = [column[rows] for column in family.indices]
    found = pack([*indices, *(each.rest[rows] for each in fits)])
    names, added = found.expressions[: len(indices)], found.expressions[len(indices) :]
    sums = [fitted(each, names, more) for each, more in zip(fits, added, strict=True)]
    return generator(family, names, sums, {PACKED: found.numbers})


def generator(family: Family, names: list[str], sums: list[str], dimensions: dict[str, Any]) -> dict[str, Any]:
    """An item of `gen`: indices and columns as expressions."""
    item: dict[str, Any] = {"key": joined(family.pattern.key, [hole(name) for name in names])}
    ranged = 2 if family.pattern.ranged else 0
    numbers = [hole(each, width) for each, width in zip(sums[ranged:], family.widths, strict=True)]
    item["url"] = joined(family.pattern.url, numbers)
    if ranged:
        item["offset"], item["length"] = map(hole, sums[:2])
    item["dimensions"] = dimensions
    return item
