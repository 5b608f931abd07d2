"""Lazy array of one variable, which xarray indexes."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray.backends.common import BackendArray
from xarray.core import indexing

from nczarr.integrations.xarray.opened import OpenedDataset
from nczarr.integrations.xarray.values import native
from nczarr.select.indexing import read_outer, read_points


class NczarrArray(BackendArray):
    """Variable of a dataset. Reads take no lock, and only the chunks that an index needs."""

    __slots__ = ("dtype", "opened", "path", "shape")

    def __init__(self, opened: OpenedDataset, path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.opened = opened
        self.path = path
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        """Return the values at an index, in the shape that xarray expects of it.

        Raises CompileError for an unreadable chunk, OSError for an unreachable one.
        """
        checked = self.opened.handle.checked
        by_points = isinstance(key, indexing.VectorizedIndexer)
        values = (read_points if by_points else read_outer)(checked, self.path, key.tuple)
        form = self.opened.form(checked.variables[self.path])
        if form is not None and form.convert is not None:
            return form.convert(values)
        return native(values)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        """Return the values at an index, read in another thread."""
        return await asyncio.to_thread(self.__getitem__, key)
