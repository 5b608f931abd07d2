"""Values that the attributes of their variable exclude, and coordinates that are out of order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.arrays.regions import Index
from nczarr.pipeline.select.coordinate_summary import summarize_coordinate
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import Physical, attributes_of, is_numeric, physical
from nczarr.sdk import Checked, EnumType, NDArray, np

MARKS = ("_FillValue", "missing_value")
"""Attributes with values that stand for missing ones."""

CELLS = 1 << 20
"""Values of a coordinate that are read at once."""


class UnfitValues(NamedTuple):
    """Values of a variable with the same fault."""

    code: str
    number: int
    first: Index
    """Index of the first one."""
    shown: str
    """The first one."""
    reason: str
    """Reason, in words that follow "the value"."""


class ValueJudge(NamedTuple):
    """Limits of the values of a variable, by its attributes and its type."""

    decoding: Physical
    limits: str
    """The valid range in words; empty without one."""
    mark: str
    """Declared missing value, which is not NaN; empty without one."""
    members: tuple[int, ...]
    """Values of an enum; empty for other types."""

    def find_unfit(self, values: NDArray[Any], start: Index) -> list[UnfitValues]:
        """Return the faults of a block of values that begins at an index."""
        found = []
        bare = self.decoding._replace(lowest=None, highest=None)
        _, missing = bare.mask(values)
        if self.limits:
            _, absent = self.decoding.mask(values)
            found.append(("excluded-value", absent & ~missing, f"is outside the valid range, {self.limits}"))
        if self.members:
            found.append(("excluded-value", ~np.isin(values, self.members) & ~missing, "is no member of its enum"))
        if values.dtype.kind == "f":
            if self.mark:
                found.append(("odd-number", np.isnan(values), f"is NaN, and missing values are {self.mark}"))
            found.append(("odd-number", np.isinf(values) & ~missing, "is infinite"))
        return [_count(code, unfit, values, start, reason) for code, unfit, reason in found if unfit.any()]


def _count(code: str, unfit: NDArray[np.bool_], values: NDArray[Any], start: Index, reason: str) -> UnfitValues:
    place = np.unravel_index(int(unfit.argmax()), unfit.shape) if unfit.shape else ()
    first = tuple(begin + int(at) for begin, at in zip(start, place, strict=True))
    return UnfitValues(code, int(np.count_nonzero(unfit)), first, str(values[place]), reason)


def find_judge(checked: Checked, path: str) -> ValueJudge | None:
    """Return the judge of the values of a variable; None if they are no numbers."""
    if not is_numeric(checked, path):
        return None
    attributes, decoding, variable = attributes_of(checked, path), physical(checked, path), checked.variables[path]
    ends = [decoding.lowest, decoding.highest]
    limits = " to ".join("any" if end is None else str(end) for end in ends) if any(e is not None for e in ends) else ""
    marks = [mark for name in MARKS if name in attributes for mark in np.atleast_1d(attributes[name]).tolist()]
    numbers = [mark for mark in marks if isinstance(mark, int | float)]
    declared = checked.types.get(variable.type)
    members = tuple(one.value for one in declared.constants) if isinstance(declared, EnumType) else ()
    mark = str(numbers[0]) if numbers and not any(number != number for number in numbers) else ""
    return ValueJudge(decoding, limits, mark, members)


def find_disorder(checked: Checked, path: str, ends: range) -> UnfitValues | None:
    """Return the values of a coordinate that break its order, at indices `ends`. Raises OSError, CompileError."""
    decoding = physical(checked, path)._replace(lowest=None, highest=None)
    rising, count, first = None, 0, None
    for begin, numbers in _list_stretches(checked, path, ends):
        values, _ = decoding.mask(numbers)
        up, down = values[1:] > values[:-1], values[1:] < values[:-1]
        if rising is None:
            rising = bool(up.sum() >= down.sum())
        wrong = ~(up if rising else down)
        if wrong.any():
            at = int(wrong.argmax()) + 1
            count += int(wrong.sum())
            first = first or (begin + at, f"{decoding.text(float(values[at]))}")
    if first is None:
        return None
    reason = f"does not {'increase' if rising else 'decrease'} as the others do"
    return UnfitValues("disordered-coordinate", count, (first[0],), first[1], reason)


def _list_stretches(checked: Checked, path: str, ends: range) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the stored parts of a coordinate with their first index; each begins with the last value before it."""
    source = checked.parts[path][""]
    for (number,) in source.list_occupied((CELLS,), (ends,)):
        begin = max(ends.start, ends.start + number * CELLS - 1)
        yield begin, np.asarray(read_outer(checked, path, (slice(begin, min(ends.stop, begin + CELLS + 1)),)))


def find_gaps(checked: Checked, path: str) -> tuple[str, ...]:
    """Return the gaps in a coordinate of times, in words. Raises OSError, CompileError."""
    length = checked.shapes[path][0]
    return summarize_coordinate(checked, path, range(length)).gaps if 0 < length <= CELLS else ()
