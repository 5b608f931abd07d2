"""Chunks of arrays grouped by pattern, and affine fits of their numbers with the expressions of generators.

A `PatternGroup` has the version 0 entries with equal texts around the numbers of key and URL: numbers in arrays, and no
object for a chunk except its key. Columns are int64, and so small that no difference overflows.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.refs.templates.expressions import quote_text

if TYPE_CHECKING:
    Integers = NDArray[np.int64]


DIGITS = 15
"""Maximum number of digits of numbers in keys and URLs; longer ones are text."""

LARGEST = 2**60
"""Upper limit of byte ranges in generators."""

MOST = 16
"""Maximum count of numbers in a grouped key or URL."""

LONGEST = 4096
"""Maximum length of a grouped key or URL."""

_NUMBER = rf"(?:0|[1-9][0-9]{{0,{DIGITS - 1}}})"
_KEY = re.compile(rf"(?:(?:[^/]*/)*?)(?={_NUMBER}(?:[./]{_NUMBER})*\Z)", re.DOTALL)
_RUN = re.compile(rf"([0-9]{{1,{DIGITS}}})")


class Pattern(NamedTuple):
    """Texts around the numbers of a family."""

    key: tuple[str, ...]
    """Texts of the key."""
    url: tuple[str, ...]
    """Texts of the URL."""
    ranged: bool
    """True if entries have offset and length."""


class TargetURL(NamedTuple):
    """A URL of a document."""

    url: str
    parts: tuple[str, ...]
    """Its alternating texts and digits."""
    number: int
    """Index among all URLs."""


class PatternGroup:
    """Chunks of one pattern: `indices` are concatenated, `targets` are indices of URLs."""

    __slots__ = ("indices", "keys", "lengths", "offsets", "pattern", "targets")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.keys: list[str] = []
        self.indices = array("q")
        self.targets = array("q")
        self.offsets = array("q")
        self.lengths = array("q")

    def column(self, numbers: array[int]) -> Integers:
        """Return an array as a column that shares its memory: int64, shape (chunks,)."""
        return np.frombuffer(numbers, dtype=np.int64)

    def axes(self) -> list[Integers]:
        """Return the indices: for each dimension an int64 column, shape (chunks,)."""
        count = len(self.pattern.key) - 1
        return [np.ascontiguousarray(column) for column in self.column(self.indices).reshape(-1, count).T]

    def value(self, row: int, targets: list[TargetURL]) -> list[Any]:
        """Return the original entry of a chunk."""
        url = targets[self.targets[row]].url
        return [url, self.offsets[row], self.lengths[row]] if self.pattern.ranged else [url]

    def put_back(self, refs: dict[str, Any], targets: list[TargetURL]) -> None:
        """Add the entries of all chunks to `refs`."""
        for row, key in enumerate(self.keys):
            refs[key] = self.value(row, targets)


def group_chunks(refs: Mapping[str, Any]) -> tuple[list[PatternGroup], list[TargetURL], dict[str, Any]]:
    """Return groups of chunks in key order, their URLs, and the other entries."""
    left: dict[str, Any] = {}
    groups: dict[Pattern, PatternGroup] = {}
    target_of: dict[str, TargetURL] = {}
    targets: list[TargetURL] = []
    places: dict[tuple[Any, ...], PatternGroup] = {}
    for key, value in refs.items():
        left[key] = value
        if not isinstance(value, list) or value[0] is None or len(key) > LONGEST:
            continue
        url = value[0]
        target = target_of.get(url)
        if target is None:
            parts = _RUN.split(url) if len(url) <= LONGEST else ()
            target = target_of[url] = TargetURL(url, tuple(parts) if len(parts) < 2 * MOST else (), len(targets))
            targets.append(target)
        position = _split(key) if target.parts else None
        if position is None:
            continue
        ranged = len(value) == 3
        offset, length = value[1:] if ranged else (0, 0)
        if offset + length >= LARGEST:
            continue
        head, separators, indices = position
        place = (head, separators, len(indices), target.number, ranged)
        group = places.get(place)
        if group is None:
            texts = (head, *(separators if len(separators) > 1 else separators * (len(indices) - 1)), "")
            pattern = Pattern(texts, target.parts[::2], ranged)
            group = places[place] = groups.setdefault(pattern, PatternGroup(pattern))
        group.keys.append(key)
        group.indices.extend(map(int, indices))
        group.targets.append(target.number)
        group.offsets.append(offset)
        group.lengths.append(length)
        del left[key]
    return list(groups.values()), targets, left


def _split(key: str) -> tuple[str, str, list[str]] | None:
    """Split a key into head, separators (one character if all equal) and indices; None without indices."""
    match = _KEY.match(key)
    if match is None:
        return None
    tail = key[match.end() :]
    dots, slashes = tail.count("."), tail.count("/")
    if dots + slashes >= MOST:
        return None
    if not slashes:
        return match[0], ".", tail.split(".")
    if not dots:
        return match[0], "/", tail.split("/")
    return match[0], "".join(character for character in tail if character in "./"), re.split("[./]", tail)


WIDEST = 2**61
"""Limit of sums; factors that would exceed it are 0."""


class IndexGrid(NamedTuple):
    """Sorted values of each index."""

    values: list[Integers]
    order: Integers
    """Order of keys with the last index varying fastest."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each index."""
        return tuple(map(len, self.values))


class Fit(NamedTuple):
    """A column as `base` + Σ `factors` · indices + `rest`."""

    base: int
    """Constant."""
    factors: tuple[int, ...]
    """Factor of each index."""
    rest: Integers
    """Difference to the column."""


def grid(indices: list[Integers]) -> IndexGrid | None:
    """Return the grid that distinct index tuples fill; None if a cell is missing.

    `indices`: for each dimension an int64 column, shape (tuples,).
    """
    values = [np.unique(column) for column in indices]
    if math.prod(map(len, values)) != len(indices[0]):
        return None
    return IndexGrid(values, np.lexsort(indices[::-1]))


def fit_affine(column: Integers, index_grid: IndexGrid) -> Fit:
    """Return the affine function that most of a column, in grid order, follows; not negative in any cell.

    `column`: int64, shape (cells of the grid,).
    """
    cells = column.reshape(index_grid.shape)
    factors = []
    left, most = cells, int(np.abs(cells).max())
    for axis, values in enumerate(index_grid.values):
        factor = 0
        if len(values) > 1:
            steps = np.diff(values)
            rise = _find_median(np.diff(cells, axis=axis))
            step = _find_median(steps)
            factor = rise // step if rise % step == 0 else 0
            furthest = most + abs(factor) * max(abs(int(values[0])), abs(int(values[-1])))
            factor, most = (factor, furthest) if furthest < WIDEST else (0, most)
            left = left - (factor * values).reshape([-1 if other == axis else 1 for other in range(cells.ndim)])
        factors.append(factor)
    base = _find_median(left)
    affine = Fit(base, tuple(factors), (left - base).ravel())
    flat = Fit(_find_median(cells), (0,) * len(factors), (cells - _find_median(cells)).ravel())
    if (cells.ravel() < affine.rest).any():
        return flat
    return min(affine, flat, key=lambda candidate: (np.count_nonzero(candidate.rest), int(np.ptp(candidate.rest))))


def _find_median(values: Integers) -> int:
    """Return the median of int64 values of any shape, which equals any value with more than half of the occurrences."""
    flat = values.ravel()
    return int(np.partition(flat, len(flat) // 2)[len(flat) // 2])


def as_range(values: Integers) -> dict[str, int] | list[int]:
    """Return a dimension's values for a document: a range if possible.

    `values`: int64, shape (values,), ascending.
    """
    steps = np.diff(values)
    step = int(steps[0]) if len(steps) else 1
    if (steps != step).any():
        listed: list[int] = values.tolist()
        return listed
    bounds = {"start": int(values[0]), "stop": int(values[-1]) + 1, "step": step}
    if step == 1:
        del bounds["step"]
    if bounds["start"] == 0:
        del bounds["start"]
    return bounds


PACKED = "x"
"""Dimension that lists packed numbers."""


def pack(columns: Sequence[Integers]) -> tuple[list[int], list[str]]:
    """Return equally long columns as numbers in mixed radix, and the expressions that extract the columns.

    The last column has the lowest digits, constant ones none.

    `columns`: int64, shape (entries,) each.
    """
    bounds = [(int(column.min()), int(column.max())) for column in columns]
    small = math.prod(most - least + 1 for least, most in bounds) < WIDEST
    scale, written = 1, []
    total: Any = 0
    for column, (least, most) in zip(reversed(columns), reversed(bounds), strict=True):
        count = most - least + 1
        if count == 1:
            written.append(str(least))
            continue
        digits = (column if small else column.astype(object)) - least
        total = total + digits * scale
        shifted = f"x//{scale}%{count}" if scale > 1 else f"x%{count}"
        written.append(f"({shifted}{least:+d})" if least else shifted)
        scale *= count
    numbers: list[int] = [0] * len(columns[0]) if scale == 1 else total.tolist()
    return numbers, written[::-1]


def total(base: int, terms: Iterable[tuple[int, str]]) -> str:
    """Return a sum of factors times terms as an expression."""
    written = ""
    for factor, term in terms:
        if term.lstrip("-").isdigit():
            base += factor * int(term)
        elif factor:
            product = term if abs(factor) == 1 else f"{term}*{abs(factor)}"
            written += f"{'-' if factor < 0 else '+'}{product}"
    if not written:
        return str(base)
    tail = f"{base:+d}" if base else ""
    return (written[1:] if written[0] == "+" else "0" + written) + tail


def fit_column(fit: Fit, names: Iterable[str], rest: str = "0") -> str:
    """Return a fitted column as an expression of its indices and its rest."""
    return total(fit.base, [*zip(fit.factors, names, strict=True), (1, rest)])


def spell_choice(dimension: str, values: Sequence[str]) -> str:
    """Return an expression that selects a value by a dimension, from 0."""
    if len(set(values)) == 1:
        return values[0]
    tests = [f"{value} if {dimension}=={number} else " for number, value in enumerate(values[:-1])]
    return f"({''.join(tests)}{values[-1]})"


def literal(text: str) -> str:
    """Return a text as an expression."""
    escaped = text.encode("unicode-escape").decode("ascii").replace("'", "\\'")
    return f"'{escaped}'"


def hole(expression: str, width: int = 0) -> str:
    """Return an expression in braces; `width`: zero-padded number of digits."""
    if expression.isdigit():
        return expression.zfill(width)
    return f"{{{{'%0{width}d'|format({expression})}}}}" if width else f"{{{{{expression}}}}}"


def join(literals: tuple[str, ...], holes: list[str]) -> str:
    """Join alternating texts and holes, escaping the texts."""
    text = quote_text(literals[0]) if len(literals) == 1 else quote_text(literals[0] + "\0").removesuffix("\0")
    for place, (hole, literal) in enumerate(zip(holes, literals[1:], strict=True), 2):
        last = place == len(literals)
        text += hole + (quote_text(literal) if last else quote_text(literal + "\0").removesuffix("\0"))
    return text
