"""Value lists → typed columns, once types are known.

Expects: resolved, valid types; `work.lists` (source span of each variable's
data) and `work.attribute_lists`. Ensures: attributes of user-defined types have
constants; `work.columns` holds the values as runs, with extents of unlimited
dimensions (for `infer_shapes` and `place_values`). Plain numbers are read in
bulk (`bulk_numbers.py`), others by literal. Fill-only space is never
materialized.

A list is flat in row-major order. Braces enclose each row along an inner
unlimited dimension (not the first), each compound and vlen value, and each
array field.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.arrays.values.value_lists import ListRuns
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.dataset import map_owners
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.formats.cdl.values.encode import LiteralEncoder, ValueSlot, describe_surplus, strings
from nczarr.formats.cdl.values.literal_values import Converter
from nczarr.formats.cdl.values.literals import ListReader, Literal
from nczarr.semantics.check_types import mark_of
from nczarr.semantics.checked import Tables, Unchecked, tables_of

if TYPE_CHECKING:
    from nczarr.arrays.values.time_units import Units


LONGEST_PADDING = 256
"""Bytes of padding behind a text that are written out, which is quicker than a run for each text."""


def read_lists(work: Unchecked, report: Report) -> Unchecked:
    """Read all value lists of a CDL text; other front ends have none."""
    if work.attribute_lists:
        work.dataset = _with_attributes(work, report)
    tables = tables_of(work)
    for path, span in work.lists.items():
        variable = tables.variables.get(path)
        if variable is None or span.source is None:
            continue
        if variable.type not in ATOMIC and variable.type not in tables.types:
            continue  # an undefined type, reported by `resolve`
        columns = _VariableReader(path, variable, span, span.source, tables, report).read()
        if columns is not None:
            work.columns[path] = columns
    return work


def _with_attributes(work: Unchecked, report: Report) -> Dataset:
    """Return the dataset with values for attributes of user-defined types."""
    tables = tables_of(work)

    def read(path: str, owner: Group | Variable) -> dict[str, Any]:
        """Return the attributes of a group or variable with the values of their lists."""
        variable = owner if isinstance(owner, Variable) else None
        every = (_read_attribute(attribute, path, variable, tables, work, report) for attribute in owner.attributes)
        values = tuple(every)
        return {} if values == owner.attributes else {"attributes": values}

    return map_owners(work.dataset, read)


def _read_attribute(
    attribute: Attribute, owner: str, variable: Variable | None, tables: Tables, work: Unchecked, report: Report
) -> Attribute:
    """Return an attribute with the values of its list; the same after a fault, or without a list."""
    span = work.attribute_lists.get((owner, attribute.name))
    type_name = attribute.value.type
    if span is None or span.source is None or type_name not in tables.types:
        return attribute
    literals = ListReader(span.source, report).read(span.start, span.end)
    if literals is None:
        return attribute
    if attribute.name == "_FillValue" and variable is not None and len(literals) != 1:
        place = Span(span.source, literals[1].start, literals[1].end) if literals else attribute.span
        report.error("fill-value-count", "_FillValue must be a single value", place)
        return attribute
    if not literals:
        place = Span(span.source, span.end, span.end + 1)
        message = f"attribute `{attribute.name}` has no value; only char and string attributes may be empty"
        report.error("empty-attribute", message, place, helps=["give a value"])
        return attribute
    encoder = LiteralEncoder(Converter(span.source, report), tables.types)
    value = encoder.constant(literals, type_name, ValueSlot(f"attribute `{attribute.name}`", None, may_fill=False))
    return attribute if value is None else Attribute(name=attribute.name, value=value, span=attribute.span)


def _time_units(path: str, variable: Variable, tables: Tables) -> Units | None:
    """Return the time units of a variable, or of the variable whose CF `bounds` it is."""
    from nczarr.formats.cdl.values.dates import time_units

    for candidate in (variable, *tables.groups[names.parent(path)].variables):
        bounds = next((item.value for item in candidate.attributes if item.name == "bounds"), None)
        if candidate is variable or (bounds is not None and bounds.data == variable.name.encode()):
            units = time_units(candidate)
            if units is not None:
                return units
    return None


class _Fault(Exception):  # noqa: N818
    """A reported fault that ends a list."""


class _VariableReader:
    """Reader of one variable's list."""

    def __init__(
        self, path: str, variable: Variable, span: Span, source: Source, tables: Tables, report: Report
    ) -> None:
        """Prepare to read the values of a variable at `span`, the text between `=` and `;`."""
        self.variable = variable
        self.span = span
        self.source = source
        self.tables = tables
        self.report = report
        self.convert = Converter(source, report, lambda: _time_units(path, variable, tables))
        self.encoder = LiteralEncoder(self.convert, tables.types)
        self.fill = mark_of(variable, tables.types)
        self.dimensions = [_dimension(reference, tables) for reference in variable.dimensions]
        kind = variable.type if variable.type in ATOMIC else tables.types[variable.type].kind
        self.what = f"{'an' if kind[0] in 'aeio' else 'a'} {kind} variable"
        self.columns = ListRuns([0] * len(self.dimensions))

    def read(self) -> ListRuns | None:
        """Return the columns of the list, None after a fault."""
        if None in self.dimensions:
            return None
        inner = self._next_unlimited(0)
        long = self.span.end - self.span.start >= SMALL
        if long and inner is None and self.variable.type in _BULK and self.dimensions:
            done = self._read_bulk()
            if done is not None:
                return done
        literals = ListReader(self.source, self.report).read(self.span.start, self.span.end)
        if literals is None:
            return None
        if not literals and not (self.variable.type == "char" and self.dimensions):  # ncgen 4.9.0 crashes here
            at = Span(self.source, self.span.end, self.span.end + 1)
            help_ = "remove the line; without it, all values are fill values"
            self.report.error("empty-data", f"no values are given for `{self.variable.name}`", at, helps=[help_])
            return None
        try:
            self._block(literals, 0, ())
        except _Fault:
            return None
        return self.columns

    def _read_bulk(self) -> ListRuns | None:
        """Read a list of plain numbers at once; None if the list needs the careful reader."""
        from nczarr.formats.cdl.values.bulk_numbers import read_numbers

        values = read_numbers(self.source, self.span.start, self.span.end, self.variable.type, self.fill)
        if values is None or not len(values):
            return None
        row = self._row(0)
        if row == 0 or (not self._is_unlimited(0) and len(values) > row * self._size(0)):
            return None  # the slow way finds the place of the surplus value
        self.columns.extents[0] = -(-len(values) // row)
        self.columns.add((), len(values), values)
        return self.columns

    # ---- dimensions ------------------------------------------------------------------------------------------------
    def _is_unlimited(self, axis: int) -> bool:
        dimension = self.dimensions[axis]
        return isinstance(dimension, Dimension) and dimension.unlimited

    def _size(self, axis: int) -> int:
        dimension = self.dimensions[axis]
        return dimension.size if isinstance(dimension, Dimension) else dimension or 0

    def _next_unlimited(self, axis: int) -> int | None:
        """Return the next unlimited dimension after `axis`, whose rows have braces."""
        return next((k for k in range(axis + 1, len(self.dimensions)) if self._is_unlimited(k)), None)

    def _row(self, axis: int) -> int:
        """Return the elements of one step along `axis`; all later dimensions are fixed."""
        return math.prod(map(self._size, range(axis + 1, len(self.dimensions))))

    # ---- lists -------------------------------------------------------------------------------------------------------
    def _block(self, literals: Sequence[Literal], axis: int, prefix: tuple[int, ...]) -> None:
        """Read the values of the dimensions from `axis` on, at one index of the earlier ones."""
        inner = self._next_unlimited(axis)
        if inner is None:
            self._leaf(literals, axis, prefix)
            return
        limit = None if self._is_unlimited(axis) else math.prod(map(self._size, range(axis, inner)))
        row_name = self._name(inner)
        for count, literal in enumerate(literals):
            if literal.kind != "list":  # as in ncgen
                message = f"values along the inner unlimited dimension `{row_name}` must be enclosed in {{ }}"
                self._stop("missing-braces", message, literal, "write `{1, 2}, {3}`: one pair of braces for each row")
            if limit is not None and count >= limit:  # ncgen drops surplus rows
                message = f"`{self.variable.name}` has {limit} rows along `{row_name}`, {len(literals)} are given"
                self._stop("too-many-values", message, literal)
            index = self._find_cell(count, axis, inner)
            self._extend(axis, index[0] + 1)
            self._block(literal.value, inner, (*prefix, *index))
        if limit is not None and len(literals) < limit:  # ncgen 4.9.0 aborts
            message = f"`{self.variable.name}` has {limit} rows along `{row_name}`, only {len(literals)} are given"
            at = literals[-1] if literals else Literal("list", [], "", self.span.start, self.span.end)
            self._stop("too-few-values", message, at, "write `{}` for a row without values")

    def _leaf(self, literals: Sequence[Literal], axis: int, prefix: tuple[int, ...]) -> None:
        """Read a flat list; dimensions after `axis` are fixed, `axis` may be unlimited."""
        rank = len(self.dimensions)
        row = self._row(axis) if rank else 1
        limit = None if rank and self._is_unlimited(axis) else row * (self._size(axis) if rank else 1)
        if self.variable.type == "char":
            runs, count = self._chars(literals, axis, limit)
        else:
            bare = self.encoder.bare(literals, self.variable.type)
            if bare is None and limit is not None and len(literals) > limit:  # ncgen drops surplus values
                self._stop_at_surplus(literals[limit], limit, len(literals))
            values = self.encoder.constant(literals, self.variable.type, ValueSlot(self.what, self.fill))
            if values is None:
                raise _Fault
            runs, count = [(0, values)], values.count
        if rank and row:
            self._extend(axis, -(-count // row))
        for start, constant in runs:
            if constant.count:
                index = self._find_cell(start, axis, rank) if start else ()  # the first cell needs none
                self.columns.add((*prefix, *index), constant.count, constant)

    def _find_cell(self, start: int, axis: int, end: int) -> tuple[int, ...]:
        """Return the index of a cell in the dimensions from `axis` to before `end`."""
        index: list[int] = []
        for each in reversed(range(axis + 1, end)):
            start, at = divmod(start, self._size(each) or 1)
            index.insert(0, at)
        return (start, *index)

    def _chars(
        self, literals: Sequence[Literal], axis: int, limit: int | None
    ) -> tuple[list[tuple[int, Constant]], int]:
        """Return the texts of a char variable by their first cells, and the number of cells.

        They are joined along one dimension, padded to rows along several. A long padding is not written out: the
        rows are as long as they are declared, and cells between runs have the fill value.
        """
        rank = len(self.dimensions)
        pad = self.fill.data if self.fill is not None and isinstance(self.fill.data, bytes) else b"\0"
        row = self._size(rank - 1) if rank - axis >= 2 and not self._is_unlimited(rank - 1) else 0
        runs_of_texts: list[tuple[int, Constant]] = []
        data, begin = bytearray(), 0  # of the run that is being joined: its bytes, and its first cell
        texts = strings(literals)
        lengths: list[int] = []
        for text in texts:
            pieces = [b"" if item.kind == "fill" else self.convert.chars(item, self.what) for item in text]
            if None in pieces:
                raise _Fault
            chars = b"".join(piece for piece in pieces if piece is not None)
            lengths.append(len(chars))
            padded = max(row, -(-len(chars) // row) * row) if row else len(chars)  # `""` takes a full row, as in ncgen
            if limit is not None and begin + len(data) + padded > limit:  # ncgen 4.9.0 crashes on texts too long
                self._stop("too-many-values", *describe_surplus(texts, lengths, row, limit, self._title()))
            if padded - len(chars) <= LONGEST_PADDING:
                data += chars.ljust(padded, pad)
                continue
            runs_of_texts.append((begin, Constant.text(bytes(data + chars))))
            begin += len(data) + padded
            data = bytearray()
        if not rank and not data:  # `""` of a scalar is NUL, as in ncgen
            data += b"\0"
        return [*runs_of_texts, (begin, Constant.text(bytes(data)))], begin + len(data)

    def _extend(self, axis: int, length: int) -> None:
        self.columns.extents[axis] = max(self.columns.extents[axis], length)

    # ---- messages ----------------------------------------------------------------------------------------------------
    def _name(self, axis: int) -> str:
        reference = self.variable.dimensions[axis]
        return names.last(reference) if isinstance(reference, str) else str(reference)

    def _title(self) -> str:
        shape = ", ".join(self._name(axis) for axis in range(len(self.dimensions)))
        return f"`{self.variable.name}({shape})`" if shape else f"`{self.variable.name}`"

    def _stop_at_surplus(self, literal: Literal, limit: int, count: int) -> None:
        if not self.dimensions:
            self._stop("too-many-values", f"{self._title()} is a scalar, {count} values are given", literal)
        message = f"{self._title()} holds {limit} value{'s' * (limit != 1)}, {count} are given"
        self._stop("too-many-values", message, literal, "remove the surplus values, or enlarge the dimension")

    def _stop(self, code: str, message: str, literal: Literal, help_: str = "") -> None:
        self.convert.error(code, message, literal, help_)
        raise _Fault


SMALL = 256
"""Bytes below which a list is read literal by literal: importing the bulk reader would cost more."""

_BULK = frozenset(name for name, atomic in ATOMIC.items() if atomic.is_integer or atomic.is_float)


def _dimension(reference: str | int, tables: Tables) -> Dimension | int | None:
    return reference if isinstance(reference, int) else tables.dimensions.get(reference)
