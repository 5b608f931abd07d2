"""Columns of pandas, and arrays of Python objects, as NumPy arrays that CF conventions can encode.

Missing items are NIL among texts, NaN among floats, NaT among times, and a
declared `_FillValue` among integers and booleans. What no dataset can have is
refused with the remedy in pandas' own terms. As data of variables in a
`DatasetBuilder`, missing items become masked, or None among texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from nczarr.api.builder.dtypes import CODES
from nczarr.api.builder.foreign_arrays import DATES, ArrayData
from nczarr.api.builder.pieces import UnsuitedValueError
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.semantics.check_types import DEFAULT

TEXTS = np.dtype("O", metadata={"element_type": str})
"""Dtype of texts and None; the metadata are xarray's mark of texts."""

NOT_A_TIME = int(np.iinfo(np.int64).min)
"""Number that xarray's coders store for NaT."""

PACKING = frozenset({"_FillValue", "missing_value", "scale_factor", "add_offset", "dtype"})
"""Keys of an encoding with which xarray's coders store missing numbers."""

CLASSIC = {"i8": ("i4",), "u8": ("i4",), "u4": ("i4",), "u2": ("i2", "i4"), "u1": ("i1", "i2")}
"""Dtypes for the integers that classic files lack: the first that has all values."""


class Column(NamedTuple):
    """Values of one column."""

    values: NDArray[Any]
    """One value a cell; where `missing` is set, any value."""
    missing: NDArray[np.bool_] | None = None
    """Missing cells of integers and booleans; None without any, or if the values have a mark for them."""
    lost: tuple[str, ...] = ()
    """Details of the dtype that a dataset does not keep; the values are complete."""


class StoredColumn(NamedTuple):
    """A column as a variable of xarray has it."""

    values: NDArray[Any]
    """One value a cell."""
    attributes: dict[str, Any]
    """Attributes that give the values their meaning."""
    encoding: dict[str, Any]
    """Keys of the encoding that the values need."""


def convert_column(data: Any, what: str) -> Column | None:
    """Return an array of pandas or of objects as a column; None for objects that xarray's own coders take or refuse.

    `data`: a series, index or array of pandas, one-dimensional, or a NumPy array of any
    shape. `what` names it in messages. Raises UnsuitedValueError.
    """
    import pandas as pd

    dtype = data.dtype
    if isinstance(dtype, np.dtype):
        return _convert_objects(np.array(data, object), what) if dtype.kind in "OT" else Column(np.asarray(data))
    if isinstance(dtype, pd.CategoricalDtype):
        return _convert_categories(pd.Categorical(data), what)
    if isinstance(dtype, pd.SparseDtype):
        return convert_column(np.asarray(data), what)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _to_utc(pd.DatetimeIndex(data), {str(dtype.tz)})
    numbers = getattr(dtype, "numpy_dtype", None)
    if numbers is not None and numbers.kind in "iufb":
        missing = np.asarray(pd.isna(data))
        values = np.zeros(len(missing), numbers)
        values[~missing] = data[~missing].to_numpy(dtype=numbers)
        return mark_missing(values, missing)
    objects = np.array(data.to_numpy(dtype=object), object)
    if getattr(dtype, "type", None) is str:  # also without a row, or without a text
        return _make_texts(objects, np.asarray(pd.isna(objects)))
    return _convert_objects(objects, what)


def mark_missing(values: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    """Return values, with the mark of their dtype in missing cells, or with these cells as `missing`."""
    if not missing.any():
        return Column(values)
    if values.dtype.kind in "iub":
        return Column(values, missing)
    values[missing] = {"f": np.nan, "c": np.nan, "O": None}.get(values.dtype.kind, "NaT")
    return Column(values)


def store_column(column: Column, encoding: Mapping[Any, Any], what: str, *, is_classic: bool) -> StoredColumn:
    """Return the values of a column with marks for missing ones. `is_classic`: no 64-bit or unsigned integers.

    An encoding that packs, or names a fill value, has its own way: xarray's coders take
    NaN. Raises UnsuitedValueError.
    """
    values, missing = column.values, column.missing
    if missing is None:
        is_marked = values.dtype.kind in "mM" and not encoding and not is_classic and bool(np.isnat(values).any())
        return StoredColumn(values, {}, {"_FillValue": NOT_A_TIME, "dtype": "int64"} if is_marked else {})
    if PACKING & set(encoding):
        floats = np.where(missing, np.nan, values.astype(float))
        if values.dtype.kind in "iu" and any(
            int(floats[i]) != values[i] for i in zip(*np.nonzero(~missing), strict=True)
        ):
            text = f"{what} has missing items, and integers that are not exact as the floats which an encoding needs"
            raise UnsuitedValueError("value-range", text, "leave the column out of `encoding`")
        return StoredColumn(floats, {}, {})
    attributes: dict[str, Any] = {}
    if values.dtype.kind == "b":
        values = values.astype("i1")
        attributes = {"flag_values": np.array([0, 1], "i1"), "flag_meanings": "false true"}
    for narrow in CLASSIC.get(values.dtype.str[1:], ()) if is_classic else ():
        if (values[~missing].astype(narrow) == values[~missing]).all():
            values = values.astype(narrow)
            break
    values, fill = _fill(values, missing)
    return StoredColumn(values, {"_FillValue": fill, **attributes}, {})


def _fill(values: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[Any], Any]:
    """Return integers with a fill value in the missing cells, and that value: netCDF's default, or an unused one."""
    used = set(np.unique(values[~missing]).tolist())
    limits = np.iinfo(values.dtype)
    usual = DEFAULT[CODES[values.dtype.str[1:]]]
    candidates = (usual, *range(limits.min, min(limits.max, limits.min + len(used)) + 1))
    fill = next((free for free in candidates if free not in used), None)
    if fill is None:  # every value of a type of one or two bytes occurs
        return _fill(values.astype(f"i{2 * values.dtype.itemsize}"), missing)
    filled = values.copy()
    filled[missing] = fill
    return filled, values.dtype.type(fill)


def _convert_categories(categorical: Any, what: str) -> Column:
    """Return the values that the categories stand for."""
    missing = categorical.codes < 0
    categories = convert_column(categorical.categories, what) or Column(np.array(categorical.categories, object))
    values = np.full(missing.shape, None, TEXTS) if categories.values.dtype.kind == "O" else None
    if values is None:
        values = np.zeros(missing.shape, categories.values.dtype)
    values[~missing] = categories.values[categorical.codes[~missing]]
    unused = len(categories.values) - len(np.unique(categorical.codes[~missing]))
    lost = categories.lost
    lost += ("the order of its categories",) * bool(categorical.ordered)
    lost += (f"{unused} of its categories, which no value has",) * bool(unused)
    return mark_missing(values, missing)._replace(lost=lost)


def _to_utc(times: Any, zones: set[str]) -> Column:
    """Return times with a zone as times of UTC without one."""
    lost = sorted(zones - {"UTC", "UTC+00:00"})
    return Column(
        times.tz_convert("UTC").tz_localize(None).to_numpy(),
        lost=(f"its time zone {', '.join(lost)}: the times are those of UTC",) if lost else (),
    )


def refuse_nested(objects: NDArray[Any], what: str) -> None:
    """Raise UnsuitedValueError for an array of objects that has lists, arrays, sets or mappings."""
    nested = next((one for one in objects.flat if isinstance(one, _NESTED)), None)
    if nested is not None:
        text = f"{what} has values of class `{type(nested).__name__}`, which are more than one value for a cell"
        raise UnsuitedValueError("unencodable-variable", text, _VLEN)


def find_texts(objects: NDArray[Any]) -> NDArray[Any] | None:
    """Return texts, with None for those that are missing, of the shape of `objects`; None for other objects."""
    import pandas as pd

    missing = np.asarray(pd.isna(objects))
    is_text = pd.api.types.infer_dtype(objects[~missing], skipna=False) == "string"
    return _make_texts(objects, missing).values if is_text else None


def _make_texts(objects: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    texts = np.full(objects.shape, None, TEXTS)
    texts[~missing] = objects[~missing]
    return Column(texts)


_NESTED = (list, tuple, set, dict, np.ndarray)
"""Classes of Python and NumPy that hold several values."""

_VLEN = (
    "declare a vlen type for lists: `builder = nczarr.DatasetBuilder()`, "
    '`builder.variable("name", builder.vlen("lists", "int64"), [length])`, `builder.finish({"name": lists})`'
)

_REMEDIES = {
    "decimal": ("decimal numbers", "`.astype(float)` makes floats, `.astype(str)` texts"),
    "time": ("times without a date", "`.astype(str)` makes texts; a duration is a `timedelta64`"),
    "period": ("periods", "`.dt.to_timestamp()` makes times, at which the periods begin"),
    "interval": ("intervals", "write their bounds, `.array.left` and `.array.right`, as two columns"),
    "mixed-integer": ("integers and other values", "`.astype(str)` makes texts of all"),
}
"""Values that no dataset has, by pandas' inferred type: what they are, and what to do."""


def _convert_objects(objects: NDArray[Any], what: str) -> Column | None:
    """Return Python objects as values of the one type that they have; None if xarray's coders know them as they are."""
    import pandas as pd

    refuse_nested(objects, what)
    flat = objects.reshape(-1)
    missing = np.asarray(pd.isna(flat))
    present = flat[~missing]
    kind = pd.api.types.infer_dtype(present, skipna=False)
    if kind in _REMEDIES:
        refused, remedy = _REMEDIES[kind]
        raise UnsuitedValueError("unencodable-variable", f"{what} has {refused}, which a dataset cannot have", remedy)
    if kind == "string":
        return _make_texts(objects, missing.reshape(objects.shape))
    lost: tuple[str, ...] = ()
    if kind == "boolean":
        found = present.astype(bool)
    elif kind in ("integer", "mixed-integer-float"):
        found = _convert_numbers(present, kind, what)
    elif kind in ("datetime", "datetime64", "date"):
        found, _, lost = _convert_times(present, what)
    elif kind == "empty" and flat.size:
        found = np.zeros(0, "M8[s]" if any(one is pd.NaT for one in flat) else float)
    elif kind in ("timedelta", "timedelta64"):
        found = pd.to_timedelta(list(present)).to_numpy()
    else:
        return None
    values = np.zeros(flat.shape, found.dtype)
    values[~missing] = found
    column = mark_missing(values, missing)
    mask = None if column.missing is None else column.missing.reshape(objects.shape)
    return Column(column.values.reshape(objects.shape), mask, lost)


def _convert_numbers(numbers: NDArray[Any], kind: str, what: str) -> NDArray[Any]:
    """Return Python numbers as integers, or as floats if some are. Raises UnsuitedValueError if one is not exact."""
    values = np.array(numbers.tolist())
    if kind == "integer" and values.dtype.kind not in "iu":
        text = f"{what} has integers that no integer type of 64 bits has"
        raise UnsuitedValueError("value-range", text, "`.astype(float)` rounds them")
    if kind != "integer":
        values = values.astype(float)
        if any(isinstance(one, int) and int(stored) != one for one, stored in zip(numbers, values, strict=True)):
            text = f"{what} has floats, and integers that are not exact as floats"
            raise UnsuitedValueError("value-range", text, "`.astype(float)` rounds them")
    return values


def _convert_times(times: NDArray[Any], what: str) -> Column:
    """Return dates and times as those of UTC."""
    import pandas as pd

    zones = {getattr(one, "tzinfo", None) for one in times}
    if None in zones and len(zones) > 1:
        text = f"{what} has times with a time zone and times without one"
        raise UnsuitedValueError("unencodable-variable", text, "`pandas.to_datetime(column, utc=True)` makes all UTC")
    try:
        index = pd.DatetimeIndex(pd.to_datetime(list(times), utc=None not in zones))
    except (ValueError, OverflowError) as error:
        raise UnsuitedValueError("value-range", f"{what} has a time that pandas cannot store: {error}") from error
    return Column(index.to_numpy()) if None in zones else _to_utc(index, set(map(str, zones)))


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
