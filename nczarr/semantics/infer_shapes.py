"""Inference of unlimited lengths and shapes, placement of values, and names for anonymous dimensions.

Expects: resolved names, columns read. Ensures: an unlimited dimension is as
long as its longest data (or the front end's length, if longer); `shapes` has
every variable's current shape; columns are converted to arrays. Reports:
bad-dimension-size, rank-limit, and bad-chunk-size, bad-storage for storage that
does not fit the shape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.elements import suits
from nczarr.arrays.values.parts import Types
from nczarr.ast import ATOMIC, CompoundType, Constant, Dimension, Group, Quantize, UserType, Variable, VlenType
from nczarr.ast.dataset import FILTER_LIMIT, map_groups, most_digits
from nczarr.ast.rectilinear import Lengths
from nczarr.diagnostics.report import Label, Report, Span
from nczarr.semantics.checked import Checked, Unchecked, tables, tables_of

if TYPE_CHECKING:
    from nczarr.arrays.values.value_lists import ListRuns


class Anonymous:
    """Invented dimensions of a dataset."""

    def __init__(self, checked: Checked) -> None:
        """Invent a dimension for each group and length that anonymous dimensions of its variables have."""
        self._of: dict[tuple[str, int], Dimension] = {}
        # A name that no dimension has can hide none, in whatever group it is declared.
        taken = {names.last(fqn) for fqn in checked.dimensions}
        for fqn, variable in checked.variables.items():
            group = names.parent(fqn)
            for size in variable.dimensions:
                if isinstance(size, int) and (group, size) not in self._of:
                    name = f"_Anonymous_Dim_{size}"
                    while name in taken:
                        name += "_"
                    self._of[group, size] = Dimension(name=name, size=size)

    @property
    def declared(self) -> Mapping[str, Dimension]:
        """All invented dimensions by FQN."""
        return {names.join(group, dimension.name): dimension for (group, _), dimension in self._of.items()}

    def of_group(self, path: str) -> tuple[Dimension, ...]:
        """Return a group's invented dimensions in the order of first use."""
        return tuple(dimension for (group, _), dimension in self._of.items() if group == path)

    def fqn(self, path: str, size: int) -> str:
        """Return the FQN for an anonymous dimension of this length in a group."""
        return names.join(path, self._of[path, size].name)


def name_dimensions(checked: Checked) -> Checked:
    """Return the dataset with invented dimensions, after each group's own, instead of anonymous ones."""
    if all(isinstance(ref, str) for variable in checked.variables.values() for ref in variable.dimensions):
        return checked
    invented = Anonymous(checked)

    def name_axes(path: str, variable: Variable) -> Variable:
        references = (invented.fqn(path, ref) if isinstance(ref, int) else ref for ref in variable.dimensions)
        return variable.model_copy(update={"dimensions": tuple(references)})

    def change(path: str, group: Group) -> dict[str, Any]:
        variables = tuple(name_axes(path, variable) for variable in group.variables)
        return {"dimensions": (*group.dimensions, *invented.of_group(path)), "variables": variables}

    dataset = map_groups(checked.dataset, change)
    return checked._replace(dataset=dataset, **tables(dataset)._asdict())


MAX_RANK = 1024
"""Maximum rank of a variable in the netCDF library (NC_MAX_VAR_DIMS)."""

LONGEST = 2**63 - 1
"""Maximum length of a dimension."""

MAX_ARRAY_RANK = 64
"""Maximum rank of a NumPy array."""

Shapes = dict[str, tuple[int, ...]]


def infer_shapes(work: Unchecked, report: Report) -> Unchecked:
    """Set the lengths of unlimited dimensions."""
    tables = tables_of(work)
    lengths: dict[str, int] = {}
    for path, columns in work.columns.items():
        for reference, extent in zip(tables.variables[path].dimensions, columns.extents, strict=True):
            if isinstance(reference, str) and tables.dimensions[reference].unlimited:
                lengths[reference] = max(lengths.get(reference, 0), extent)
    if lengths:

        def size_axes(path: str, dimension: Dimension) -> Dimension:
            length = lengths.get(names.join(path, dimension.name), 0) if dimension.unlimited else 0
            return dimension.model_copy(update={"size": length}) if length > dimension.size else dimension

        def change(path: str, group: Group) -> dict[str, Any]:
            return {"dimensions": tuple(size_axes(path, dimension) for dimension in group.dimensions)}

        work.dataset = map_groups(work.dataset, change)
    return work


def shapes_of(work: Unchecked, report: Report) -> Shapes:
    """Return every variable's shape by FQN, and check its storage."""
    tables = tables_of(work)
    shapes: Shapes = {}
    sound: dict[tuple[object, ...], tuple[int, ...]] = {}  # many variables share dimensions, type and storage
    for dimension in tables.dimensions.values():
        _check_length(dimension.size, f"dimension `{dimension.name}`", dimension.span, report)
    for path, variable in tables.variables.items():
        alike, before = (variable.dimensions, variable.type, id(variable.storage)), report.errors
        if alike in sound:
            shapes[path] = sound[alike]
            continue
        for item in variable.dimensions:
            if isinstance(item, int):
                _check_length(item, f"a dimension of `{variable.name}`", variable.span, report)
        if len(variable.dimensions) > MAX_RANK:
            message = f"`{variable.name}` has {len(variable.dimensions)} dimensions; the limit is {MAX_RANK}"
            report.error("rank-limit", message, variable.span)
            continue
        dimensions = [
            tables.dimensions.get(item) if isinstance(item, str) else Dimension(name="_", size=item)
            for item in variable.dimensions
        ]
        present = [dimension for dimension in dimensions if dimension is not None]
        if len(present) < len(dimensions):
            continue
        shapes[path] = tuple(dimension.size for dimension in present)
        cells = math.prod(filter(None, shapes[path]))
        if cells > LONGEST >= max(shapes[path]):
            message = f"`{variable.name}` has {cells} cells; an array has at most {LONGEST}"
            report.error("oversized-array", message, variable.span)
        check_storage(variable, present, tables.types, report)
        if report.errors == before:
            sound[alike] = shapes[path]
    return shapes


def _check_length(length: int, what: str, span: Span, report: Report) -> None:
    if length > LONGEST:
        report.error("bad-dimension-size", f"{what} has the length {length}; the largest is {LONGEST}", span)


def check_storage(variable: Variable, dimensions: list[Dimension], types: Types, report: Report) -> None:
    """Check a variable's storage against its dimensions and type."""
    storage = variable.storage
    place = storage.span if storage.span.source is not None else variable.span
    if storage.chunks is not None and len(storage.chunks) != len(dimensions):
        message = (
            f"`{variable.name}` has {len(dimensions)} dimensions, but {len(storage.chunks)} chunk lengths are given"
        )
        report.error("bad-chunk-size", message, place)
    elif storage.chunks is not None:
        for length, dimension in zip(storage.chunks, dimensions, strict=True):
            if isinstance(length, Lengths):
                wrong = not dimension.unlimited and length.fit(dimension.size) != length
                if wrong or length.total > LONGEST:
                    message = f"the chunks have {length.total} elements along `{dimension.name}` ({dimension.size})"
                    report.error("bad-chunk-size", message, place)
            elif not dimension.unlimited and length > max(dimension.size, 1):
                message = f"chunk size {length} is larger than the dimension `{dimension.name}` ({dimension.size})"
                others = [Label(dimension.span, "declared here")] if dimension.span.source is not None else []
                report.error("bad-chunk-size", message, place, others=others)
    if not dimensions and storage.codecs:
        message = f"the scalar variable `{variable.name}` cannot be compressed or filtered"
        report.error("filter-on-scalar", message, variable.span)
    if storage.endian is not None and variable.type in ("char", "string"):
        message = f"`{variable.name}` of type {variable.type} has no byte order"
        report.error("bad-storage", message, variable.span)
    if storage.quantize is not None:
        _check_quantization(variable, storage.quantize, report)
    if any(number >= FILTER_LIMIT for codec in storage.codecs for number in (codec.id, *codec.parameters)):
        message = f"a filter of `{variable.name}` has a parameter that does not fit 32 bits"
        report.error("bad-storage", message, variable.span)
    if storage.layout in ("contiguous", "compact"):
        growing = next((dimension for dimension in dimensions if dimension.unlimited), None)
        if growing is not None:
            message = f"`{variable.name}` cannot be {storage.layout}: its dimension `{growing.name}` is unlimited"
            report.error("bad-storage", message, variable.span, helps=["store it chunked"])
        elif storage.codecs:
            message = f"`{variable.name}` cannot be {storage.layout}: it has filters, which need chunks"
            report.error("bad-storage", message, variable.span, helps=["store it chunked, or remove the filters"])
    _check_element(variable, types, report)


_TYPES_OF_ELEMENTS = {
    "bool": "an enum of byte with FALSE = 0, TRUE = 1",
    "float": "float",
    "complex": "a compound of two floats or doubles, r and i",
    "datetime": "int64",
    "timedelta": "int64",
    "utf": "string",
    "bytes": "string",
    "struct": "a compound of its fields",
}
"""Types that values of an element need, by the letters that its name begins with."""


def _check_element(variable: Variable, types: Types, report: Report) -> None:
    """Check that a variable's type fits its declared store element."""
    element = variable.storage.element
    if element is None or suits(element, variable.type, types):
        return
    kind = re.match("[a-z]+", element)
    required = _TYPES_OF_ELEMENTS.get(kind[0] if kind else "", f"a compound of {element}")
    message = f"values of type {variable.type} cannot be {element}: that requires {required}"
    report.error("bad-storage", message, variable.span)


def _check_quantization(variable: Variable, requested: Quantize, report: Report) -> None:
    """Check that the requested rounding fits the variable."""
    limit = most_digits(variable.type, requested.algorithm)
    if requested.digits <= limit:
        return
    message = f"only float and double variables can be quantized; `{variable.name}` is {variable.type}"
    if limit:
        what = "bits" if requested.algorithm == "bitround" else "digits"
        message = (
            f"`{variable.name}` of type {variable.type} keeps 1 .. {limit} significant {what}, not {requested.digits}"
        )
    report.error("bad-storage", message, variable.span)


def place_values(
    work: Unchecked, shapes: Shapes, fills: dict[str, Constant | None], types: dict[str, UserType], report: Report
) -> dict[str, Parts]:
    """Return the arrays of every variable with data: the front end's, and the placed columns.

    Reports no-fill-value for a short list without fill value, and for a ragged
    `_FillValue` that would be written out too often; rank-limit if no array can
    hold the values.
    """
    placed = dict(work.parts)
    variables = tables_of(work).variables
    for path in placed:
        is_known = path in shapes and path in variables
        if is_known and (len(shapes[path]) > MAX_ARRAY_RANK or variables[path].type in types):
            _fits(path, variables[path], shapes[path], types, report)
    if not work.columns:
        return placed
    from nczarr.arrays.values.value_lists import FILLED_LIMIT, fill_missing, is_plain_fill, make_arrays

    for path, columns in work.columns.items():
        variable = variables.get(path)
        if variable is None or path not in shapes or (variable.type not in ATOMIC and variable.type not in types):
            continue
        if not _fits(path, variable, shapes[path], types, report):
            continue
        fill = fills.get(path)
        if fill is None and not _is_whole(columns, variable, shapes[path], work):
            message = f"the list of `{variable.name}` is short, and its enum has no constant of value 0 to fill with"
            place = work.lists.get(path, variable.span)
            end = Span(place.source, place.end, place.end + 1)
            report.error(
                "no-fill-value", message, end, helps=["give all values, or add a `_FillValue` to the variable"]
            )
            continue
        if fill is not None and not is_plain_fill(fill, types):
            if math.prod(shapes[path]) > FILLED_LIMIT:
                message = f"the ragged `_FillValue` of `{variable.name}` would fill over {FILLED_LIMIT} elements"
                report.error("no-fill-value", message, variable.span, helps=["give all values, or an empty fill value"])
                continue
            columns = fill_missing(columns, fill, shapes[path])
        placed[path] = make_arrays(columns, variable.type, shapes[path], types, fill)
    return placed


def _fits(path: str, variable: Variable, shape: tuple[int, ...], types: dict[str, UserType], report: Report) -> bool:
    """Return whether arrays can hold a variable's values; reports rank-limit."""
    rank = _array_rank(len(shape), variable.type, types)
    if rank > MAX_ARRAY_RANK:
        inside = ", those of its fields included" if rank > len(shape) else ""
        message = f"`{path}` has values in {rank} dimensions{inside}; the limit is {MAX_ARRAY_RANK}"
        report.error("rank-limit", message, variable.span)
    return rank <= MAX_ARRAY_RANK


def _array_rank(rank: int, name: str, types: dict[str, UserType]) -> int:
    """Return the maximum rank of the arrays for values of a type in `rank` dimensions."""
    match types.get(name):
        case CompoundType(fields=fields):
            return max((_array_rank(rank + len(field.shape), field.type, types) for field in fields), default=rank)
        case VlenType(base=base):
            return max(rank, _array_rank(1, base, types))
        case _:
            return rank


def _is_whole(columns: ListRuns, variable: Variable, shape: tuple[int, ...], work: Unchecked) -> bool:
    """Return whether a list is complete up to its own end; records of other variables do not count."""
    dimensions = tables_of(work).dimensions
    expected = 1
    for reference, length, extent in zip(variable.dimensions, shape, columns.extents, strict=True):
        grows = isinstance(reference, str) and dimensions[reference].unlimited
        expected *= extent if grows else length
    return sum(columns.lengths) >= expected
