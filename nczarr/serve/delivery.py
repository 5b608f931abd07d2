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
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from nczarr.serve.answers import HttpAnswer
from nczarr.serve.bodies import DeliveredBody
from nczarr.serve.workers import BusyServerError, Share, Workers

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
        self._settle()

    def _settle(self, more: int = 0) -> None:
        """Update the memory share."""
        self.share.resize(more + self.body.memory)

    async def give(self, client: Client) -> None:
        """Send the answer; headers only for HEAD. Raises CutError, and errors of making the body."""
        self.workers.giving += 1
        try:
            await client.send(self._start())
            if self.head or (self.length is not None and self.length <= self.workers.piece and self._at_once()):
                piece = b"" if self.head else self.body.ready(self.workers.piece) or b""
                self.count = len(piece)
                await self._sent({"type": "http.response.body", "body": piece, "more_body": True}, client)
                await self._sent({"type": "http.response.body", "body": b""}, client)
            else:
                await self._streamed(client)
        except BusyServerError as error:
            raise CutError(str(error)) from None
        finally:
            self.workers.giving -= 1
            with suppress(ValueError):  # a thread still works on it, without a waiting client
                self.body.close()
            self.share.close()

    def _at_once(self) -> bool:
        """Return whether the whole body is one piece in memory."""
        return self.body.memory == self.length

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
            await self._sent({"type": "http.response.body", "body": piece, "more_body": True}, client)

    async def _piece(self) -> bytes | None:
        """Return the next piece, None at the end. Raises BusyServerError, and errors of making it."""
        size = self.workers.piece
        return self.body.ready(size) or await self._work(partial(self.body.next, size))

    async def _work(self, work: Callable[[], T]) -> T:
        """Run work on the body in a thread; then set the share to the memory of the body."""
        body = self.body
        return await self.workers.do(work, body.making, begun=True, share=self.share, weigh=lambda _: body.memory)

    async def _sent(self, message: Message, client: Client, stuck: int = 0) -> None:
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
        self._settle(stuck)
        return is_away
