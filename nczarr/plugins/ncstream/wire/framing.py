"""Lexical layer of streams: magics and blocks in bytes, memory maps and binary files (pipes with short reads too).

Files are read only as far as requested. Invariant: memory is proportional to
the bytes read, not to announced lengths.

`Data` messages may have a CRC-32: their field 7 as fixed32, which no known program writes. Later definitions gave the
number to the flag `vdata`, a varint: the wire types tell both apart, and readers of either definition skip the other.
The definition does not say which bytes count. Here they are all bytes of the message behind its block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from errno import EAGAIN, EINVAL
from mmap import mmap
from typing import IO, Any, TypeAlias, cast
from zlib import crc32

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.options import RunOptions
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.limits import Limits, bad, contradictory, oversized, truncation_error
from nczarr.plugins.ncstream.wire.protobuf import Buffer, encode
from nczarr.stores.local_file import LocalFile
from nczarr.stores.places import AT_ONCE, BLOCK, RemoteFile
from nczarr.stores.places import MOST as LONGEST_REQUEST

START = b"CDFS"
HEADER = b"\xad\xec\xce\xda"
DATA = b"\xab\xec\xce\xba"
COLUMN = b"\xab\xeb\xbe\xba"
RECORD = b"\xab\xef\xfe\xba"
LAST_RECORD = b"\xed\xef\xfe\xda"
ERROR = b"\xab\xad\xba\xda"
END = b"\xed\xed\xde\xde"
COVERAGES = b"\xad\xed\xde\xda"
COVERAGE_DATA = b"\xab\xed\xde\xba"
STATIONS = b"\xfe\xfe\xef\xef"
COLLECTION = b"\xfa\xfa\xaf\xaf"
FEATURE = b"\xf0\xf0\x0f\x0f"

MAGICS: dict[bytes, str] = {
    START: "start", HEADER: "header", DATA: "data", COLUMN: "column", ERROR: "error", END: "end",
    COVERAGES: "coverages", COVERAGE_DATA: "coverage data",
    STATIONS: "stations", COLLECTION: "collection", FEATURE: "feature",
}  # fmt: skip
"""Message kind by magic."""

BARE = frozenset({"start", "end"})
"""Kinds that consist of the magic alone; all others continue with a block."""

AHEAD, MOST = 1 << 18, 1 << 20
"""Bytes that are read at once from a file, at least and at most; memory for more would be mapped anew each time."""

AT_LEAST = 1 << 9
"""Bytes that are fetched of a message of a remote file at least."""

SLACK = 1 << 6
"""Bytes by which messages of one variable may differ in length."""

Stream = bytes | bytearray | memoryview | mmap | LocalFile | RemoteFile | IO[bytes]
"""Source of messages."""


def frame(magic: bytes, message: Any) -> bytes:
    """Return a message of one block: its magic, and the length and bytes of a protobuf message."""
    block: bytes = message.SerializeToString(deterministic=True)
    return magic + encode(len(block)) + block


BlockRanges: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
"""Start of each block after its length prefix, and its bytes."""


class _RangedBuffer:
    """Bytes of a remote file: one block where a message begins, and more and more where its bytes are read in order.

    After messages of one length, the beginnings of the next ones are fetched side by side.
    """

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self._start = 0
        self._bytes = b""
        self._last = self._distance = 0
        """Place of the last jump, and its distance to the one before."""
        self._ahead = 1
        """Number of places fetched at once."""

    def __len__(self) -> int:
        return self._file.size

    def __getitem__(self, key: int | slice) -> int | bytes:
        """Return a byte, or a slice of bytes, requesting blocks of the file that are not at hand."""
        if isinstance(key, slice):
            return self._read(key.start, key.stop)
        at = key - self._start
        if not 0 <= at < len(self._bytes):
            self._read(key, key + 1)
            at = key - self._start
        return self._bytes[at]

    def _read(self, start: int, stop: int) -> bytes:
        """Return bytes, which are kept with those after them until others are read. Raises OSError."""
        end = self._start + len(self._bytes)
        if not self._start <= start <= stop <= end:
            length = max(stop - start, AT_LEAST)
            if self._start <= start <= end:
                length = max(length, min(2 * len(self._bytes), LONGEST_REQUEST))
                self._file.fetch([(start, length)])
            elif not self._file.holds(start, length):
                distance, self._last = start - self._last, start
                repeats = abs(distance - self._distance) <= SLACK
                self._ahead = min(2 * self._ahead, AT_ONCE) if repeats else 1
                self._distance = distance
                self._file.fetch((start - SLACK + number * distance, length) for number in range(self._ahead))
                self._last += (self._ahead - 1) * distance
            first = start // BLOCK * BLOCK
            length = min(-(-(start + length) // BLOCK) * BLOCK, self._file.size) - first
            self._start, self._bytes = first, self._file.read(first, length)
        return self._bytes[start - self._start : stop - self._start]


class Incoming:
    """The bytes of a stream in order. `buffer` holds the available bytes, `base` is its stream offset.

    Positions refer to the buffer until the next `begin`.
    """

    __slots__ = ("_begun", "_file", "base", "buffer", "limits")

    def __init__(self, stream: Stream, limits: Limits) -> None:
        self.limits = limits
        self.base = 0
        self._begun = 0
        self._file: IO[bytes] | None = None
        if isinstance(stream, bytes | bytearray):
            self.buffer: Buffer = stream
        elif isinstance(stream, memoryview | mmap):
            view = memoryview(stream)
            view = view if view.c_contiguous else memoryview(view.tobytes())
            self.buffer = view if view.format == "B" and view.ndim == 1 else view.cast("B")
        elif isinstance(stream, RemoteFile):
            self.buffer = cast("Buffer", _RangedBuffer(stream))
        elif isinstance(stream, LocalFile):
            self.buffer = cast("Buffer", stream)
        elif not callable(getattr(stream, "read", None)):
            raise TypeError(f"a stream must be bytes, a memory map or a binary file, not {type(stream).__name__}")
        else:
            self._file = stream
            self.buffer = bytearray()

    def begin(self, at: int) -> int:
        """Begin a message and discard earlier bytes. Returns the message's new position."""
        if self._file is not None and at > 0 and (at == len(self.buffer) or at > AHEAD):
            self.buffer = bytearray(memoryview(self.buffer)[at:])
            self.base += at
            at = 0
        self._begun = at
        return at

    def has(self, end: int) -> bool:
        """Return whether the stream reaches a position; reads a file up to it.

        Raises UnreadableStreamError, OSError.
        """
        while len(self.buffer) < end:
            if self._file is None:
                return False
            if end - self._begun > self.limits.message:
                raise oversized(f"a message has more than {self.limits.message} bytes", self.base + self._begun)
            if not self._read(end - len(self.buffer)):
                return False
        return True

    def _read(self, missing: int) -> int:
        """Read the missing bytes and some more; return their number."""
        assert self._file is not None
        room = min(max(missing, AHEAD), MOST)
        read = getattr(self._file, "read1", self._file.read)
        data: Any = read(room)
        if data is None:
            raise BlockingIOError(EAGAIN, "the stream is non-blocking and has no data yet")
        if isinstance(data, str):
            raise TypeError("a stream must be a binary file, not a text file")
        if not isinstance(self.buffer, bytearray):
            raise AssertionError
        try:
            self.buffer += data
        except BufferError:  # values of messages before look into it
            self.buffer = self.buffer + data
        return len(data)

    def magic(self, at: int) -> bytes | None:
        """Return the four bytes of a message's magic, None at the end of the stream.

        Raises UnreadableStreamError, OSError.
        """
        if self.has(at + 4):
            return bytes(self.buffer[at : at + 4])
        if len(self.buffer) == at:
            return None
        raise truncation_error("the magic number of a message", self.base + at, self.base + len(self.buffer))

    def vlen(self, at: int) -> tuple[int, int]:
        """Return a block length or count, and its end. Raises UnreadableStreamError, OSError."""
        first = at
        value = shift = 0
        while self.has(at + 1):
            byte = self.buffer[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
            if shift == 70:  # protobuf: ten bytes hold 64 bits
                raise bad("a length has more than ten bytes", self.base + first, self.base + at)
        raise truncation_error("a length", self.base + first, self.base + at)

    def block(self, at: int) -> tuple[int, int]:
        """Return the byte range of a block, after reading all of it. Raises UnreadableStreamError, OSError."""
        length, start = self.vlen(at)
        if length > self.limits.block:
            raise oversized(f"a block announces {length} bytes, more than {self.limits.block}", self.base + at)
        if not self.has(start + length):
            available = len(self.buffer) - start
            raise truncation_error(f"a block of {length} bytes, but only {available} follow", self.base + at)
        return start, start + length

    def skip(self, at: int, count: int) -> int:
        """Return the end of `count` blocks."""
        self._check(at, count)
        while count:
            buffer, size = self.buffer, len(self.buffer)
            while count and at < size:
                length = buffer[at]
                if length >= 0x80 and at + 1 < size:  # most of the others take two bytes
                    more = buffer[at + 1]
                    length += (more << 7) - 0x7F if more < 0x80 else size
                if at + length >= size:
                    break
                at += length + 1
                count -= 1
            if count:
                _, at = self.block(at)
                count -= 1
        return at

    def items(self, at: int, count: int) -> tuple[list[bytes], int]:
        """Return the bytes of `count` blocks, and the end of the last."""
        self._check(at, count)
        blocks: list[Any] = []
        add = blocks.append
        while count:
            buffer, size = self.buffer, len(self.buffer)
            while count and at < size:
                start = at + 1
                length = buffer[at]
                if length >= 0x80 and start < size:  # most of the others take two bytes
                    more = buffer[start]
                    start += 1
                    length += (more << 7) - 0x80 if more < 0x80 else size
                end = start + length
                if end > size:
                    break
                add(buffer[start:end])
                at = end
                count -= 1
            if count:
                start, at = self.block(at)
                add(self.buffer[start:at])
                count -= 1
        return blocks if isinstance(self.buffer, bytes) else list(map(bytes, blocks)), at

    def bounds(self, at: int, count: int) -> tuple[BlockRanges, int]:
        """Return the positions of `count` blocks, and the end of the last."""
        self._check(at, count)
        first = at
        lengths: list[int] = []
        wide: list[tuple[int, int]] = []  # blocks whose length takes more bytes than it has to, or three
        add = lengths.append
        while len(lengths) < count:
            buffer, size, missing = self.buffer, len(self.buffer), count - len(lengths)
            while missing and at < size:
                length = buffer[at]
                if length >= 0x80 and at + 1 < size:  # most of the others take two bytes
                    more = buffer[at + 1]
                    if more >= 0x80 or not more:
                        break
                    length += (more << 7) - 0x80
                    at += 1
                    if at + length >= size:
                        at -= 1
                        break
                elif at + length >= size:
                    break
                at += length + 1
                add(length)
                missing -= 1
            if missing:
                start, end = self.block(at)
                wide.append((len(lengths), start - at - (2 if end - start >= 0x80 else 1)))
                add(end - start)
                at = end
        sizes = np.array(lengths, np.int64)
        begins = first + np.cumsum(sizes + 1 + (sizes >= 0x80)) - sizes
        if wide:
            places, longer = np.array(wide, np.int64).T
            shifts = np.zeros(len(sizes), np.int64)
            shifts[places] = longer
            begins += np.cumsum(shifts)
        return (begins, sizes), at

    def _check(self, at: int, count: int) -> None:
        """Raise UnreadableStreamError for more blocks than bytes, because a block has at least one."""
        if self._file is None and count > len(self.buffer) - at:
            message = f"{count} blocks, but only {len(self.buffer) - at} bytes follow"
            raise truncation_error(message, self.base + at)


TAG = bytes([7 << 3 | 5])
"""Tag of the field."""

STEP = 1 << 20
"""Bytes that are summed at once."""

OPTION = "ncstream.crc32"
"""Storage option of targets: `true` writes checksums."""


def are_requested(run: RunOptions) -> bool:
    """Return whether a target gets checksums. Raises OSError for a wrong option."""
    value = run.storage.of("target").get(OPTION, False)
    if not isinstance(value, bool):
        raise OSError(EINVAL, f"the storage option `{OPTION}` must be `true` or `false`, not {value!r}")
    return value


def add_crc32(make: Callable[[], Iterable[bytes | bytearray | memoryview]]) -> Iterator[bytes | bytearray | memoryview]:
    """Yield the pieces of a `Data` message with its checksum, others as they are. `make` is called twice."""
    total, behind = 0, b""
    for number, piece in enumerate(make()):
        if number == 0:
            if bytes(piece[:4]) != DATA:
                break
            length, start = protobuf.varint(bytes(piece), 4, len(piece))
            block, behind = bytes(piece[start : start + length]), bytes(piece[start + length :])
            piece = behind
        total = crc32(piece, total)
    else:
        block += TAG + total.to_bytes(4, "little")
        rest = iter(make())
        next(rest)
        yield DATA + protobuf.encode(len(block)) + block + behind
        yield from rest
        return
    yield from make()


def check_crc32(buffer: Buffer, start: int, end: int, after: int, offset: int) -> None:
    """Raise UnreadableStreamError if a message states another checksum than that of its bytes behind the block.

    `start`, `end`: its block in the buffer; `after`: end of the message; `offset`: its offset in the stream.
    """
    block = bytes(protobuf.view(buffer, start, end))
    if TAG not in block:
        return
    for number, kind, _, value, behind in protobuf.fields(block, 0, len(block)):
        if (number << 3 | kind) == TAG[0]:
            total = 0
            for at in range(end, after, STEP):
                total = crc32(protobuf.view(buffer, at, min(at + STEP, after)), total)
            stated = int.from_bytes(block[value:behind], "little")
            if total != stated:
                text = f"the values have the CRC-32 {total:08x}, but the message states {stated:08x}"
                raise contradictory(text, offset)
