"""Delivery of answers: piece by piece, each after the client has taken the previous one.

No thread waits for a client. An answer is computed once; its bytes in memory
count towards the memory of all answers. If a client delays it by a second in
total, or less while others wait for memory, the rest moves to a temporary file.
Without room for one it stays in memory, until others wait for that memory: then
the client is cut off, as is one that takes nothing within the time limit. An
answer that fails midway is also cut, because its status is sent: the client
sees that the body is incomplete.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from nczarr.plugins.serve.answers import Body, HttpAnswer
from nczarr.plugins.serve.resources import PIECE, BusyServerError, Disk, FullError, Share, Spool, Workers
from nczarr.stores import ranges
from nczarr.stores.local_file import Identity, ReplacedError, identity_of
from nczarr.stores.ranges import Range

T = TypeVar("T")
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]

HASTE = 10
"""Factor by which answers leave memory sooner while others wait for it."""


class CutError(Exception):
    """An answer cut short; the text says why."""


class Client:
    """The client of a request: `send` sends a message, `gone` ends when it disconnects.

    `has_room` returns True if `send` will not wait.
    """

    def __init__(self, receive: Receive, send: Send, has_room: Callable[[], bool] | None = None) -> None:
        self.send = send
        self.has_room = has_room or (lambda: False)
        self._receive = receive
        self._gone: asyncio.Future[None] | None = None

    @property
    def gone(self) -> asyncio.Future[None]:
        """Future that is done when the client has disconnected."""
        if self._gone is None:
            self._gone = asyncio.ensure_future(self._leave())
        return self._gone

    async def _leave(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def close(self) -> None:
        """Stop waiting for the client."""
        if self._gone is not None:
            self._gone.cancel()


class Delivery:
    """Delivery of one answer within a memory share."""

    def __init__(self, answer: HttpAnswer, workers: Workers, share: Share, *, head: bool) -> None:
        self.answer = answer._replace(body=b"")  # nothing but `body` may keep the bytes
        self.length = answer.length
        self.workers = workers
        self.share = share
        self.head = head
        self.count = 0
        self.body = DeliveredBody(
            b"" if head else answer.body, answer.need, answer.length or answer.size, answer.states
        )
        self._waited = 0.0
        share.resize(self.body.memory)

    async def give(self, client: Client) -> None:
        """Send the answer; headers only for HEAD. Raises CutError, and errors of making the body."""
        self.workers.giving += 1
        try:
            await client.send(self._make_start_message())
            if self.head or (
                self.length is not None and self.length <= self.workers.piece and (self.body.memory == self.length)
            ):
                piece = b"" if self.head else self.body.take_ready(self.workers.piece) or b""
                self.count = len(piece)
                await self._send({"type": "http.response.body", "body": piece, "more_body": True}, client)
                await self._send({"type": "http.response.body", "body": b""}, client)
            else:
                await self._stream(client)
        except BusyServerError as error:
            raise CutError(str(error)) from None
        finally:
            self.workers.giving -= 1
            with suppress(ValueError):  # a thread still works on it, without a waiting client
                self.body.close()
            self.share.close()

    def _make_start_message(self) -> Message:
        answer = self.answer
        headers = [("content-type", answer.kind)] if answer.kind else []
        if self.length is not None and answer.status not in (204, 304):  # 204 and 304 have no body
            headers.append(("content-length", str(self.length)))
        listed = [
            (name.lower().encode("ascii"), value.encode("latin-1", "replace"))  # ASGI wants names in lower case
            for name, value in (*headers, *answer.headers)
        ]
        return {"type": "http.response.start", "status": answer.status, "headers": listed}

    async def _stream(self, client: Client) -> None:
        """Send a body piece by piece until its end or a disconnect."""
        stuck = 0
        while not client.gone.done():
            # an empty piece waits until the connection has room, so that no next one is made before
            if not client.has_room():
                await self._send({"type": "http.response.body", "body": b"", "more_body": True}, client, stuck)
            size = self.workers.piece
            piece = self.body.take_ready(size) or await self._work(partial(self.body.next, size))
            if piece is None:
                await self._send({"type": "http.response.body", "body": b""}, client)
                break
            stuck = len(piece)
            self.count += stuck
            await self._send({"type": "http.response.body", "body": piece, "more_body": True}, client)

    async def _work(self, work: Callable[[], T]) -> T:
        """Run work on the body in a thread; then set the share to the memory of the body."""
        body = self.body
        return await self.workers.do(work, body.making, begun=True, share=self.share, weigh=lambda _: body.memory)

    async def _send(self, message: Message, client: Client, stuck: int = 0) -> None:
        """Send one message when the connection has room; put the rest away if that takes long.

        Raises CutError if the connection gets no room, or others need the memory of the rest.
        """
        if client.has_room():
            await client.send(message)
            await asyncio.sleep(0)  # others have their turn
            return
        limits = self.workers.limits
        sending = asyncio.ensure_future(client.send(message))
        begun = time.monotonic()
        is_away = is_full = False
        try:
            while True:
                left = max(0.0, begun + limits.timeout - time.monotonic())
                done, _ = await asyncio.wait({sending}, timeout=left if is_away else min(left, limits.slow / HASTE))
                waited, pressed = time.monotonic() - begun, self.workers.pressed
                if done:
                    break
                if waited >= limits.timeout:
                    raise CutError(f"the client has read nothing for {limits.timeout:g} seconds")
                if is_full and pressed:
                    raise CutError("the client is slow, and others need the memory of its answer")
                patience = limits.slow / HASTE if pressed else limits.slow
                if not is_away and not is_full and self._waited + waited >= patience:
                    is_away = await self._put_away(stuck)
                    is_full = not is_away
            self._waited = 0.0 if is_away else self._waited + waited
            sending.result()
        finally:
            sending.cancel()

    async def _put_away(self, stuck: int) -> bool:
        """Move the body out of memory if there is room, and return whether there was.

        `stuck` bytes are in the connection's buffer.
        """
        is_away = not self.body.memory or await self._work(partial(self.body.put_away, self.workers.disk))
        self.share.resize(stuck + self.body.memory)
        return is_away


READY = 1 << 20
"""Bytes of a file that one thread reads at once; they are sent in smaller pieces."""


class DeliveredBody:
    """Body of an answer during delivery. One thread at a time calls `next` and `put_away`.

    `ready` returns bytes in memory without waiting. `making`: memory in bytes
    that a stream needs until its end; `length`: bytes of the whole body, if
    known; `states`: states of files that are known from when the answer was made.
    """

    def __init__(
        self, body: Body, making: int = 0, length: int = 0, states: Mapping[str, Identity] = MappingProxyType({})
    ) -> None:
        self._parts: deque[bytes | Range | Spool] = deque()
        self._stream: Iterator[bytes] | None = None
        self._data: bytes = b""
        self._view = memoryview(b"")
        self._read: Range | Spool | None = None
        self._file: tuple[str, int] | None = None
        self._states = dict(states)
        self._making = making
        self._length = length
        self._taken = 0
        if isinstance(body, bytes | Spool):
            self._parts.append(body)
        elif isinstance(body, tuple):
            self._parts.extend(body)
        else:
            self._stream = body

    @property
    def memory(self) -> int:
        """Approximate bytes of memory in use."""
        parts = sum(len(each) for each in self._parts if isinstance(each, bytes))
        return len(self._data) + parts + self.making

    @property
    def making(self) -> int:
        """Bytes of memory needed to make the rest; 0 at the end."""
        return self._making if self._stream is not None else 0

    def take_ready(self, size: int = PIECE) -> bytes | None:
        """Return the next piece if it is in memory."""
        if not self._view and self._parts and isinstance(self._parts[0], bytes):
            self._begin()
        if not self._view:
            return None
        is_untouched = len(self._view) == len(self._data)
        piece = self._data if is_untouched and len(self._data) <= size else bytes(self._view[:size])  # without a copy
        self._view = self._view[size:]
        self._taken += len(piece)
        if not self._view:
            self._release()
        return piece

    def next(self, size: int = PIECE) -> bytes | None:
        """Return the next piece, None at the end. Raises errors of reading or making it."""
        while not self._view:
            if self._parts:
                self._begin()
            elif self._stream is not None:
                found = next(self._stream, None)
                if found is None:
                    self._stream = None
                    return None
                self._hold(found)
            else:
                return None
        return self.take_ready(size)

    def _begin(self) -> None:
        """Load the next bytes of the first part. Raises OSError."""
        part = self._parts.popleft()
        if isinstance(part, bytes):
            self._hold(part)
        elif isinstance(part, Spool):
            self._hold(part.read(PIECE))
            if self._view:
                self._parts.appendleft(part)
                self._read = part
            else:
                part.close()
        elif part.length:
            data = self._bytes_at(part, min(READY, part.length))
            if len(data) < part.length:
                self._parts.appendleft(Range(part.path, part.offset + len(data), part.length - len(data)))
            self._hold(data)
            self._read = Range(part.path, part.offset, len(data))

    def _hold(self, data: bytes) -> None:
        self._view, self._data = memoryview(data), data

    def _release(self) -> None:
        self._view, self._data, self._read = memoryview(b""), b"", None

    def put_away(self, disk: Disk) -> bool:
        """Release memory: file ranges are read again later, everything else goes to a temporary file.

        Returns False without room for all of it. Raises errors of making the rest, and OSError if the disk is full.
        """
        self._unread()
        if not self.memory:
            return True
        if not disk.has(max(len(self._view), self._length - self._taken)):
            return False
        spool, piece = Spool(disk), None
        try:
            while (piece := self.next(READY)) is not None:
                spool.write(piece)
        except FullError:  # other answers took the room meanwhile
            assert piece is not None
            self._parts.extendleft((bytes(self._view), piece, spool))
            self._release()
            return False
        except BaseException:
            spool.close()
            raise
        self._parts.append(spool)
        return True

    def _unread(self) -> None:
        """Release unsent bytes of a file, which are read again."""
        unsent, place = len(self._view), self._read
        if unsent and place is not None:
            if isinstance(place, Spool):
                place.rewind(unsent)
            else:
                self._parts.appendleft(Range(place.path, place.offset + place.length - unsent, unsent))
            self._release()

    def _bytes_at(self, place: Range, count: int) -> bytes:
        """Return the first bytes of a file range; the file is kept open while it is read. Raises OSError."""
        if self._file is None or self._file[0] != place.path:
            self._close_file()
            flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self._file = place.path, os.open(place.path, flags)
        data = os.pread(self._file[1], count, place.offset)
        identity = identity_of(os.fstat(self._file[1]))
        if self._states.setdefault(place.path, identity) != identity:
            raise ReplacedError(place.path)
        if not data:
            raise OSError(errno.EIO, f"the file ends before byte {place.offset + place.length}", place.path)
        return data

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file[1])

    def close(self) -> None:
        """Release everything. Raises ValueError while a thread uses it."""
        self._close_file()
        self._release()
        for each in self._parts:
            if isinstance(each, Spool):
                each.close()
        self._parts.clear()
        stream, self._stream = self._stream, None
        end = getattr(stream, "close", None)
        if end is not None:
            end()


def weight(answer: object) -> int:
    """Return the approximate memory in bytes of an answer until it is sent; 0 for work that comes before one."""
    return DeliveredBody(answer.body, answer.need).memory if isinstance(answer, HttpAnswer) else 0


def resolve(answer: HttpAnswer) -> HttpAnswer:
    """Return the answer with short file ranges read into memory. Raises OSError."""
    body, length = answer.body, answer.length
    if not isinstance(body, tuple) or length is None or length > READY:
        return answer
    return answer._replace(body=b"".join(ranges.read(each) if isinstance(each, Range) else each for each in body))
