"""Contribution of one source to a combination: everything that remains of it once it is closed.

Each source is compared with the first one, the model, where it is read. Its
tree, attributes and indices are dropped; places of chunks and a few values
remain. So sources may be read by any process, in any order.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nczarr.arrays.chunks.manifest import WHOLE
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, numpy_dtype
from nczarr.diagnostics.report import Report
from nczarr.plugins.cf.cell_bounds import align_bounds
from nczarr.plugins.combine.arrays.table_chunk_array import Facts, TableChunkArray, locate
from nczarr.plugins.combine.join.agreement import (
    CombineSpec,
    Recoding,
    SourceDifference,
    Way,
    equal,
    find_axes,
    findings,
    is_coordinate,
    settle,
)
from nczarr.plugins.combine.join.coordinate_order import CoordinateOrder, order_of
from nczarr.plugins.combine.join.packing import packing_of
from nczarr.plugins.combine.join.source_grid import (
    SAME_GRID,
    Coordinates,
    SourceGrid,
    grid_of_source,
    is_assigned,
    is_idle,
    is_index,
    is_shuffled,
    list_faults,
    list_overridden,
    read_values,
)
from nczarr.semantics.checked import Checked, Omission, whole_parts
from nczarr.stores.spool import origin
from nczarr.stores.target_urls import note_properties
from nczarr.stores.url import real

VALUES = 4096
"""Maximum bytes of one array of a source whose values are kept beside its places."""


class Model(NamedTuple):
    """The first source, with which all others are compared."""

    name: str
    checked: Checked
    way: Way
    """The resolved combination."""
    wanted: CombineSpec
    """The request."""
    axes: Mapping[str, int]
    """Axis of each variable that may be joined."""
    ordered: frozenset[str]
    """Coordinates whose values must ascend from source to source."""
    chunks: Mapping[str, tuple[int, ...] | None]
    """Chunk lengths of each variable that is one array; None without chunks."""
    coordinates: Coordinates = MappingProxyType({})
    """Coordinates that are not joined, for a union with those of other sources."""
    placed: frozenset[str] = frozenset()
    """Coordinates of these whose values say where cells lie in the result."""
    overridden: frozenset[str] = frozenset()
    """Coordinates that stand for those of all sources."""


def model_of(name: str, checked: Checked, spec: CombineSpec, report: Report) -> Model | None:
    """Return the first source as a model, in the requested units; None after a reported error."""
    before = report.errors
    if spec.repack and spec.recoding is None:
        spec = spec._replace(recoding=Recoding())
    if spec.recoding is not None:
        from nczarr.plugins.combine.join.recode import is_valid

        if not is_valid(spec.recoding, report):
            return None
        checked = _convert(name, checked, None, spec.recoding, report)
    way = settle(name, checked, spec, report) if report.errors == before else None
    if way is None:
        return None
    axes = dict.fromkeys(checked.variables, 0) if way.new_dim else way.axes
    stacked = way.new_dim is not None
    candidates = (way.always or way.axes) if spec.ordered or spec.is_ordered else ()
    joined = [path for path in candidates if not stacked or path == f"/{way.new_dim}"]  # others become no coordinate
    ordered = frozenset(path for path in joined if is_coordinate(path, checked, stacked=stacked))
    chunks: dict[str, tuple[int, ...] | None] = {}
    for path in axes:
        stored = source.stored if (source := whole_parts(checked, path).get("")) is not None else None
        chunks[path] = None if stored is None else stored.chunks
    coordinates: Coordinates = {}
    if spec.join == "outer":
        paths = [path for path in checked.dimensions if path not in way.dimensions and is_index(path, checked)]
        coordinates = {path: read_values(checked, path) for path in paths}
    placed = frozenset(path for path in joined if spec.is_ordered and is_index(path, checked))
    overridden = list_overridden(checked, way) if spec.join == "override" else frozenset[str]()
    return Model(name, checked, way, spec, axes, ordered, chunks, coordinates, placed, overridden)


def in_model_units(name: str, checked: Checked, model: Model, report: Report) -> Checked:
    """Return a source with the units of the model, if that is requested; reports inexact-times. Raises OSError."""
    checked, recoding = align_bounds(checked, model.checked), model.wanted.recoding
    return checked if recoding is None else _convert(name, checked, model.checked, recoding, report)


def _convert(name: str, checked: Checked, first: Checked | None, recoding: Recoding, report: Report) -> Checked:
    """Return a source with requested units of times and other values, as `recode` does. Raises OSError."""
    from nczarr.plugins.combine.join.recode import recode

    if recoding.table:
        from nczarr.plugins.combine.join.units import convert_units

        checked = convert_units(name, checked, dict(recoding.table), report)
    return recode(name, checked, first, recoding, report)


class VariablePiece(NamedTuple):
    """One variable of a source."""

    parts: Parts
    """Its arrays, which need the opened source; empty if it is located."""
    located: TableChunkArray | None = None
    """Its only array, described by places."""
    values: NDArray[Any] | None = None
    """All values of a located array, if they were read and are few; in its shape and dtype."""


class Contribution(NamedTuple):
    """The part of a source that a combination needs."""

    name: str
    """Name of the source for messages."""
    lengths: Mapping[str, int]
    """Lengths of the joined dimensions."""
    pieces: Mapping[str, VariablePiece]
    """Variables that may be joined."""
    given: frozenset[str] = frozenset()
    """Variables of these with data."""
    unequal: frozenset[str] = frozenset()
    """Variables of a stacked combination whose values differ from the model's."""
    orders: Mapping[str, CoordinateOrder] = MappingProxyType({})
    """First and last values of coordinates."""
    findings: tuple[SourceDifference, ...] = ()
    """Differences from the model."""
    faults: tuple[tuple[str, str], ...] = ()
    """Variables that must be equal and are not, with messages."""
    grid: SourceGrid = SAME_GRID
    """Coordinates and variables that differ from those of the model."""
    omitted: tuple[Omission, ...] = ()
    """Content of the source that is left out."""

    @property
    def is_located(self) -> bool:
        """True if no array needs the opened source."""
        return all(piece.located is not None for piece in self.pieces.values())


def contribution_of(name: str, checked: Checked, model: Model) -> Contribution:
    """Compare a source with the model and describe its arrays. Raises OSError, CompileError."""
    axes, ordered = model.axes, model.ordered - model.placed
    way, spec, is_model = model.way, model.wanted, checked is model.checked
    differences = () if is_model else tuple(findings(model.checked, checked, way))
    grid = SourceGrid({}, {}, {}, {})
    if spec.is_placed:
        grid = grid_of_source(checked, model.checked, model.coordinates, model.placed, way, spec)
        differences = tuple(list_faults(differences, grid, model.checked, spec))
    if spec.join == "outer":
        differences = tuple(one for one in differences if not is_assigned(one, model.checked, checked))
    differences = tuple(one for one in differences if not is_idle(one, model.checked, checked, joined=one.path in axes))
    unlike = {difference.path for difference in differences if difference.decisive}
    unlike |= {
        path
        for path, variable in model.checked.variables.items()
        if variable.type in unlike or not unlike.isdisjoint(variable.dimensions) or path not in checked.variables
    }
    pieces: dict[str, VariablePiece] = {}
    orders: dict[str, CoordinateOrder] = {}
    loose: dict[str, NDArray[Any]] = {}
    unequal, faults = set(), []
    for path in (*model.checked.variables, *grid.declared):
        declared = grid.declared.get(path)
        found_axes = () if declared is None else find_axes(declared.variable, way.dimensions)
        axis = axes.get(path) if declared is None else next(iter(found_axes), None)
        if len(found_axes) > 1:
            faults.append((path, f"`{path}` has several of the dimensions {way.shown}, in `{name}`"))
        elif path in model.overridden and is_shuffled(path, model.checked, checked):
            text = f"`{path}` has the values of the first source in another order, in `{name}`: `--join override`"
            faults.append((path, f"{text} would move its cells, `--join outer` puts each in its place"))
        elif path in unlike or path in model.overridden or path in model.placed:
            continue
        elif axis is not None:
            pieces[path], order = _piece(path, checked, model, axis, ordered=path in ordered)
            if order is not None:
                orders[path] = order
            if way.new_dim and path not in way.always and not equal(model.checked, checked, path):
                unequal.add(path)
        elif path in grid.coordinates or path in model.coordinates:  # these are compared by value
            continue
        elif declared is not None or not grid.coordinates.keys().isdisjoint(checked.variables[path].dimensions):
            fault = _read_loose(path, checked, loose)
            faults += [] if fault is None else [(path, f"{fault}, in `{name}`")]
        elif not is_model and not equal(model.checked, checked, path):
            faults.append((path, _describe_difference(path, name, checked, model)))
    lengths = {path: checked.dimensions[path].size for path in way.dimensions if path in checked.dimensions}
    with_data = frozenset(path for path in pieces if path in checked.parts)
    grid = grid._replace(values=loose)
    unequal_paths = frozenset(unequal)
    return Contribution(
        name, lengths, pieces, with_data, unequal_paths, orders, differences, tuple(faults), grid, checked.omitted
    )


LOOSE = 64 << 20
"""Maximum bytes of a variable that is not joined, and is merged from several sources."""


def _read_loose(path: str, checked: Checked, loose: dict[str, NDArray[Any]]) -> str | None:
    """Read a variable that is merged with that of other sources; return why this is impossible, or None."""
    parts = whole_parts(checked, path)
    if parts.keys() != {""}:
        return f"`{path}` differs between the sources, and its lists cannot be merged"
    layout = parts[""].layout
    if math.prod(layout.shape) * (itemsize(layout.dtype) or 1) > LOOSE:
        return f"`{path}` differs between the sources, and is too large to be merged"
    loose[path] = read_values(checked, path)
    return None


def _describe_difference(path: str, name: str, checked: Checked, model: Model) -> str:
    from nczarr.pipeline.compare.values import values

    difference = values(model.checked, checked, path)
    message = difference.message if difference is not None else "values differ"
    text = f"`{path}` does not have {model.way.shown}, and is not the same in all sources: "
    return text + f"{message}, in `{model.name}` and `{name}`"


def _piece(
    path: str, checked: Checked, model: Model, axis: int, *, ordered: bool
) -> tuple[VariablePiece, CoordinateOrder | None]:
    """Return a variable of a source, and the order of its values if it is a coordinate."""
    parts = whole_parts(checked, path)
    if parts.keys() != {""}:
        return VariablePiece(parts), None
    source, places = parts[""], None
    extended = model.wanted.extends and checked is model.checked
    if model.wanted.addressable is not None:
        places = _locate(source, -1 if extended else model.wanted.inline)
    near = places if places is not None and not len(places.table.chunk) else source  # all chunks are at hand
    order = read = None
    if ordered:
        numbers = packing_of(checked.variables[path], None).numbers
        order, read = order_of(near, last=extended, packing=numbers)
    if places is None:
        return VariablePiece({"": add_axis(source, model)}), order
    dtype = numpy_dtype(places.form.dtype)
    if math.prod(places.shape) * dtype.itemsize > VALUES:
        read = None
    elif read is None and not extended and _is_ragged(places, path, model, axis):
        read = near.read(all_of(places.shape))
    if model.way.new_dim:
        places = _raise(places)
    values = None if read is None else read.astype(dtype, copy=False).reshape(places.shape)
    return VariablePiece({}, places, values), order


def _is_ragged(source: TableChunkArray, path: str, model: Model, axis: int) -> bool:
    """Return whether a source's chunks probably make no grid with those of the model."""
    if model.way.new_dim:
        return False
    first = model.chunks.get(path)
    return first is None or first != source.stored.chunks or source.shape[axis] % first[axis] != 0


def _raise(source: TableChunkArray) -> TableChunkArray:
    """Return an array with an additional first dimension, as `Raised`."""
    stored = source.stored._replace(chunks=(1, *source.stored.chunks))
    return source.replace(form=source.form._replace(stored=stored), shape=(1, *source.shape))


def _locate(source: ArraySource, short: int) -> TableChunkArray | None:
    """Return a source by public places; None if they do not define it.

    A fetched file is named by its URL. Its short chunks stay there, as those of
    all remote sources.
    """
    array = locate(source, short)
    if array is None:
        return None
    table, facts = array.table, dict[str, Mapping[str, Any]]()
    noted_facts: Facts = source.noted
    names = []
    for place in table.sources:
        fetched = origin(place)
        names.append(place if fetched is None else fetched[0])
        facts[names[-1]] = noted_facts.get(place) or note_properties(place)
    distant = array.form.distant or any(name != place for name, place in zip(names, table.sources, strict=True))
    form = array.form._replace(distant=distant)
    return array.replace(form=form, table=table._replace(sources=tuple(names)), facts=facts)


def whole_first(model: Model, path: str) -> ArraySource:
    """Return the only array of a variable of the model as it was opened, for a combination of nothing else."""
    return add_axis(whole_parts(model.checked, path)[""], model)


def add_axis(source: ArraySource, model: Model) -> ArraySource:
    """Return an array with an additional first dimension if the sources are stacked."""
    if not model.way.new_dim:
        return source
    from nczarr.plugins.combine.arrays.interleave import Raised

    return Raised(source)


HELPS = ("append each source once", "`nczarr refs combine` makes a document in which records repeat")


class KnownPlaces:
    """Places of the chunks of a document, to recognize a source without a coordinate."""

    def __init__(self, pieces: Mapping[str, VariablePiece]) -> None:
        self._arrays = {path: piece.located for path, piece in pieces.items() if piece.located is not None}
        self._targets = {target for array in self._arrays.values() for target in _targets(array)}

    def have(self, pieces: Mapping[str, VariablePiece]) -> bool:
        """Return whether every chunk of a source that is at a place is in the document already."""
        arrays = {path: piece.located for path, piece in pieces.items()}
        placed = {path: array for path, array in arrays.items() if array is not None and len(array.table.chunk)}
        if not placed or not all(self._targets.issuperset(_targets(array)) for array in placed.values()):
            return False
        return all(path in self._arrays and _is_within(array, self._arrays[path]) for path, array in placed.items())


def _targets(array: TableChunkArray) -> Iterable[str]:
    return map(real, array.table.sources)


def _is_within(one: TableChunkArray, other: TableChunkArray) -> bool:
    """Return whether all bytes of one array are bytes of another; their chunks may differ."""
    numbers: dict[str, int] = {}
    for target in (*_targets(one), *_targets(other)):
        numbers.setdefault(target, len(numbers))
    there = _merge(_places(other, numbers))
    for target, begin, end in _places(one, numbers).tolist():
        at = bisect_right(there, (target, begin), key=lambda row: row[:2]) - 1
        if at < 0 or there[at][0] != target or there[at][2] < end:
            return False
    return True


def _places(array: TableChunkArray, numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """Return target, begin and end of each chunk, sorted, shape (chunks, 3)."""
    table = array.table
    targets = np.array([numbers[target] for target in _targets(array)] or [0], np.int64)[table.source]
    ends = np.where(table.length == WHOLE, np.iinfo(np.int64).max, table.offset + table.length)
    rows = np.stack([targets, table.offset, ends], axis=1)
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


def _merge(rows: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return sorted ranges with adjacent ones as one: target, begin, end."""
    merged: list[tuple[int, int, int]] = []
    for target, begin, end in rows.tolist():
        if merged and merged[-1][0] == target and begin <= merged[-1][2]:
            merged[-1] = (target, merged[-1][1], max(merged[-1][2], end))
        else:
            merged.append((target, begin, end))
    return merged


def report_repeated_values(path: str, name: str, combined: Checked, length: int, report: Report) -> None:
    """Report misplaced-records for values of a coordinate that a document has already, or that repeat.

    `name`: that of the document; `length`: number of its records. Raises OSError.
    """
    source = whole_parts(combined, path)[""]
    values: NDArray[Any] = source.read((slice(0, source.layout.shape[0]),))
    old, new = values[:length], values[length:]
    distinct, counts = np.unique(new, return_counts=True)
    repeated = distinct[(counts > 1) | np.isin(distinct, old)]
    if len(repeated):
        more = f" and {len(repeated) - 1} more" if len(repeated) > 1 else ""
        from nczarr.pipeline.compare.difference import show

        text = f"`{name}` would have {show(repeated[0])}{more} of `{path}` several times"
        rule = "keep one of them with `--duplicates first` or `--duplicates last`"
        report.error("misplaced-records", text, helps=[HELPS[0], rule, HELPS[1]])
