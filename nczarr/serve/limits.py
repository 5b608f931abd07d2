"""Resource limits of a server; the defaults are those of the command line."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.execution.thread_pool import processors

CONCURRENCY = min(16, processors() + 2)
"""Default number of concurrent tasks; most wait for files or release the GIL."""


class Limits(NamedTuple):
    """Resource limits of a server."""

    response: int = 256 << 20
    """Maximum bytes of one answer."""
    memory: int = 1 << 30
    """Maximum bytes of all answers in progress and of cached metadata."""
    concurrency: int = CONCURRENCY
    """Maximum number of concurrent tasks."""
    queue: int = 4096
    """Maximum number of waiting requests."""
    connections: int = 2048
    """Maximum number of concurrent clients; further ones wait."""
    timeout: float = 60.0
    """Seconds for a task, for a client to send a request, and to take the next piece of an answer."""
    grace: float = 3.0
    """Seconds for running answers when the server ends."""
    page: int = 200
    """Maximum number of entries in one page."""
    slow: float = 1.0
    """Total seconds that an answer may wait in memory for its client."""
    spill: int = 4 << 30
    """Maximum bytes of temporary files for slow clients."""

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


PIECE = 1 << 20
"""Maximum bytes passed to a connection at once."""

LEAST_PIECE = 1 << 14
"""Maximum bytes passed to a connection at once while there are many."""
