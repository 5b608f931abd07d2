"""Values of requests: their cost, and bodies of answers that are made while they are sent, within the limits.

Errors in the first pieces still get a status. Values of unknown size are made before the answer begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from nczarr.arrays.regions import lengths_of
from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import VlenType
from nczarr.ast.rectilinear import largest
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.serve.answers import RETRY, RefusedRequestError
from nczarr.plugins.serve.dataset_cache import CachedDataset, refuse_if_replaced
from nczarr.plugins.serve.resources import PIECE, Disk, FullError, Limits, Spool
from nczarr.semantics.checked import Checked

TEXT_SIZE = 64
"""Estimated bytes of a text in memory; its length is unknown until it is read."""

PIECES = 64 << 20
"""Maximum bytes of numbers held to make pieces."""

TIMES = 2
"""Copies of the values in memory while an answer is made."""

UNREAD = "the values cannot be read"

FIRST = 1 << 20
"""Bytes of data made before the answer begins, so that early errors still get a status."""


COUNT = 8
"""Bytes of the length of a list."""


def size_of(checked: Checked, fqn: str, ranges: tuple[range, ...]) -> int:
    """Return the bytes of a section's values, estimated for types of variable size."""
    type_name, cells = checked.variables[fqn].type, math.prod(map(len, ranges))
    if is_fixed(type_name, checked.types):
        return cells * size(type_name, checked.types)
    if type_name == "string":
        return cells * TEXT_SIZE
    parts = checked.parts.get(fqn, {})
    whole = sum(math.prod(part.layout.shape) * (itemsize(part.layout.dtype) or TEXT_SIZE) for part in parts.values())
    counts, declared = parts.get("counts"), checked.types.get(type_name)
    if counts is None or not isinstance(declared, VlenType) or not is_fixed(declared.base, checked.types):
        return whole * cells // max(1, math.prod(checked.shapes[fqn]))
    box = tuple(slice(part.start, max(part.start, part[-1] + 1 if part else 0)) for part in ranges)
    if math.prod(lengths_of(box)) * COUNT > PIECES:
        return whole
    values = counts.read(box)[tuple(slice(None, None, part.step) for part in ranges)]
    return cells * COUNT + int(values.sum()) * size(declared.base, checked.types)


def chunk_size(part: ArraySource) -> int:
    """Return the bytes of a chunk that must be decoded whole; 0 if parts of it can be read."""
    stored = part.stored
    if stored is not None and not stored.codecs:
        return 0
    shape, chunks = part.layout.shape, largest(part.layout.chunks)
    cells = math.prod(min(chunk, length) for chunk, length in zip(chunks, shape, strict=True))
    return 0 if stored is None and chunks == shape else cells * (itemsize(part.layout.dtype) or TEXT_SIZE)


def check_size(size: int, limits: Limits) -> None:
    """Raise RefusedRequestError if values of so many bytes exceed the limit of an answer."""
    if size > limits.response:
        text = f"the values have about {size} bytes; the limit of an answer is {limits.response}"
        raise RefusedRequestError(413, text)


def longest_chunk(checked: Checked, variables: Iterable[str]) -> int:
    """Return the bytes of the longest chunk that must be decoded whole."""
    parts = (part for fqn in variables for part in checked.parts.get(fqn, {}).values())
    return max(map(chunk_size, parts), default=0)


def memory_for(checked: Checked, variables: Iterable[str], size: int, *, at_once: bool = False) -> int:
    """Return the approximate memory in bytes to send values. `at_once`: not in pieces."""
    longest = longest_chunk(checked, variables)
    return TIMES * (size + longest) if at_once else TIMES * min(size, PIECES) + 2 * longest


def limit_size(pieces: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    """Yield the pieces. Raises RefusedRequestError when they exceed the answer limit."""
    count = 0
    most = limits.response + limits.response // 8 + (1 << 20)  # what frames and incompressible values add
    for piece in pieces:
        count += len(piece)
        if count > most:
            raise RefusedRequestError(413, f"the values have more than {limits.response} bytes, the limit of an answer")
        yield piece


def steady(pieces: Iterator[bytes], opened: CachedDataset) -> Iterator[bytes]:
    """Yield the pieces while the file is unchanged. Raises RefusedRequestError.

    A client may read for hours. A piece is checked after it was read, so that
    values of two states of a file never mix.
    """
    while True:
        with refuse_if_replaced(opened):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def end_with_error(pieces: Iterator[bytes], say: Callable[[RefusedRequestError], bytes]) -> Iterator[bytes]:
    """Yield the pieces, which are whole messages; after the first ones, an error ends them with what it says."""
    count = 0
    try:
        for piece in pieces:
            yield piece
            count += len(piece)
    except (RefusedRequestError, CompileError, OSError) as error:
        if count <= FIRST:
            raise
        yield say(error if isinstance(error, RefusedRequestError) else RefusedRequestError(500, UNREAD))


def begin_stream(pieces: Iterator[bytes]) -> bytes | Iterator[bytes]:
    """Return all bytes if they are few, else a stream whose first pieces are ready."""
    first, whole = _first(pieces)
    return b"".join(first) if whole else _join(first, pieces)


def _first(pieces: Iterator[bytes]) -> tuple[list[bytes], bool]:
    """Return the first pieces, and whether they are all."""
    first: list[bytes] = []
    count = 0
    for piece in pieces:
        first.append(piece)
        count += len(piece)
        if count > FIRST:
            return first, False
    return first, True


def _join(pieces: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces, small ones joined: each that is sent costs a turn of the event loop."""
    size = sum(map(len, pieces))
    for piece in rest:
        if size + len(piece) > PIECE:
            yield b"".join(pieces)
            pieces.clear()
            size = 0
        pieces.append(piece)
        size += len(piece)
    yield b"".join(pieces)


def whole(pieces: Iterator[bytes], disk: Disk) -> bytes | Spool:
    """Return all bytes, or a temporary file with them if they are many, so that errors precede the answer.

    Raises RefusedRequestError without room for a file.
    """
    first, whole = _first(pieces)
    if whole:
        return b"".join(first)
    spool = Spool(disk)
    try:
        for piece in chain(first, pieces):
            spool.write(piece)
    except FullError as error:
        spool.close()
        raise RefusedRequestError(503, str(error), RETRY) from None
    except BaseException:
        spool.close()
        raise
    return spool


FEW = 1024
"""Chunks below which stored ones are not looked up."""

COUNTED = 256 << 20
"""Decoded bytes of the stored chunks that are counted; more are too many for any page."""

PAGE = 4096
"""Bytes that the system reads of a mapped file for one value."""


def cost(checked: Checked, path: str, ranges: Sequence[range]) -> int:
    """Return the bytes that must be read or decoded for index ranges of a variable, none of them descending."""
    parts = checked.parts.get(path, {})
    least = size_of(checked, path, tuple(ranges))
    return max([least, *(_estimate_cost(part, ranges, least) for part in parts.values())])


def _estimate_cost(part: ArraySource, ranges: Sequence[range], least: int) -> int:
    """Return the bytes to decode for ranges: whole chunks, or without chunks the span, but not more than pages."""
    chunk = chunk_size(part)
    rank = len(ranges)
    if not chunk or len(part.layout.shape) < rank or not all(ranges):
        span = math.prod(each[-1] - each[0] + 1 if each else 0 for each in ranges)
        cells = math.prod(map(len, ranges))
        return min(span * max(1, least // max(1, cells)), cells * PAGE)
    lengths = tuple(max(1, each) for each in largest(part.layout.chunks[:rank]))
    touched = math.prod(
        len(each) if each.step >= length else each[-1] // length - each[0] // length + 1
        for each, length in zip(ranges, lengths, strict=True)
    )
    if touched > FEW and rank == len(part.layout.shape):
        touched = min(touched, len(list_stored_blocks(part, ranges, max(FEW, COUNTED // chunk))))
    return chunk * touched


def list_stored_blocks(part: ArraySource, ranges: Sequence[range], most: int) -> list[tuple[range, ...]]:
    """Return the indices of the chunks that may have stored values within the span of ranges, `most` + 1 at most.

    Raises OSError.
    """
    lengths = tuple(max(1, each) for each in largest(part.layout.chunks))
    region = tuple(
        range(each[0] // length * length, min(size, (each[-1] // length + 1) * length))
        for each, length, size in zip(ranges, lengths, part.layout.shape, strict=True)
    )
    return [
        tuple(
            range(span.start + number * length, min(span.stop, span.start + (number + 1) * length))
            for span, number, length in zip(region, index, lengths, strict=True)
        )
        for index in islice(part.list_occupied(lengths, region), most + 1)
    ]
