"""Version 0 → version 1: chunk families as generators, repeated URLs as templates, losslessly.

One generator makes the chunks of an array whose URL, offset and length are
affine in the indices. A second one replaces deviating chunks: its dimension
lists a mixed-radix number for each, of its position and the differences from
the affine columns; so it does for chunks that fill no grid. Entries stay unless
they become shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.reference.wire import encode
from nczarr.plugins.refs import grouping
from nczarr.plugins.refs.templates.expansion import quote
from nczarr.plugins.refs.templates.expressions import quote_text

if TYPE_CHECKING:
    Integers = NDArray[np.int64]


FEWEST = 3
"""Minimum number of chunks in a family."""

REGULAR = 0.9
"""Minimum fraction of a grid's chunks that an affine generator must match."""

MOST = 16
"""Maximum number of arrays in a generator; its expressions have a branch for each."""

ARRAY = "v"
"""Dimension that selects the array."""


class ChunkFamily(NamedTuple):
    """Chunks of one pattern as columns."""

    pattern: grouping.Pattern
    indices: list[Integers]
    """Numbers in keys, one column per number."""
    columns: list[Integers]
    """Numbers in URLs, offsets and lengths, one column per number."""
    widths: list[int]
    """Digits of zero-padded numbers in URLs; 0: without padding."""


def family_of(group: grouping.PatternGroup, targets: list[grouping.TargetURL]) -> ChunkFamily | None:
    """Return chunks as columns; None for irregular zero padding in URLs."""
    columns = [group.column(group.offsets), group.column(group.lengths)] if group.pattern.ranged else []
    numbers, places = np.unique(group.column(group.targets), return_inverse=True)
    parts = [targets[number].parts for number in numbers.tolist()]
    widths = []
    for place in range(len(group.pattern.url) - 1):
        digits = [part[2 * place + 1] for part in parts]
        lengths = set(map(len, digits))
        padded = any(number[0] == "0" and len(number) > 1 for number in digits)
        if padded and len(lengths) > 1:
            return None
        widths.append(lengths.pop() if padded else 0)
        columns.append(np.array(list(map(int, digits)), dtype=np.int64)[places])
    return ChunkFamily(group.pattern, group.axes(), columns, widths)


def generators(family: ChunkFamily) -> Iterator[dict[str, Any]]:
    """Yield the generators of a family: one, or a second that overrides entries of the first."""
    family, index_grid = arrange(family)
    if index_grid is None:
        line = np.arange(len(family.indices[0]), dtype=np.int64)
        flat = (0,) * len(family.indices)
        fits = [grouping.Fit(int(column.min()), flat, column - column.min()) for column in family.columns]
        yield _pack(family, fits, line)
        return
    fits = [grouping.fit_affine(column, index_grid) for column in family.columns]
    odd = np.zeros(len(index_grid.order), dtype=bool)
    for column_fit in fits:
        odd |= column_fit.rest != 0
    wrong = np.flatnonzero(odd)
    if len(wrong) <= (1 - REGULAR) * len(odd):
        yield _affine(family, index_grid, fits)
        if not len(wrong):
            return
    else:
        wrong = np.arange(len(odd), dtype=np.int64)
    yield _pack(family, fits, wrong)


def arrange(family: ChunkFamily) -> tuple[ChunkFamily, grouping.IndexGrid | None]:
    """Return a family in grid order with its grid; unchanged and None without a grid."""
    index_grid = grouping.grid(family.indices)
    if index_grid is None:
        return family, None
    indices = [column[index_grid.order] for column in family.indices]
    return family._replace(indices=indices, columns=[column[index_grid.order] for column in family.columns]), index_grid


def _affine(family: ChunkFamily, index_grid: grouping.IndexGrid, fits: list[grouping.Fit]) -> dict[str, Any]:
    """Return a generator with a dimension for each index."""
    names = [f"i{axis}" if len(index_grid.values) > 8 else "ijklmnop"[axis] for axis in range(len(index_grid.values))]
    sums = [grouping.fit_column(column_fit, names) for column_fit in fits]
    dimensions = {name: grouping.as_range(values) for name, values in zip(names, index_grid.values, strict=True)}
    return generator(family, names, sums, dimensions)


def _pack(family: ChunkFamily, fits: list[grouping.Fit], rows: Integers) -> dict[str, Any]:
    """Return a generator with one dimension: a number for each row.

    It packs the indices, within their bounding box, and the columns'
    differences from their affine parts. `rows`: row numbers, int64, shape
    (rows,).
    """
    parts = [column_fit._replace(rest=column_fit.rest[rows]) for column_fit in fits]
    numbers, names, sums = _sums([column[rows] for column in family.indices], parts)
    return generator(family, names, sums, {grouping.PACKED: numbers})


def _sums(indices: list[Integers], fits: list[grouping.Fit]) -> tuple[list[int], list[str], list[str]]:
    """Return packed numbers, and the expressions of indices and of columns that they give."""
    numbers, expressions = grouping.pack([*indices, *(column_fit.rest for column_fit in fits)])
    names, added = expressions[: len(indices)], expressions[len(indices) :]
    sums = [grouping.fit_column(column_fit, names, more) for column_fit, more in zip(fits, added, strict=True)]
    return numbers, names, sums


def generator(family: ChunkFamily, names: list[str], sums: list[str], dimensions: dict[str, Any]) -> dict[str, Any]:
    """Return an item of `gen` with indices and columns as expressions."""
    item: dict[str, Any] = {"key": grouping.join(family.pattern.key, [grouping.hole(name) for name in names])}
    ranged = 2 if family.pattern.ranged else 0
    numbers = [grouping.hole(total, width) for total, width in zip(sums[ranged:], family.widths, strict=True)]
    item["url"] = grouping.join(family.pattern.url, numbers)
    if ranged:
        item["offset"], item["length"] = map(grouping.hole, sums[:2])
    item["dimensions"] = dimensions
    return item


def kin(family: ChunkFamily) -> tuple[object, ...] | None:
    """Return the common key of families that may form a bundle, or None."""
    if not family.pattern.ranged:
        return None
    pattern = family.pattern
    return pattern.key[1:], pattern.url, tuple(family.widths), len(family.indices[0])


def bundle(families: Sequence[ChunkFamily]) -> dict[str, Any] | None:
    """Return the generator of families; None if indices or URLs differ or fill no grid."""
    in_order = [arrange(family) for family in families]
    grids = [pair[1] for pair in in_order]
    if not 2 <= len(in_order) <= MOST or grids[0] is None:
        return None
    members = sorted((family for family, _ in in_order), key=lambda family: float(family.columns[0].mean()))
    first = members[0]
    for other in members[1:]:
        pairs = [
            *zip(first.indices, other.indices, strict=True),
            *zip(first.columns[2:], other.columns[2:], strict=True),
        ]
        if not all(np.array_equal(one, another) for one, another in pairs):
            return None
    columns = [*first.columns[2:], *_chain(members)]
    numbers, names, sums = _sums(first.indices, [grouping.fit_affine(column, grids[0]) for column in columns])
    urls, gaps, lengths = sums[: -2 * len(members)], sums[-2 * len(members) :: 2], sums[-2 * len(members) + 1 :: 2]
    offset = gaps[0]
    for number, (length, gap) in enumerate(zip(lengths, gaps[1:], strict=False)):
        offset += f"+({length}{f'+({gap})' if gap != '0' else ''} if {ARRAY}>{number} else 0)"
    begins = grouping.spell_choice(ARRAY, [grouping.literal(member.pattern.key[0]) for member in members])
    alone = first._replace(pattern=first.pattern._replace(key=("", *first.pattern.key[1:])))
    dimensions = {ARRAY: {"stop": len(members)}, grouping.PACKED: numbers}
    item = generator(alone, names, [offset, grouping.spell_choice(ARRAY, lengths), *urls], dimensions)
    return {**item, "key": f"{{{{{begins}}}}}{item['key']}"}


def _chain(members: Sequence[ChunkFamily]) -> list[Integers]:
    """Return gap and length columns of each array; the first gap is the first array's offset.

    All columns: int64, shape (chunks,).
    """
    columns: list[Integers] = []
    end: Integers | int = 0
    for member in members:
        offset, length = member.columns[:2]
        columns += [offset - end, length]
        end = offset + length
    return columns


PIECE = 1 << 16
"""Characters per output piece."""

SHORTEST = 12
"""Minimum length of a URL that becomes a template."""


class _Found(NamedTuple):
    """One or more families with equal templates."""

    family: ChunkFamily
    """The first family."""
    generators: list[dict[str, Any]]
    """Generators that make the entries."""
    groups: list[grouping.PatternGroup]
    """Groups of the families."""


def compact(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return a version 1 document that expands to these checked version 0 entries."""
    groups, targets, refs = grouping.group_chunks(entries)
    families: list[_Found] = []
    for group in groups:
        family = family_of(group, targets) if len(group.keys) >= FEWEST else None
        if family is not None:
            families.append(_Found(family, list(generators(family)), [group]))
        else:
            group.put_back(refs, targets)
    written: list[dict[str, Any]] = []
    for candidate in _bundle(families):
        if len(encode(candidate.generators)) < _estimate_size(candidate.groups, targets):
            written += candidate.generators
        else:
            for group in candidate.groups:
                group.put_back(refs, targets)
    templates = _templates(refs, written)
    document: dict[str, Any] = {"version": 1, "templates": templates, "gen": written, "refs": refs}
    return {name: member for name, member in document.items() if member or name == "version"}


def write_document(document: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the JSON text of a version 1 document in pieces."""
    before = encode({name: member for name, member in document.items() if name != "refs"})[:-1]
    refs = document.get("refs")
    if refs:
        before += ',"refs":{'
        for key, value in refs.items():
            before += f"{quote(key)}:{encode(value)}"
            if len(before) > PIECE:
                yield before.encode()
                before = ""
            before += ","
        before = before[:-1] + "}"
    yield f"{before}}}\n".encode()


def _bundle(families: list[_Found]) -> Iterator[_Found]:
    """Yield the families, bundling those with adjacent chunks if that is shorter."""
    groups: dict[tuple[object, ...], list[_Found]] = {}
    for number, current in enumerate(families):
        packed = any(grouping.PACKED in item["dimensions"] for item in current.generators)
        groups.setdefault((kin(current.family) if packed else None) or (number,), []).append(current)
    for group in groups.values():
        together = bundle([member.family for member in group]) if len(group) > 1 else None
        if together is not None and len(encode(together)) < sum(len(encode(member.generators)) for member in group):
            yield _Found(group[0].family, [together], [one for member in group for one in member.groups])
        else:
            yield from group


def _estimate_size(groups: list[grouping.PatternGroup], targets: list[grouping.TargetURL]) -> float:
    """Estimate the number of characters of the groups' entries."""
    size = 0.0
    for group in groups:
        rows = range(0, len(group.keys), max(1, len(group.keys) // 64))
        some = encode([[group.keys[row], group.value(row, targets)] for row in rows])
        size += len(some) / len(rows) * len(group.keys)
    return size


def _templates(refs: dict[str, Any], generators: list[dict[str, Any]]) -> dict[str, str]:
    """Replace repeated URLs by templates, and return the templates."""
    listed = [key for key, value in refs.items() if isinstance(value, list) and value[0] is not None]
    uses = Counter(refs[key][0] for key in listed)
    uses.update(item["url"] for item in generators)
    if any(len(url) > grouping.LONGEST and "{{" in url for url in uses):
        return {}  # without templates no URL is rendered, however long it is
    repeated = [url for url, count in uses.items() if count > 1 and SHORTEST <= len(url) <= grouping.LONGEST]
    names = {url: f"u{number}" for number, url in enumerate(url for url in repeated if quote_text(url) == url)}
    for key in listed if names else ():
        url = refs[key][0]
        if url in names or "{{" in url:
            refs[key] = [f"{{{{{names[url]}}}}}" if url in names else quote_text(url), *refs[key][1:]]
    for item in generators:
        if item["url"] in names:
            item["url"] = f"{{{{{names[item['url']]}}}}}"
    return {name: url for url, name in names.items()}
