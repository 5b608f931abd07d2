"""Delivery of answers: piece by piece, each after the client has taken the previous one.

No thread waits for a client. The bytes of an answer in memory count towards the
memory of all answers. If a client delays an answer by a second in total, or
less while others wait for memory, the rest moves to a temporary file. Without
room for one, the rest is dropped and made again when the client continues. So a
very slow client costs a connection and one piece. A client that takes nothing
within the time limit is cut off. An answer that fails midway is also cut,
because its status is sent: the client sees that the body is incomplete.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from nczarr.arrays.codecs.crc32 import crc32
from nczarr.serve.answers import HttpAnswer
from nczarr.serve.bodies import DeliveredBody
from nczarr.serve.workers import BusyServerError, Share, Workers

T = TypeVar("T")
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Again = Callable[[], Awaitable[HttpAnswer]]
"""Makes an answer once more."""

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
            self._gone = asyncio.ensure_future(self._left())
        return self._gone

    async def _left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def close(self) -> None:
        """Stop waiting for the client."""
        if self._gone is not None:
            self._gone.cancel()


class Delivery:
    """Delivery of one answer. `again` makes it once more, within the same memory share."""

    def __init__(self, answer: HttpAnswer, again: Again, workers: Workers, share: Share, *, head: bool) -> None:
        self.answer = answer._replace(body=b"")  # nothing but `held` may keep the body
        self.length = answer.length
        self.workers = workers
        self.share = share
        self.again = again
        self.head = head
        self.count = 0
        self.held: DeliveredBody | None = DeliveredBody(
            b"" if head else answer.body, answer.need, answer.length or answer.size, answer.states
        )
        self._stream = self.length is None
        self._sum = 0
        self._waited = 0.0
        self._settle()

    def _settle(self, more: int = 0) -> None:
        """Update the memory share."""
        self.share.resize(more + (self.held.memory if self.held is not None else 0))

    async def give(self, client: Client) -> None:
        """Send the answer; headers only for HEAD. Raises CutError, and errors of making the body."""
        self.workers.giving += 1
        try:
            await client.send(self._start())
            if self.head or (self.length is not None and self.length <= self.workers.piece and self._at_once()):
                piece = b"" if self.head or self.held is None else self.held.ready(self.workers.piece) or b""
                self.count = len(piece)
                await self._sent({"type": "http.response.body", "body": piece, "more_body": True}, client)
                await self._sent({"type": "http.response.body", "body": b""}, client)
            else:
                await self._streamed(client)
        except BusyServerError as error:
            raise CutError(str(error)) from None
        finally:
            self.workers.giving -= 1
            self._close()
            self.share.close()

    def _at_once(self) -> bool:
        """Return whether the whole body is one piece in memory."""
        return self.held is not None and self.held.memory == self.length

    def _start(self) -> Message:
        answer = self.answer
        headers = [("content-type", answer.kind)] if answer.kind else []
        if self.length is not None and answer.status not in (204, 304):
            headers.append(("content-length", str(self.length)))
        listed = [
            (name.lower().encode("ascii"), value.encode("latin-1", "replace"))
            for name, value in (*headers, *answer.headers)
        ]
        return {"type": "http.response.start", "status": answer.status, "headers": listed}

    async def _streamed(self, client: Client) -> None:
        """Send a body piece by piece until its end or a disconnect."""
        stuck = 0
        while not client.gone.done():
            # an empty piece waits until the connection has room, so that no next one is made before
            if not client.has_room():
                await self._sent({"type": "http.response.body", "body": b"", "more_body": True}, client, stuck)
            piece = await self._piece()
            if piece is None:
                await self._sent({"type": "http.response.body", "body": b""}, client)
                break
            stuck = len(piece)
            self.count += stuck
            if self._stream:
                self._sum = crc32(piece, self._sum)
            await self._sent({"type": "http.response.body", "body": piece, "more_body": True}, client)

    async def _piece(self) -> bytes | None:
        """Return the next piece, None at the end. Raises BusyServerError, CutError, and errors of making it."""
        size = self.workers.piece
        if self.held is None:
            await self._remake()
        assert self.held is not None
        held = self.held
        return held.ready(size) or await self._work(held, partial(held.next, size))

    async def _work(self, held: DeliveredBody, work: Callable[[], T]) -> T:
        """Run work on a body in a thread; then set the share to the memory of the body."""
        return await self.workers.do(work, held.making, begun=True, share=self.share, weigh=lambda _: held.memory)

    async def _remake(self) -> None:
        """Make the body again and skip the sent part. Raises BusyServerError, CutError."""
        answer = await self.again()
        same = (answer.status, answer.length, _tag(answer)) == (self.answer.status, self.length, _tag(self.answer))
        self.held = held = DeliveredBody(answer.body, answer.need, answer.length or answer.size, answer.states)
        del answer
        if not same:
            raise CutError("the dataset has changed")
        if await self._work(held, partial(held.skip, self.count)) != self._sum and self._stream:
            raise CutError("the dataset has changed")

    async def _sent(self, message: Message, client: Client, stuck: int = 0) -> None:
        """Send one message when the connection has room; put the rest away if that takes long.

        Raises CutError if the connection gets no room.
        """
        if client.has_room():
            await client.send(message)
            await asyncio.sleep(0)  # others have their turn
            return
        limits = self.workers.limits
        sending = asyncio.ensure_future(client.send(message))
        begun = time.monotonic()
        end, waiting = begun + limits.timeout, True
        try:
            while True:
                left = max(0.0, end - time.monotonic())
                done, _ = await asyncio.wait({sending}, timeout=min(left, limits.slow / HASTE) if waiting else left)
                if done:
                    break
                now = time.monotonic()
                if now >= end:
                    raise CutError(f"the client has read nothing for {limits.timeout:g} seconds")
                patience = limits.slow / HASTE if self.workers.pressed else limits.slow
                if waiting and self._waited + now - begun >= patience:
                    await self._put_away(stuck)
                    waiting = False
            self._waited = self._waited + time.monotonic() - begun if waiting else 0.0
            sending.result()
        finally:
            sending.cancel()

    async def _put_away(self, stuck: int) -> None:
        """Move the body out of memory; `stuck` bytes are in the connection's buffer."""
        held = self.held
        if held is not None and held.memory and not await self._work(held, partial(held.put_away, self.workers.disk)):
            self._close()
        self._settle(stuck)

    def _close(self) -> None:
        held, self.held = self.held, None
        if held is not None:
            with suppress(ValueError):  # a thread still works on it, without a waiting client
                held.close()


def _tag(answer: HttpAnswer) -> str | None:
    return next((value for name, value in answer.headers if name == "ETag"), None)
