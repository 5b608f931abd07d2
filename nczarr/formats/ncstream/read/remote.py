"""Datasets on CDM Remote servers: one request for the header, then sections on demand.

Parts of fixed size, or of strings, are requested by region in pieces of at most `PIECE` bytes; lists, and
records with lists, in blocks of cells (`lazy_remote.py`), because their lengths are unknown before. Servers
may answer with either kind of data message. Record members are selected here; so are records if a server
sends all. Invariant: an answer holds the requested cells, or raises OSError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.decoded_parts import Sections, in_one_piece, sources
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.memory import ArrayInMemory
from nczarr.arrays.part_fills import all_fill
from nczarr.arrays.parts import Types, descr, is_fixed, size
from nczarr.arrays.source import Parts
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType
from nczarr.ast.walk import building
from nczarr.check.checked import Tables, Unchecked, tables
from nczarr.check.fill_values import variable_fill
from nczarr.diagnostics.report import Report
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read import header_tree
from nczarr.formats.ncstream.read.header_reader import (
    dataset_of,
    immediate_values,
    shapes_of,
    suited_fills,
    told_fills,
)
from nczarr.formats.ncstream.read.lazy_remote import Blocks
from nczarr.formats.ncstream.read.remote_request import TEXT, Region, Variable, each_at_once
from nczarr.formats.ncstream.read.scan import refuse_error, scan
from nczarr.formats.ncstream.read.unique_names import named
from nczarr.formats.ncstream.wire import header_merge
from nczarr.formats.ncstream.wire.definitions import Declared, Definitions
from nczarr.formats.ncstream.wire.dtypes import full_bytes
from nczarr.formats.ncstream.wire.trees import opaque_sizes
from nczarr.options import Options
from nczarr.source import Source, Span
from nczarr.stores.cdm_remote import Served

PIECE = 16 << 20
"""Maximum bytes of values requested in one answer."""

LOOKED_AT = 4096
"""Maximum cells of an opaque variable read to find its value size."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers(Sections):
    """A variable of fixed-size values or strings: one array, requested by region."""

    variable: Variable
    type: TypeName
    shape: tuple[int, ...]
    types: Types

    @property
    def distant(self) -> bool:
        """Always true."""
        return True

    def meeting(self, region: Region) -> Iterator[tuple[Region, Region]]:
        """Yield a region in pieces."""
        width = 0 if self.type == "string" else size(self.type, self.types)
        return ((piece, piece) for piece in divided(region, width or TEXT))

    def decoded(self, section: Region) -> dict[str, NDArray[Any]]:
        """Return the values of a piece."""
        is_record = self.variable.behind == 0 and isinstance(self.types.get(self.type), CompoundType)
        return self.variable.values(section, keep=is_record)  # old servers send all records every time

    def each(self, call: Callable[[Any], None], sections: Iterable[Any]) -> None:
        """Call a function with each piece, several concurrently."""
        each_at_once(call, list(sections))


def divided(region: Region, width: int) -> Iterator[Region]:
    """Yield pieces of a region of at most `PIECE` bytes, cut along its leading dimensions."""
    inner = width
    axis = len(region)
    while axis and inner * len(region[axis - 1]) <= PIECE:
        axis -= 1
        inner *= len(region[axis])
    if not axis:
        yield region
        return
    step = max(1, PIECE // inner)
    whole = region[axis - 1]
    for start in range(whole.start, whole.stop, step):
        cut = (*region[: axis - 1], range(start, min(start + step, whole.stop)), *region[axis:])
        yield from _single(cut, axis - 1)


def _single(region: Region, axes: int) -> Iterator[Region]:
    """Yield one region for each index along the first `axes` dimensions."""
    import itertools

    for leading in itertools.product(*region[:axes]):
        yield (*(range(index, index + 1) for index in leading), *region[axes:])


# ---- from the header -------------------------------------------------------------------------------------------------


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a `Served` source. Raises OSError."""
    assert isinstance(source, Served)
    before = report.errors
    found = scan(source, report)
    given = [entry.message for entry in found if entry.kind == "header"]
    for entry in found:
        if entry.kind == "error":
            refuse_error(entry, Span(source, 0, 0), report)
    if not given and report.errors == before:
        report.error("bad-ncstream", "the answer holds no header", Span(source, 0, len(source.data)))
    if report.errors > before:
        return None
    with building():
        return _Reader(source, header_merge.merged(given), report, options).read()


class _Reader:
    """State of one read."""

    def __init__(self, source: Served, header: pb.Header, report: Report, options: Options) -> None:
        self._source = source
        self._header = header
        self._report = report
        self._options = options
        self._definitions = Definitions(header)
        self._named = named(header)

    def read(self) -> Unchecked | None:
        """Return the dataset with the array sources of its variables."""
        span = Span(self._source, 0, len(self._source.data))
        asked = header_tree.Asked(span, self._report, self._options, self._opaque_size)
        made = dataset_of(self._named.header, asked, self._source.name)
        if made is None:
            return None
        made.namesakes += self._named.namesakes
        known = tables(made.dataset)
        fills = told_fills(self._header)
        for path, shape in shapes_of(known).items():
            own = suited_fills(fills.get(path, {}), known.variables[path], known, self._ignored)
            made.parts[path] = self._parts(path, shape, known, own)
        return made

    def _ignored(self, message: str) -> None:
        """Warn about ignored values of the header."""
        self._report.warning("ignored-values", message, Span(self._source, 0, len(self._source.data)))

    def _declared(self, path: str) -> Declared | None:
        return self._definitions.find(full_bytes(self._named.spelled.get(path, path)))

    def _variable(self, path: str, type_name: TypeName, shape: tuple[int, ...], types: Types) -> Variable:
        declared = self._declared(path)
        behind = max(0, len(declared.shape) - len(shape)) if declared is not None else 0
        path = self._named.spelled.get(path, path)
        return Variable(self._source.service, path, type_name, shape, types, behind, header_merge.alone(path, declared))

    def _parts(self, path: str, shape: tuple[int, ...], known: Tables, fills: Mapping[str, bytes]) -> Parts:
        """Return the array sources of a variable."""
        found = known.variables[path]
        fill = variable_fill(found, known)
        usual = all_fill(fill, found.type, shape, known.types)
        if not math.prod(shape):
            return dict(usual)
        values = self._immediate(path, found.type, shape, known.types)
        variable = self._variable(path, found.type, shape, dict(known.types))
        filled = {part: fills.get(part, each.layout.fill) for part, each in usual.items()}
        if values is not None:
            return {"": ArrayInMemory(in_one_piece(descr(found.type, known.types), shape, filled[""]), values)}
        if found.type == "string" or is_fixed(found.type, known.types):
            return sources(Answers(variable, found.type, shape, variable.types), filled)
        return sources(Blocks(variable), filled)

    def _immediate(self, path: str, type_name: TypeName, shape: tuple[int, ...], types: Types) -> NDArray[Any] | None:
        """Return the values of a variable in the header, None if missing or unfit."""
        try:
            return immediate_values(self._declared(path), type_name, shape, types)
        except ValueError:
            return None  # then they are asked for

    def _opaque_size(self, path: str, members: tuple[str, ...]) -> int | None:
        """Return the common size of the opaque values of a small variable or member, else None."""
        declared = self._declared(path)
        if declared is None or any(each.isVlen for each in declared.shape):
            return None
        shape = tuple(each.length for each in declared.shape)
        if not 0 < math.prod(shape) <= LOOKED_AT:
            return None
        path = self._named.spelled.get(path, path)
        variable = Variable(self._source.service, path, "", shape, {}, 0, header_merge.alone(path, declared))
        try:
            tree = variable.tree(tuple(map(range, shape)), keep=True)
        except ValueError:
            return None  # told where the values are read
        sizes = opaque_sizes(tree, members)
        return sizes.pop() if sizes is not None and len(sizes) == 1 else None
