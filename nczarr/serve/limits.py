"""What a server may take: every limit in one frozen value; the defaults are those of the command line."""

from __future__ import annotations

import os
from typing import NamedTuple

CONCURRENCY = min(16, (os.cpu_count() or 1) + 2)
"""Pieces of work at once; most of them wait for files or leave the interpreter's lock."""


class Limits(NamedTuple):
    """How much one answer, and all of them together, may take.

    `response`: bytes of one answer; `memory`: bytes of all answers under way and of metadata that is kept;
    `spill`: bytes of temporary files that hold answers for slow clients;
    `concurrency`: pieces of work at once; `queue`: how many may wait for that; `connections`: clients at once,
    others wait until one of them goes.
    `timeout`: seconds for a piece of work, for a client to send a request, and to take the next piece of an answer;
    `grace`: seconds in which running answers may end when the server does. `page`: entries of one page.
    `slow`: seconds that an answer waits for its client in all before it leaves memory.
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
        """Bytes of datasets that are kept open, about."""
        return self.memory // 4

    @property
    def answers(self) -> int:
        """Bytes of memory for all answers under way."""
        return max(1, self.memory - self.kept)

    @property
    def immediate(self) -> int:
        """Bytes of memory up to which work is done at once, without asking for them."""
        return min(8 << 20, self.answers // 64)


PIECE = 1 << 18
"""Bytes that are given to a connection at once, at most."""

LEAST_PIECE = 1 << 14
"""Bytes that are given to a connection at once where there are many connections."""
