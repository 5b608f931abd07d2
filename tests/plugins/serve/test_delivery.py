"""Answers to clients that take nothing: what they hold in memory and on disk, and what comes when clients go on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from nczarr.plugins.serve.answers import HttpAnswer
from nczarr.plugins.serve.delivery import Client, CutError, DeliveredBody, Delivery
from nczarr.plugins.serve.resources import PIECE, Disk, FullError, Limits, Share, Spool, Workers

DATA = bytes(range(256)) * 32768
LIMITS = Limits()._replace(slow=0.02, timeout=5.0, concurrency=2, memory=64 << 20)


def stream(data: bytes = DATA) -> Iterator[bytes]:
    for start in range(0, len(data), 300_000):
        yield data[start : start + 300_000]


class Taker:
    """A client that takes `first` messages, and the others when `go` is set."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.go = asyncio.Event()
        self.body = b""

    async def send(self, message: Any) -> None:
        if self.first <= 0:
            await self.go.wait()
        self.first -= 1
        self.body += message.get("body", b"")

    async def receive(self) -> Any:
        await asyncio.Event().wait()


async def given(answer: HttpAnswer, disk: Disk, need: int = 0) -> tuple[bytes, list[int]]:
    """The bytes that a client gets who pauses, and the memory and disk that the answer has meanwhile.

    `need`: memory of work that begins while the client pauses.
    """
    workers = Workers(LIMITS, disk)
    taker, share = Taker(4), Share(workers)
    client = Client(taker.receive, taker.send)
    delivery = Delivery(answer, workers, share, head=False)
    del answer
    assert workers.used > 0
    giving = asyncio.ensure_future(delivery.give(client))
    await asyncio.sleep(0.3)
    paused = [workers.used, disk.used]
    work = asyncio.ensure_future(workers.do(lambda: None, need))
    await asyncio.sleep(0.1)
    taker.go.set()
    try:
        await giving
    finally:
        client.close()
        await work
        await asyncio.sleep(0.05)
        workers.close()
        assert (workers.used, disk.used) == (0, 0)
    return taker.body, paused


def answer_of(kind: str) -> HttpAnswer:
    return HttpAnswer(DATA) if kind == "bytes" else HttpAnswer(stream(), need=8 << 20, size=len(DATA))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bytes", "stream"])
def test_a_paused_answer_leaves_memory_and_goes_on(kind: str) -> None:
    body, (memory, stored) = asyncio.run(given(answer_of(kind), Disk(1 << 30)))
    assert body == DATA
    assert memory <= PIECE
    assert stored > 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bytes", "stream"])
def test_without_room_on_disk_a_paused_answer_waits_in_memory(kind: str) -> None:
    body, (memory, stored) = asyncio.run(given(answer_of(kind), Disk(0)))
    assert body == DATA
    assert memory > PIECE
    assert stored == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bytes", "stream"])
def test_without_room_on_disk_a_paused_answer_is_cut_when_others_need_its_memory(kind: str) -> None:
    with pytest.raises(CutError, match="others need the memory"):
        asyncio.run(given(answer_of(kind), Disk(0), need=LIMITS.answers))


def test_temporary_files_have_a_limit() -> None:
    disk = Disk(1000)
    first, second = Spool(disk), Spool(disk)
    first.write(b"a" * 900)
    with pytest.raises(FullError, match="the limit is 1000"):
        second.write(b"b" * 200)
    first.close()
    second.write(b"b" * 200)
    assert second.read(500) == b"b" * 200
    second.rewind(50)
    assert (second.read(500), second.read(1)) == (b"b" * 50, b"")
    second.close()
    assert disk.used == 0


def test_a_body_without_room_on_disk_is_not_put_away() -> None:
    disk = Disk(1 << 20)
    for held in (DeliveredBody(DATA), DeliveredBody(stream(), 1 << 20)):
        assert not held.put_away(disk)
        assert not held.put_away(disk)
        assert b"".join(iter(held.next, None)) == DATA
        held.close()
        assert disk.used == 0


def test_memory_that_answers_hold_is_not_given_to_work() -> None:
    async def order() -> list[str]:
        workers, seen = Workers(LIMITS), list[str]()
        share = Share(workers)
        share.resize(LIMITS.answers)
        work = asyncio.ensure_future(workers.do(lambda: seen.append("work"), 1 << 20))
        new = asyncio.ensure_future(workers.do(lambda: seen.append("new")))
        await asyncio.sleep(0.05)
        assert workers.pressed or seen == ["new"]
        await workers.do(lambda: seen.append("going"), begun=True, share=share)
        assert "work" not in seen
        share.close()
        await asyncio.gather(work, new)
        workers.close()
        assert workers.used == 0
        return seen

    assert asyncio.run(order()).index("going") < 2


def test_work_whose_caller_has_gone_keeps_its_memory_until_it_ends() -> None:
    async def left() -> tuple[int, int]:
        import threading

        workers, gate = Workers(LIMITS), threading.Event()
        share = Share(workers)
        work = asyncio.ensure_future(workers.do(lambda: gate.wait(5) and b"", 1 << 20, share=share, weigh=lambda _: 7))
        await asyncio.sleep(0.05)
        work.cancel()
        await asyncio.wait({work})
        share.close()
        during = workers.used
        gate.set()
        await asyncio.sleep(0.1)
        workers.close()
        return during, workers.used

    assert asyncio.run(left()) == (1 << 20, 0)
