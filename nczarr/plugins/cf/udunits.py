"""Units of measure, judged by the UDUNITS library through `cf-units` (extra `cf`).

Compared with the C library on 326 units of real files and of the table of
standard names: cf-units agrees with all; the pure-Python pyudunits2 0.1 refuses
`%`, `Celsius`, `degrees_celsius` and six others, and takes 60 ms for one question
whether two units are convertible.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

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
