"""Actions at deadlines."""

from __future__ import annotations

import threading

from nczarr.arrays.execution.processes import Deadlines


def test_actions_of_blocks_that_take_too_long() -> None:
    deadlines, late, early = Deadlines(), threading.Event(), list[int]()
    with deadlines.action(600, lambda: early.append(1)), deadlines.action(0.01, late.set):
        assert late.wait(30)
    with deadlines.action(600, lambda: early.append(2)):
        pass
    assert early == []
    assert deadlines._actions == {}


def test_blocks_share_one_thread() -> None:
    deadlines = Deadlines()
    before = threading.active_count()
    for _ in range(20):
        with deadlines.action(600, lambda: None):
            assert threading.active_count() == before + 1
