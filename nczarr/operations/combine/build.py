"""Combined dataset of the sources: its tree and arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.accumulation import Accumulation, Targets
from nczarr.arrays.sources.concatenate import joined, misfit
from nczarr.arrays.sources.expand_dims import Raised
from nczarr.arrays.sources.interleave import join
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, numpy_dtype
from nczarr.arrays.sources.split_chunks import addressed
from nczarr.ast import Dimension, Group, Variable
from nczarr.ast.rectilinear import varies
from nczarr.ast.walk import building, mapped
from nczarr.check.checked import Checked, resized
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.operations.combine.contribution import Model
from nczarr.operations.combine.spec import Way
from nczarr.operations.compare.difference import shown

LEAST_PIECE = 4096
"""Minimum bytes of referenced chunk pieces, if the values may be embedded in the document."""


class Pile(NamedTuple):
    """Input of a combination."""

    names: Sequence[str]
    """Names of the sources for messages."""
    model: Model
    """The first source, and the resolved combination."""
    arrays: Mapping[str, Accumulation | list[Parts]]
    """Arrays of each variable in every source: one, or the parts of each source."""
    given: set[str]
    """Variables with data in any source."""
    stacked: set[str]
    """Variables that get the new dimension."""
    lengths: Mapping[str, Sequence[int]]
    """Lengths of dimensions by source."""


def made(pile: Pile, report: Report) -> Checked | None:
    """Return the combined dataset; None after unaligned chunks or differing fill values are reported."""
    before, checked, way = report.errors, pile.model.checked, pile.model.way
    addressable, chunks = pile.model.wanted.addressable, {} if way.new_dim else pile.model.chunks
    axes = {path: 0 for path in checked.variables if path in pile.stacked} if way.new_dim else way.axes
    parts = dict(checked.parts)
    for path, axis in axes.items():
        if path in pile.given:
            parts[path] = _Joining(path, axis, pile, report).parts
    if report.errors > before:
        return None
    with building():

        def changed(path: str, group: Group) -> dict[str, Any]:
            """Return the combined lengths, and the variables along the new dimension."""
            dimensions = []
            for dimension in group.dimensions:
                lengths = pile.lengths.get(names.join(path, dimension.name))
                dimensions.append(dimension if lengths is None else dimension.model_copy(update={"size": sum(lengths)}))
            variables = []
            for variable in group.variables:
                fqn = names.join(path, variable.name)
                combined_variable = (
                    _variable(variable, way, parts.get(fqn, {}), addressable, chunks.get(fqn))
                    if fqn in axes
                    else variable
                )
                variables.append(combined_variable)
            return {"dimensions": tuple(dimensions), "variables": tuple(variables)}

        tree = mapped(checked.dataset, changed)
        if way.new_dim:
            dimension = Dimension(name=way.new_dim, size=len(pile.names))
            kind = None if _grows_within(checked, axes) else tree.kind
            tree = tree.model_copy(update={"dimensions": (dimension, *tree.dimensions), "kind": kind})
        return resized(checked, tree)._replace(parts=parts)


def _grows_within(checked: Checked, stacked: Iterable[str]) -> bool:
    """Return whether a stacked variable has an unlimited dimension, which would not be first as in classic files."""
    growing = {path for path, dimension in checked.dimensions.items() if dimension.unlimited}
    kinds = checked.dataset.kind not in (None, "nc4")
    return kinds and any(not growing.isdisjoint(checked.variables[path].dimensions) for path in stacked)


class _Joining(NamedTuple):
    """One variable of all sources."""

    path: str
    """FQN of the variable."""
    axis: int
    """Axis of the combination."""
    pile: Pile
    """Input of the combination."""
    report: Report
    """Collected diagnostics."""

    @property
    def parts(self) -> Parts:
        """Joined parts."""
        checked, arrays = self.pile.model.checked, self.pile.arrays[self.path]
        if isinstance(arrays, Accumulation):
            return {"": self._whole(arrays)}
        return join(checked.variables[self.path].type, arrays, self.axis, checked.types, self._part)

    def _part(self, sources: Sequence[ArraySource], axis: int) -> ArraySource:
        """Return one of several arrays of a variable; reports unaligned-chunks."""
        accumulation = Accumulation(axis, Targets(NO_OPTIONS))
        for number, source in enumerate(sources):
            accumulation.add(number, Raised(source) if self.pile.model.way.new_dim else source)
        return self._whole(accumulation)

    def _whole(self, accumulation: Accumulation) -> ArraySource:
        """Return one array of all sources; reports unaligned-chunks."""
        self._check_fills(accumulation)
        sources, numbers = accumulation.sources()
        axis, addressable = accumulation.axis, self.pile.model.wanted.addressable
        size = itemsize(sources[0].layout.dtype)
        whole = joined(sources, axis, rectilinear=self.pile.model.way.rectilinear)
        if addressable is None or not size or _varies(whole):
            return whole
        total = sum(math.prod(source.layout.shape) for source in sources) * size
        small = total <= addressable
        sources_of_pieces = addressed(sources, axis, LEAST_PIECE if small else 1)
        wrong = misfit(sources_of_pieces, axis)
        if wrong is not None and small:
            return joined(accumulation.valued(sources_of_pieces), axis)
        if wrong is not None and wrong.other is not None:  # what lies in no chunks at all is the planner's matter
            which = [self.pile.names[numbers[number]] for number in (wrong.source, wrong.other)]
            text = f"`{self.path}` cannot be referenced as one array: {wrong.reason}"
            helps = [
                "write a target of another format, which has new chunks (`-o OUT.zarr`)",
                "leave it out with `--var`",
            ]
            self.report.error("unaligned-chunks", f"{text} ({', '.join(f'`{name}`' for name in which)})", helps=helps)
        return joined(sources_of_pieces, axis)

    def _check_fills(self, accumulation: Accumulation) -> None:
        """Report unequal-sources for missing chunks with different values."""
        if accumulation.unlike is None:
            return
        one, other, *fills, source = accumulation.unlike
        texts = [_element(source, fill) for fill in fills]
        text = f"`{self.path}` has unwritten chunks, which are read as {texts[0]} in `{self.pile.names[one]}`"
        self.report.error("unequal-sources", f"{text}, {texts[1]} in `{self.pile.names[other]}`")


def _varies(source: ArraySource) -> bool:
    """Return whether encoded chunks of a source differ in shape."""
    return source.stored is not None and varies(source.stored.chunks)


def _element(source: ArraySource, fill: bytes) -> str:
    if source.layout.dtype == "|O":
        return shown(fill)
    dtype = numpy_dtype(source.layout.dtype)
    return shown(np.frombuffer(fill, dtype.newbyteorder("<"))[0])


def _variable(
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
