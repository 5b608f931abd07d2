"""Chunks of objects that hdmf-zarr has pickled, read without running anything that they name.

Nothing of NumPy is unpickled either: the state of a dtype could make it read
bytes as pointers. Arrays and dtypes become plain records of their state.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from nczarr.arrays.lazy_numpy import np


class _PickledType:
    """A dtype: its name, such as `i4`, `V16` or `O8`, and its byte order."""

    def __init__(self, name: str, align: Any = None, copy: Any = None) -> None:
        self.name, self.order = name, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def read(self, data: bytes) -> Any:
        """Return the values of numbers. Raises ValueError for other types."""
        found = np.dtype(self.name)
        if found.kind not in "biufSU":
            raise ValueError(f"it has bytes of type {self.name}")
        return np.frombuffer(data, found.newbyteorder(">" if self.order == ">" else "<")).tolist()


class _PickledArray:
    """An array: a list of its items; rows are tuples."""

    def __init__(self, *of: Any) -> None:
        self.items: list[Any] = []

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        kind, data = state[2], state[4]
        self.items = data if isinstance(data, list) else kind.read(data)


def _make_scalar(kind: _PickledType, data: Any) -> Any:
    return kind.read(data)[0] if isinstance(data, bytes) else data


_KNOWN: dict[tuple[str, str], Any] = {
    ("hdmf_zarr.utils", "ZarrReference"): dict,
    ("numpy", "dtype"): _PickledType,
    ("numpy", "ndarray"): object,  # its name alone is used
}
for _core in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _KNOWN |= {(_core, "_reconstruct"): _PickledArray, (_core, "scalar"): _make_scalar}
"""Our objects for the names in chunks of hdmf-zarr."""


class _RecordUnpickler(pickle.Unpickler):
    """Reader of pickles that loads none of their names."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it names `{module}.{name}`, which is not read")
        return _KNOWN[module, name]


def read_pickle(data: bytes) -> list[Any]:
    """Return the items of a pickled array. Raises ValueError for anything else."""
    try:
        array = _RecordUnpickler(io.BytesIO(data)).load()
        return [*array.items]
    except (pickle.UnpicklingError, ArithmeticError, LookupError, AttributeError, TypeError, EOFError) as error:
        raise ValueError(f"the pickled chunk is not one of hdmf-zarr: {error}") from error
    except (MemoryError, RecursionError, ImportError) as error:
        raise ValueError("the pickled chunk is damaged") from error
