"""The lock of the C libraries, together with xarray's lock of them."""

from __future__ import annotations

import sys
from threading import Lock, Thread
from types import SimpleNamespace

import pytest

from nczarr.arrays.execution.library_lock import LibraryLock


def test_it_is_reentrant_and_takes_the_lock_of_xarray_once(monkeypatch: pytest.MonkeyPatch) -> None:
    other, lock = Lock(), LibraryLock()
    with lock:
        assert not other.locked()
    monkeypatch.setitem(sys.modules, "xarray.backends.netCDF4_", SimpleNamespace(NETCDF4_PYTHON_LOCK=other))  # type: ignore[arg-type]
    with lock:
        assert other.locked()
        with lock:
            assert other.locked()
        assert other.locked()
    assert not other.locked()


def test_other_threads_wait() -> None:
    lock, seen = LibraryLock(), list[bool]()
    with lock:
        thread = Thread(target=lambda: seen.append(lock.acquire(timeout=0.01)))
        thread.start()
        thread.join()
    assert seen == [False]
    assert lock.acquire(timeout=1)
    lock.release()
