"""Arrays of pandas, xarray and pyarrow as data of variables in a `DatasetBuilder`.

Missing items become masked, or None among texts.
"""

from __future__ import annotations

from typing import Any, NoReturn

from nczarr.api.builder.foreign_arrays import DATES, ArrayData
from nczarr.api.builder.pieces import UnsuitedValueError
from nczarr.arrays.lazy_numpy import np
from nczarr.plugins.xarray.objects.pandas_columns import find_texts


def convert_array(data: Any) -> ArrayData | Any:
    """Return an array with its mask; an array without missing items as it is, that of an object of xarray.

    `data`: a series, index, array or data frame of pandas, or an object of xarray. Raises UnsuitedValueError.
    """
    import pandas as pd

    if type(data).__module__.partition(".")[0] == "xarray":
        data = getattr(data, "data", data)  # a dataset has none
        if type(getattr(data, "_meta", data)).__module__.partition(".")[0] == "pint":
            refuse_quantity(data)
        if isinstance(data, np.ndarray) and data.dtype.kind in "OT":
            texts = find_texts(data)
            return data if texts is None else ArrayData(texts)
    if type(data).__module__.partition(".")[0] != "pandas":
        return data
    dtypes = [data.dtype] if hasattr(data, "dtype") else list(getattr(data, "dtypes", ()))
    if all(isinstance(dtype, np.dtype) and dtype.kind not in "OT" for dtype in dtypes):
        return data
    for dtype in dtypes:
        if getattr(dtype, "kind", "") in ("M", "m"):
            raise UnsuitedValueError("type-mismatch", f"{dtype} is not a netCDF type", DATES)
    missing = np.asarray(pd.isna(data), dtype=bool)
    filled = np.array(data, dtype=object)
    has_texts = any(getattr(dtype, "type", None) is str for dtype in dtypes)
    has_texts = has_texts or any(isinstance(text, str | bytes) for text in filled[~missing])
    if not has_texts and all(isinstance(dtype, np.dtype) for dtype in dtypes) and (missing.all() or not missing.any()):
        return data
    filled[missing] = None if has_texts else 0
    if filled.size and set(map(type, filled.reshape(-1))) <= {int, float}:
        filled = np.array(filled.tolist())
    return ArrayData(filled, None if has_texts or not missing.any() else missing)


def refuse_quantity(data: Any) -> NoReturn:
    """Raise UnsuitedValueError for an array with units of pint, which `__array__` and dask omit."""
    text = f"`{type(data).__name__}` has units of pint beside its values"
    remedy = "`.pint.dequantify()` makes attributes of the units of a dataset; `.magnitude` has the values of an array"
    raise UnsuitedValueError("type-mismatch", text, remedy)


def convert_arrow(data: Any) -> Any:
    """Return an array of pyarrow, of which texts alone may be missing. Raises UnsuitedValueError."""
    if data.null_count and str(data.type) not in ("string", "large_string"):
        text = f"`{type(data).__name__}` has missing items and no fill value for them"
        raise UnsuitedValueError("type-mismatch", text)
    return data
