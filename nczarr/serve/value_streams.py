"""Values of requests as bodies of answers: made while they are sent, within the limits.

Errors in the first pieces still get a status. Values of unknown size are made
before the answer begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain

from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.ast.rectilinear import largest
from nczarr.check.checked import Checked
from nczarr.serve.dataset_cache import RETRY, CachedDataset, RefusedRequestError, while_same
from nczarr.serve.limits import PIECE, Limits
from nczarr.serve.spool import Disk, FullError, Spool

TEXT_SIZE = 64
"""Estimated bytes of a text in memory; its length is unknown until it is read."""

PIECES = 64 << 20
"""Maximum bytes of numbers held to make pieces."""

TIMES = 2
"""Copies of the values in memory while an answer is made."""

FIRST = 1 << 20
"""Bytes of data made before the answer begins, so that early errors still get a status."""


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


def memory_for(checked: Checked, variables: Iterable[str], size: int, *, at_once: bool = False) -> int:
    """Return the approximate memory in bytes to send values. `at_once`: not in pieces."""
    chunks = (chunk_size(part) for fqn in variables for part in checked.parts.get(fqn, {}).values())
    longest = max(chunks, default=0)
    return TIMES * (size + longest) if at_once else TIMES * min(size, PIECES) + 2 * longest


def bounded(pieces: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
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
        with while_same(opened):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def begun(pieces: Iterator[bytes]) -> bytes | Iterator[bytes]:
    """Return all bytes if they are few, else a stream whose first pieces are ready."""
    first, whole = _first(pieces)
    return b"".join(first) if whole else _joined(first, pieces)


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


def _joined(held: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces, small ones joined: each that is sent costs a turn of the event loop."""
    size = sum(map(len, held))
    for piece in rest:
        if size + len(piece) > PIECE:
            yield b"".join(held)
            held.clear()
            size = 0
        held.append(piece)
        size += len(piece)
    yield b"".join(held)


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
