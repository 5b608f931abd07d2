"""Arrays with adjacent chunks in the same files, as one generator with a common list of numbers.

Bundles families with equal indices and URLs, such as the variables of a series of files. The dimension `v`
selects the array. The packed one lists the first array's offsets, each array's chunk lengths, and the gaps
unless constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.reference.families import Family, arranged, generator
from nczarr.formats.reference.fit_affine import fit
from nczarr.formats.reference.write_expressions import PACKED, chosen, fitted, literal, pack

if TYPE_CHECKING:
    Integers = NDArray[np.int64]

MOST = 16
"""Maximum number of arrays in a generator; its expressions have a branch for each."""

ARRAY = "v"
"""Dimension that selects the array."""


def kin(family: Family) -> tuple[object, ...] | None:
    """Return the common key of families that may form a bundle, or None."""
    if not family.pattern.ranged:
        return None
    pattern = family.pattern
    return pattern.key[1:], pattern.url, tuple(family.widths), len(family.indices[0])


def bundle(families: Sequence[Family]) -> dict[str, Any] | None:
    """Return the generator of families; None if indices or URLs differ or fill no grid."""
    found = [arranged(family) for family in families]
    grids = [each[1] for each in found]
    if not 2 <= len(found) <= MOST or grids[0] is None:
        return None
    members = sorted((family for family, _ in found), key=lambda family: float(family.columns[0].mean()))
    first = members[0]
    for other in members[1:]:
        pairs = [
            *zip(first.indices, other.indices, strict=True),
            *zip(first.columns[2:], other.columns[2:], strict=True),
        ]
        if not all(np.array_equal(one, another) for one, another in pairs):
            return None
    columns = [*first.columns[2:], *_chain(members)]
    fits = [fit(column, grids[0]) for column in columns]
    packed = pack([*first.indices, *(each.rest for each in fits)])
    names, added = packed.expressions[: len(first.indices)], packed.expressions[len(first.indices) :]
    sums = [fitted(each, names, more) for each, more in zip(fits, added, strict=True)]
    urls, gaps, lengths = sums[: -2 * len(members)], sums[-2 * len(members) :: 2], sums[-2 * len(members) + 1 :: 2]
    offset = gaps[0]
    for number, (length, gap) in enumerate(zip(lengths, gaps[1:], strict=False)):
        offset += f"+({length}{f'+({gap})' if gap != '0' else ''} if {ARRAY}>{number} else 0)"
    begins = chosen(ARRAY, [literal(member.pattern.key[0]) for member in members])
    alone = first._replace(pattern=first.pattern._replace(key=("", *first.pattern.key[1:])))
    dimensions = {ARRAY: {"stop": len(members)}, PACKED: packed.numbers}
    made = generator(alone, names, [offset, chosen(ARRAY, lengths), *urls], dimensions)
    return {**made, "key": f"{{{{{begins}}}}}{made['key']}"}


def _chain(members: Sequence[Family]) -> list[Integers]:
    """Return gap and length columns of each array; the first gap is the first array's offset."""
    found: list[Integers] = []
    end: Integers | int = 0
    for member in members:
        offset, length = member.columns[:2]
        found += [offset - end, length]
        end = offset + length
    return found
