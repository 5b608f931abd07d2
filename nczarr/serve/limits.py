"""Resource limits of a server; the defaults are those of the command line."""

from __future__ import annotations

import os
from typing import NamedTuple

CONCURRENCY = min(16, (os.cpu_count() or 1) + 2)
"""Default number of concurrent tasks; most wait for files or release the GIL."""


class Limits(NamedTuple):
    """Resource limits.

    `response`: bytes of one answer; `memory`: bytes of all answers in progress
    and of cached metadata; `spill`: bytes of temporary files for slow clients;
    `concurrency`: concurrent tasks; `queue`: waiting requests; `connections`:
    concurrent clients, others wait; `timeout`: seconds for a task, for a client
    to send a request, and to take the next piece of an answer; `grace`: seconds
    for running answers when the server ends; `page`: entries of one page;
    `slow`: total seconds that an answer may wait for its client in memory.
    """

    response: int = 256 << 20
    memory: int = 1 << 30
    concurrency: int = CONCURRENCY
    queue: int = 4096
    connections: int = 2048
    timeout: float = 60.0
    grace: float = 3.0
    page: int = 200
    slow: float = 1.0
    spill: int = 4 << 30

    @property
    def kept(self) -> int:
        """Approximate bytes of cached datasets."""
        return self.memory // 4

    @property
    def answers(self) -> int:
        """Bytes of memory for all answers in progress."""
        return max(1, self.memory - self.kept)

    @property
    def immediate(self) -> int:
        """Bytes of memory up to which work starts at once, without a reservation."""
        return min(8 << 20, self.answers // 64)


PIECE = 1 << 18
"""Maximum bytes passed to a connection at once."""

LEAST_PIECE = 1 << 14
"""Maximum bytes passed to a connection at once while there are many."""
