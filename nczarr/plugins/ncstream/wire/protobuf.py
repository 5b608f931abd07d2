"""Protobuf encoding for bulk data: varints, and positions of bulk fields without copies.

Other fields are returned as bytes for the protobuf runtime. Invariant: no range
exceeds the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.ncstream.wire.limits import Limits, bad, oversized, truncation_error

Buffer = bytes | bytearray | memoryview
"""Bytes in memory; a memory map is passed as a view."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of fields. Those of groups (3, 4) no sender of these messages has."""

_WIDTHS = {FIXED64: 8, FIXED32: 4}
_NONE: frozenset[int] = frozenset()


def view(buffer: Buffer, start: int, end: int) -> Any:
    """Return bytes of a buffer, without a copy if they are in memory."""
    return memoryview(buffer)[start:end] if isinstance(buffer, Buffer) else buffer[start:end]


Ranges = dict[int, list[tuple[int, int]]]
"""Ranges of bulk fields by number: the content of bytes fields, whole tagged fields for runs."""


def varint(buffer: Buffer, at: int, end: int, base: int = 0) -> tuple[int, int]:
    """Return an integer of at most ten bytes, and its end. Raises UnreadableStreamError.

    `base`: stream offset of the buffer.
    """
    first = at
    value = shift = 0
    while at < end:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift == 70:  # protobuf: ten bytes hold 64 bits
            raise bad("an integer has more than ten bytes", base + first, base + at)
    raise truncation_error("an integer", base + first, base + end)


def fields(buffer: Buffer, at: int, end: int, base: int = 0) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the fields of a message: number, wire type, start of tag, start of value, start of next field.

    Raises UnreadableStreamError.
    """
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
        if number == 0:  # protobuf numbers fields from 1
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
) -> tuple[bytes, Ranges]:
    """Split a message into its small fields, serialized, and the places of its bulk.

    `bulk`: bytes fields; `runs`: repeated fields with many values.
    `rest`: called once with the start of the first run; returns the field
    numbers from there on if all are bulk and can be parsed together, else
    nothing.
    """
    small = bytearray()
    ranges: Ranges = {}
    copied = start
    at = start
    while at < end:
        for number, kind, tag, value, after in fields(buffer, at, end, base):
            at = after
            if kind == BYTES and number in bulk:
                ranges.setdefault(number, []).append((value, after))
            elif number in runs:  # TDS 4 (proto2) writes a tag for each value, TDS 5 (proto3) packs them
                if rest is not None:
                    numbers, rest = list(rest(tag)), None
                    for bulk_number in numbers:
                        ranges.setdefault(bulk_number, []).append((tag, end))
                    if numbers:
                        _check_small(len(small) + tag - copied, base + start, limits)
                        return bytes(small + buffer[copied:tag]), ranges
                at = _run(buffer, tag, value, after, end, base)
                ranges.setdefault(number | UNPACKED if kind == VARINT else number, []).append((tag, at))
            else:
                continue
            small += buffer[copied:tag]
            copied = at
            _check_small(len(small), base + tag, limits)
            if at != after:
                break
        else:
            break
    _check_small(len(small) + end - copied, base + start, limits)
    small += buffer[copied:end]
    return bytes(small), ranges


UNPACKED = 1 << 30
"""Flag added to the number of a repeated integer field with one tag per value."""


def _check_small(size: int, offset: int, limits: Limits) -> None:
    if size > limits.description:
        raise oversized(f"the description of a data message has more than {limits.description} bytes", offset)


def _run(buffer: Buffer, tag: int, value: int, after: int, end: int, base: int) -> int:
    """Return the end of a run of fields with one tag, the first of which ends at `after`."""
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
    """Decode packed integers at once: uint64, shape (values,). Raises UnreadableStreamError.

    Keeps the lower 32 bits of each, or all 64 if `wide`.
    """
    raw = np.frombuffer(buffer, np.uint8, end - start, start)
    ends = np.flatnonzero(raw < 0x80)
    if not len(raw):
        return np.zeros(0, np.uint64)
    if not len(ends) or ends[-1] != len(raw) - 1:
        raise bad("a list of integers ends within an integer", base + start, base + end)
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


def read_repeated(
    buffer: Buffer,
    ranges: Mapping[int, Sequence[tuple[int, int]]],
    number: int,
    single: Callable[[Any], Sequence[int]],
    *,
    wide: bool = False,
    base: int = 0,
) -> NDArray[np.uint64]:
    """Return the integers of a bulk field, packed or with one tag each: uint64, shape (values,).

    `single`: parses a run of tags. Raises UnreadableStreamError.
    """
    pieces = [integers(buffer, *place, wide=wide, base=base) for place in ranges.get(number, ())]
    for first, last in ranges.get(number | UNPACKED, ()):
        values = single(memoryview(buffer)[first:last])
        pieces.append(np.fromiter(values, np.uint64, len(values)))
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint64), *pieces])


# ---- writing ---------------------------------------------------------------------------------------------------------


def encode(value: int) -> bytes:
    """Encode an integer as a varint."""
    if value < 0x80:
        return value.to_bytes(1, "little")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_tag(number: int, length: int) -> bytes:
    """Return the tag and length before a bytes field."""
    return encode(number << 3 | BYTES) + encode(length)


def pack(values: NDArray[np.integer]) -> bytes:
    """Encode integers of any dtype, shape (values,), as the content of a packed field."""
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
