"""Grid of the result of a combination whose sources do not quite fit: dimensions, places of cells, gaps.

grids of sources ─ settle ─> order along joined dimensions, unions along others
─ order, frame ─> arrays of a variable, placed
─ extend ─> tree with all variables, lengths and fill values
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.memory import ArrayInMemory, fill_source
from nczarr.arrays.sources.source import ArraySource, Layout, Parts, convert_fill, numpy_dtype
from nczarr.arrays.values.parts import descr
from nczarr.ast import Dimension, Variable
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.names import last
from nczarr.plugins.combine.arrays.accumulation import Accumulation, Frame
from nczarr.plugins.combine.arrays.cell_positions import GAP, CellRun, Positions, place_source
from nczarr.plugins.combine.arrays.repack import NumberPacking
from nczarr.plugins.combine.join.agreement import Aspect, SourceDifference, compare_variable, find_axes
from nczarr.plugins.combine.join.contribution import Contribution, Model
from nczarr.plugins.combine.join.coordinate_order import (
    AxisOrder,
    Overlap,
    by_values,
    in_sequence,
    positions_in,
    report_unordered,
    union_of,
    words_of,
)
from nczarr.plugins.combine.join.packing import PackingChoice, is_packing, packing_of, report_repacked
from nczarr.plugins.combine.join.source_grid import DeclaredVariable, extend_tree, fill_gaps, read_values
from nczarr.semantics.checked import whole_parts

RULES = "keep one of them with `--duplicates first` or `--duplicates last`"

Key = tuple[int, ...]
"""Number of the coordinate that a source has along each dimension of a variable."""


class _LooseValues(NamedTuple):
    """Values of a variable that is not joined, in one source or several like it."""

    name: str
    """Name of the first source with them."""
    number: int
    values: NDArray[Any]
    """All values, in native byte order."""


class ResultGrid:
    """Grids of the sources so far, and the one that they make together."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._names: list[str] = []
        self._lengths: dict[str, list[int]] = {path: [] for path in model.way.dimensions}
        self._along: dict[str, list[NDArray[Any]]] = {path: [] for path in model.placed}
        self._distinct: dict[str, list[NDArray[Any]]] = {path: [array] for path, array in model.coordinates.items()}
        self._choices: dict[str, dict[int, int]] = {}
        """Number of the distinct coordinate of a source, by dimension; 0 for all others."""
        self._digests: dict[tuple[object, ...], int] = {}
        """Number of coordinates and values that are there already, by what identifies them."""
        self._digests.update({(path, _digest(array)): 0 for path, array in model.coordinates.items()})
        self._signatures: list[frozenset[str]] = []
        """Joined variables of each source."""
        self._shared: dict[frozenset[str], frozenset[str]] = {}
        self._loose: dict[str, list[_LooseValues]] = {}
        self.declared: dict[str, tuple[str, DeclaredVariable]] = {}
        """Variables that the first source lacks, with the name of the first that has each."""
        self._packings: dict[str, PackingChoice] = {}
        """Packings of variables that differ between sources."""
        self._orders: dict[str, AxisOrder] = {}
        self._arranged: dict[tuple[str, bytes], tuple[list[CellRun], list[Overlap]]] = {}
        self.unions: dict[str, NDArray[Any]] = {}
        self._positions: dict[str, list[NDArray[np.int64]]] = {}
        self._conflicts: dict[tuple[str, Overlap], dict[str, int]] = {}
        self._gaps: dict[str, tuple[int, int]] = {}
        self.checked = model.checked
        """The first source with the variables and lengths of the result, once it is settled."""

    # ---- sources -------------------------------------------------------------------------------------------------
    def add(self, source: Contribution) -> Iterator[tuple[str, SourceDifference]]:
        """Add a source; yield differences of variables that the first source lacks, with the name of one with them."""
        number, grid = len(self._names), source.grid
        self._names.append(source.name)
        for path, lengths in self._lengths.items():
            lengths.append(source.lengths.get(path, 0))
        for path, every in self._along.items():
            every.append(grid.coordinates.get(path, self._model_values(path)[:0]))
        for path, values in grid.coordinates.items():
            if path not in self._along:
                self._choices.setdefault(path, {})[number] = self._intern((path,), values, self._distinct)
        signature = frozenset(source.pieces)
        self._signatures.append(self._shared.setdefault(signature, signature))
        for path, packing in grid.packings.items():
            if path not in self._packings:
                self._packings[path] = PackingChoice()
                if path in self._model.checked.variables:
                    checked = self._model.checked
                    self._packings[path].add(0, packing_of(checked.variables[path], checked.fills[path]))
            self._packings[path].add(number, packing)
        placed = self._distinct.keys() | self._lengths.keys()
        for path, declared in grid.declared.items():
            name, first = self.declared.setdefault(path, (source.name, declared))
            for difference in _compare(path, first, declared, placed):
                if not is_packing(difference, grid.packings, {path: first.variable}):
                    yield name, difference
        for path, values in grid.values.items():
            loose = _LooseValues(source.name, number, values)
            self._intern((path, self._key(self._list_dimensions(path), number)), values, self._loose, loose)

    def _model_values(self, path: str) -> NDArray[Any]:
        return np.zeros(0, numpy_dtype(descr(self._model.checked.variables[path].type, {})))

    def _intern(
        self, key: tuple[Any, ...], values: NDArray[Any], lists: dict[str, list[Any]], item: object | None = None
    ) -> int:
        """Return the number of equal values in the list of a path, to which new ones, or `item`, are added."""
        every = lists.setdefault(key[0], [])
        number = self._digests.setdefault((*key, _digest(values)), len(every))
        if number == len(every):
            every.append(values if item is None else item)
        return number

    def _list_dimensions(self, path: str) -> tuple[str | int, ...]:
        return self._find_variable(path).dimensions

    def _key(self, dimensions: Sequence[str | int], number: int) -> Key:
        return tuple(self._choices.get(str(name), {}).get(number, 0) for name in dimensions)

    # ---- the result ----------------------------------------------------------------------------------------------
    def settle(self, counts: Mapping[str, int], report: Report) -> bool:
        """Find the lengths of the result, and where sources lie in it. Reports errors, and returns False then.

        `counts`: number of sources with each joined variable.
        """
        spec, before = self._model.wanted, report.errors
        for path, lengths in self._lengths.items():
            if path not in self._along:
                option = "--sort" if spec.sort else "--duplicates" if spec.duplicates and spec.ordered else ""
                if path in self.declared:
                    self._report_unplaced(path, self._names[0], self.declared[path][0], report)
                elif option:
                    text = f"`{path}` has no coordinate by which cells are sorted or compared"
                    report.error("unmatched-dimension", text, helps=[f"leave `{option}` out"])
                self._orders[path] = in_sequence(lengths)
                continue
            for name, values, length in zip(self._names, self._along[path], lengths, strict=True):
                if len(values) != length:
                    self._report_unplaced(path, name, self._model.name, report)
                if self._has_missing(path, values):
                    text = f"`{path}` has missing values in `{name}`, which have no place in the result"
                    report.error("unequal-sources", text, helps=["leave the source out"])
            numbers, negative = self._decode(path, self._along[path])
            order = by_values(numbers, sort=spec.sort or spec.join == "outer", negative=negative)
            stored = self._along[path][0].dtype
            if spec.ordered and not (spec.sort or spec.join == "outer") and is_number(self._find_variable(path).type):
                report_unordered(path, order, self._names, words_of(self._model.checked, path), report)
            self._orders[path] = order._replace(values=None if order.values is None else order.values.view(stored))
        for path, distinct in self._distinct.items():
            if len(distinct) > 1:
                first = self._model.coordinates.get(path)
                grows = first is None or not spec.extends or not all(np.isin(one, first).all() for one in distinct)
                numbers, negative = self._decode(path, distinct)
                union = (
                    union_of(numbers, negative=negative).view(distinct[0].dtype) if grows or first is None else first
                )
                self.unions[path] = union
                wrong = any(len(np.unique(values)) < len(values) for values in distinct)
                if wrong or self._has_missing(path, union):
                    text = f"`{path}` differs between the sources, and has a value twice or missing values in one"
                    report.error("unequal-sources", text)
                self._positions[path] = [positions_in(union, values) for values in distinct]
        declared = {path: variable for path, (_, variable) in self.declared.items()}
        packings = {
            path: choice.choose(0 if spec.extends else counts[path])
            for path, choice in self._packings.items()
            if path in counts
        }
        self.checked = extend_tree(self._model.checked, declared, packings, self.measure)
        return report.errors == before

    def _report_unplaced(self, path: str, name: str, other: str, report: Report) -> None:
        text = f"variable `{path}` is in `{other}` but not in `{name}`, whose cells have no place in the result"
        report.error("unequal-sources", text, helps=["leave the source out"])

    def _find_variable(self, path: str) -> Variable:
        """Return the declaration of a variable in the first source that has it."""
        variables = self._model.checked.variables
        return variables[path] if path in variables else self.declared[path][1].variable

    def _numbers(self, path: str) -> NumberPacking | None:
        """Return the form of the numbers of a coordinate; None for texts."""
        variable = self._find_variable(path)
        packing = packing_of(variable, None)
        return packing.numbers if is_number(variable.type) and packing.is_computable else None

    def _has_missing(self, path: str, values: NDArray[Any]) -> bool:
        numbers = self._numbers(path)
        return numbers is not None and bool(numbers.find_missing(values).any())

    def _decode(self, path: str, every: list[NDArray[Any]]) -> tuple[list[NDArray[Any]], bool]:
        """Return the values of a coordinate with the signs that they mean, and whether decoded values descend then."""
        numbers = self._numbers(path)
        if numbers is None:
            return every, False
        signed = numbers.dtype == numbers.element
        return every if signed else [values.view(numbers.dtype) for values in every], numbers.scale < 0

    def measure(self, path: str, dimension: Dimension) -> int:
        """Return the length of a dimension in the result."""
        if path in self._orders:
            return self._orders[path].length
        return len(self.unions[path]) if path in self.unions else dimension.size

    def arrange(
        self, path: str, axis: int, numbers: NDArray[np.int64], report: Report, accumulation: Accumulation | None = None
    ) -> list[CellRun]:
        """Return the runs of cells of a joined variable in order. Raises OSError, CompileError.

        `numbers`: the sources that have it; `accumulation`: its arrays, to compare
        cells that several sources have.
        """
        dimension = str(self.checked.variables[path].dimensions[axis])
        key = (dimension, numbers.tobytes())
        rule = self._model.wanted.duplicates or "error"
        if key not in self._arranged:
            self._arranged[key] = self._orders[dimension].arrange(numbers, rule)
        runs, overlaps = self._arranged[key]
        if rule == "error":
            for overlap in overlaps:
                alike = self._signatures[overlap.one] == self._signatures[overlap.other]
                if alike or accumulation is None or not self._is_equal_cell(path, accumulation, overlap, report):
                    pair = overlap._replace(position=0, one_cell=0, other_cell=0)
                    self._conflicts.setdefault((dimension, pair), {}).setdefault(path, overlap.position)
        self._count_gaps(path, axis, runs)
        return runs

    def _is_equal_cell(self, path: str, accumulation: Accumulation, overlap: Overlap, report: Report) -> bool:
        """Return whether two sources have equal values of a variable at a coordinate value."""
        sides = []
        for number, cell in ((overlap.one, overlap.one_cell), (overlap.other, overlap.other_cell)):
            place = self.make_frame(path, accumulation, report).place
            array = place(number, accumulation.locate(number))
            region = [slice(0, length) for length in array.layout.shape]
            region[accumulation.axis] = slice(cell, cell + 1)
            sides.append(array.read(tuple(region)))
        return _is_same(*sides)

    def report_conflicts(self, report: Report) -> None:
        """Report coordinate values that several sources have: repeated-coordinate, overlapping-sources."""
        rule = self._model.wanted.duplicates
        for dimension, order in self._orders.items():
            every = np.arange(len(order.lengths))
            asked = rule in ("first", "last") and self._model.wanted.ordered
            overlaps = order.arrange(every, "first")[1] if asked else []
            if overlaps:
                count = len({overlap.position for overlap in overlaps})
                text = f"`{dimension}` has {count} value{'s' * (count != 1)} several times; the {rule} cell is used"
                report.warning("overlapping-sources", text)
        for (dimension, pair), paths in self._conflicts.items():
            values = self._orders[dimension].values
            position = min(paths.values())
            value = words_of(self._model.checked, dimension)(values[position]) if values is not None else str(position)
            one, other = self._names[pair.one], self._names[pair.other]
            both = f"in `{one}`, which is given twice" if one == other else f"in `{one}` and in `{other}`"
            both = f"several times in `{one}`" if pair.one == pair.other else both
            listed = ", ".join(f"`{path}`" for path in sorted(paths))
            text = f"`{dimension}` has the value {value} {both}, with values of {listed}"
            helps = [RULES]
            parts = [path for path, rows in self._choices.items() if rows.get(pair.one) != rows.get(pair.other)]
            if parts:  # they are tiles, of which a rule would drop one
                simple = last(parts[0])
                helps.insert(0, f"join sources with equal `{dimension}` first, by `nczarr combine … --along {simple}`")
            report.error("repeated-coordinate", text, helps=helps)

    def _count_gaps(self, path: str, axis: int, runs: Iterable[CellRun]) -> None:
        """Note how many cells of a joined variable no source has."""
        shape, dimensions = self.checked.shapes[path], self.checked.variables[path].dimensions
        sizes: dict[Key, int] = {}
        covered = 0
        for run in runs:
            if run.source != GAP:
                key = self._key(dimensions, run.source)
                if key not in sizes:
                    sizes[key] = math.prod(
                        len(self._positions[str(name)][choice]) if str(name) in self._positions else length
                        for number, (name, choice, length) in enumerate(zip(dimensions, key, shape, strict=True))
                        if number != axis
                    )
                covered += run.length * sizes[key]
        if covered < math.prod(shape):
            self._gaps[path] = (math.prod(shape) - covered, math.prod(shape))

    def list_sequences(self) -> dict[str, list[int]] | None:
        """Return the sources in order by joined dimension; None if the result is not one of whole sources."""
        orders = {path: order.list_sources() for path, order in self._orders.items()}
        whole = {path: numbers for path, numbers in orders.items() if numbers is not None}
        is_whole = len(whole) == len(orders) and not (self.unions or self._gaps or self.declared or self._loose)
        return whole if is_whole else None

    def make_frame(self, path: str, accumulation: Accumulation, report: Report) -> Frame:
        """Return how sources are arranged in the shape and packing of the result."""
        variable, shape, axis = self.checked.variables[path], self.checked.shapes[path], accumulation.axis
        fill, packing = self.find_fill(path), self._packings.get(path)
        dtype = accumulation.dtype if packing is None else descr(variable.type, {})

        def key(number: int) -> Key:
            return (*self._key(variable.dimensions, number), 0 if packing is None else packing.key(number))

        def place(number: int, source: ArraySource) -> ArraySource:
            if packing is not None:
                source = packing.repack(path, number, self._names[number], source, report)
            positions = self._place(variable.dimensions, number)
            lengths = (*shape[:axis], source.layout.shape[axis], *shape[axis + 1 :])
            return place_source(source, lengths, positions, convert_fill(fill, source.layout.dtype))

        def gap(length: int) -> ArraySource:
            lengths = (*shape[:axis], length, *shape[axis + 1 :])
            return fill_source(Layout(dtype, lengths, lengths, fill=convert_fill(fill, dtype)))

        def fill_between(number: int) -> bytes | None:
            return fill if packing is None or packing.is_usual(number) else None

        return Frame(key, place, gap, fill_between)

    def _place(self, dimensions: Sequence[str | int], number: int) -> Positions:
        key = self._key(dimensions, number)
        choices = zip(map(str, dimensions), key, strict=True)
        return tuple(self._positions[name][choice] if name in self._positions else None for name, choice in choices)

    def find_fill(self, path: str) -> bytes | None:
        """Return the value of cells without a source, little-endian or as text; None for zeros, and without any."""
        if path not in self._gaps:
            return None
        return fill_gaps(self.checked.variables[path], self.checked.fills[path]).data

    def merge_parts(self, report: Report) -> Iterator[tuple[str, Parts]]:
        """Yield coordinates and variables that are not joined, where sources differ. Raises OSError, CompileError."""
        for path, order in self._orders.items():
            if order.values is not None:
                yield path, self._in_memory(path, order.values)
        for path, distinct in self._distinct.items():
            if path in self.unions or path in self.declared:
                yield path, self._in_memory(path, self.unions.get(path, distinct[0]))
        for path, variable in self.checked.variables.items():
            is_moved = path in self._loose or any(str(name) in self.unions for name in variable.dimensions)
            if is_moved and path not in self._distinct and not find_axes(variable, self._orders):
                yield path, self._in_memory(path, self._merge(path, report))

    def _merge(self, path: str, report: Report) -> NDArray[Any]:
        """Return the values of a variable that is not joined from all sources; reports unequal-sources."""
        every, model = list(self._loose.get(path, ())), self._model
        if path in model.checked.variables:
            every.insert(0, _LooseValues(model.name, 0, read_values(model.checked, path)))
        shape, dimensions = self.checked.shapes[path], self._list_dimensions(path)
        values = every[0].values
        rule = fill_gaps(self.checked.variables[path], self.checked.fills[path])
        fill = convert_fill(rule.data, values.dtype.str)
        merged = np.full(shape, fill or b"", object) if values.dtype.hasobject else np.zeros(shape, values.dtype)
        if fill is not None and not values.dtype.hasobject:
            merged[...] = np.frombuffer(fill, values.dtype)[0]
        owners = np.full(shape, GAP, np.int64)
        for number, one in enumerate(every):
            places = zip(self._place(dimensions, one.number), shape, strict=True)
            cells = np.ix_(*(np.arange(length) if place is None else place for place, length in places))
            known = owners[cells] != GAP
            if known.any() and not _is_same(merged[cells][known], one.values[known]):
                other = every[int(owners[cells][known][0])].name
                text = f"`{path}` does not have {self._model.way.shown}, and differs at the same coordinates"
                report.error("unequal-sources", f"{text}, in `{other}` and `{one.name}`")
            merged[cells] = one.values
            owners[cells] = number
        missing = int((owners == GAP).sum())
        if missing:
            self._gaps[path] = (missing, merged.size)
        return merged

    def _in_memory(self, path: str, values: NDArray[Any]) -> Parts:
        """Return values of a variable of the result as its parts, with its type and fill value."""
        dtype = descr(self.checked.variables[path].type, {})
        layout = Layout(dtype, values.shape, values.shape, fill=whole_parts(self.checked, path)[""].layout.fill)
        return {
            "": ArrayInMemory(
                layout, values if values.dtype.hasobject else values.astype(numpy_dtype(dtype), copy=False)
            )
        }

    def finish(self, report: Report) -> Callable[[str, Variable], Variable]:
        """Report gaps and packings; return the function that gives variables with gaps their fill value, by FQN."""
        report_repacked(self._packings, self._names, report, extends=self._model.wanted.extends)
        rules = {path: fill_gaps(self.checked.variables[path], self.checked.fills[path]) for path in self._gaps}
        rows = {
            path: f"`{path}`: {count} of {total} cells, read as {rules[path].shown}"
            for path, (count, total) in self._gaps.items()
        }
        notes = tuple(row for path, row in rows.items() if not rules[path].may_occur)
        if notes:
            text = f"cells of {len(notes)} variable{'s' * (len(notes) != 1)} are in no source, and are fill values"
            report.add(Diagnostic("absent-cells", Severity.NOTE, text, notes=notes))
        notes = tuple(row for path, row in rows.items() if rules[path].may_occur)
        if notes:
            count = "1 variable of integers gets" if len(notes) == 1 else f"{len(notes)} variables of integers get"
            text = f"{count} a `_FillValue`, because cells are in no source"
            helps = ["values of the sources that are equal to it are read as missing, too"]
            report.warning("assigned-fill-value", text, notes=notes, helps=helps)
        assigned = {path: rule for path, rule in rules.items() if rule.attribute is not None}
        self.checked = self.checked._replace(
            fills={**self.checked.fills, **{path: rule.constant for path, rule in assigned.items()}}
        )
        return lambda path, variable: assigned[path].declare(variable) if path in assigned else variable


def _digest(values: NDArray[Any]) -> bytes:
    """Return a digest of values and their shape."""
    data = repr(values.tolist()).encode("utf-8", "replace") if values.dtype.hasobject else values.tobytes()
    return blake2b(data + repr(values.shape).encode(), digest_size=16).digest()


def _compare(
    path: str, one: DeclaredVariable, other: DeclaredVariable, placed: Collection[str]
) -> Iterator[SourceDifference]:
    """Yield the differences of two declarations of a variable that the first source lacks.

    `placed`: the dimensions whose lengths may differ.
    """
    yield from compare_variable(path, one.variable, other.variable, set())
    for name, dimension in one.dimensions.items():
        size = other.dimensions[name].size if name in other.dimensions else dimension.size
        if size != dimension.size and name not in placed:
            yield SourceDifference(name, Aspect.LENGTH, "", str(dimension.size), str(size))


def _is_same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether values are equal, with all NaNs equal."""
    equal = one == other
    if one.dtype.kind == "f":
        equal |= np.isnan(one) & np.isnan(other)
    return bool(np.all(equal))
