"""Lists and texts from counts, offsets, or starts and stops."""

from __future__ import annotations

from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.awkward0.columns.nodes import Column, Flat, ListNode, Spans, TextNode, offsets_of
from nczarr.formats.awkward0.read import array_values
from nczarr.formats.awkward0.read.arguments import Arguments
from nczarr.formats.awkward0.wire.limits import LARGEST, shown

ENCODINGS = {
    name.replace("-", ""): name
    for name in ("utf-8", "ascii", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
} | {"iso88591": "latin-1", "usascii": "ascii"}
"""Text encodings by name without hyphens and underscores."""


def of_counts(arguments: Arguments, *, texts: bool) -> Column:
    """Build `fromcounts`: consecutive lists or texts; counts may be multidimensional."""
    counts, content = arguments.integers("counts"), _content(arguments, texts=texts)
    lists = _of_counts(arguments, array_values.flat(counts), content)
    return array_values.folded(_finished(arguments, lists, texts=texts), counts.shape)


def of_offsets(arguments: Arguments, *, texts: bool) -> Column:
    """Build `fromoffsets`: item i lies between offsets i and i + 1."""
    return _finished(arguments, _of_offsets(arguments, _content(arguments, texts=texts)), texts=texts)


def of_spans(arguments: Arguments, *, texts: bool) -> Column:
    """Build `JaggedArray` or `StringArray` from starts and stops, in any order and shape."""
    starts, content = arguments.integers("starts"), _content(arguments, texts=texts)
    return array_values.folded(_finished(arguments, _of_spans(arguments, starts, content), texts=texts), starts.shape)


def _content(arguments: Arguments, *, texts: bool) -> Column:
    return _bytes(arguments) if texts else arguments.column("content", later=True)


def _finished(arguments: Arguments, lists: ListNode | Spans, *, texts: bool) -> Column:
    return TextNode(lists, _encoding(arguments)) if texts else lists


def _bytes(arguments: Arguments) -> Flat:
    values = arguments.elements("content", "|u1")
    if values.ndim != 1 or values.dtype.kind not in "iuS" or values.dtype.itemsize != 1:
        if not len(values):
            return Flat(np.empty(0, np.uint8))
        raise arguments.refused("content", f"strings must consist of bytes, not {values.dtype}")
    return Flat(np.ascontiguousarray(values).view(np.uint8))


def _encoding(arguments: Arguments) -> str | None:
    value = arguments.value("encoding", "utf-8")
    if value is None:
        return None
    if not isinstance(value, str):
        raise arguments.wrong("encoding", "a string or null")
    encoding = ENCODINGS.get(value.lower().replace("-", "").replace("_", ""))
    if encoding is None:
        raise arguments.refused("encoding", f"the encoding {shown(value)} is unknown")
    return encoding


def _of_counts(arguments: Arguments, counts: NDArray[Any], content: Column) -> ListNode:
    least, most = arguments.bounds(counts)
    if least < 0:
        raise arguments.refused("counts", f"count {int(np.argmax(counts < 0))} is negative: {least}")
    if most * len(counts) >= LARGEST:
        total = (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
        if total >= LARGEST:
            raise arguments.refused("counts", "the counts add up to 2^63 or more")

    offsets: NDArray[Any] = arguments.workspace.once("offsets", (counts,), lambda: offsets_of(counts))
    _check_content(arguments, "counts", content, int(offsets[-1]), "the counts add up to")
    return ListNode(offsets, content)


def _of_offsets(arguments: Arguments, content: Column) -> ListNode:
    offsets = arguments.flat_integers("offsets")
    ascend = arguments.workspace.once(
        "must not decrease", (offsets,), lambda: bool((offsets[1:] >= offsets[:-1]).all())
    )
    if not len(offsets) or int(offsets[0]) < 0 or not ascend:
        raise arguments.refused("offsets", "the offsets are missing, negative or not increasing")
    _check_content(arguments, "offsets", content, int(offsets[-1]), "the last offset is")
    return ListNode(offsets, content)


def _of_spans(arguments: Arguments, starts: NDArray[Any], content: Column) -> Spans:
    """Return lists from starts and stops. Empty lists may start anywhere from 0 on, as in awkward0.

    `starts`: integers of any shape, which the result flattens. Raises
    UnreadableDocumentError for invalid bounds.
    """
    stops = arguments.integers("stops")
    if len(stops) < len(starts) or stops.shape[1:] != starts.shape[1:]:
        text = f"there are {len(starts)} starts of shape {starts.shape[1:]}, and {len(stops)} stops"
        raise arguments.refused("stops", text)
    flat = array_values.flat(starts)
    ends = array_values.flat(stops if len(stops) == len(starts) else stops[: len(starts)])
    if arguments.bounds(flat)[0] < 0:
        raise arguments.refused("starts", f"the start {arguments.bounds(flat)[0]} is negative")

    def furthest() -> int | None:
        if bool((ends < flat).any()):
            return None
        filled = ends[ends > flat]
        return int(filled.max()) if len(filled) else 0

    last = arguments.workspace.once("furthest", (flat, ends), furthest)
    if last is None:
        raise arguments.refused("stops", "a list ends before it starts")
    _check_content(arguments, "stops", content, last, "a list ends at")
    return Spans(flat, ends, content)


def _check_content(arguments: Arguments, name: str, content: Column, last: int, what: str) -> None:
    """Raise UnreadableDocumentError if the content ends before the last list, once its length is known."""

    def check(length: int) -> None:
        if last > length:
            raise arguments.refused(name, f"{what} {last}, but the content has {length} items")

    arguments.workspace.when_known(content, check)
