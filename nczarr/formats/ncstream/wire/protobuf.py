"""Protobuf's own encoding, as far as bulk data need it: integers of variable length, and fields passed over.

Comes in: a buffer and where a message lies in it. Goes out: where the fields with bulk data lie, which are never
copied, and the rest as bytes for the protobuf runtime. Invariant: nothing reaches beyond the
message's end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream.wire.limits import Limits, bad, oversized, truncated

Buffer = bytes | bytearray | memoryview
"""Bytes that are here; a memory map comes as a view of it."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of fields. Those of groups (3, 4) no sender of these messages has."""

_WIDTHS = {FIXED64: 8, FIXED32: 4}
_NONE: frozenset[int] = frozenset()


class Walked(NamedTuple):
    """A message: `small` is all that is no bulk, `found` has the places (start, end) of bulk fields by number.

    Of fields of bytes that is where their bytes are; of runs of texts where the fields are, tags included.
    """

    small: bytes
    found: dict[int, list[tuple[int, int]]]


def varint(buffer: Buffer, at: int, end: int, base: int = 0) -> tuple[int, int]:
    """An integer of at most ten bytes, and where it ends. `base`: the offset of the buffer in its stream."""
    first = at
    value = shift = 0
    while at < end:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift == 70:
            raise bad("an integer has more than ten bytes", base + first, base + at)
    raise truncated("an integer", base + first, base + end)


def fields(buffer: Buffer, at: int, end: int, base: int = 0) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of a message: number, wire type, and where its tag, its value and the next field begin."""
    while at < end:
        tag = at
        key, at = varint(buffer, at, end, base)
        number, kind = key >> 3, key & 7
        start = at
        if kind == VARINT:
            _, at = varint(buffer, at, end, base)
        elif kind == BYTES:
            length, start = varint(buffer, at, end, base)
            at = start + length
        elif kind in _WIDTHS:
            at += _WIDTHS[kind]
        else:
            raise bad(f"a field has the wire type {kind}", base + tag)
        if number == 0:
            raise bad("a field has the number 0", base + tag)
        if at > end:
            raise bad("a field is longer than its message", base + tag, base + end)
        yield number, kind, tag, start, at


def walk(
    buffer: Buffer,
    start: int,
    end: int,
    *,
    bulk: frozenset[int],
    runs: frozenset[int] = _NONE,
    rest: Callable[[int], Iterable[int]] | None = None,
    limits: Limits,
    base: int = 0,
) -> Walked:
    """Where the bulk of a message lies. `bulk`: fields of bytes; `runs`: repeated fields of many values.

    `rest`: says of a place where a run begins the numbers of all fields from there on, if these are bulk and can be
    taken together; none otherwise, or if that is not known. It is asked once.
    """
    small = bytearray()
    found: dict[int, list[tuple[int, int]]] = {}
    kept = start
    at = start
    while at < end:
        for number, kind, tag, value, after in fields(buffer, at, end, base):
            at = after
            if kind == BYTES and number in bulk:
                found.setdefault(number, []).append((value, after))
            elif number in runs:
                if rest is not None:
                    numbers, rest = list(rest(tag)), None
                    for each in numbers:
                        found.setdefault(each, []).append((tag, end))
                    if numbers:
                        _check_small(len(small) + tag - kept, base + start, limits)
                        return Walked(bytes(small + buffer[kept:tag]), found)
                at = _run(buffer, tag, value, after, end, base)
                found.setdefault(number | UNPACKED if kind == VARINT else number, []).append((tag, at))
            else:
                continue
            small += buffer[kept:tag]
            kept = at
            _check_small(len(small), base + tag, limits)
            if at != after:
                break
        else:
            break
    _check_small(len(small) + end - kept, base + start, limits)
    small += buffer[kept:end]
    return Walked(bytes(small), found)


UNPACKED = 1 << 30
"""Added to the number of a repeated integer whose values have a tag each."""


def _check_small(size: int, offset: int, limits: Limits) -> None:
    if size > limits.description:
        raise oversized(f"a data message describes itself in more than {limits.description} bytes", offset)


def _run(buffer: Buffer, tag: int, value: int, after: int, end: int, base: int) -> int:
    """The end of a run of fields with the same tag, the first of which ends at `after`."""
    if buffer[tag] >= 0x80:
        return after
    mark = buffer[tag]
    integer = mark & 7 == VARINT
    at = after
    while at < end and buffer[at] == mark:
        if integer:
            _, at = varint(buffer, at + 1, end, base)
            continue
        field = at
        if at + 1 < end and buffer[at + 1] < 0x80:
            at += 2 + buffer[at + 1]
        else:
            length, at = varint(buffer, at + 1, end, base)
            at += length
        if at > end:
            raise bad("a field is longer than its message", base + field, base + end)
    return at


def integers(buffer: Buffer, start: int, end: int, *, wide: bool = False, base: int = 0) -> NDArray[np.uint64]:
    """Packed integers: `uint32`, or `uint64` if `wide`, all at once."""
    raw = np.frombuffer(buffer, np.uint8, end - start, start)
    ends = np.flatnonzero(raw < 0x80)
    if not len(raw):
        return np.zeros(0, np.uint64)
    if not len(ends) or ends[-1] != len(raw) - 1:
        raise bad("a list of integers ends within one of them", base + start, base + end)
    if len(ends) == len(raw):
        return raw.astype(np.uint64)
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > 10:
        raise bad("an integer has more than ten bytes", base + start + int(starts[int(lengths.argmax())]))
    values = (raw[starts] & 0x7F).astype(np.uint64)
    for place in range(1, longest):
        some = np.flatnonzero(lengths > place)
        values[some] |= (raw[starts[some] + place] & 0x7F).astype(np.uint64) << np.uint64(7 * place)
    return values if wide else values & np.uint64(0xFFFF_FFFF)


# ---- writing ---------------------------------------------------------------------------------------------------------


def encoded(value: int) -> bytes:
    """An integer as it lies in a stream."""
    if value < 0x80:
        return value.to_bytes(1, "little")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tagged(number: int, length: int) -> bytes:
    """What stands before the bytes of a field."""
    return encoded(number << 3 | BYTES) + encoded(length)


def packed(values: NDArray[np.integer]) -> bytes:
    """Integers one behind the other, as a packed field has them."""
    rest = values.astype(np.uint64)
    if not len(rest) or int(rest.max()) < 0x80:
        return rest.astype(np.uint8).tobytes()
    lengths = np.ones(len(rest), np.int64)
    for place in range(1, 10):
        lengths += rest >> np.uint64(7 * place) > 0
    starts = np.cumsum(lengths) - lengths
    out = np.empty(int(lengths.sum()), np.uint8)
    for place in range(int(lengths.max())):
        some = lengths > place
        more = (lengths[some] > place + 1).astype(np.uint64) << np.uint64(7)
        out[starts[some] + place] = (rest[some] >> np.uint64(7 * place) & np.uint64(0x7F) | more).astype(np.uint8)
    return out.tobytes()
