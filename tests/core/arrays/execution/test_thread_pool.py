"""Threads of a run: bounded, in order, and none of them at work when the run has ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from nczarr.arrays.execution.thread_pool import Crew, Task


def test_results_come_in_the_order_of_the_tasks() -> None:
    with Crew(3, 100) as crew:
        tasks = (Task(lambda n=n: (time.sleep(0.002 * (5 - n % 5)), n)[1], need=n % 40) for n in range(40))  # type: ignore[misc]
        assert list(crew.results(tasks)) == list(range(40))


def test_nobody_works_any_more_after_an_interrupt() -> None:
    """A thread that the executor lost sight of while it was starting it is waited for as well."""
    begun, ended = threading.Event(), []

    def work() -> None:
        begun.set()
        time.sleep(0.1)
        ended.append(True)

    def interrupted(crew: Crew) -> None:
        with crew:
            threading.Thread(target=crew._run, args=(work,)).start()
            begun.wait()
            raise KeyboardInterrupt

    crew = Crew(1, 100)
    with pytest.raises(KeyboardInterrupt):
        interrupted(crew)
    assert ended == [True]
    crew._run(work)
    assert ended == [True]


def test_memory_bounds_what_is_under_way() -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def work() -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.002)
        with lock:
            now[0] -= 1

    def tasks() -> Iterator[Task]:
        for _ in range(20):
            yield Task(work, need=60)

    with Crew(8, 130) as crew:
        assert list(crew.results(tasks())) == [None] * 20
    assert most[0] <= 2


class Place:
    """A distant place that answers after `delay` seconds, to at most `capacity` requests at a time."""

    def __init__(self, delay: float, capacity: int) -> None:
        self.delay = delay
        self.free = threading.Semaphore(capacity)
        self.lock = threading.Lock()
        self.asking, self.most, self.held, self.most_held = 0, 0, 0, 0

    def ask(self) -> None:
        """Wait for an answer."""
        with self.lock:
            self.asking += 1
            self.most = max(self.most, self.asking)
        with self.free:
            time.sleep(self.delay)
        with self.lock:
            self.asking -= 1


@pytest.mark.parametrize(("capacity", "workers"), [(1000, 64), (16, 16)])
def test_distant_places_are_asked_by_as_many_as_they_answer(capacity: int, workers: int) -> None:
    for _ in range(3):  # a busy machine answers late, as a busy place does
        place = Place(0.02, capacity)
        with Crew(None, 1 << 30, distant=True) as crew:
            list(crew.results(Task(place.ask) for _ in range(1500)))
            found = crew.workers
        assert place.most <= max(workers, 32)  # those that were tried
        if found == workers:
            break
    assert found == workers


def test_a_number_of_threads_that_is_asked_for_stays() -> None:
    place = Place(0.002, 1000)
    with Crew(5, 1 << 30, distant=True) as crew:
        list(crew.results(Task(place.ask) for _ in range(400)))
        assert crew.workers == 5
    assert place.most <= 5


def test_memory_bounds_requests_too() -> None:
    place = Place(0.002, 1000)
    with Crew(None, 80, distant=True) as crew:
        list(crew.results(Task(place.ask, 10) for _ in range(600)))
    assert place.most <= 8
