"""Termination of a process whose C library call does not return.

Python runs signal handlers between bytecodes of the main thread. If the HDF5
library loops in a damaged file, no handler runs. Therefore a second thread
receives signals through the wakeup descriptor, which Python's C code writes at
once. If the lock of the libraries stays taken for a second after a signal, a
call hangs, and the thread ends the process.
"""

import _thread
import os
import signal
import sys
import time
from collections.abc import Collection

from nczarr.cli import clear_fetched, clear_unfinished

PATIENCE = 1.0
"""Seconds that a library call may take after a signal."""

PAUSE = 0.1
"""Seconds between checks of the lock."""


def watch(numbers: Collection[int]) -> None:
    """Start the thread that ends the process if a library call hangs after one of these signals."""
    heard, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # the signals of a child are its own
    _thread.start_new_thread(_wait, (heard, frozenset(numbers)))


def _wait(heard: int, numbers: frozenset[int]) -> None:
    """Wait for the first signal, then check whether the libraries respond."""
    number = next(
        signal_number for signal_number in iter(lambda: os.read(heard, 1)[0], None) if signal_number in numbers
    )
    while _answers():
        time.sleep(PAUSE)
    _end(128 + number)


def _answers() -> bool:
    """Return whether the library lock becomes free."""
    module = sys.modules.get("nczarr.arrays.execution.library_lock")
    lock = getattr(module, "LOCK", None)  # the module may be in the middle of its import
    if lock is None:
        return True
    if not lock.acquire(timeout=PATIENCE):
        return False
    lock.release()
    return True


def _end(status: int) -> None:
    """Remove unfinished and fetched files, and end the process."""
    try:
        clear_unfinished()
        clear_fetched()
    finally:
        os._exit(status)
