"""State of a combination: the sources so far, and their conflicts."""

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.sliced import slice_parts
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, numpy_dtype
from nczarr.ast import Dimension, Group, Variable
from nczarr.ast.dataset import building, map_groups
from nczarr.ast.rectilinear import varies
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.plugins.combine.arrays.accumulation import Accumulation, Targets
from nczarr.plugins.combine.arrays.concatenate import common_layout, join_sources, misfit
from nczarr.plugins.combine.arrays.patchwork import align_grids, as_patchwork, count_remade
from nczarr.plugins.combine.join.agreement import Way, find_axes
from nczarr.plugins.combine.join.conflicts import CHOOSE, NAMED, REPACK, Conflicts
from nczarr.plugins.combine.join.contribution import (
    Contribution,
    KnownPlaces,
    Model,
    VariablePiece,
    add_axis,
    whole_first,
)
from nczarr.plugins.combine.join.coordinate_order import Ascending, OrderFault, words_of
from nczarr.plugins.combine.join.result_grid import ResultGrid
from nczarr.semantics.checked import Checked, Omission, resize

LEAST_PIECE = 4096
"""Minimum bytes of referenced chunk pieces, if the values may be embedded in the document."""


def _grows_within(checked: Checked, stacked: Iterable[str]) -> bool:
    """Return whether a stacked variable has an unlimited dimension, which would not be first as in classic files."""
    growing = {path for path, dimension in checked.dimensions.items() if dimension.unlimited}
    kinds = checked.dataset.kind not in (None, "nc4")
    return kinds and any(not growing.isdisjoint(checked.variables[path].dimensions) for path in stacked)


def _varies(source: ArraySource) -> bool:
    """Return whether encoded chunks of a source differ in shape."""
    return source.stored is not None and varies(source.stored.chunks)


def _show_fill(source: ArraySource, fill: bytes) -> str:
    from nczarr.pipeline.compare.difference import show

    if source.layout.dtype == "|O":
        return show(fill)
    dtype = numpy_dtype(source.layout.dtype)
    return show(np.frombuffer(fill, dtype.newbyteorder("<"))[0])


def _combine_variable(
    variable: Variable, way: Way, parts: Parts, addressable: int | None, first: tuple[int, ...] | None
) -> Variable:
    """Return the combined variable: with the new dimension, and fitting storage.

    `first`: chunk lengths in the first source.
    """
    storage, dimensions = variable.storage, variable.dimensions
    chunks, layout = storage.chunks, storage.layout
    if way.new_dim:
        dimensions = (f"/{way.new_dim}", *dimensions)
        chunks = None if chunks is None else (1, *chunks)
    source = parts.get("")
    varying = source is not None and _varies(source)
    if source is not None and (addressable is not None or varying):
        stored = source.stored.chunks if source.stored is not None else None
        chunks = stored or (chunks and first) or chunks
    if layout == "compact" or (layout == "contiguous" and chunks is not None):
        layout = None
    changes = {"layout": layout, "chunks": chunks}
    if changes != {"layout": storage.layout, "chunks": storage.chunks}:
        storage = storage.model_copy(update=changes)
    return variable.model_copy(update={"dimensions": dimensions, "storage": storage})


class Combination:
    """Combination of sources, added one by one; the first is the model."""

    def __init__(self, model: Model, storage: StorageOptions = NO_OPTIONS) -> None:
        self.model = model
        self.names: list[str] = []
        """Names of the sources for messages."""
        self.targets = Targets(storage)
        """Files and objects with chunks."""
        self._conflicts = Conflicts(model)
        self._attributes: dict[str, None] = {}
        self.stacked = set(model.way.always)
        """Variables that get the new dimension."""
        self.lengths = {path: array("q") for path in model.way.dimensions}
        """Lengths of the joined dimensions by source."""
        self.grid = ResultGrid(model) if model.wanted.is_placed else None
        """Places of cells, if these follow from coordinates."""
        self.arrays: dict[str, Accumulation | list[Parts]] = {}
        """Arrays of each variable in every source: one, or the parts of each source."""
        self.given: set[str] = set()
        """Variables with data in any source."""
        self._ascending = {
            path: Ascending(path, words_of(model.checked, path), extends=model.wanted.extends) for path in model.ordered
        }
        self._known: KnownPlaces | None = None
        self._made: dict[str, str] = {}
        """Messages on variables with chunks that no source has."""
        self.repeated: list[str] = []
        """Names of sources without a coordinate whose chunks the extended document has already."""
        self._omitted: list[Omission] = []

    @property
    def unordered(self) -> dict[str, OrderFault]:
        """Coordinates whose values do not increase, with the places."""
        sortable = not self.model.way.new_dim
        faults = {path: order.find_fault(sortable=sortable) for path, order in self._ascending.items()}
        return {path: fault for path, fault in faults.items() if fault is not None}

    def add(self, source: Contribution) -> None:
        """Add a source, or record its conflicts."""
        number = len(self.names)
        self.names.append(source.name)
        self._omitted += source.omitted
        for finding in source.findings:
            if finding.decisive:
                self._conflicts.add(number, self.model.name, source.name, finding)
            else:
                self._attributes[f"{finding.path.rstrip('/')}:{finding.attribute}"] = None
        for path, message in source.faults:
            self._conflicts.add_values(number, path, message)
        for path, lengths in self.lengths.items():
            lengths.append(source.lengths.get(path, 0))
        if self.grid is not None:
            for name, finding in self.grid.add(source):
                if finding.decisive:
                    self._conflicts.add(number, name, source.name, finding)
        for path, piece in source.pieces.items():
            self._take(path, number, piece)
        if self.model.wanted.extends and not self.model.ordered:
            if self._known is None:
                self._known = KnownPlaces(source.pieces)
            elif self._known.have(source.pieces):
                self.repeated.append(source.name)
        self.given |= source.given
        self.stacked |= source.unequal
        for path, order in source.orders.items():
            self._ascending[path].add(source.name, order)

    def _take(self, path: str, number: int, piece: VariablePiece) -> None:
        """Add a variable of a source with the same model."""
        accumulated = self.arrays.get(path)
        if accumulated is None:
            single = piece.located is not None or piece.parts.keys() == {""}
            accumulated = Accumulation(self._axis(path), self.targets) if single else []
            self.arrays[path] = accumulated
        if isinstance(accumulated, list):
            accumulated.append(piece.parts)
        else:
            whole = whole_first(self.model, path) if number == 0 else None
            accumulated.add(number, piece.located or piece.parts[""], piece.values, whole)

    def _axis(self, path: str) -> int:
        """Return the axis along which a variable is joined."""
        axis = self.model.axes.get(path)
        if axis is not None:
            return axis
        assert self.grid is not None
        return find_axes(self.grid.declared[path][1].variable, self.model.way.dimensions)[0]

    def finish(self, report: Report) -> Checked | None:
        """Return all sources as one dataset; None after an error."""
        before = report.errors
        self._conflicts.report(report)
        if self._attributes:
            listed = names.list_first(self._attributes, NAMED)
            text = f"attributes differ; those of `{self.model.name}` are kept: {listed}"
            report.warning("differing-attributes", text)
        if self.model.way.new_dim and not self.stacked and not self._conflicts:
            text = f"no variable differs between the sources, so no variable would have {self.model.way.shown}"
            helps = ["name a variable with `--along VARIABLE --new-dim NAME` to stack it in any case"]
            report.error("unmatched-dimension", text, helps=helps)
        faulty = self._conflicts.paths
        for path, fault in self.unordered.items():
            if path not in faulty and not self.model.wanted.extends:  # the caller knows what an extended target has
                fault = fault._replace(severity=Severity.WARNING) if self.model.wanted.lenient else fault
                fault.report(report)
        return None if report.errors > before else self._combine(report)

    def _combine(self, report: Report) -> Checked | None:
        """Return the combined dataset; None after unaligned chunks or differing fill values are reported."""
        before, checked, way, grid = report.errors, self.model.checked, self.model.way, self.grid
        addressable, chunks = self.model.wanted.addressable, {} if way.new_dim else self.model.chunks
        axes = {path: 0 for path in checked.variables if path in self.stacked} if way.new_dim else dict(way.axes)
        if grid is not None:
            arrays = {path: one for path, one in self.arrays.items() if isinstance(one, Accumulation)}
            if not grid.settle({path: len(one.list_numbers()) for path, one in arrays.items()}, report):
                return None
            checked = grid.checked
            axes |= {path: self._axis(path) for path in self.arrays}
        parts = dict(checked.parts)
        for path, axis in axes.items():
            if path in self.given:
                parts[path] = self._join_parts(path, axis, report)
        declare: Callable[[str, Variable], Variable] | None = None
        if grid is not None:
            parts.update(grid.merge_parts(report))
            grid.report_conflicts(report)
            if report.errors > before:
                return None
            declare = grid.finish(report)
            if self._made:
                text = f"chunks of {len(self._made)} variable{'s' * (len(self._made) != 1)} are encoded again"
                reason = "no source has them as a whole, in the grid and encoding of the result"
                notes = tuple(self._made.values())
                report.add(Diagnostic("reencoded-chunks", Severity.NOTE, f"{text}: {reason}", notes=notes))
            checked = grid.checked
        if report.errors > before:
            return None

        def change(path: str, group: Group) -> dict[str, Any]:
            """Return the combined lengths, and the variables along the new dimension."""
            dimensions = []
            for dimension in group.dimensions:
                lengths = None if grid is not None else self.lengths.get(names.join(path, dimension.name))
                dimensions.append(dimension if lengths is None else dimension.model_copy(update={"size": sum(lengths)}))
            variables = []
            for variable in group.variables:
                fqn = names.join(path, variable.name)
                joined = variable if declare is None else declare(fqn, variable)
                if fqn in axes:
                    joined = _combine_variable(joined, way, parts.get(fqn, {}), addressable, chunks.get(fqn))
                variables.append(joined)
            return {"dimensions": tuple(dimensions), "variables": tuple(variables)}

        with building():
            tree = map_groups(checked.dataset, change)
            if way.new_dim:
                dimension = Dimension(name=way.new_dim, size=len(self.names))
                kind = None if _grows_within(checked, axes) else tree.kind
                tree = tree.model_copy(update={"dimensions": (dimension, *tree.dimensions), "kind": kind})
            return resize(checked, tree)._replace(parts=parts, omitted=tuple(self._omitted))

    def _join_parts(self, path: str, axis: int, report: Report) -> Parts:
        """Return the joined parts of a variable; reports unaligned-chunks, unequal-sources."""
        checked, arrays = self.model.checked, self.arrays[path]
        if isinstance(arrays, Accumulation):
            return {"": self._whole(path, arrays, report)}
        if self.grid is not None:
            return self._place_lists(path, axis, arrays, self.grid, report)
        from nczarr.plugins.combine.arrays.interleave import join  # few arrays are joined otherwise than chunk by chunk

        def part(sources: Sequence[ArraySource], axis: int) -> ArraySource:
            accumulation = Accumulation(axis, Targets(NO_OPTIONS))
            for number, source in enumerate(sources):
                accumulation.add(number, add_axis(source, self.model))
            return self._whole(path, accumulation, report)

        return join(checked.variables[path].type, arrays, axis, checked.types, part)

    def _place_lists(self, path: str, axis: int, arrays: list[Parts], grid: ResultGrid, report: Report) -> Parts:
        """Return the parts of a variable with lists in the order of the result; reports unequal-sources."""
        from nczarr.plugins.combine.arrays.interleave import join

        checked, is_everywhere = grid.checked, len(arrays) == len(self.names)
        runs = grid.arrange(path, axis, np.arange(len(self.names)), report) if is_everywhere else []
        moved = any(str(name) in grid.unions for name in checked.variables[path].dimensions)
        if not is_everywhere or moved:
            text = f"`{path}` has lists, and cells that are in no source or in another grid"
            report.error("unequal-sources", text, helps=[CHOOSE])
            return {}
        pieces = []
        for run in runs:
            shape = [range(length) for length in grid.checked.shapes[path]]
            shape[axis] = range(run.start, run.stop)
            pieces.append(slice_parts(checked.variables[path].type, tuple(shape), arrays[run.source], checked.types))
        return join(checked.variables[path].type, pieces, axis, checked.types, join_sources)

    def _whole(self, path: str, accumulation: Accumulation, report: Report) -> ArraySource:
        """Return one array of all sources; reports unaligned-chunks, unequal-sources."""
        if self.grid is not None:
            return self._place(path, accumulation, self.grid, report)
        if accumulation.unlike is not None:  # missing chunks stand for different values
            one, other, *fills, first = accumulation.unlike
            texts = [_show_fill(first, fill) for fill in fills]
            text = f"`{path}` has unwritten chunks, which are read as {texts[0]} in `{self.names[one]}`"
            report.error("unequal-sources", f"{text}, {texts[1]} in `{self.names[other]}`")
        order = accumulation.list_runs()
        sources, numbers = accumulation.arrange(order)
        axis, addressable = accumulation.axis, self.model.wanted.addressable
        size = itemsize(sources[0].layout.dtype)
        whole = join_sources(sources, axis, rectilinear=self.model.way.rectilinear)
        if addressable is None or not size or _varies(whole):
            return whole
        small = sum(math.prod(source.layout.shape) for source in sources) * size <= addressable
        sources_of_pieces = align_grids(sources, axis, LEAST_PIECE if small else 1)
        wrong = misfit(sources_of_pieces, axis)
        if wrong is not None and small:
            return join_sources(accumulation.arrange(order, known=True)[0], axis)
        if wrong is not None and wrong.other is not None:  # what lies in no chunks at all is the planner's matter
            which = ", ".join(f"`{self.names[numbers[number]]}`" for number in (wrong.source, wrong.other))
            text = f"`{path}` cannot be referenced as one array: {wrong.reason} ({which})"
            target = "write a target of another format, which has new chunks (`-o OUT.zarr`)"
            report.error("unaligned-chunks", text, helps=[target, REPACK, "leave it out with `--exclude`"])
        return join_sources(sources_of_pieces, axis)

    def _place(self, path: str, accumulation: Accumulation, grid: ResultGrid, report: Report) -> ArraySource:
        """Return one array of all sources whose cells are placed by coordinates.

        Chunks that a source has whole are its own; values of other chunks, if they
        are few, are those that are known.
        """
        axis, addressable = accumulation.axis, self.model.wanted.addressable
        order = grid.arrange(path, axis, accumulation.list_numbers(), report, accumulation)
        frame = grid.make_frame(path, accumulation, report)
        sources, _ = accumulation.arrange(order, frame)
        size = itemsize(sources[0].layout.dtype)
        small = addressable is not None and math.prod(grid.checked.shapes[path]) * size <= addressable
        if addressable is not None and size and not any(map(_varies, sources)):
            sources = align_grids(sources, axis, LEAST_PIECE if small else 1)
        whole = join_sources(sources, axis, rectilinear=self.model.way.rectilinear, fill=grid.find_fill(path))
        if whole.stored is None and (layout := common_layout(sources, whole.layout)) is not None:
            patched = as_patchwork(whole, layout, 0)
            made, total = count_remade(patched)
            if not small or made < total:
                whole = patched
            else:
                sources, _ = accumulation.arrange(order, frame, known=True)
                whole = join_sources(sources, axis, fill=grid.find_fill(path))
        made, total = count_remade(whole) if addressable is not None else (0, 0)
        if made:
            self._made[path] = f"`{path}`: {made} of {total} chunks"
        return whole
