"""Parts that a user selects of a dataset, as data: variables, groups, sections, cuts of dimensions."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.diagnostics.source import NOWHERE, Span


class Extent(NamedTuple):
    """Section of one dimension."""

    first: int
    """First index."""
    last: int
    """Last index, included if the stride meets it."""
    stride: int = 1
    """Distance of two indices."""
    span: Span = NOWHERE
    """Position in the text."""


Extents = tuple[Extent | None, ...] | None
"""One extent per dimension, None for a whole one; None for all dimensions."""


class Section(NamedTuple):
    """A part of one variable."""

    path: tuple[str, ...]
    """Unescaped names that lead to the variable."""
    absolute: bool = False
    """True if the path begins at the root."""
    extents: Extents = None
    """Selected indices."""
    span: Span = NOWHERE
    """Position in the text."""
    members: tuple[tuple[str, Extents], ...] = ()
    """Path to a member of its records, each step with its extents."""


class DimensionRange(NamedTuple):
    """Indices of a dimension in all its variables."""

    name: str
    """Name of the dimension, simple or from the root."""
    indices: slice
    """Indices as Python counts them: negative ones from the end, the stop excluded."""
    strict: bool = True
    """True if indices outside the dimension are errors; False if they are clipped, as in Python."""
    span: Span = NOWHERE
    """Position in the text."""


Label = str | int | float
"""Coordinate value: a number, or a text that is read as a date, a number or a string by the kind of coordinate."""


class CoordinateRange(NamedTuple):
    """Values of a coordinate that select indices of its dimension."""

    name: str
    """Name of the coordinate variable, simple or from the root."""
    low: Label | None
    """First bound, included; None without a bound."""
    high: Label | None
    """Last bound, included; None without a bound. Equal to `low` for a single value."""
    nearest: bool = False
    """True if the cell nearest to `low` is selected."""
    span: Span = NOWHERE
    """Position in the text."""
    text: str | None = None
    """Both bounds as written on a command line: the value, if the coordinate holds texts. None: no command line."""


class Subset(NamedTuple):
    """Requested part of a dataset. Without variables and groups everything is requested."""

    variables: tuple[str, ...] = ()
    """Names of variables, simple or from the root."""
    groups: tuple[str, ...] = ()
    """Names of groups, simple or from the root."""
    sections: tuple[Section, ...] = ()
    """Parts of variables."""
    dimensions: tuple[DimensionRange, ...] = ()
    """Cuts of dimensions."""
    labels: tuple[CoordinateRange, ...] = ()
    """Cuts by values of coordinates."""
    related: bool = False
    """True if selected variables bring their coordinates and the other variables that they name as related."""

    def __bool__(self) -> bool:
        """Return whether anything is requested."""
        return bool(self.variables or self.groups or self.sections or self.dimensions or self.labels)

    @property
    def choice(self) -> Subset:
        """The choice of variables and groups, without cuts of dimensions."""
        return self._replace(dimensions=(), labels=())

    @property
    def cuts(self) -> Subset:
        """The cuts of dimensions alone."""
        return Subset(dimensions=self.dimensions, labels=self.labels)


def part_in_words(subset: Subset, *, fixed: bool) -> str:
    """Return a text for the requested part: equal texts mean equal parts."""
    plain = subset._replace(
        variables=tuple(sorted(subset.variables)),
        groups=tuple(sorted(subset.groups)),
        sections=tuple(_without_spans(section) for section in subset.sections),
        dimensions=tuple(cut._replace(span=NOWHERE) for cut in subset.dimensions),
        labels=tuple(cut._replace(span=NOWHERE) for cut in subset.labels),
    )
    return repr((plain, fixed))


def _without_spans(section: Section) -> Section:
    extents = section.extents
    if extents is not None:
        extents = tuple(extent and extent._replace(span=NOWHERE) for extent in extents)
    return section._replace(extents=extents, span=NOWHERE)
