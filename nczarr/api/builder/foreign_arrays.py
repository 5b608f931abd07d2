"""Arrays of other libraries as numpy arrays, before anything else looks at them.

Comes in: whatever a caller gives as data or as the value of an attribute. Goes out: numpy arrays, or Python values as
they are; and which cells are masked. pandas, dask, xarray, netCDF4 and h5py objects are taken by `__array__`, buffers
by numpy; missing items of pandas are masked cells.
"""

from __future__ import annotations

import array
import sys
from typing import Any, NamedTuple

from nczarr.api.builder.pieces import RefusedError
from nczarr.arrays.lazy_numpy import NDArray, np

DATES = (
    "give numbers and the attribute `units`: `(times - np.datetime64('1970-01-01')) / np.timedelta64(1, 's')` "
    "with `units = 'seconds since 1970-01-01'`"
)
"""How dates are written in netCDF."""

_PLAIN = (str, bytes, int, float, complex, type(None))


class Given(NamedTuple):
    """Data as numpy or Python has them."""

    values: Any
    """An array, or what was given if it is none."""
    mask: NDArray[np.bool_] | None = None
    """Which cells are masked; None: none is."""


def given(data: Any) -> Given:
    """Return data without the library that they come from. Raises RefusedError for what has no form here."""
    if isinstance(data, _PLAIN):
        return Given(data)
    if isinstance(data, list | tuple):
        return _masked_list(data) if _has_masked(data) else Given(data)
    if isinstance(data, memoryview | array.array):
        return Given(np.asarray(data))
    if not hasattr(data, "__array__"):
        return Given(data)
    if hasattr(data, "__dask_graph__"):
        data = _called(data, "compute")
    if getattr(data, "null_count", 0):
        raise RefusedError("type-mismatch", f"`{type(data).__name__}` has missing items, and no value stands for these")
    found = _missing(data) or _converted(data)
    _refuse_dates(found.values.dtype)
    return found


def unmasked(data: Any, what: str) -> Any:
    """Return data in which nothing is masked. Raises RefusedError for others."""
    found = given(data)
    if found.mask is not None:
        raise RefusedError("type-mismatch", f"{what} has masked or missing items, and no value stands for these")
    return found.values


def _converted(data: Any) -> Given:
    """Return what `__array__` gives, with its mask."""
    made = data if isinstance(data, np.ndarray | np.generic) else _called(data, "__array__")
    if not isinstance(made, np.ndarray | np.generic):
        raise RefusedError("type-mismatch", f"`{type(data).__name__}` makes no array of numpy")
    if isinstance(made, np.ma.MaskedArray):
        return Given(np.ma.getdata(made), _mask(made))
    return Given(made if type(made) is np.ndarray or isinstance(made, np.generic) else np.asarray(made))


def _called(data: Any, method: str) -> Any:
    """Return what a method without arguments gives. Raises RefusedError for whatever the library raises."""
    try:
        return getattr(data, method)()
    except Exception as error:  # any library may raise anything here
        text = f"`{type(data).__name__}` cannot be made an array: {type(error).__name__}: {error}"
        raise RefusedError("type-mismatch", text) from error


def _mask(made: Any) -> NDArray[np.bool_] | None:
    """Return which elements are masked; None: none is. Raises RefusedError for records that are masked in part."""
    mask = np.ma.getmaskarray(made)
    if mask.dtype.names is not None:
        columns = _columns(mask)
        whole = columns.all(axis=-1)
        if (columns.any(axis=-1) != whole).any():
            raise RefusedError("type-mismatch", "some records are masked in part: a fill value stands for whole ones")
        mask = whole
    return mask if mask.any() else None


def _columns(mask: Any) -> Any:
    """Return a structured mask with one truth value a member."""
    width = mask.dtype.itemsize
    flat = np.ascontiguousarray(mask).reshape(-1).view(np.uint8).reshape(-1, width).astype(bool)
    return flat.reshape(*mask.shape, width)


def _missing(data: Any) -> Given | None:
    """Return pandas data whose type has missing items beside NaN; these are masked, or None among texts."""
    if "pandas" not in sys.modules or not hasattr(data, "isna") or not hasattr(data, "to_numpy"):
        return None
    dtypes = [data.dtype] if hasattr(data, "dtype") else list(getattr(data, "dtypes", ()))
    if all(isinstance(each, np.dtype) for each in dtypes):
        return None
    for each in dtypes:
        if getattr(each, "kind", "") in ("M", "m"):
            raise RefusedError("type-mismatch", f"{each} is no type of netCDF", DATES)
    missing = np.asarray(data.isna(), dtype=bool)
    filled = np.array(data.to_numpy(dtype=object), dtype=object)
    texts = any(isinstance(each, str | bytes) for each in filled[~missing])
    filled[missing] = None if texts else 0
    return Given(_packed(filled), None if texts or not missing.any() else missing)


def _packed(values: Any) -> Any:
    """Return numbers in an array of objects as numbers; anything else as it is."""
    if values.dtype.kind != "O":
        return values
    kinds = set(map(type, values.reshape(-1)))
    if kinds and kinds <= {int, float}:
        return np.array(values.tolist())
    return values


def _has_masked(items: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a nested list has masked arrays in it."""
    ma = sys.modules.get("numpy.ma")
    if ma is None:
        return False
    for each in items:
        if isinstance(each, ma.MaskedArray):
            return True
        if isinstance(each, list | tuple) and _has_masked(each):
            return True
    return False


def _masked_list(items: list[Any] | tuple[Any, ...]) -> Given:
    """Return a nested list with its masked items, which numpy itself would make doubles of."""
    try:
        mask = np.array(_masks(items), dtype=bool)
        values = np.array(_unmasked_items(items), dtype=object)
    except ValueError as error:
        raise RefusedError("shape-mismatch", f"a list with masked items makes no array: {error}") from error
    if values.shape != mask.shape:
        raise RefusedError("shape-mismatch", "a list with masked items makes no array of one shape")
    return Given(values, mask)


def _masks(item: Any) -> Any:
    """Return for each item of a nested list whether it is masked."""
    if isinstance(item, np.ma.MaskedArray):
        return np.ma.getmaskarray(item).tolist()
    return list(map(_masks, item)) if isinstance(item, list | tuple) else np.zeros(np.shape(item), bool).tolist()


def _unmasked_items(item: Any) -> Any:
    """Return a nested list with zeros where items are masked."""
    if isinstance(item, np.ma.MaskedArray):
        _refuse_dates(item.dtype)
        return np.ma.filled(item.astype(object), 0).tolist()
    return list(map(_unmasked_items, item)) if isinstance(item, list | tuple) else item


def _refuse_dates(dtype: Any) -> None:
    """Refuse arrays of dates and of durations, whatever their unit is. Raises RefusedError."""
    if dtype.kind in "mM":
        raise RefusedError("type-mismatch", f"{dtype} is no type of netCDF", DATES)
    for name in dtype.names or ():
        _refuse_dates(dtype[name].base)
