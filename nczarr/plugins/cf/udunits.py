"""Units of measure, judged by the UDUNITS library through `cf-units` (extra `cf`), and conversions as exact fractions.

Compared with the C library on 326 units of real files and of the table of
standard names: cf-units agrees with all; the pure-Python pyudunits2 0.1 refuses
`%`, `Celsius`, `degrees_celsius` and six others, and takes 60 ms for one question
whether two units are convertible.

Factors and offsets of UDUNITS are doubles; `find_conversion` finds the fractions that they stand for.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np

REFERENCE = re.compile(r"(?P<unit>\S.*?)(?<=\S)\s+(?P<word>since|after|from|ref|@)\s+(?P<datetime>\S.*)", re.IGNORECASE)
"""Units with a reference datetime."""

_UNKNOWN = frozenset(("unknown", "no_unit", "no-unit", "no unit", "nounit", "?", "-"))
"""Words that cf-units takes for special units, unlike UDUNITS."""

UNJUDGED = frozenset(("level", "layer", "sigma_level"))
"""Units that CF allows beside those of UDUNITS."""


def unit_of(text: str) -> str:
    """Return the unit of a text without its reference datetime."""
    match = REFERENCE.fullmatch(text)
    return text if match is None else match["unit"]


class UnitSystem:
    """The units of UDUNITS."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._parse = lru_cache(maxsize=1 << 12)(self._parse_new)

    def _parse_new(self, text: str) -> Any:
        """Return the unit of UDUNITS for a text, a missing one being "1"; None if UDUNITS does not know it."""
        stripped = text.strip()
        if stripped.lower() in _UNKNOWN:
            return None
        try:
            with self._library.suppress_errors():  # which the C library prints
                return self._library.Unit(stripped or "1")
        except ValueError:
            return None

    def is_valid(self, text: str) -> bool:
        """Return whether UDUNITS recognises a unit."""
        return text in UNJUDGED or self._parse(text) is not None

    def is_equivalent(self, text: str, other: str) -> bool:
        """Return whether values can be converted between two units. Invalid units are equivalent to all."""
        first, second = self._parse(text), self._parse(other)
        if first is None or second is None or text in UNJUDGED or other in UNJUDGED:
            return True
        with self._library.suppress_errors():
            return self.is_reference(text) == self.is_reference(other) and bool(first.is_convertible(second))

    def is_reference(self, text: str) -> bool:
        """Return whether a unit counts time since a datetime."""
        unit = self._parse(text)
        return unit is not None and bool(unit.is_time_reference())

    def convert(self, values: Any, text: str, target: str) -> Any:
        """Return numbers of one unit in another, float64; both are valid and equivalent."""
        return self._parse(text).convert(values, self._parse(target))

    def involves_temperature(self, text: str) -> bool:
        """Return whether a unit has a factor of temperature."""
        unit = self._parse(text)
        return unit is not None and not self.is_reference(text) and re.search(r"\bK\b", unit.definition) is not None


def load_units() -> UnitSystem | None:
    """Return the system of units, or None if cf-units is not installed."""
    try:
        import cf_units
    except ImportError:
        return None
    return UnitSystem(cf_units)


TINY = 4e-16
"""Relative error of the factors of UDUNITS, with which fractions are found again."""

ROUNDING = 1e-13
"""Relative error of its offsets, which are differences."""


class LinearConversion(NamedTuple):
    """Conversion of numbers between two units: value × factor + offset."""

    factor: Fraction
    offset: Fraction

    @property
    def is_identity(self) -> bool:
        """True if both units are the same."""
        return self.factor == 1 and self.offset == 0

    def __str__(self) -> str:
        sign = "-" if self.offset < 0 else "+"
        return f"× {_show(self.factor)}" + (f" {sign} {_show(abs(self.offset))}" if self.offset else "")

    def apply(self, number: float) -> Fraction:
        """Return a number in the other units."""
        return Fraction(number) * self.factor + self.offset

    def in_floats(self, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return numbers in the other units, rounded once to a floating-point type, in the same shape."""
        wide = values.astype(np.longdouble)
        with np.errstate(all="ignore"):
            wide = wide * self.factor.numerator / self.factor.denominator
            return np.asarray(wide + np.longdouble(self.offset.numerator) / self.offset.denominator).astype(dtype)

    def in_integers(self, values: NDArray[Any], dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return integers in the other units, and where they are no integers of this type, both in the same shape."""
        whole = self.factor.denominator * self.offset.denominator
        slope = self.factor.numerator * self.offset.denominator
        scaled = values.astype(object) * slope + self.offset.numerator * self.factor.denominator
        limits = np.iinfo(dtype)
        wrong = np.array((scaled % whole != 0) | (scaled // whole < limits.min) | (scaled // whole > limits.max), bool)
        return np.where(wrong, 0, scaled // whole).astype(dtype).reshape(values.shape), wrong.reshape(values.shape)


def _show(number: Fraction) -> str:
    """Return a number as a decimal if it is one of few digits, else as a fraction."""
    decimal = f"{float(number):.15g}"
    return decimal if Fraction(decimal) == number else str(number)


@lru_cache(maxsize=1)
def find_unit_system() -> UnitSystem | None:
    """Return UDUNITS; None without cf-units."""
    return load_units()


@lru_cache(maxsize=256)
def find_conversion(given: str, wanted: str) -> LinearConversion | None:
    """Return the conversion between two units; None if UDUNITS has none, or one that is not linear."""
    system = find_unit_system()
    if system is None or not (system.is_valid(given) and system.is_valid(wanted)):
        return None
    if not system.is_equivalent(given, wanted) or system.is_reference(given):
        return None
    try:
        offset, far, *others = (float(system.convert(float(value), given, wanted)) for value in (0, 2.0**70, 1, -3))
    except ValueError:  # units beside those of UDUNITS
        return None
    factor = far / 2.0**70
    if not (0 < factor < math.inf and math.isfinite(offset)) or any(
        not abs(factor * value + offset - other) <= 1e-9 * (factor + abs(offset))
        for value, other in zip((1, -3), others, strict=True)
    ):
        return None
    return LinearConversion(
        _find_fraction(factor, TINY * factor), _find_fraction(offset, ROUNDING * max(1, abs(offset)))
    )


def _find_fraction(number: float, error: float) -> Fraction:
    """Return the fraction of few digits that a number with a maximum error stands for: 5/9, 273.15."""
    for fraction in (Fraction(number).limit_denominator(10**4), Fraction(f"{number:.15g}")):
        if abs(fraction - Fraction(number)) <= error:
            return fraction
    return Fraction(number)
