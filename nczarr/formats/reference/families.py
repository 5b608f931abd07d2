"""Groups → chunks of one pattern as columns, and their affine and packed generators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.reference.fit_affine import Fit, Grid, as_range, fit, grid
from nczarr.formats.reference.grouping import Group, Pattern, Target
from nczarr.formats.reference.write_expressions import PACKED, fitted, hole, joined, pack

if TYPE_CHECKING:
    Integers = NDArray[np.int64]

FEWEST = 3
"""Minimum number of chunks in a family."""

REGULAR = 0.9
"""Minimum fraction of a grid's chunks that an affine generator must match."""


class Family(NamedTuple):
    """Chunks of one pattern as columns; `widths`: digits of zero-padded URL numbers, else 0."""

    pattern: Pattern
    indices: list[Integers]
    columns: list[Integers]
    widths: list[int]


def family_of(group: Group, targets: list[Target]) -> Family | None:
    """Return chunks as columns; None for irregular zero padding in URLs."""
    columns = [group.column(group.offsets), group.column(group.lengths)] if group.pattern.ranged else []
    numbers, places = np.unique(group.column(group.targets), return_inverse=True)
    parts = [targets[number].parts for number in numbers.tolist()]
    widths = []
    for place in range(len(group.pattern.url) - 1):
        digits = [each[2 * place + 1] for each in parts]
        lengths = set(map(len, digits))
        padded = any(each[0] == "0" and len(each) > 1 for each in digits)
        if padded and len(lengths) > 1:
            return None
        widths.append(lengths.pop() if padded else 0)
        columns.append(np.array(list(map(int, digits)), dtype=np.int64)[places])
    return Family(group.pattern, group.axes(), columns, widths)


def generators(family: Family) -> Iterator[dict[str, Any]]:
    """Yield the generators of a family: one, or a second that overrides entries of the first."""
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
    """Return a family in grid order with its grid; unchanged and None without a grid."""
    found = grid(family.indices)
    if found is None:
        return family, None
    indices = [column[found.order] for column in family.indices]
    return family._replace(indices=indices, columns=[column[found.order] for column in family.columns]), found


def _affine(family: Family, found: Grid, fits: list[Fit]) -> dict[str, Any]:
    """Return a generator with a dimension for each index."""
    names = [f"i{axis}" if len(found.values) > 8 else "ijklmnop"[axis] for axis in range(len(found.values))]
    sums = [fitted(each, names) for each in fits]
    dimensions = {name: as_range(values) for name, values in zip(names, found.values, strict=True)}
    return generator(family, names, sums, dimensions)


def _packed(family: Family, fits: list[Fit], rows: Integers) -> dict[str, Any]:
    """Return a generator with one dimension: a number for each row.

    It packs the indices, within their bounding box, and the columns' differences from their affine parts.
    """
    indices = [column[rows] for column in family.indices]
    found = pack([*indices, *(each.rest[rows] for each in fits)])
    names, added = found.expressions[: len(indices)], found.expressions[len(indices) :]
    sums = [fitted(each, names, more) for each, more in zip(fits, added, strict=True)]
    return generator(family, names, sums, {PACKED: found.numbers})


def generator(family: Family, names: list[str], sums: list[str], dimensions: dict[str, Any]) -> dict[str, Any]:
    """Return an item of `gen` with indices and columns as expressions."""
    item: dict[str, Any] = {"key": joined(family.pattern.key, [hole(name) for name in names])}
    ranged = 2 if family.pattern.ranged else 0
    numbers = [hole(each, width) for each, width in zip(sums[ranged:], family.widths, strict=True)]
    item["url"] = joined(family.pattern.url, numbers)
    if ranged:
        item["offset"], item["length"] = map(hole, sums[:2])
    item["dimensions"] = dimensions
    return item
