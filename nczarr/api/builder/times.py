"""Dates and durations of NumPy as whole numbers with CF's `units` and `calendar`, exactly or not at all."""

from fractions import Fraction
from functools import partial
from typing import Any

from nczarr.api.builder.pieces import UnsuitedValueError, in_block
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values import time_units
from nczarr.arrays.values.elements import time_attributes
from nczarr.arrays.values.time_units import SECONDS, Units

CALENDARS = (time_units.GREGORIAN, *time_units.MIXED)
"""Calendars of NumPy's dates. The last two are the same from the first day of the Gregorian calendar."""

GREGORIAN = -12219292800
"""1582-10-15 in seconds since 1970."""


def units_of(dtype: Any, units: Any, calendar: Any) -> Units:
    """Return the encoding for a dtype of NumPy: the declared one, else the unit of the dtype since 1970.

    `units`, `calendar`: attributes of the variable, None without. Raises
    UnsuitedValueError if they are not for such values.
    """
    is_date = dtype.kind == "M"
    if units is None:
        attributes = time_attributes(_in_days(dtype).str.replace(">", "<").replace("=", "<"))
        if not attributes:
            raise UnsuitedValueError("type-mismatch", f"{dtype} has no unit")
        units = attributes["units"]
    parsed = time_units.parse_unit(units) if isinstance(units, str) else None
    if parsed is None or (parsed[1] is not None) != is_date:
        example = "`seconds since 2000-01-01`" if is_date else "`seconds`"
        raise UnsuitedValueError("type-mismatch", f"{units!r} are not units of {dtype}; write them as in {example}")
    length, start = parsed
    if not is_date:
        return Units(length, Fraction(0), units, None)
    if calendar is not None and calendar not in CALENDARS:
        raise UnsuitedValueError("type-mismatch", f"{dtype} has no dates of the calendar {calendar!r}")
    try:
        first = time_units.date(start or "", CALENDARS[0])
    except ValueError as error:
        raise UnsuitedValueError("type-mismatch", str(error)) from None
    return Units(length, first, units, calendar or CALENDARS[0])


def encode_times(values: Any, units: Units) -> Any:
    """Return times as a masked array of int64, in their shape; NaT is masked. Raises UnsuitedValueError.

    A dask array is encoded block by block when it is read.
    """
    if not hasattr(values, "map_blocks"):
        return _convert_times(values, units)
    meta = np.ma.masked_array(np.empty((0,) * values.ndim, "i8"))
    return values.map_blocks(partial(_block, units=units), dtype="i8", meta=meta)


def _block(values: Any, units: Units) -> Any:
    with in_block():
        return _convert_times(values, units)


def _in_days(dtype: Any) -> Any:
    """Return a dtype of years or months as one of days, which have a fixed length; any other unchanged."""
    unit = np.datetime_data(dtype)[0]
    return np.dtype("M8[D]") if dtype.kind == "M" and unit in ("Y", "M") else dtype


def _convert_times(values: Any, units: Units) -> Any:
    """Return datetime64 or timedelta64 values as int64 counts of `units`, NaT masked; refuse inexact ones."""
    missing = np.ma.getmaskarray(values) | np.isnat(np.ma.getdata(values))
    data = np.ma.getdata(values).astype(_in_days(values.dtype))
    if data.dtype != values.dtype and (data.astype(values.dtype) != np.ma.getdata(values))[~missing].any():
        raise UnsuitedValueError("value-range", f"some dates of {values.dtype} do not fit 64 bits in days")
    name, factor = np.datetime_data(data.dtype)
    if name not in SECONDS:
        raise UnsuitedValueError("type-mismatch", f"{values.dtype} has no unit of fixed length")
    counts = np.array(data.astype(data.dtype.newbyteorder("=")).view("i8"))
    counts[missing] = 0
    step, first = SECONDS[name] * factor / units.unit, units.start / units.unit
    if units.calendar in CALENDARS[1:]:
        present = counts[~missing]
        if units.start < GREGORIAN or (present.size and int(present.min()) * SECONDS[name] * factor < GREGORIAN):
            text = f"dates before 1582-10-15 are others in the calendar {units.calendar!r}"
            raise UnsuitedValueError("value-range", text, "write the attribute `calendar` as proleptic_gregorian")
    whole = step.denominator * first.denominator
    slope, offset = step.numerator * first.denominator, first.numerator * step.denominator
    most = max((abs(int(bound)) for bound in (counts.min(initial=0), counts.max(initial=0))), default=0)
    if most * abs(slope) + abs(offset) >= 2**63:
        counts = counts.astype(object)
    scaled = counts * slope - offset
    rest = (scaled % whole != 0) & ~missing
    if rest.any():
        text = f"{np.ma.getdata(values)[rest].reshape(-1)[0]} is not a whole number of `{units.text}`"
        raise UnsuitedValueError("value-range", text, "declare finer `units`")
    scaled = scaled // whole
    scaled[missing] = 0
    if (
        scaled.dtype == object
        and scaled.size
        and not -(2**63) <= min(scaled.reshape(-1)) <= max(scaled.reshape(-1)) < 2**63
    ):
        raise UnsuitedValueError("value-range", f"some times do not fit 64 bits as `{units.text}`")
    return np.ma.masked_array(scaled.astype("i8"), missing if missing.any() else np.ma.nomask)
