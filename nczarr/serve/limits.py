"""What a server may take: every limit in one frozen value; the defaults are those of the command line."""

from __future__ import annotations

import os
from typing import NamedTuple

CONCURRENCY = min(16, (os.cpu_count() or 1) + 2)
"""Pieces of work at once; most of them wait for files or leave the interpreter's lock."""


class Limits(NamedTuple):
    """How much one answer, and all of them together, may take.

    `response`: bytes of one answer; `memory`: bytes of chunks that are decoded at once, and of metadata that is kept;
    `concurrency`: pieces of work at once; `queue`: how many may wait for that; `connections`: clients at once,
    others wait until one of them goes.
    `timeout`: seconds for a piece of work, for a client to send a request, and to take the next piece of an answer;
    `grace`: seconds in which running answers may end when the server does. `page`: entries of one page.
    `slow`: seconds after which what a client has not taken is put into a temporary file.
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

    @property
    def kept(self) -> int:
        """Bytes of datasets that are kept open, about."""
        return self.memory // 4


PIECE = 1 << 18
"""Bytes that are given to a connection at once."""
