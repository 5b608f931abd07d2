"""Lock for all calls of the C libraries netCDF and HDF5, which are not thread-safe.

netCDF4-python uses the same libraries. xarray has a lock for its own calls of
it, which lazy arrays make in our threads: a thread with our lock has that one
too.
"""

import sys
from threading import RLock
from typing import Any

_XARRAY = "xarray.backends.netCDF4_"


class LibraryLock:
    """Reentrant lock; `acquire` and `release` concern our own calls alone."""

    def __init__(self) -> None:
        self._own = RLock()
        self._depth = 0
        self._other: Any = None

    def acquire(self, timeout: float = -1) -> bool:
        """Wait until no other thread of ours is in the libraries; return whether that was in time."""
        return self._own.acquire(timeout=timeout)

    def release(self) -> None:
        """Let other threads of ours into the libraries."""
        self._own.release()

    def __enter__(self) -> None:
        """Acquire the lock and, once, xarray's lock of netCDF4-python if xarray is loaded."""
        self._own.acquire()
        if not self._depth:
            self._other = getattr(sys.modules.get(_XARRAY), "NETCDF4_PYTHON_LOCK", None)
            if self._other is not None:
                try:
                    self._other.acquire()
                except BaseException:
                    self._own.release()
                    raise
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth and self._other is not None:
            self._other.release()
        self._own.release()


LOCK = LibraryLock()
