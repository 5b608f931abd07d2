"""Physical values of a variable: packing, missing values and times, by the attributes of the CF conventions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.time_units import CALENDARS, Units, date_text, dates
from nczarr.ast import EnumType
from nczarr.check.checked import Checked
from nczarr.select.reader import dtype_of, value_of, without_padding

NUMBERS = frozenset(("byte", "ubyte", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double"))
"""Atomic types of numbers."""

BYTES = frozenset(("byte", "ubyte"))
"""Types whose default fill value is a value as any other (NetCDF Users Guide, "Fill Values")."""


class Physical(NamedTuple):
    """Conversion of the stored values of a variable to physical ones."""

    scale: float | None = None
    """Factor; None without packing."""
    offset: float | None = None
    """Summand; None without packing."""
    unsigned: bool = False
    """True if signed integers stand for unsigned ones."""
    missing: tuple[Any, ...] = ()
    """Stored values that stand for missing ones."""
    lowest: Any = None
    """Smallest valid stored value."""
    highest: Any = None
    """Largest valid stored value."""
    units: str = ""
    """Units of the values."""
    label: str = ""
    """Name for people."""
    times: Units | None = None
    """Encoding of times."""

    def masked(self, stored: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the physical values of stored ones, and where they are missing. Both have the shape of `stored`.

        Values keep their dtype unless they are packed: then they are float64.
        """
        values = self._as_unsigned(stored)
        absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_)
        for mark in self.missing:
            absent |= values == self._as_unsigned(np.asarray(mark))
        with np.errstate(invalid="ignore"):
            if self.lowest is not None:
                absent |= values < self._as_unsigned(np.asarray(self.lowest))
            if self.highest is not None:
                absent |= values > self._as_unsigned(np.asarray(self.highest))
        if self.scale is not None or self.offset is not None:
            values = values.astype("f8") * (1.0 if self.scale is None else self.scale)
            values += 0.0 if self.offset is None else self.offset
        return values, absent

    def floats(self, stored: NDArray[Any]) -> NDArray[np.float64]:
        """Return the physical values of stored ones as float64, NaN where they are missing."""
        values, absent = self.masked(stored)
        numbers = values.astype("f8", copy=True)
        numbers[absent] = np.nan
        return numbers

    def _as_unsigned(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.view(f"u{values.dtype.itemsize}") if self.unsigned and values.dtype.kind == "i" else values

    def text(self, value: float) -> str:
        """Return a physical value in words: a date for times."""
        if value != value:
            return "missing"
        if self.times is not None and abs(value) < 1e18:
            calendar_name = CALENDARS[(self.times.calendar or "").lower()]
            seconds = self.times.start + self.times.unit * Fraction(float(value))
            if abs(seconds) < 10**12:  # 30,000 years
                return date_text(seconds, calendar_name)
        return f"{value:.6g}"

    @property
    def axis(self) -> str:
        """Title of an axis: the label with the units."""
        if self.times is not None:
            calendar_name = (self.times.calendar or "").lower()
            return self.label + (
                "" if CALENDARS[calendar_name] in ("standard", "proleptic_gregorian") else f" ({calendar_name})"
            )
        return f"{self.label} ({self.units})" if self.units and self.units != "1" else self.label


def is_numeric(checked: Checked, path: str) -> bool:
    """Return whether a variable holds numbers, enums included."""
    name = checked.variables[path].type
    return name in NUMBERS or isinstance(checked.types.get(name), EnumType)


def attributes_of(checked: Checked, path: str) -> Mapping[str, Any]:
    """Return the values of the attributes of a variable or group by name, texts without NULs at the end."""
    node = checked.variables.get(path) or checked.groups[path]
    return {attribute.name: without_padding(value_of(attribute.value, checked.types)) for attribute in node.attributes}


def text_of(attributes: Mapping[str, Any], *attribute_names: str) -> str:
    """Return the first of these attributes that is a text with content."""
    for name in attribute_names:
        value = attributes.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def physical(checked: Checked, path: str) -> Physical:
    """Return the conversion of a variable of numbers, by its attributes."""
    attributes, variable = attributes_of(checked, path), checked.variables[path]
    units = text_of(attributes, "units")
    calendar = text_of(attributes, "calendar") or "standard"
    scale, offset = _number(attributes.get("scale_factor")), _number(attributes.get("add_offset"))
    lowest, highest = attributes.get("valid_min"), attributes.get("valid_max")
    both = _numbers(attributes.get("valid_range"))
    if len(both) == 2:
        lowest, highest = both
    missing = [*_numbers(attributes.get("_FillValue")), *_numbers(attributes.get("missing_value"))]
    fill = checked.fills[path]
    if "_FillValue" not in attributes and fill is not None and variable.type in NUMBERS - BYTES:
        missing += _numbers(value_of(fill, checked.types))
    kind = _dtype(checked, path)
    return Physical(
        scale,
        offset,
        text_of(attributes, "_Unsigned").lower() == "true",
        tuple(mark for value in missing if (mark := _stored(value, kind)) is not None),
        next(iter(_numbers(lowest)), None),
        next(iter(_numbers(highest)), None),
        units,
        text_of(attributes, "long_name", "standard_name") or variable.name,
        dates(units, calendar) if scale is None and offset is None else None,
    )


def _dtype(checked: Checked, path: str) -> np.dtype[Any]:

    return dtype_of(checked.variables[path].type, checked.types)


def _stored(value: Any, kind: np.dtype[Any]) -> Any:
    """Return a value in the type of the stored ones; None if no stored value can equal it."""
    if value != value:
        return None  # NaN is missing anyway
    with np.errstate(all="ignore"):
        converted = np.asarray(value).astype(kind)
    return converted[()] if kind.kind == "f" or converted == value else None


def _numbers(value: Any) -> list[Any]:
    """Return the numbers of an attribute."""
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1)) if value.dtype.kind in "iuf" else []
    return [value] if isinstance(value, np.number) else []


def _number(value: Any) -> float | None:
    numbers = _numbers(value)
    return float(numbers[0]) if len(numbers) == 1 and np.isfinite(numbers[0]) else None
