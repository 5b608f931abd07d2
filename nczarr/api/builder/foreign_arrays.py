"""Conversion of other libraries' arrays to NumPy arrays and masks.

dask, netCDF4 and h5py objects are converted by `__array__`, buffers by NumPy,
others by plugins. Plain Python values are returned unchanged.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from nczarr.api.builder.pieces import UnsuitedValueError
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types
from nczarr.ast import Constant
from nczarr.names.plugin_index import find_place, list_offered, load_part

DATES = (
    "give numbers and the attribute `units`: `(times - np.datetime64('1970-01-01')) / np.timedelta64(1, 's')` "
    "with `units = 'seconds since 1970-01-01'`"
)
"""Remedy for dates: netCDF stores them as numbers with units."""

_PLAIN = (str, bytes, int, float, complex, type(None))


class ArrayData(NamedTuple):
    """Data as NumPy arrays or Python values."""

    values: Any
    """The array, or the given Python value."""
    mask: NDArray[np.bool_] | None = None
    """Boolean array of masked cells, or None."""


def convert_foreign(data: Any, *, times: bool = False) -> ArrayData:
    """Convert data of another library. Raises UnsuitedValueError for unsupported kinds.

    `times`: arrays of dates and durations are supported.
    """
    if isinstance(data, _PLAIN):
        return ArrayData(data)
    if isinstance(data, list | tuple):
        return _convert_masked_list(data) if _has_masked(data) else ArrayData(data)
    if isinstance(data, memoryview | array.array):
        return ArrayData(np.asarray(data))
    if not hasattr(data, "__array__"):
        return ArrayData(data)
    package = type(getattr(data, "_meta", data)).__module__.partition(".")[0]  # of dask: that of the blocks
    if package != "numpy" and (place := find_place("array", package)) is not None:
        data = load_part(place)(data)
    if hasattr(data, "__dask_graph__"):
        if find_lazy(data) is not None:
            _refuse_dates(data.dtype, times=times)
            return ArrayData(data)
        data = _call(data, "compute")
    converted = data if isinstance(data, ArrayData) else _convert(data)
    _refuse_dates(converted.values.dtype, times=times)
    return converted


class LazyArrays(NamedTuple):
    """Arrays of another library, whose blocks are computed when they are read: an addition of a plugin."""

    accepts: Callable[[Any], bool]
    """Returns whether an array that has the attribute can be one of them."""
    is_masked: Callable[[Any], bool]
    """Returns whether blocks are masked."""
    make_parts: Callable[[Any, str, tuple[int, ...], Constant | None, Types, dict[str, Any]], Parts | None]
    """Returns the parts of `(array, type, shape, fill, types, shared)`; None if it must be computed first.

    `shared` is empty at first, and the same for all arrays of a dataset.
    """
    fill_masked: Callable[..., Any]
    """Returns a masked array `(array, type, fill, types)` with the fill value in masked cells."""


def find_lazy(data: Any) -> LazyArrays | None:
    """Return what makes parts of an array whose blocks are computed when they are read; None for other data."""
    for attribute in list_offered("lazy_array"):
        place = find_place("lazy_array", attribute) if hasattr(data, attribute) else None
        lazy: LazyArrays | None = None if place is None else load_part(place)
        if lazy is not None and lazy.accepts(data):
            return lazy
    return None


def compute(data: Any) -> ArrayData:
    """Return a dask array in memory. Raises UnsuitedValueError."""
    return convert_foreign(_call(data, "compute"))


def unmask(data: Any, what: str) -> Any:
    """Return data without masked cells, in memory. Raises UnsuitedValueError otherwise."""
    array_data = compute(data) if hasattr(data, "__dask_graph__") else convert_foreign(data)
    if array_data.mask is not None:
        raise UnsuitedValueError("type-mismatch", f"{what} has masked or missing items and no fill value for them")
    return array_data.values


def _convert(data: Any) -> ArrayData:
    """Return the result of `__array__` with its mask."""
    array = data if isinstance(data, np.ndarray | np.generic) else _call(data, "__array__")
    if not isinstance(array, np.ndarray | np.generic):
        raise UnsuitedValueError("type-mismatch", f"`{type(data).__name__}` cannot be converted to a NumPy array")
    if isinstance(array, np.ma.MaskedArray):
        return ArrayData(np.ma.getdata(array), _mask(array))
    return ArrayData(array if type(array) is np.ndarray or isinstance(array, np.generic) else np.asarray(array))


def _call(data: Any, method: str) -> Any:
    """Call a method without arguments. Raises UnsuitedValueError for every error of the library."""
    try:
        return getattr(data, method)()
    except Exception as error:  # any library may raise anything here
        text = f"`{type(data).__name__}` cannot be converted to an array: {type(error).__name__}: {error}"
        raise UnsuitedValueError("type-mismatch", text) from error


def _mask(array: Any) -> NDArray[np.bool_] | None:
    """Return the mask of the elements (True: masked): bool, the array's shape; None if no element is masked.

    Raises UnsuitedValueError for partly masked records.
    """
    mask = np.ma.getmaskarray(array)
    if mask.dtype.names is not None:
        columns = _columns(mask)
        whole = columns.all(axis=-1)
        if (columns.any(axis=-1) != whole).any():
            text = "some records are masked in part, but a fill value replaces whole records"
            raise UnsuitedValueError("type-mismatch", text)
        mask = whole
    return mask if mask.any() else None


def _columns(mask: Any) -> Any:
    """Return a structured mask with one boolean per member."""
    width = mask.dtype.itemsize
    flat = np.ascontiguousarray(mask).reshape(-1).view(np.uint8).reshape(-1, width).astype(bool)
    return flat.reshape(*mask.shape, width)


def _has_masked(items: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether a nested list contains masked arrays."""
    ma = sys.modules.get("numpy.ma")
    if ma is None:
        return False
    for item in items:
        if isinstance(item, ma.MaskedArray):
            return True
        if isinstance(item, list | tuple) and _has_masked(item):
            return True
    return False


def _convert_masked_list(items: list[Any] | tuple[Any, ...]) -> ArrayData:
    """Convert a nested list with masked items, which NumPy would convert to doubles."""
    try:
        mask = np.array(_masks(items), dtype=bool)
        values = np.array(_unmask_items(items), dtype=object)
    except ValueError as error:
        raise UnsuitedValueError(
            "shape-mismatch", f"a list with masked items cannot be converted to an array: {error}"
        ) from error
    if values.shape != mask.shape:
        raise UnsuitedValueError("shape-mismatch", "a list with masked items has no regular shape")
    return ArrayData(values, mask)


def _masks(item: Any) -> Any:
    """Return the mask of a nested list."""
    if isinstance(item, np.ma.MaskedArray):
        return np.ma.getmaskarray(item).tolist()
    return list(map(_masks, item)) if isinstance(item, list | tuple) else np.zeros(np.shape(item), bool).tolist()


def _unmask_items(item: Any) -> Any:
    """Return a nested list with zeros in place of masked items."""
    if isinstance(item, np.ma.MaskedArray):
        _refuse_dates(item.dtype)
        return np.ma.filled(item.astype(object), 0).tolist()
    return list(map(_unmask_items, item)) if isinstance(item, list | tuple) else item


def _refuse_dates(dtype: Any, *, times: bool = False) -> None:
    """Raise UnsuitedValueError for arrays of dates and durations, with `times` only for records of them."""
    if times and dtype.kind in "mM":
        return
    if dtype.kind in "mM":
        raise UnsuitedValueError("type-mismatch", f"{dtype} is not a netCDF type", DATES)
    for name in dtype.names or ():
        _refuse_dates(dtype[name].base)
