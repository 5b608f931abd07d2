"""Work of this thread, counted: a measure of cost that does not depend on the machine."""

from __future__ import annotations

import cProfile
from collections.abc import Iterator
from contextlib import contextmanager


class Work:
    """Calls of functions, of Python and of C, in the block of `counted`."""

    calls: int = 0


@contextmanager
def counted(most: int) -> Iterator[Work]:
    """Count the calls in a block, and fail if there are more than `most`."""
    work, profile = Work(), cProfile.Profile()
    profile.enable()
    try:
        yield work
    finally:
        profile.disable()
        work.calls = sum(entry.callcount for entry in profile.getstats())  # type: ignore[attr-defined]
    assert work.calls <= most, f"{work.calls} calls, more than {most}"
