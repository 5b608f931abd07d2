"""Groups chunks of arrays by pattern: numbers in arrays, and no object for a chunk except its key.

A `PatternGroup` has the version 0 entries with equal texts around the numbers of key
and URL.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np

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
    """The URL."""
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


def grouped(refs: Mapping[str, Any]) -> tuple[list[PatternGroup], list[TargetURL], dict[str, Any]]:
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
