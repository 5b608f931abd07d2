"""Cost of the storage of a dataset for a reader: pieces of variables, requests for headers and chunk indexes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from nczarr.arrays.regions import count_blocks, grid_of
from nczarr.arrays.sources.source import ArraySource, IndexPlace, itemsize
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast.rectilinear import volume
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.plan.chunk_sizes import LEAST
from nczarr.registry import Format
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Store
from nczarr.stores.remote_file import RemoteFile

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


class StoredDataset:
    """A dataset with what its storage costs a reader."""

    def __init__(self, checked: Checked, source: Source | Store | None = None, form: Format | None = None) -> None:
        self.checked = checked
        self.form = form
        self.source = source
        """The file or store; None if only the variables are looked at."""

    @classmethod
    def of(cls, source: Source | Store, report: Report) -> StoredDataset | None:
        """Open a source; None after a reported error. Raises OSError."""
        from nczarr.pipeline import phases
        from nczarr.pipeline.endpoints import detect_format

        checked = phases.read(source, report, Options())
        return None if checked is None else cls(checked, source, detect_format(source))

    @cached_property
    def opening(self) -> tuple[int, int] | None:
        """Requests and bytes until a reader by ranges has all headers and chunk indexes; None for other formats."""
        if self.source is None or self.form is None or not self.form.reading.ranged:
            return None
        return count_requests(self.source)

    def find_array(self, path: str) -> ArraySource | None:
        """Return the array of a variable's values; None for variables of several parts and without values."""
        return self.checked.parts.get(path, {}).get("")

    def measure_value(self, path: str) -> int:
        """Return the bytes of one value; 0 for values of variable length."""
        variable = self.checked.variables[path]
        return size(variable.type, self.checked.types) if is_fixed(variable.type, self.checked.types) else 0

    def count_pieces(self, path: str, *, stored: bool = False) -> VariablePieces | None:
        """Return the pieces of a variable; None for one piece, and for values of variable length. Raises OSError.

        `stored`: count only those that exist.
        """
        source = self.find_array(path)
        if source is None or not self.measure_value(path):
            return None
        lengths = source.layout.shards or source.layout.chunks
        count = math.prod(grid_of(source.layout.shape, lengths)) if lengths else 1
        if stored and count > 1:
            count = count_blocks(source.list_occupied(lengths))
        step = volume(lengths[1:]) if len(lengths) > 1 else 0
        width = itemsize(source.layout.dtype)
        return VariablePieces(count, volume(lengths) * width, step * width) if count > 1 else None

    def place_indexes(self) -> Iterator[tuple[str, IndexPlace]]:
        """Yield the places of chunk indexes in a file. Raises OSError."""
        for path, parts in self.checked.parts.items():
            place = next(iter(parts.values())).place_index()
            if place is not None:
                yield path, place


def count_requests(source: Source | Store) -> tuple[int, int] | None:
    """Return the requests and bytes until our reader has all headers and chunk indexes of a file.

    A local file is read as if it were remote. None for folders, and without a plugin for URLs. Raises OSError.
    """
    from nczarr.pipeline import phases
    from nczarr.stores import open as opening
    from nczarr.stores import remote_file
    from nczarr.stores.places import look_up_places

    is_archive = not isinstance(source, Source)
    if not isinstance(source, Source) and not source.archive:
        return None
    path = str(source.path)
    remote = source.data if isinstance(source, Source) and isinstance(source.data, RemoteFile) else remote_file.at(path)
    places = look_up_places("" if remote is None else remote.connection.url)
    if places is None:
        return None
    file = places.reopen(path, remote, tail=is_archive)
    checked = phases.read(opening.open_ranged(file), Report(), Options())
    for parts in checked.parts.values() if checked is not None else ():
        next(iter(parts.values())).place_index()
    return file.requests, file.received
