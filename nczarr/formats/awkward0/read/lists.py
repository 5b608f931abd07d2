"""Lists and texts of counts, offsets, or starts and stops (awkward0-persistence §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import np
from nczarr.formats.awkward0.columns.nodes import Column, Flat, Lists, Spans, Texts
from nczarr.formats.awkward0.read import array_values
from nczarr.formats.awkward0.read.arguments import Arguments
from nczarr.formats.awkward0.wire.limits import LARGEST, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENCODINGS = {
    name.replace("-", ""): name
    for name in ("utf-8", "ascii", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
} | {"iso88591": "latin-1", "usascii": "ascii"}
"""Encodings of texts, by name without hyphens and underscores."""


def jagged_of_counts(given: Arguments) -> Column:
    """`JaggedArray.fromcounts`: lists one behind the other; counts may have several dimensions."""
    counts = given.integers("counts")
    return array_values.folded(
        _of_counts(given, array_values.flat(counts), given.column("content", later=True)), counts.shape
    )


def jagged_of_offsets(given: Arguments) -> Lists:
    """`JaggedArray.fromoffsets`: list i is between offset i and offset i + 1."""
    return _of_offsets(given, given.column("content", later=True))


def jagged(given: Arguments) -> Column:
    """`JaggedArray`: lists by starts and stops, in any order; both may have several dimensions."""
    starts = given.integers("starts")
    return array_values.folded(_of_spans(given, starts, given.column("content", later=True)), starts.shape)


def texts_of_counts(given: Arguments) -> Column:
    """`StringArray.fromcounts`: as `JaggedArray.fromcounts`, of bytes."""
    counts, content = given.integers("counts"), _bytes(given)
    return array_values.folded(
        Texts(_of_counts(given, array_values.flat(counts), content), _encoding(given)), counts.shape
    )


def texts_of_offsets(given: Arguments) -> Texts:
    """`StringArray.fromoffsets`: as `JaggedArray.fromoffsets`, of bytes."""
    return Texts(_of_offsets(given, _bytes(given)), _encoding(given))


def texts(given: Arguments) -> Column:
    """`StringArray`: as `JaggedArray`, of bytes."""
    starts, content = given.integers("starts"), _bytes(given)
    return array_values.folded(Texts(_of_spans(given, starts, content), _encoding(given)), starts.shape)


def _bytes(given: Arguments) -> Flat:
    values = given.elements("content", "|u1")
    if values.ndim != 1 or values.dtype.kind not in "iuS" or values.dtype.itemsize != 1:
        if not len(values):
            return Flat(np.empty(0, np.uint8))
        raise given.refused("content", f"texts are made of bytes, and these items are {values.dtype}")
    return Flat(np.ascontiguousarray(values).view(np.uint8))


def _encoding(given: Arguments) -> str | None:
    value = given.value("encoding", "utf-8")
    if value is None:
        return None
    if not isinstance(value, str):
        raise given.wrong("encoding", "text or null")
    found = ENCODINGS.get(value.lower().replace("-", "").replace("_", ""))
    if found is None:
        raise given.refused("encoding", f"the encoding {shown(value)} is not among those that are known")
    return found


def _of_counts(given: Arguments, counts: NDArray[Any], content: Column) -> Lists:
    least, most = given.bounds(counts)
    if least < 0:
        raise given.refused("counts", f"count {int(np.argmax(counts < 0))} is negative: {least}")
    if most * len(counts) >= LARGEST:
        total = (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
        if total >= LARGEST:
            raise given.refused("counts", "the counts add up to 2^63 or more")

    def summed() -> NDArray[Any]:
        offsets = np.empty(len(counts) + 1, np.int64)
        offsets[0] = 0
        np.cumsum(counts, dtype=np.int64, out=offsets[1:])
        return offsets

    offsets: NDArray[Any] = given.run.once("offsets", (counts,), summed)
    total = int(offsets[-1])

    def check(length: int) -> None:
        if total > length:
            raise given.refused("counts", f"the counts add up to {total}, and the content has {length} items")

    given.run.when_known(content, check, given.at)
    return Lists(offsets, content)


def _of_offsets(given: Arguments, content: Column) -> Lists:
    offsets = given.flat_integers("offsets")
    ascend = given.run.once("do not descend", (offsets,), lambda: bool((offsets[1:] >= offsets[:-1]).all()))
    if not len(offsets) or int(offsets[0]) < 0 or not ascend:
        raise given.refused("offsets", "there are no offsets, or they are negative, or they do not ascend")
    last = int(offsets[-1])

    def check(length: int) -> None:
        if last > length:
            raise given.refused("offsets", f"the last offset is {last}, and the content has {length} items")

    given.run.when_known(content, check, given.at)
    return Lists(offsets, content)


def _of_spans(given: Arguments, starts: NDArray[Any], content: Column) -> Spans:
    """Lists that are empty may stand anywhere, as in awkward0; but nowhere before the first item."""
    stops = given.integers("stops")
    if len(stops) < len(starts) or stops.shape[1:] != starts.shape[1:]:
        text = f"there are {len(starts)} starts of shape {starts.shape[1:]}, and {len(stops)} stops"
        raise given.refused("stops", text)
    flat = array_values.flat(starts)
    ends = array_values.flat(stops if len(stops) == len(starts) else stops[: len(starts)])
    if given.bounds(flat)[0] < 0:
        raise given.refused("starts", f"the start {given.bounds(flat)[0]} is negative")

    def furthest() -> int | None:
        if bool((ends < flat).any()):
            return None
        filled = ends[ends > flat]
        return int(filled.max()) if len(filled) else 0

    last = given.run.once("furthest", (flat, ends), furthest)
    if last is None:
        raise given.refused("stops", "a list stops before it starts")

    def check(length: int) -> None:
        if last > length:
            raise given.refused("stops", f"a list stops at {last}, and the content has {length} items")

    given.run.when_known(content, check, given.at)
    return Spans(flat, ends, content)
