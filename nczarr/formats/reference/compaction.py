"""Version 0 → version 1: families of chunks as generators, URLs that come again as templates; nothing is lost.

Comes in: an expanded map. Goes out: a document whose expansion equals it. The chunks of an array whose URL, offset and
length are affine in its indices are one generator. Those that differ follow in a second one, which replaces theirs: its
single dimension lists one number a chunk, which holds the chunk's place and what its columns add to the affine ones, in
mixed radix. So are chunks that fill no grid. What would not be shorter stays as it is. Source: specs/references §3.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.formats.reference.expressions import quoted
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

SHORTEST = 12
"""Templates stand for URLs of at least so many characters."""

_TAIL = re.compile(r"[0-9]+(?:[./][0-9]+)*")
_RUN = re.compile(rf"([0-9]{{1,{DIGITS}}})")
_json = json.JSONEncoder(separators=(",", ":")).encode


class _Pattern(NamedTuple):
    """What keys of a family have in common: texts around the numbers of key and URL, and whether they have ranges."""

    key: tuple[str, ...]
    url: tuple[str, ...]
    ranged: bool


class _Row(NamedTuple):
    """One chunk: its key, the numbers of key and URL, the digits of the latter, its range."""

    key: str
    indices: tuple[int, ...]
    numbers: tuple[str, ...]
    offset: int
    length: int


class _Family(NamedTuple):
    """Chunks with one pattern as columns; `widths` are digits of the numbers of URLs that begin with zeros, else 0."""

    pattern: _Pattern
    indices: list[Integers]
    columns: list[Integers]
    widths: list[int]


def compact(entries: Mapping[str, Any]) -> dict[str, Any]:
    """A document of version 1 that expands to these entries of version 0, which have been checked."""
    refs = dict(entries)
    generators: list[dict[str, Any]] = []
    for pattern, rows in _grouped(refs).items():
        if len(rows) < FEWEST:
            continue
        family = _family(pattern, rows)
        made = [] if family is None else list(_generators(family))
        if made and len(_json(made)) < _size(rows, refs):
            generators += made
            for row in rows:
                del refs[row.key]
    templates = _templates(refs, generators)
    document: dict[str, Any] = {"version": 1, "templates": templates, "gen": generators, "refs": refs}
    return {name: member for name, member in document.items() if member or name == "version"}


def _size(rows: list[_Row], refs: dict[str, Any]) -> float:
    """About how many characters some entries take."""
    some = rows[:: max(1, len(rows) // 64)]
    return len(_json([[row.key, refs[row.key]] for row in some])) / len(some) * len(rows)


def _grouped(refs: dict[str, Any]) -> dict[_Pattern, list[_Row]]:
    """The chunks that could be families, in the order of their keys."""
    groups: dict[_Pattern, list[_Row]] = {}
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
        pattern = _Pattern(found[0], tuple(parts[::2]), len(value) == 3)
        offset, length = value[1:] if pattern.ranged else (0, 0)
        if offset + length < LARGEST:
            groups.setdefault(pattern, []).append(_Row(key, found[1], tuple(parts[1::2]), offset, length))
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


def _family(pattern: _Pattern, rows: list[_Row]) -> _Family | None:
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
    return _Family(pattern, indices, columns, widths)


def _generators(family: _Family) -> Iterator[dict[str, Any]]:
    """The generators of a family: one, or two of which the second replaces entries of the first."""
    import numpy as np

    found = grid(family.indices)
    if found is None:
        line = np.arange(len(family.indices[0]), dtype=np.int64)
        flat = (0,) * len(family.indices)
        fits = [Fit(int(each.min()), flat, each - each.min()) for each in family.columns]
        yield _packed(family, fits, line)
        return
    family = family._replace(
        indices=[column[found.order] for column in family.indices],
        columns=[column[found.order] for column in family.columns],
    )
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


def _affine(family: _Family, found: Grid, fits: list[Fit]) -> dict[str, Any]:
    """A generator with a dimension for each index."""
    names = [f"i{axis}" if len(found.values) > 8 else "ijklmnop"[axis] for axis in range(len(found.values))]
    sums = [fitted(each, names) for each in fits]
    dimensions = {name: as_range(values) for name, values in zip(names, found.values, strict=True)}
    return _generator(family, names, sums, dimensions)


def _packed(family: _Family, fits: list[Fit], rows: Integers) -> dict[str, Any]:
    """A generator with one dimension, of a number for each of some chunks.

    It holds the indices, in their bounding box, and what each column adds to its affine part.
    """
    indices = [column[rows] for column in family.indices]
    found = pack([*indices, *(each.rest[rows] for each in fits)])
    names, added = found.expressions[: len(indices)], found.expressions[len(indices) :]
    sums = [fitted(each, names, more) for each, more in zip(fits, added, strict=True)]
    return _generator(family, names, sums, {PACKED: found.numbers})


def _generator(family: _Family, names: list[str], sums: list[str], dimensions: dict[str, Any]) -> dict[str, Any]:
    """An item of `gen`: indices and columns as expressions."""
    item: dict[str, Any] = {"key": joined(family.pattern.key, [hole(name) for name in names])}
    ranged = 2 if family.pattern.ranged else 0
    numbers = [hole(each, width) for each, width in zip(sums[ranged:], family.widths, strict=True)]
    item["url"] = joined(family.pattern.url, numbers)
    if ranged:
        item["offset"], item["length"] = map(hole, sums[:2])
    item["dimensions"] = dimensions
    return item


def _templates(refs: dict[str, Any], generators: list[dict[str, Any]]) -> dict[str, str]:
    """Templates for URLs that come more than once, put in their places."""
    listed = [key for key, value in refs.items() if isinstance(value, list) and value[0] is not None]
    uses = Counter(refs[key][0] for key in listed)
    uses.update(item["url"] for item in generators)
    if any(len(url) > LONGEST and "{{" in url for url in uses):
        return {}  # without templates no URL is rendered, however long it is
    chosen = [
        url for url, count in uses.items() if count > 1 and SHORTEST <= len(url) <= LONGEST and quoted(url) == url
    ]
    names = {url: f"u{number}" for number, url in enumerate(chosen)}
    for key in listed if names else ():
        url = refs[key][0]
        if url in names or "{{" in url:
            refs[key] = [f"{{{{{names[url]}}}}}" if url in names else quoted(url), *refs[key][1:]]
    for item in generators:
        if item["url"] in names:
            item["url"] = f"{{{{{names[item['url']]}}}}}"
    return {name: url for url, name in names.items()}
