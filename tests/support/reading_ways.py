"""Every way to read a region of an array: in one thread or several, by the cache or straight into a result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nczarr.arrays.chunks import chunk_grid_array
from nczarr.arrays.execution import thread_pool
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Selection, lengths_of
from nczarr.arrays.sources import strided
from nczarr.arrays.sources.source import ArraySource, little
from nczarr.pipeline.select import reader

WAYS = [(1, 1 << 40), (1, 0), (4, 0)]
"""Threads and threshold: in one thread with the cache, in one straight into the result, in four."""


@contextmanager
def ways(workers: int, least: int = 0, *more: ModuleType) -> Iterator[None]:
    """Read by so many threads, all regions of more than `least` bytes; `more`: modules of a plugin that share work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_grid_array, "DIRECT", least - 1)
        patch.setattr(chunk_grid_array, "LEAST", least)
        patch.setattr(reader, "LARGEST_VIEW", least - 1)
        for module in (chunk_grid_array, strided, *more):
            patch.setattr(module, "SHARED", least - 1)
        for module in more:
            patch.setattr(module, "SEVERAL", 2)
        patch.setattr(strided, "STRETCH", 16 if least == 0 else 1 << 20)
        helpers = thread_pool._Helpers()
        helpers._free = workers - 1
        patch.setattr(thread_pool, "_helpers", helpers)
        yield
        assert helpers._free == workers - 1


def same(found: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Compare shape, dtype and every bit."""
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    return bool(found.tolist() == wanted.tolist() if wanted.dtype.hasobject else found.tobytes() == wanted.tobytes())


def read_every_way(source: ArraySource, selection: Selection, *more: ModuleType) -> NDArray[Any]:
    """Return the values of a region, little-endian, after they were the same in every way."""
    wanted = little(np.array(source.read(selection)))
    for workers, least in WAYS:
        with ways(workers, least, *more):
            assert same(little(np.array(source.read(selection))), wanted), (workers, least)
            for dtype in (wanted.dtype, wanted.dtype.newbyteorder()):
                room = np.zeros([length + 2 for length in lengths_of(selection)], dtype)
                before = room.copy()
                inner: Any = (*(slice(1, -1) for _ in selection), ...)
                source.read_into(selection, room[inner])
                assert same(little(np.array(room[inner])), wanted), (workers, least, dtype)
                room[inner] = before[inner]
                assert same(room, before), "cells beside the region were changed"
    return wanted
