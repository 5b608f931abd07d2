"""Layouts of datasets for reading by ranges: `cloud`, and the packing that CMIP7 demands of netCDF-4 files.

The rules of CMIP7 are those of `check_cmip7_packing` 1.1.1 (chunk indexes before the
values, time and its bounds in one chunk, chunks of 4 MiB) and those of its data
request for variables. That program passes small chunks beside a time in one piece or
without a time, and files whose data variable it does not find; these rules do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.arrays.regions import count_blocks, grid_of
from nczarr.arrays.sources.source import ArraySource, IndexPlace, itemsize
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import Variable
from nczarr.ast.rectilinear import volume
from nczarr.diagnostics.report import NOWHERE, Source
from nczarr.pipeline.stored_dataset import StoredDataset
from nczarr.plan.chunk_sizes import LARGEST_STEP, LEAST
from nczarr.plugins.readers.cmip7 import find_data_variable, find_unmet_demands
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding, faults
from nczarr.semantics.checked import Checked, find_coordinates

FEW_REQUESTS = 3
"""Requests for the headers of a file that is arranged for reading by ranges."""

LARGEST_REQUEST = 1 << 20
"""Bytes of headers for which one request more is due."""

LARGEST_CHUNK = 4 * LARGEST_STEP
"""Bytes of an encoded chunk above which a reader of a part waits for the rest."""

_CONVERT = "`nczarr convert SRC DST --layout {}` writes it so"


def find_scattered(opened: StoredDataset) -> Iterator[Finding]:
    """Find files whose headers and chunk indexes take many requests."""
    if opened.opening is None:
        return
    requests, received = opened.opening
    if requests > FEW_REQUESTS + received // LARGEST_REQUEST:
        text = f"headers and chunk indexes take {requests} requests for {received:,} bytes"
        yield Finding("scattered-metadata", "", "", text)


def find_unconsolidated(opened: StoredDataset) -> Iterator[Finding]:
    """Find stores whose documents are read one by one."""
    source, number = opened.source, len(opened.checked.variables)
    if source is None or isinstance(source, Source) or number < 2:
        return
    if opened.form is None or opened.form.emit is None:
        return
    from nczarr.plugins.readers.documents import StoreDocuments

    documents = StoreDocuments(source)
    root = documents.get("zarr.json")
    is_consolidated = documents.get(".zmetadata") is not None or (
        root is not None and isinstance(root.members.get("consolidated_metadata"), dict)
    )
    if not is_consolidated:
        text = f"the store has no consolidated metadata for {number} variables"
        yield Finding("unconsolidated-store", "", "", text)


SMALL_FILE = 1 << 20
"""Bytes of a file that a reader fetches whole."""

MANY_PIECES = 64
"""Pieces of a small variable that a reader notices."""


class VariablePieces(NamedTuple):
    """Pieces of a variable: what one request brings, a chunk, a shard, or the record of a classic file."""

    number: int
    length: int
    """Decoded bytes of a piece."""
    step: int
    """Bytes of one step along the first of several dimensions."""

    @property
    def is_small(self) -> bool:
        """True if a piece has less than the least size, even with one step more, as CMIP7 allows."""
        return self.length + self.step < LEAST

    @property
    def matters(self) -> bool:
        """True if a reader of all values notices the pieces."""
        return self.number >= MANY_PIECES or self.number * self.length > SMALL_FILE


def find_array(checked: Checked, path: str) -> ArraySource | None:
    """Return the array of a variable's values; None for variables of several parts and without values."""
    return checked.parts.get(path, {}).get("")


def measure_value(checked: Checked, path: str) -> int:
    """Return the bytes of one value; 0 for values of variable length."""
    variable = checked.variables[path]
    return size(variable.type, checked.types) if is_fixed(variable.type, checked.types) else 0


def count_pieces(checked: Checked, path: str, *, stored: bool = False) -> VariablePieces | None:
    """Return the pieces of a variable; None for one piece, and for values of variable length. Raises OSError.

    `stored`: count only those that exist.
    """
    source = find_array(checked, path)
    if source is None or not measure_value(checked, path):
        return None
    lengths = source.layout.shards or source.layout.chunks
    count = math.prod(grid_of(source.layout.shape, lengths)) if lengths else 1
    if stored and count > 1:
        count = count_blocks(source.list_occupied(lengths))
    step = volume(lengths[1:]) if len(lengths) > 1 else 0
    width = itemsize(source.layout.dtype)
    return VariablePieces(count, volume(lengths) * width, step * width) if count > 1 else None


def place_indexes(checked: Checked) -> Iterator[tuple[str, IndexPlace]]:
    """Yield the places of chunk indexes in a file. Raises OSError."""
    for path, parts in checked.parts.items():
        place = next(iter(parts.values())).place_index()
        if place is not None:
            yield path, place


def find_chunks(opened: StoredDataset) -> Iterator[Finding]:
    """Find coordinates in several pieces, small pieces, and large chunks of which readers decode a part.

    A small file is fetched whole.
    """
    if isinstance(opened.source, Source) and len(opened.source.data) <= SMALL_FILE:
        return
    coordinates = find_coordinates(opened.checked)
    together = {*coordinates, *coordinates.values()}
    for path, variable in opened.checked.variables.items():
        pieces = count_pieces(opened.checked, path)
        if pieces is not None and path in together:
            yield _describe_divided(path, variable, pieces)
        elif pieces is not None and pieces.is_small and pieces.matters:
            yield _describe_small(path, variable, pieces)
        source = find_array(opened.checked, path)
        if source is not None and source.layout.codecs and measure_value(opened.checked, path):
            length = volume(source.layout.chunks) * itemsize(source.layout.dtype)
            if length > LARGEST_CHUNK:
                text = f"`{path}` has chunks of {length:,} bytes"
                yield Finding("large-chunks", "", "", text, span=variable.span)


def _describe_divided(path: str, variable: Variable, pieces: VariablePieces) -> Finding:
    return Finding("divided-coordinate", "", "", f"`{path}` is in {pieces.number:,} pieces", span=variable.span)


def _describe_small(path: str, variable: Variable, pieces: VariablePieces) -> Finding:
    text = f"`{path}` is in {pieces.number:,} pieces of {pieces.length:,} bytes"
    return Finding("small-chunks", "", "", text, span=variable.span)


CLOUD = Peer(
    "cloud",
    "a reader by ranges",
    "",
    (),
    (),
    lambda view: view,
    faults(
        "",
        ("scattered-metadata", f"needs {FEW_REQUESTS} where they lie together", _CONVERT.format("cloud")),
        ("unconsolidated-store", "sends a request for each", "write the store with `--consolidated`"),
        ("divided-coordinate", "sends a request for each to open the dataset", _CONVERT.format("cloud")),
        (
            "small-chunks",
            f"waits longer for requests than for values below {LEAST >> 20} MiB",
            _CONVERT.format("cloud"),
        ),
        ("large-chunks", "decodes all of one for a part", _CONVERT.format("cloud")),
    ),
    (find_scattered, find_unconsolidated, find_chunks),
    of_datasets=True,
)
"""The layout for reading by ranges."""


def find_packing(opened: StoredDataset) -> Iterator[Finding]:
    """Find what `check_cmip7_packing` refuses in a netCDF-4 file: indexes behind values, newer indexes."""
    places = list(place_indexes(opened.checked))
    newer = [path for path, place in places if place.newer]
    if newer:
        text = f"`{newer[0]}` has a chunk index of HDF5 1.10"
        yield Finding("unread-format", "", "", text, span=opened.checked.variables[newer[0]].span)
    if not places:
        return
    last, first = max(place.last for _, place in places), min(place.first_chunk for _, place in places)
    if last >= first:
        text = f"a chunk index is at byte {last:,}, and the first chunk at byte {first:,}"
        yield Finding("scattered-metadata", "", "", text)


def find_cmip7_chunks(opened: StoredDataset) -> Iterator[Finding]:
    """Find times in several chunks, and data variables with small ones."""
    checked = opened.checked
    bounds = find_coordinates(checked).get("/time")
    for path in ("/time", bounds):
        pieces = (
            count_pieces(opened.checked, path, stored=True) if path is not None and path in checked.variables else None
        )
        if path is not None and pieces is not None:
            yield _describe_divided(path, checked.variables[path], pieces)
    path = find_data_variable(checked)
    pieces = None if path is None else count_pieces(opened.checked, path, stored=True)
    if path is not None and pieces is not None and pieces.is_small:
        yield _describe_small(path, checked.variables[path], pieces)


def find_cmip7_variables(opened: StoredDataset) -> Iterator[Finding]:
    """Find what CMIP7 does not accept of variables. Raises OSError."""
    for fault in find_unmet_demands(opened.checked):
        does = f"demands `{fault.required}`"
        yield Finding("unmet-requirement", "", "", fault.what, does=does, span=fault.node.span)


def find_other_formats(opened: StoredDataset) -> Iterator[Finding]:
    """Find sources that are not netCDF-4 files."""
    if opened.form is None or opened.form.target.build is None:
        title = "the source" if opened.form is None else f"format `{opened.form.name}`"
        yield Finding("unread-format", "", "", f"{title} is not netCDF-4", span=NOWHERE)


CMIP7 = Peer(
    "cmip7",
    "CMIP7",
    "",
    (),
    (),
    lambda view: view,
    faults(
        "",
        ("unread-format", "cannot check it", _CONVERT.format("cmip7")),
        ("scattered-metadata", "demands all indexes before the values", _CONVERT.format("cmip7")),
        ("divided-coordinate", "demands one", _CONVERT.format("cmip7")),
        ("small-chunks", f"demands {LEAST >> 20} MiB, or one piece", _CONVERT.format("cmip7")),
        ("unmet-requirement", "demands a data variable", "see `nczarr explain unmet-requirement`"),
    ),
    (find_other_formats, find_packing, find_cmip7_chunks, find_cmip7_variables),
    of_datasets=True,
)
"""CMIP7's demands on netCDF-4 files."""
