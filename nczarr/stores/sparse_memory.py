"""Memory for a part of a large file: only used pages take memory, and the system lists them."""

from __future__ import annotations

import ctypes
import errno
import mmap
import sys
from functools import cache
from typing import Any

_UNRESERVED: int = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
"""Flag without which the system refuses more than its memory; Python names it since 3.13."""


def sparse_memory(size: int) -> mmap.mmap:
    """Return zeros, of which only the used pages take memory. Raises OSError if there is no address space for them."""
    memory = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _UNRESERVED)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)  # to read one page would use hundreds
    return memory


@cache
def _mincore() -> Any:
    """Return the function of the system that tells used pages; None without one."""
    try:
        return ctypes.CDLL(None, use_errno=True).mincore
    except (AttributeError, OSError, TypeError):
        return None


@cache
def is_told() -> bool:
    """Return whether `touched` works on this system."""
    memory = sparse_memory(2 * mmap.PAGESIZE)
    try:
        return memory[mmap.PAGESIZE] == 0 and [page & 1 for page in touched(memory)] == [0, 1]
    except OSError:
        return False


def touched(memory: mmap.mmap) -> bytes:
    """Return a byte for each page of sparse memory: odd if the page was read or written. Raises OSError."""
    if _mincore() is None:
        raise OSError(errno.ENOTSUP, "the system does not tell which pages are used")
    pages = ctypes.create_string_buffer(-(-len(memory) // mmap.PAGESIZE))
    whole = (ctypes.c_char * len(memory)).from_buffer(memory)
    if _mincore()(ctypes.c_void_p(ctypes.addressof(whole)), ctypes.c_size_t(len(memory)), pages):
        raise OSError(ctypes.get_errno(), "the system does not tell which pages are used")
    return bytes(memoryview(pages))
