"""Facts about a dataset for a person: sizes, chunks, codecs, coordinates, missing chunks, cost of opening, warnings."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.regions import grid_of
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast.dataset import KIND_NAMES
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.check import advise, find_reader_check
from nczarr.pipeline.select.coordinate_summary import CoordinateSummary, summarize_coordinate
from nczarr.pipeline.select.physical import attributes_of, text_of
from nczarr.pipeline.stored_dataset import StoredDataset
from nczarr.registry import Format
from nczarr.semantics.checked import Checked, find_coordinates
from nczarr.semantics.outline import StoredChunks, codec_text, count_stored
from nczarr.stores.base import Store

MOST_VALUES = 1 << 20
"""Values of a coordinate up to which all are read; of longer ones the first and last."""


class InfoRequest(NamedTuple):
    """Request for facts about a dataset."""

    path: str
    """Path or URL."""
    content: Source | None = None
    """Content of the dataset; None: that of the path."""
    form: str | None = None
    """Name of its format; None: found by its content."""
    options: Options = Options()
    """Options of the run."""
    dataset: Checked | None = None
    """A dataset in memory, in place of the path; its format is then empty."""


class VariableFacts(NamedTuple):
    """Facts about one variable."""

    path: str
    """FQN."""
    type: str
    """Name of the type."""
    dimensions: tuple[str, ...]
    """Names of the dimensions, or lengths of anonymous ones."""
    shape: tuple[int, ...]
    """Length of each dimension."""
    chunks: tuple[int, ...] | None
    """Length of a chunk along each dimension; None for values in one piece."""
    shards: tuple[int, ...] | None
    """Length of a shard along each dimension; None without shards."""
    codecs: tuple[str, ...]
    """Codecs in encoding order."""
    size: int | None
    """Bytes of the values; None for types of variable size."""
    stored: int | None
    """Bytes of the encoded chunks; None if unknown."""
    missing: int
    """Chunks that are not stored, and read as fill."""
    grid: int
    """Chunks of the grid."""


class CoordinateFacts(NamedTuple):
    """Facts about one coordinate variable."""

    path: str
    """FQN."""
    length: int
    """Number of values."""
    units: str
    """Attribute `units`."""
    values: CoordinateSummary
    """First, last, step and gaps in words."""
    problem: str = ""
    """Reason why the values could not be read."""


class DatasetFacts(NamedTuple):
    """Facts about one dataset."""

    path: str
    """Path or URL."""
    format: str
    """Name of the format."""
    kind: str
    """Kind of netCDF file; empty for other formats."""
    title: str
    """Attribute `title`."""
    groups: int
    """Number of groups besides the root."""
    dimensions: dict[str, tuple[int, bool]]
    """Length of each dimension, and whether it is unlimited."""
    coordinates: tuple[CoordinateFacts, ...]
    """Coordinate variables."""
    variables: tuple[VariableFacts, ...]
    """All variables."""
    size: int
    """Bytes of all values of known size."""
    stored: int | None
    """Bytes of the file, or of the encoded chunks of a store; None if unknown."""
    opening: tuple[int, int] | None
    """Requests and bytes of headers and chunk indexes, by ranges; None for folders and texts."""
    warnings: tuple[str, ...]
    """Messages of `check`, and of `check --for cloud`."""

    def record(self) -> dict[str, Any]:
        """Return the facts as JSON has them."""
        dimensions = {path: {"length": length, "unlimited": grows} for path, (length, grows) in self.dimensions.items()}
        coordinates = [
            {**entry._asdict(), "values": {**entry.values._asdict(), "gaps": list(entry.values.gaps)}}
            for entry in self.coordinates
        ]
        variables = [
            {name: list(value) if isinstance(value, tuple) else value for name, value in entry._asdict().items()}
            for entry in self.variables
        ]
        opening = None if self.opening is None else dict(zip(("requests", "bytes"), self.opening, strict=True))
        return {
            **self._asdict(),
            "dimensions": dimensions,
            "coordinates": coordinates,
            "variables": variables,
            "opening": opening,
            "warnings": list(self.warnings),
        }


class Informed(NamedTuple):
    """Result of a request for facts."""

    facts: DatasetFacts
    checked: Checked
    is_store: bool
    """True for stores of keys, False for files."""


def collect_facts(request: InfoRequest, report: Report) -> Informed | None:
    """Collect the facts about a dataset; None after a reported error. Raises OSError.

    Coordinates are read; of all other values only the places of chunks.
    """
    options = request.options
    if request.dataset is not None:
        return _describe(request.path, request.dataset, None, None)
    source = request.content or endpoints.open_source(request.path, report, options)
    if source is None:
        return None
    form = endpoints.require_format(source, request.form, report) if request.form else endpoints.detect_format(source)
    if request.form and form is None:
        return None
    checked = phases.read(source, report, options, form)
    if checked is None or form is None or report.errors:
        return None
    return _describe(request.path, checked, source, form)


def _describe(path: str, checked: Checked, source: Source | Store | None, form: Format | None) -> Informed:
    """Return the facts about a dataset; of one in memory without its source and format."""
    variables = tuple(_collect_variable_facts(checked, path) for path in checked.variables)
    facts = DatasetFacts(
        path,
        "" if form is None else form.name,
        KIND_NAMES[checked.dataset.kind] if checked.dataset.kind is not None else "",
        text_of(attributes_of(checked, "/"), "title"),
        len(checked.groups) - 1,
        {path: (dimension.size, dimension.unlimited) for path, dimension in checked.dimensions.items()},
        tuple(_summarize_coordinate(checked, path) for path in find_coordinates(checked)),
        variables,
        sum(entry.size or 0 for entry in variables),
        None if source is None else _measure(source, variables),
        *(None, ()) if source is None or form is None else _look_at_storage(checked, source, form),
    )
    return Informed(facts, checked, not isinstance(source, Source))


def _collect_variable_facts(checked: Checked, path: str) -> VariableFacts:
    """Return type, shape, chunks, codecs and sizes; None as size: variable length, or a damaged index of chunks."""
    variable, shape = checked.variables[path], checked.shapes[path]
    parts = checked.parts.get(path, {})
    try:
        stored = count_stored(parts) if parts else StoredChunks(0, 0)
    except CompileError:  # a damaged index, which readers of the values report
        stored = None
    whole = parts.get("")
    layout = None if whole is None or not is_fixed(variable.type, checked.types) else whole.layout
    has_chunks = (
        layout is not None and bool(layout.chunks) and (layout.chunks != shape or bool(variable.storage.chunks))
    )
    chunks = tuple(map(int, layout.chunks)) if layout is not None and has_chunks else None
    grid = math.prod(grid_of(shape, chunks)) if chunks else 1
    return VariableFacts(
        path,
        variable.type,
        tuple(str(entry) if isinstance(entry, int) else names.last(entry) for entry in variable.dimensions),
        shape,
        chunks,
        None if layout is None else layout.shards,
        tuple(map(codec_text, variable.storage.codecs)),
        math.prod(shape) * size(variable.type, checked.types) if is_fixed(variable.type, checked.types) else None,
        None if stored is None else stored.size,
        max(0, grid - stored.number) if chunks and stored is not None else 0,
        grid,
    )


def _summarize_coordinate(checked: Checked, path: str) -> CoordinateFacts:
    """Summarize a coordinate: all values, or the first and the last one if there are too many."""
    length = checked.shapes[path][0]
    units = text_of(attributes_of(checked, path), "units")
    if not length:
        return CoordinateFacts(path, 0, units, CoordinateSummary())
    indices = range(length) if length <= MOST_VALUES else range(0, length, length - 1)
    try:
        return CoordinateFacts(path, length, units, summarize_coordinate(checked, path, indices))
    except CompileError as error:
        return CoordinateFacts(path, length, units, CoordinateSummary(), error.diagnostics[0].message)


def _measure(source: Source | Store, variables: tuple[VariableFacts, ...]) -> int | None:
    """Return the bytes of a file, or of the encoded chunks of a store; None if unknown."""
    if isinstance(source, Source):
        return len(source.data)
    sizes = [entry.stored for entry in variables]
    return None if None in sizes else sum(stored or 0 for stored in sizes)


def _look_at_storage(
    checked: Checked, source: Source | Store, form: Format
) -> tuple[tuple[int, int] | None, tuple[str, ...]]:
    """Return the requests and bytes of `count_requests`, and warnings: the advice of `check`.

    Where the dataset has encoded values, they are the faults of `check --for cloud`.
    """
    report, cloud = Report(), find_reader_check("cloud")
    opened = StoredDataset(checked, source, form)
    if cloud is not None and (form.display.binary or not isinstance(source, Source)):
        opened = StoredDataset.of(source, report) or opened
        cloud.check(source, report, opened)
    else:
        advise(checked, report)
    return opened.opening, tuple(f"{warning.code}: {warning.message}" for warning in report.list_sorted())
