"""Profile of a source: what must be equal in all sources of a combination, as texts, and where its coordinates lie.

A profile is made from the header, and from the values of one-dimensional
coordinates and of variables that are not joined. Of each source only its differences from the first one are kept.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.source import little
from nczarr.arrays.values.time_units import dates
from nczarr.ast import Attribute, Variable
from nczarr.check.checked import Checked, whole_parts
from nczarr.check.outline import codec_text
from nczarr.operations.combine.agreement import DECISIVE, OBJECTS, Aspect, calendar_of, list_grid_mappings
from nczarr.operations.compare.diff import definition
from nczarr.operations.compare.difference import show_constant
from nczarr.select.indexing import read_outer
from nczarr.select.physical import Physical, is_numeric, physical

MOST_VALUES = 1 << 22
"""Maximum length of a coordinate whose values are read."""

MOST_UNJOINED = 1 << 17
"""Maximum number of values of another variable that is not joined: all sources are read for them."""

Trait = tuple[str, Aspect, str]
"""FQN of an object, the property of it, and the name of the attribute if that is the property."""


class CoordinateSpan(NamedTuple):
    """Values of a coordinate in one source, in seconds since 1970 if they are dates, else as stored or unpacked."""

    low: float
    """Smallest value; NaN if all are missing."""
    high: float
    """Largest value."""
    step: float | None
    """Median distance of neighbours; None for a single value."""
    order: int
    """1 if values increase, -1 if they decrease, 0 for neither, or for missing values."""
    low_text: str
    """Smallest value in words."""
    high_text: str
    """Largest value in words."""
    calendar: str | None = None
    """Calendar of dates."""


class SourceProfile(NamedTuple):
    """Properties of one source."""

    traits: Mapping[Trait, str]
    """Text of each property that must be equal."""
    others: Mapping[tuple[str, str], bytes]
    """Digest of each attribute that may differ, by owner and name."""
    lengths: Mapping[str, int]
    """Lengths of dimensions."""
    spans: Mapping[str, CoordinateSpan]
    """Coordinates of the joined dimensions."""

    def differences(self, first: SourceProfile) -> dict[Trait, str | None]:
        """Return the properties that differ from those of the first source; None: absent.

        A missing variable stands for its properties, and another length of a dimension for the chunks along it.
        """
        lacking = {path for path, aspect, _ in self.traits.keys() ^ first.traits.keys() if aspect in OBJECTS}
        unequal: dict[Trait, str | None] = {}
        for trait in [*first.traits, *(trait for trait in self.traits if trait not in first.traits)]:
            text = self.traits.get(trait)
            if text == first.traits.get(trait):
                continue
            if trait[0] in lacking and trait[1] not in OBJECTS:
                continue
            unequal[trait] = text
        return {trait: text for trait, text in unequal.items() if not _is_consequence(trait, unequal, first)}


IN_TYPE = frozenset({"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "_Unsigned"})
"""Attributes that have the type of their variable."""


def _is_consequence(trait: Trait, unequal: Mapping[Trait, str | None], first: SourceProfile) -> bool:
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
    return profile.traits.get((path, Aspect.DIMENSIONS, ""), "").strip("()").split(", ")


def make_profile(checked: Checked, along: frozenset[str], first: SourceProfile | None = None) -> SourceProfile:
    """Return the profile of a source that is to be joined along dimensions. Raises OSError, CompileError.

    `first`: that of the first source, in whose calendars dates are compared.
    """
    grids = list_grid_mappings(checked)
    traits: dict[Trait, str] = {}
    others: dict[tuple[str, str], bytes] = {}
    for path, declared in checked.types.items():
        traits[path, Aspect.TYPE, ""] = "present"
        traits[path, Aspect.DEFINITION, ""] = definition(declared, storage=True)
    for path, dimension in checked.dimensions.items():
        traits[path, Aspect.DIMENSION, ""] = "present"
        if path not in along:
            traits[path, Aspect.LENGTH, ""] = str(dimension.size)
    for path, variable in checked.variables.items():
        traits.update(_describe_variable(path, variable, checked))
        decisive = None if names.last(path) in grids else DECISIVE
        _add_attributes(path, variable.attributes, decisive, traits, others)
    for path, group in checked.groups.items():
        traits[path, Aspect.GROUP, ""] = "present"
        _add_attributes(path, group.attributes, frozenset(), traits, others)
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
    return SourceProfile(traits, others, {path: checked.dimensions[path].size for path in checked.dimensions}, spans)


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


def _describe_variable(path: str, variable: Variable, checked: Checked) -> Iterator[tuple[Trait, str]]:
    """Yield the properties of a variable but its attributes."""
    storage = variable.storage
    yield (path, Aspect.VARIABLE, ""), "present"
    yield (path, Aspect.ELEMENT_TYPE, ""), variable.type
    yield (path, Aspect.DIMENSIONS, ""), f"({', '.join(map(str, variable.dimensions))})"
    yield (path, Aspect.CODECS, ""), ", ".join(map(codec_text, storage.codecs)) or "none"
    yield (path, Aspect.CHUNKS, ""), _name_chunks(variable, checked.shapes[path])
    if storage.endian is not None:
        yield (path, Aspect.ENDIAN, ""), storage.endian


def _name_chunks(variable: Variable, shape: tuple[int, ...]) -> str:
    chunks = variable.storage.chunks
    return "none" if chunks is None or not shape else " × ".join(map(str, chunks))


def _add_attributes(
    path: str,
    attributes: tuple[Attribute, ...],
    decisive: frozenset[str] | None,
    traits: dict[Trait, str],
    others: dict[tuple[str, str], bytes],
) -> None:
    """Add attributes to the properties that must be equal, or to those that may differ."""
    for attribute in attributes:
        if decisive is None or attribute.name in decisive:
            value = attribute.value if attribute.name != "calendar" else calendar_of(attribute.value)
            if value is None:
                continue
            traits[path, Aspect.ATTRIBUTE, attribute.name] = f"{show_constant(value)} ({value.type})"
        else:
            text = repr((attribute.value.type, attribute.value.data)).encode("utf-8", "surrogatepass")
            others[path, attribute.name] = hashlib.blake2b(text, digest_size=8).digest()


def _in_calendar(decoding: Physical, path: str, first: SourceProfile | None) -> Physical:
    """Return a conversion with the calendar that a coordinate has in the first source; another one is reported."""
    calendar = None if first is None or path not in first.spans else first.spans[path].calendar
    if decoding.times is None or calendar is None or calendar == decoding.times.calendar:
        return decoding
    return decoding._replace(times=dates(decoding.times.text, calendar) or decoding.times)


def _measure(numbers: NDArray[np.float64], decoding: Physical) -> CoordinateSpan:
    """Return where the values of a coordinate lie."""
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return CoordinateSpan(math.nan, math.nan, None, 0, "", "")
    texts = decoding.text(float(present.min())), decoding.text(float(present.max()))
    calendar = None if decoding.times is None else decoding.times.calendar
    if decoding.times is not None:
        present = float(decoding.times.start) + float(decoding.times.unit) * present
    low, high = float(present.min()), float(present.max())
    steps = np.diff(present)
    order = 1 if (steps > 0).all() else -1 if (steps < 0).all() else 0
    step = float(np.median(np.abs(steps))) if len(steps) else None
    return CoordinateSpan(low, high, step, order if len(present) == len(numbers) else 0, *texts, calendar)
