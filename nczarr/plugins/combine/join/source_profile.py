"""Profile of a source: what must be equal in all sources of a combination, as texts, and where its coordinates lie.

A profile is made from the header, and from the values of one-dimensional
coordinates and of variables that are not joined. Of each source only its differences from the first one are kept.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout, little
from nczarr.arrays.values.time_units import dates
from nczarr.ast import Variable
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import Physical, is_numeric, physical
from nczarr.plugins.combine.join.agreement import OBJECTS, Aspect, Trait, list_grid_mappings, list_traits, list_unequal
from nczarr.plugins.combine.join.coordinate_order import CoordinateOrder, order_of
from nczarr.semantics.checked import Checked, whole_parts
from nczarr.semantics.outline import codec_text

MOST_VALUES = 1 << 22
"""Maximum length of a coordinate whose values are read."""

MOST_UNJOINED = 1 << 17
"""Maximum number of values of another variable that is not joined: all sources are read for them."""


class CoordinateSpan(NamedTuple):
    """Values of a coordinate in one source, in seconds since 1970 if they are dates, else as stored or unpacked."""

    low: float
    """Smallest value; NaN if all are missing."""
    high: float
    """Largest value."""
    step: float | None
    """Median distance of neighbours; None for a single value."""
    order: CoordinateOrder | None
    """First and last value, and where they do not increase; None if all are missing."""
    low_text: str
    """Smallest value in words."""
    high_text: str
    """Largest value in words."""
    calendar: str | None = None
    """Calendar of dates."""

    def show(self, value: float) -> str:
        """Return a value of this coordinate in words."""
        times = None if self.calendar is None else dates("seconds since 1970-01-01", self.calendar)
        return Physical(times=times).text(value)


class SourceProfile(NamedTuple):
    """Properties of one source."""

    traits: Mapping[Trait, Any]
    """Text of each property, or value of the attribute."""
    grids: frozenset[str]
    """Names of grid mappings."""
    lengths: Mapping[str, int]
    """Lengths of dimensions."""
    spans: Mapping[str, CoordinateSpan]
    """Coordinates of the joined dimensions."""

    def differences(self, first: SourceProfile) -> dict[Trait, Any]:
        """Return the properties that differ from those of the first source; None: absent.

        A missing variable stands for its properties, and another length of a dimension for the chunks along it.
        """
        unequal = {trait: self.traits.get(trait) for trait in list_unequal(first.traits, self.traits)}
        return {trait: value for trait, value in unequal.items() if not _is_consequence(trait, unequal, first)}


IN_TYPE = frozenset({"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "_Unsigned"})
"""Attributes that have the type of their variable."""


def _is_consequence(trait: Trait, unequal: Mapping[Trait, Any], first: SourceProfile) -> bool:
    """Return whether a difference follows from another length of a dimension, type of the variable, or group."""
    path, aspect, attribute = trait
    if aspect in OBJECTS:
        return (names.parent(path), Aspect.GROUP, "") in unequal
    if aspect in (Aspect.CHUNKS, Aspect.VALUES):
        if any((dimension, Aspect.LENGTH, "") in unequal for dimension in _dimensions_in(first, path)):
            return True
        changed = (Aspect.ELEMENT_TYPE, Aspect.DIMENSIONS) if aspect is Aspect.VALUES else ()
        return any((path, other, "") in unequal for other in changed)
    return attribute in IN_TYPE and (path, Aspect.ELEMENT_TYPE, "") in unequal


def _dimensions_in(profile: SourceProfile, path: str) -> list[str]:
    return str(profile.traits.get((path, Aspect.DIMENSIONS, ""), "")).strip("()").split(", ")


def make_profile(checked: Checked, along: frozenset[str], first: SourceProfile | None = None) -> SourceProfile:
    """Return the profile of a source that is to be joined along dimensions. Raises OSError, CompileError.

    `first`: that of the first source, in whose calendars dates are compared.
    """
    traits = list_traits(checked, along)
    for path, variable in checked.variables.items():
        traits.update(_describe_storage(path, variable, checked))
    spans: dict[str, CoordinateSpan] = {}
    for path, variable in checked.variables.items():
        count = math.prod(checked.shapes[path])
        if not 0 < count <= MOST_VALUES:
            continue
        if variable.dimensions != (path,) or not is_numeric(checked, path):
            if along and along.isdisjoint(variable.dimensions) and count <= MOST_UNJOINED:
                traits[path, Aspect.VALUES, ""] = _describe_values(checked, path)
            continue
        decoding = physical(checked, path)
        numbers = decoding.floats(read_outer(checked, path, [slice(None)]))
        if path in along:
            spans[path] = _measure(numbers, _in_calendar(decoding, path, first))
        else:
            digest = hashlib.sha256(numbers.tobytes()).hexdigest()[:8]
            ends = " to ".join(decoding.text(float(numbers[place])) for place in (0, -1))
            traits[path, Aspect.VALUES, ""] = f"{ends}, {len(numbers)} values with the digest {digest}"
    lengths = {path: dimension.size for path, dimension in checked.dimensions.items()}
    return SourceProfile(traits, frozenset(list_grid_mappings(checked)), lengths, spans)


def _describe_values(checked: Checked, path: str) -> str:
    """Return the values of a variable that is not joined: their number and a digest, in which all NaNs are equal."""
    digest = hashlib.sha256()
    for _, source in sorted(whole_parts(checked, path).items()):
        values = little(source.read(all_of(source.layout.shape)))
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
        digest.update(repr(values.tolist()).encode() if values.dtype.hasobject else values.tobytes())
        if values.size == 1 and values.dtype.kind in "iuf":
            return str(values.item())
    return f"{math.prod(checked.shapes[path])} values with the digest {digest.hexdigest()[:8]}"


def _describe_storage(path: str, variable: Variable, checked: Checked) -> Iterator[tuple[Trait, str]]:
    storage = variable.storage
    yield (path, Aspect.CODECS, ""), ", ".join(map(codec_text, storage.codecs)) or "none"
    yield (path, Aspect.CHUNKS, ""), _name_chunks(variable, checked.shapes[path])
    if storage.endian is not None:
        yield (path, Aspect.ENDIAN, ""), storage.endian


def _name_chunks(variable: Variable, shape: tuple[int, ...]) -> str:
    chunks = variable.storage.chunks
    return "none" if chunks is None or not shape else " × ".join(map(str, chunks))


def _in_calendar(decoding: Physical, path: str, first: SourceProfile | None) -> Physical:
    """Return a conversion with the calendar that a coordinate has in the first source; another one is reported."""
    calendar = None if first is None or path not in first.spans else first.spans[path].calendar
    if decoding.times is None or calendar is None or calendar == decoding.times.calendar:
        return decoding
    return decoding._replace(times=dates(decoding.times.text, calendar) or decoding.times)


def _measure(numbers: NDArray[np.float64], decoding: Physical) -> CoordinateSpan:
    """Return where the values of a coordinate lie."""
    present = numbers[~np.isnan(numbers)]
    order = order_of(ArrayInMemory(Layout("<f8", numbers.shape, numbers.shape), numbers))[0]
    if not len(present):
        return CoordinateSpan(math.nan, math.nan, None, order, "", "")
    texts = decoding.text(float(present.min())), decoding.text(float(present.max()))
    calendar = None if decoding.times is None else decoding.times.calendar
    if decoding.times is not None:
        numbers = float(decoding.times.start) + float(decoding.times.unit) * numbers
        present = numbers[~np.isnan(numbers)]
    low, high = float(present.min()), float(present.max())
    steps = np.diff(present)
    step = float(np.median(np.abs(steps))) if len(steps) else None
    order = order_of(ArrayInMemory(Layout("<f8", numbers.shape, numbers.shape), numbers))[0]
    return CoordinateSpan(low, high, step, order, *texts, calendar)
