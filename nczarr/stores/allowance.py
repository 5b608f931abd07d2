"""Sizes that a source declares, compared with the bytes at hand and the free memory before memory is taken for them.

Every array that is made passes `check_memory` (`arrays/lazy_numpy.py`): systems
promise more memory than they have, and end a process that uses it.
"""

import sys
from contextlib import suppress

FREE = 1 << 25
"""Bytes for which memory is taken whatever they come from."""

EXPANSION = 200
"""Maximum bytes of a document for each compressed byte: JSON of many like arrays shrinks to a hundredth."""

OVERHEAD = 1 << 16
"""Bytes by which codecs may make a chunk longer, besides its own length again."""

LARGE = 1 << 28
"""Bytes that are taken without looking whether they are free."""

_CONTAINERS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""Folders that tell the memory of a container, with the names of its limit and of what it uses, files in memory too."""


def check_memory(size: int) -> None:
    """Raise MemoryError if so many bytes, wanted at once, are more than the system has."""
    if size > LARGE and size > (free := find_free_memory()):
        raise MemoryError(f"{size} bytes are needed at once, and {free} are free")


def find_free_memory() -> int:
    """Return the bytes that this process can take without being ended for it; a very large number if unknown."""
    free = sys.maxsize
    with suppress(OSError, ValueError):
        sizes = _read_sizes("/proc/meminfo")
        free = 1024 * (sizes.get("MemAvailable:", free) + sizes.get("SwapFree:", 0))
    for folder, limit, usage in _CONTAINERS:
        with suppress(OSError, ValueError):  # a container without a limit has the word `max`
            cached = _read_sizes(f"{folder}/memory.stat")
            used = _read_number(f"{folder}/{usage}") - cached.get("active_file", 0) - cached.get("inactive_file", 0)
            free = min(free, max(0, _read_number(f"{folder}/{limit}") - used))
    return free


def _read_sizes(path: str) -> dict[str, int]:
    """Return the numbers of a file of the system by their names. Raises OSError, ValueError."""
    with open(path, encoding="ascii") as file:
        return {words[0]: int(words[1]) for line in file if len(words := line.split()) > 1}


def _read_number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(file.read())


def find_excess(size: int, compressed: int, decoded: int | None = None) -> str:
    """Return why an entry of an archive with `size` declared bytes is not read; empty if these are likely.

    `decoded`: bytes of its chunk; None for documents, and for texts of variable length.
    """
    if decoded is None:
        return f"would inflate from {compressed} to {size} bytes" if size > FREE + EXPANSION * compressed else ""
    is_much = size > 2 * decoded + OVERHEAD
    return f"would inflate to {size} bytes, and the chunk has {decoded}" if is_much else ""
