"""Answers on their way: piece by piece, each when the client has taken the one before.

No thread waits for a client. What is in memory and is not taken within a second goes into a temporary file, so that a
client who reads a byte a second holds a file and a connection, and nothing else. One that takes nothing for as long as
the limits say is cut off; so is one whose answer ends in a fault, because its status has been sent: the client sees
that the body is not whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from nczarr.serve.answers import Answer
from nczarr.serve.bodies import Held
from nczarr.serve.limits import PIECE
from nczarr.serve.workers import BusyError, Workers

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]


class CutError(Exception):
    """An answer that does not come to its end; the text says why."""


async def deliver(answer: Answer, receive: Receive, send: Send, workers: Workers, *, head: bool) -> int:
    """Send an answer, or with `head` its headers alone. Returns the bytes of its body that were sent.

    Raises CutError, and what a stream raises.
    """
    headers = [("content-type", answer.kind)] if answer.kind else []
    if answer.length is not None and answer.status not in (204, 304):
        headers.append(("content-length", str(answer.length)))
    listed = [
        (name.lower().encode("ascii"), value.encode("latin-1", "replace"))
        for name, value in (*headers, *answer.headers)
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": listed})
    held = Held(b"" if head else answer.body)
    if head or (isinstance(answer.body, bytes) and len(answer.body) <= PIECE):
        piece = held.next() or b""
        await _sent({"type": "http.response.body", "body": piece, "more_body": True}, send, workers)
        await _sent({"type": "http.response.body", "body": b""}, send, workers)
        return len(piece)
    return await _streamed(held, answer.need, receive, send, workers)


async def _streamed(held: Held, need: int, receive: Receive, send: Send, workers: Workers) -> int:
    """Send a body piece by piece, until its end or until the client goes away."""
    gone = asyncio.ensure_future(_left(receive))
    count = 0
    try:
        while not gone.done():
            piece = held.ready() or await workers.do(held.next, need, begun=True)
            if piece is None:
                await _sent({"type": "http.response.body", "body": b""}, send, workers)
                break
            await _sent({"type": "http.response.body", "body": piece, "more_body": True}, send, workers, held)
            count += len(piece)
    except BusyError as error:
        raise CutError(str(error)) from None
    finally:
        gone.cancel()
        with suppress(ValueError):  # a thread is at work on it, and nobody waits for that
            held.close()
    return count


async def _left(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _sent(message: Message, send: Send, workers: Workers, held: Held | None = None) -> None:
    """Send one message when there is room for it; put away what waits behind it if that takes long.

    Raises CutError if no room comes.
    """
    limits = workers.limits
    sending = asyncio.ensure_future(send(message))
    try:
        done, _ = await asyncio.wait({sending}, timeout=min(limits.slow, limits.timeout))
        if not done and held is not None and held.heavy:
            await workers.do(held.put_away, begun=True)
        if not done:
            done, _ = await asyncio.wait({sending}, timeout=limits.timeout)
        if not done:
            raise CutError(f"the client takes nothing for {limits.timeout:g} seconds")
        sending.result()
    finally:
        sending.cancel()
