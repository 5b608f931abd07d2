"""Classic files → `Unchecked`, with one array source for each variable that locates its values.

Only the header is read. Variables have their full shape; reading values beyond the
end of the file is an error, or gives zeros, as in the netCDF library, if the options
accept the loss. If the header claims far more than exists (`most_missing`), missing
records are omitted and other cells hold the fill value: absent data cost no time.
"""

import math
import re
from collections.abc import Iterator

from nczarr import names
from nczarr.arrays.sources.source import Layout, Parts
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Variable
from nczarr.ast.dataset import building
from nczarr.ast.values import swap
from nczarr.diagnostics.report import Label, Report, Source, Span
from nczarr.formats.netcdf3.reader import (
    AttributeEntry,
    BadHeaderError,
    ClassicHeader,
    FileExtent,
    VariableEntry,
    element_count,
    is_record,
    read_header,
)
from nczarr.formats.netcdf3.wire import LARGEST_VSIZE, TOO_LARGE_VSIZE
from nczarr.names.records import NamedTuple, replace
from nczarr.options import Options
from nczarr.semantics.check_names import make_unique, namesakes
from nczarr.semantics.check_types import variable_fill
from nczarr.semantics.checked import Namesake, Omission, Tables, Unchecked
from nczarr.semantics.classic_layout import VariablePlace, pad, record_size
from nczarr.stores import local_paths

GAP = 1 << 20
"""Maximum of missing bytes that read as zeros; the file's size if larger."""

LARGEST = 2**63 - 1
"""Largest size in bytes of a variable or of one record of it: no file is longer."""


class RecordPlaces(NamedTuple):
    """Location of all values in a file."""

    places: tuple[VariablePlace, ...]
    """Location of each variable in definition order."""
    records: int
    """Number of records."""
    record_size: int
    """Distance of two records in bytes."""
    claimed: int
    """Number of records in the header, which may exceed `records`."""


def most_missing(file_size: int) -> int:
    """Return how many missing bytes of a file read as zeros."""
    return max(GAP, file_size)


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a classic file; None if its header is invalid.

    Reports `bad-header`, `truncated-header`, `invalid-utf8`, `bad-name`,
    `rank-limit`, `misplaced-values`, `missing-values`, `ignored-vsize`.
    """
    source = Source(source.name, source.data, binary=True, path=source.path)  # a header has no encoding
    try:
        header = read_header(source.data)
        values = _place_values(header, len(source.data))
    except BadHeaderError as fault:
        report.error(fault.code, fault.message, Span(source, fault.start, fault.end))
        return None
    _check_sizes(header, values, source, report)
    if not _check_places(header, values, source, report):
        return None
    omitted = []
    if values.records < values.claimed:
        text = f"the header counts {values.claimed} records; the file ends at byte {len(source.data)}"
        note = f"{values.records} of them are read, the others are left out"
        report.warning("missing-values", text, Span(source, *header.records_at), notes=[note])
        text = f"{values.claimed - values.records} of {values.claimed} records lie beyond the end of the file"
        omitted.append(Omission("omitted-object", "/", text))
    with building():
        dataset, namesakes = _dataset(header, values, source)
    strict = not (options or Options()).run.accepts("omitted-object")
    arrays = _make_arrays(header, dataset, values, source, report, omitted, strict)
    parts: dict[str, Parts] = {
        names.join("/", variable.name): {"": array} for variable, array in zip(dataset.variables, arrays, strict=True)
    }
    return Unchecked(dataset, forward=True, parts=parts, namesakes=namesakes, omitted=omitted)


def _place_values(header: ClassicHeader, file_size: int) -> RecordPlaces:
    """Return the positions of all values, with sizes computed from the dimensions.

    Raises BadHeaderError for impossible sizes.
    """
    places = []
    for variable in header.variables:
        size = element_count(variable, header) * ATOMIC[variable.type].size
        if size > LARGEST:
            text = f"the dimensions of variable `{variable.name}` need more than {LARGEST} bytes"
            raise BadHeaderError("bad-header", text, *variable.extent)
        places.append(VariablePlace(variable.begin, size, pad(size), is_record(variable, header)))
    growing = [place for place in places if place.record]
    stride = record_size([place.size for place in growing])
    claimed = header.records
    if claimed is None:
        end = max((place.begin + place.size for place in growing), default=0)  # the first record is not yet counted
        claimed = (file_size - end) // stride + 1 if growing and file_size >= end else 0  # libnetcdf: 2³² - 1 records
    begun = max((-(-(file_size - place.begin) // stride) for place in growing), default=claimed)  # a begun one counts
    available = min(claimed, max(0, begun))
    left_out = (claimed - available) * sum(place.size for place in growing)
    return RecordPlaces(tuple(places), available if left_out > most_missing(file_size) else claimed, stride, claimed)


# ---- checks ----------------------------------------------------------------------------------------------------------
def _check_sizes(header: ClassicHeader, values: RecordPlaces, source: Source, report: Report) -> None:
    """Warn about invalid `vsize` fields, which are redundant in the specification."""
    for variable, place in zip(header.variables, values.places, strict=True):
        large = place.padded > LARGEST_VSIZE and variable.vsize == TOO_LARGE_VSIZE  # the specification's mark of it
        if variable.vsize not in (place.size, place.padded) and not large:  # some writers store the size before padding
            text = f"the header gives `{variable.name}` {variable.vsize} bytes; its dimensions need {place.padded}"
            where = Span(source, variable.vsize_at, variable.begin_at)
            report.warning("ignored-vsize", text, where, helps=["the dimensions are used"])


def _check_places(header: ClassicHeader, values: RecordPlaces, source: Source, report: Report) -> bool:
    """Check that no values overlap each other or the header."""
    before = report.errors
    for one in _take(header, values):
        if one.begin < header.size:  # other programs leave room there, as `nc__enddef` does
            text = f"the values of `{one.owner.name}` begin at byte {one.begin}, within the header"
            report.error("misplaced-values", text, _begin(one.owner, source))
    for ranges in (_list_fixed_and_records(header, values), _first_record(header, values)):  # records are interleaved
        last: _Range | None = None
        for one in sorted(ranges, key=lambda taken: (taken.begin, taken.end)):
            if last is not None and one.begin < last.end:
                text = (
                    f"the values of `{one.owner.name}` begin at byte {one.begin}, within those of `{last.owner.name}`"
                )
                others = [Label(_begin(last.owner, source), f"`{last.owner.name}` ends at byte {last.end}")]
                report.error("misplaced-values", text, _begin(one.owner, source), others=others)
            if last is None or one.end > last.end:
                last = one
    return report.errors == before


class _Range(NamedTuple):
    """Bytes of a variable, or of its part in a record."""

    begin: int
    """First byte."""
    end: int
    """Byte after the last."""
    owner: VariableEntry
    record: bool = False
    """True if the variable has records."""


def _begin(variable: VariableEntry, source: Source) -> Span:
    return Span(source, variable.begin_at, variable.extent.end)


def _take(header: ClassicHeader, values: RecordPlaces) -> Iterator[_Range]:
    """Yield the bytes of each variable with values, those of records in the first one."""
    for variable, place in zip(header.variables, values.places, strict=True):
        if not place.record or values.records:
            yield _Range(place.begin, place.begin + place.size, variable, place.record)


def _list_fixed_and_records(header: ClassicHeader, values: RecordPlaces) -> Iterator[_Range]:
    """Yield fixed variables, and all records as one range, owned by their first variable."""
    yield from (one for one in _take(header, values) if not one.record)
    growing = [one for one in _take(header, values) if one.record]
    if growing:
        first = min(growing, key=lambda one: one.begin)
        end = max(one.end for one in growing)
        yield _Range(first.begin, end + (values.records - 1) * values.record_size, first.owner)


def _first_record(header: ClassicHeader, values: RecordPlaces) -> Iterator[_Range]:
    """Yield the parts of the first record, and the beginning of the second."""
    growing = [one for one in _take(header, values) if one.record]
    yield from growing
    if growing and values.records > 1:
        first = min(growing, key=lambda one: one.begin)
        yield _Range(first.begin + values.record_size, first.end + values.record_size, first.owner)


# ---- the tree --------------------------------------------------------------------------------------------------------
def _dataset(header: ClassicHeader, values: RecordPlaces, source: Source) -> tuple[Dataset, list[Namesake]]:
    """Return the tree with the spans of its nodes, and the namesakes."""
    items = [
        *(("dimension", dimension.name) for dimension in header.dimensions),
        *(("variable", variable.name) for variable in header.variables),
    ]
    shown = make_unique(items)
    extents = [*(entry.extent for entry in header.dimensions), *(entry.extent for entry in header.variables)]
    places = [Label(_span(source, extent)) for extent in extents]
    called = [name for name, _ in shown]
    paths = [names.join("/", name) for name in called[: len(header.dimensions)]]
    dimensions = tuple(
        Dimension(
            name=name,
            size=dimension.length or values.records,  # length 0 marks the record dimension
            unlimited=not dimension.length,
            span=_span(source, dimension.extent),
        )
        for dimension, name in zip(header.dimensions, called, strict=False)
    )
    variables = tuple(
        Variable(
            name=name,
            type=variable.type,
            dimensions=tuple(paths[number] for number in variable.dimensions),
            attributes=_attributes(variable.attributes, source),
            span=_span(source, variable.extent),
        )
        for variable, name in zip(header.variables, called[len(paths) :], strict=True)
    )
    dataset = Dataset(
        name=_stem(source.name),
        kind=header.kind,
        dimensions=dimensions,
        variables=variables,
        attributes=_attributes(header.attributes, source),
        span=Span(source, 0, header.size),
    )
    return dataset, namesakes(items, shown, "/", places)


def _attributes(entries: tuple[AttributeEntry, ...], source: Source) -> tuple[Attribute, ...]:
    return tuple(
        Attribute(
            name=entry.name,
            value=Constant(type=entry.type, count=entry.length, data=entry.data),
            span=_span(source, entry.extent),
        )
        for entry in entries  # values of the model have no padding
    )


def _span(source: Source, extent: FileExtent) -> Span:
    return Span(source, extent.start, extent.end)


def _stem(name: str) -> str:
    """Return the file name without folder and suffix, as ncdump does.

    Bytes that are not UTF-8, blanks and braces become `_`.
    """
    stem = local_paths.stem_of(local_paths.name_of(name)).strip("<>")
    return re.sub("[\x00-\x20{}\x7f\ud800-\udfff]", "_", stem)  # ncgen: braces end a name, blanks are dropped


# ---- the values ------------------------------------------------------------------------------------------------------
def _make_arrays(
    header: ClassicHeader,
    dataset: Dataset,
    values: RecordPlaces,
    source: Source,
    report: Report,
    omitted: list[Omission],
    strict: bool,
) -> list[AffineArray]:
    """Return the array of each variable in definition order; report missing values, and add them to `omitted`."""
    file = FileBytes.of(source)
    lengths = [dimension.length or values.records for dimension in header.dimensions]
    arrays = [
        _make_array(entry, place, tuple(lengths[number] for number in entry.dimensions), values.record_size, file)
        for entry, place in zip(header.variables, values.places, strict=True)
    ]
    cut = [
        (entry.begin, entry, array.lacking)
        for entry, array in zip(header.variables, arrays, strict=True)
        if not array.is_complete
    ]
    if not cut:
        return arrays
    total = sum(lacking for _, _, lacking in cut)
    first = min(cut, key=lambda part: part[0])[1]
    more = f" and {len(cut) - 1} more" if len(cut) > 1 else ""
    text = f"the file ends at byte {file.size}, before the values of `{first.name}`{more}: {total} bytes are missing"
    zeros = total <= most_missing(file.size)
    read = "they are read as zeros, as the netCDF library does" if zeros else "they are read as fill values"
    note = "values that are there can be read" if strict else read
    report.warning("missing-values", text, _begin(first, source), notes=[note])
    for one, array in zip(dataset.variables, arrays, strict=True):
        if not array.is_complete:
            path = names.join("/", one.name)
            omitted.append(Omission("omitted-object", path, f"{array.lacking} bytes of `{path}` are missing"))
    if not zeros:
        arrays = [_with_fill(array, variable) for array, variable in zip(arrays, dataset.variables, strict=True)]
    return [replace(array, strict=strict) for array in arrays]


def _make_array(
    entry: VariableEntry, place: VariablePlace, shape: tuple[int, ...], stride: int, file: FileBytes
) -> AffineArray:
    """Return a variable's array: contiguous if fixed, else in each record."""
    chunks = (1, *shape[1:]) if place.record else shape
    row = stride if place.record else math.prod(shape[1:]) * ATOMIC[entry.type].size
    return AffineArray(Layout(NUMPY[entry.type].replace("<", ">"), shape, chunks), file, place.begin, row)


def _with_fill(array: AffineArray, variable: Variable) -> AffineArray:
    """Return the array with the variable's fill value for missing data."""
    fill = variable_fill(variable, Tables({}, {}, {}, {}))
    assert fill is not None  # every type of a classic file has one
    assert isinstance(fill.data, bytes)
    missing = swap(fill.data, ATOMIC[variable.type].size)
    return replace(array, layout=array.layout._replace(fill=missing), missing=missing, sparse=True)
