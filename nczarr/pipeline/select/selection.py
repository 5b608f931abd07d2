"""Parts that a user selects of a dataset, as data, the meaning of their names, and the boxes to read.

`outer_boxes` covers indices that are chosen along each dimension, `point_boxes`
covers single points. No two boxes touch the same chunk, so each chunk that has
a chosen cell is read once, and no other chunk is read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection
from nczarr.diagnostics.report import NOWHERE, Report, Span, suggest
from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from nczarr.options import TextOptions
    from nczarr.semantics.checked import Checked


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
    dimensions: tuple[DimensionRange, ...] = ()
    """Cuts of dimensions."""
    labels: tuple[CoordinateRange, ...] = ()
    """Cuts by values of coordinates."""
    related: bool = False
    """True if selected variables bring their coordinates and the other variables that they name as related."""
    excluded: tuple[str, ...] = ()
    """Names of variables that are left out, simple or from the root."""
    fixed: tuple[str, ...] = ()
    """Names of dimensions that get their current length; `*` is all of them."""
    unlimited: tuple[str, ...] = ()
    """Names of dimensions that become unlimited."""

    def __bool__(self) -> bool:
        """Return whether anything is requested."""
        return any(self._replace(related=False))

    @property
    def choice(self) -> Subset:
        """The choice of variables and groups, without cuts of dimensions."""
        return self._replace(dimensions=(), labels=())

    @property
    def cuts(self) -> Subset:
        """The cuts of dimensions alone."""
        return Subset(dimensions=self.dimensions, labels=self.labels)


def part_in_words(subset: Subset) -> str:
    """Return a text for the requested part: equal texts mean equal parts."""
    plain = subset._replace(
        variables=tuple(sorted(subset.variables)),
        groups=tuple(sorted(subset.groups)),
        sections=tuple(_without_spans(section) for section in subset.sections),
        dimensions=tuple(cut._replace(span=NOWHERE) for cut in subset.dimensions),
        labels=tuple(cut._replace(span=NOWHERE) for cut in subset.labels),
    )
    return repr(plain)


def _without_spans(section: Section) -> Section:
    extents = section.extents
    if extents is not None:
        extents = tuple(extent and extent._replace(span=NOWHERE) for extent in extents)
    return section._replace(extents=extents, span=NOWHERE)


def find_named(word: str, what: str, nodes: Mapping[str, object], report: Report) -> list[str]:
    """Return the FQNs that a word matches: a name, or several behind commas. Reports unmatched-name."""
    matches = match_names(word, nodes)
    if matches:
        return matches
    pieces = word.split(",") if "," in word else [word]
    missing = [piece for piece in pieces if not match_names(piece, nodes)]
    for piece in missing:
        report_unmatched(what, piece, nodes, report)
    return [] if missing else [fqn for piece in pieces for fqn in match_names(piece, nodes)]


def match_names(word: str, nodes: Mapping[str, object]) -> list[str]:
    """Return the FQNs that a simple name or a path matches."""
    return of_name(word, nodes) or (at_path(word, nodes) if word else [])


def of_name(name: str, fqns: Iterable[str]) -> list[str]:
    """Return the FQNs that end in a simple name."""
    simple = names.normal(name)
    return [fqn for fqn in fqns if fqn != "/" and names.last(fqn) == simple]


def at_path(word: str, nodes: Mapping[str, object]) -> list[str]:
    """Return the FQN that a path means, with or without a leading slash; empty if it is not known."""
    try:
        path = names.fqn(map(names.normal, names.split(word if word.startswith("/") else "/" + word)))
    except ValueError:
        return []
    return [path] if path in nodes else []


def report_unmatched(what: str, name: str, fqns: Iterable[str], report: Report) -> None:
    """Report an unknown name."""
    report.error("unmatched-name", f"the dataset has no {what} `{name}`", helps=hint(name, fqns))


def hint(name: str, fqns: Iterable[str]) -> list[str]:
    """Return the help text for an unknown simple name or FQN."""
    paths = [fqn for fqn in fqns if fqn != "/"]
    return suggest(name, [*map(names.last, paths), *paths])


def place_of(section: Section, checked: Checked, report: Report) -> str | None:
    """Return the FQN of a section's variable; None if an error is reported."""
    path = names.fqn(map(names.normal, section.path))
    if path in checked.variables:
        return path
    matches = []
    if len(section.path) == 1 and not section.absolute:
        matches = of_name(section.path[0], checked.variables)
    if len(matches) == 1:
        return matches[0]
    written = path if section.absolute or len(section.path) > 1 else section.path[0]
    if matches:
        text = f"the name `{written}` is ambiguous: {', '.join(matches)}"
        report.error("unmatched-section", text, section.span, helps=[f"write the whole path, `{matches[0]}`"])
        return None
    helps = hint(written, checked.variables)
    if "[" in section.path[-1]:
        helps = ["write extents in parentheses: `temp(0:9)`"]
    report.error("unmatched-section", f"the dataset has no variable `{written}`", section.span, helps=helps)
    return None


Places: TypeAlias = "slice | NDArray[np.int64]"
"""Places along one dimension: a slice, or int64 of one dimension."""

Indices: TypeAlias = "range | NDArray[np.int64]"
"""Chosen indices along one dimension."""


class IndexRun(NamedTuple):
    """Chosen indices of one dimension that are read together."""

    low: int
    """First index."""
    high: int
    """Index behind the last."""
    inside: Places
    """Places of the chosen indices from `low`."""
    outside: Places
    """Their places in the result."""


class PointBox(NamedTuple):
    """A box, and the chosen points in it."""

    selection: Selection
    inside: tuple[NDArray[np.int64], ...]
    """Coordinates of the points in the box, by indexed dimension."""
    outside: NDArray[np.int64]
    """Numbers of the points."""


def outer_boxes(axes: Sequence[Indices], cells: tuple[int, ...] | None, largest: int) -> Iterator[tuple[IndexRun, ...]]:
    """Yield the boxes that cover an outer index, one run a dimension.

    `axes`: ascending or descending ranges and sorted arrays without equal
    indices, none of them empty. `cells`: chunk lengths; None if a read of a part
    costs no more than the part. Boxes have at most about `largest` elements,
    unless a chunk has more.
    """
    axes = [_as_range(axis) for axis in axes]
    spans = [_span(axis) for axis in axes]
    lengths = cells or (1,) * len(axes)
    runs = [
        list(_runs(axis, cell, span + cell, cells is not None))
        for axis, cell, span in zip(axes, lengths, spans, strict=True)
    ]
    if any(len(axis) < span for axis, span in zip(axes, spans, strict=True)):
        widest = [max(run.high - run.low for run in axis_runs) for axis_runs in runs]
        order = list(range(len(axes)))  # contiguous values are read in their order, chunks with the fewest others
        if cells is not None:
            order.sort(key=lambda axis: len(axes[axis]) / spans[axis])
        for axis in order:
            size = math.prod(widest)
            if size <= largest:
                break
            room = max(1, largest // max(1, size // widest[axis]))
            runs[axis] = list(_runs(axes[axis], lengths[axis], room, cells is not None))
            widest[axis] = max(run.high - run.low for run in runs[axis])
    return itertools.product(*runs)


def _span(axis: Indices) -> int:
    """Return the length of the interval that indices cover."""
    return abs(int(axis[-1]) - int(axis[0])) + 1


def _as_range(axis: Indices) -> Indices:
    """Return evenly spaced indices as a range."""
    if isinstance(axis, range):
        return axis
    step = int(axis[1]) - int(axis[0]) if len(axis) > 1 else 1
    if len(axis) > 1 and (np.diff(axis) != step).any():
        return axis
    return range(int(axis[0]), int(axis[-1]) + 1, step)


def _runs(axis: Indices, cell: int, most: int, is_chunked: bool) -> Iterator[IndexRun]:
    """Yield the runs of one dimension, each of at most `most` indices or one chunk, and of neighbouring chunks."""
    if isinstance(axis, range):
        yield from _range_runs(axis, cell, most, is_chunked)
        return
    chunks = axis // cell
    first = 0
    edges = np.flatnonzero(np.diff(chunks) > 1) + 1 if is_chunked else np.empty(0, np.int64)
    for last in [*edges.tolist(), len(axis)]:
        while first < last:
            # The room ends at the edge of a chunk, unless it is smaller than a chunk.
            low = int(axis[first])
            end = max((low + most) // cell, low // cell + 1) * cell
            stop = min(last, int(np.searchsorted(axis, end)))
            yield IndexRun(low, int(axis[stop - 1]) + 1, axis[first:stop] - low, slice(first, stop))
            first = stop


def _range_runs(axis: range, cell: int, most: int, is_chunked: bool) -> Iterator[IndexRun]:
    ascending = axis[::-1] if axis.step < 0 else axis
    step = abs(axis.step)
    count = len(axis)
    first = 0
    while first < count:
        low = ascending[first]
        end = max((low + most) // cell, low // cell + 1) * cell  # at the edge of a chunk, as in `_runs`
        stop = min(count, first + max(1, -(-(end - low) // step)))
        if is_chunked and step > cell:
            stop = first + 1
        outside = slice(first, stop) if axis.step > 0 else slice(count - stop, count - first)
        inside = slice(None, None, step if axis.step > 0 else -step)
        yield IndexRun(low, ascending[stop - 1] + 1, inside, outside)
        first = stop


def point_boxes(
    points: Mapping[int, NDArray[np.int64]], lengths: Mapping[int, int], whole: Selection
) -> Iterator[PointBox]:
    """Yield the boxes that cover points.

    `points`: coordinates by indexed dimension, int64 of one dimension and one
    length, not 0. `lengths`: lengths of blocks along these dimensions. `whole`:
    the selection, whose indexed dimensions are replaced.
    """
    blocks = [points[axis] // lengths[axis] for axis in points]
    order = np.lexsort(blocks[::-1]) if len(blocks) else np.empty(0, np.int64)
    changed = np.zeros(len(order), bool)
    for numbers in blocks:
        changed[1:] |= np.diff(numbers[order]) != 0
    edges = np.flatnonzero(changed).tolist()
    for first, last in itertools.pairwise([0, *edges, len(order)]):
        some = order[first:last]
        selection, inside = list(whole), []
        for axis, coordinates in points.items():
            here = coordinates[some]
            low = int(here.min())
            selection[axis] = slice(low, int(here.max()) + 1)
            inside.append(here - low)
        yield PointBox(tuple(selection), tuple(inside), some)


def are_named(checked: Checked, text: TextOptions, report: Report) -> bool:
    """Return whether every variable and group named in the options exists; reports missing ones."""
    before = report.errors
    for what, asked, declared in (
        ("variable", text.variables, checked.variables),
        ("group", text.groups, checked.groups),
    ):
        simple = {names.last(fqn) for fqn in declared if fqn != "/"}
        for name in asked:
            if name not in declared and name not in simple:
                report_unmatched(what, name, declared, report)
    return report.errors == before
