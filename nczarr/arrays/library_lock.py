"""The lock around every call of C libraries that are not safe for threads: netCDF and HDF5."""

from __future__ import annotations

from threading import RLock

LOCK = RLock()
