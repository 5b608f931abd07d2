"""Lock for all calls of the C libraries netCDF and HDF5, which are not thread-safe."""

from __future__ import annotations

from threading import RLock

LOCK = RLock()
