"""Downloads of sections of a dataset: netCDF, CSV, CDL, NCZarr.

A file is made in the folder for temporary files and sent from there. Its name
is gone before the answer begins, so that nothing is left behind.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import itertools
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping

from nczarr import names
from nczarr.diagnostics.report import OMITTED, Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import is_numeric, physical
from nczarr.pipeline.select.selection import Subset
from nczarr.pipeline.select.selection_syntax import sections
from nczarr.plugins.serve.answers import BUSY, RETRY, HttpAnswer, RefusedRequestError, attachment, words
from nczarr.plugins.serve.context import Answer, HeavyWork, ServerContext, of_dataset
from nczarr.plugins.serve.dataset_cache import CachedDataset, check_same
from nczarr.plugins.serve.pages.markup import plain_text
from nczarr.plugins.serve.pages.plane import ShownAxis, axis_at
from nczarr.plugins.serve.protocols.cdmremote import parse_wanted
from nczarr.plugins.serve.request import Request
from nczarr.plugins.serve.resources import FullError, Spool
from nczarr.plugins.serve.value_streams import chunk_size, limit_size, longest_chunk, size_of, whole
from nczarr.semantics.checked import Checked
from nczarr.stores import local_paths

FORMATS = {
    ".nc": ("netCDF", "application/x-netcdf"),
    ".csv": ("CSV", "text/csv; charset=utf-8"),
    ".cdl": ("CDL", "text/plain; charset=utf-8"),
    ".zip": ("NCZarr (zip)", "application/zip"),
}
"""Titles and content types of formats by the suffix of their files."""


def list_offered() -> dict[str, tuple[str, str]]:
    """Return the formats that the server can make: netCDF needs its library."""
    has_library = importlib.util.find_spec("netCDF4") is not None
    return {suffix: row for suffix, row in FORMATS.items() if suffix != ".nc" or has_library}


WORDS = 8
"""Approximate bytes of text for a byte of values."""

TIMES = 3
"""Copies of values in memory while they are written."""

BLOCK = 1 << 16
"""Rows of a CSV file that are made at once, unless a chunk has more."""


@of_dataset
def answer(context: ServerContext, asked: Request, opened: CachedDataset) -> Answer:
    """Answer `/download/PATH?var=…&format=…` by a section as a file.

    `format`: suffix; `var`: sections, by default the whole dataset.
    """
    checked, limits, spec = opened.checked, context.limits, asked.query.get("var", "")
    suffix = "." + asked.query.get("format", "nc").lower()
    if suffix not in list_offered():
        needed = "; `nc` needs the library netCDF4, which the server lacks" if suffix == ".nc" else ""
        offered = ", ".join(each[1:] for each in list_offered())
        raise RefusedRequestError(400, f"`format` must be one of {offered}{needed}")
    ranges, subset = {path: tuple(map(range, shape)) for path, shape in checked.shapes.items()}, Subset()
    if spec.strip():
        ranges = dict(parse_wanted(checked, spec, context.root.home))
        members = sections(spec, Report(), "var", members=True)  # they stand for their whole variable
        whole_sections = (each._replace(members=(), extents=None if each.members else each.extents) for each in members)
        subset = Subset(tuple(_with_coordinates(checked, ranges)), (), tuple(whole_sections))
    if suffix == ".csv" and len({checked.variables[path].dimensions for path in ranges}) != 1:
        raise RefusedRequestError(400, "CSV needs `var=` with variables of the same dimensions")
    kind = FORMATS[suffix][1]
    size = sum(size_of(checked, path, each) for path, each in ranges.items())
    most = limits.response // (WORDS if kind.startswith("text/") else 1)
    if size > most:
        text = f"the section has {size} bytes of values or more; the limit of this format is {most}"
        raise RefusedRequestError(413, text)
    need = TIMES * (size + longest_chunk(checked, ranges))

    def work() -> HttpAnswer:
        if suffix == ".csv":
            body = whole(limit_size(_csv(checked, ranges), limits), context.disk)
        else:
            body = write_download(checked, opened.place.segments[-1], suffix, subset, size, context)
        check_same(opened)
        name = names.stem(opened.place.segments[-1]) or "data"
        if len(ranges) == 1:
            name += "-" + names.last(next(iter(ranges)))
        return HttpAnswer(body, kind, headers=(attachment(name[:100] + suffix),), need=need)

    return HeavyWork(work, need)


def _with_coordinates(checked: Checked, paths: Mapping[str, object]) -> Iterator[str]:
    """Yield variables, and the coordinate variables of their dimensions."""
    for path in paths:
        yield path
        for each in checked.variables[path].dimensions:
            if isinstance(each, str) and each in checked.variables:
                yield each


def write_download(
    checked: Checked, name: str, suffix: str, subset: Subset, size: int, context: ServerContext
) -> Spool:
    """Return a finished file; `name`: name of the dataset. Raises RefusedRequestError, OSError."""
    from nczarr.pipeline.endpoints import target_format

    report = Report(limit=100)
    if not context.disk.has(size):
        raise RefusedRequestError(BUSY, "the folder for temporary files is full", RETRY)
    with tempfile.TemporaryDirectory(prefix="nczarr-") as folder:
        path = local_paths.join(folder, f"download{suffix}")
        form = target_format(path, None, report)
        part = phases.select(checked, subset, report)
        written = None
        if form is not None and part is not None and not report.errors:
            accepted = frozenset({OMITTED, "json-attribute"})  # the page lists what is left out; JSON becomes its text
            title = part.dataset.name or names.stem(name)
            options = Options.of(name=title, memory=context.limits.memory, allow_loss=accepted)
            written = phases.write(part, path, form, report, options)
        if written is None or report.errors:
            raise RefusedRequestError(400, words(report.list_sorted(), folder))
        try:
            return Spool.take(context.disk, path)
        except FullError as error:
            raise RefusedRequestError(BUSY, str(error), RETRY) from None


def _csv(checked: Checked, ranges: Mapping[str, tuple[range, ...]]) -> Iterator[bytes]:
    """Yield a table: a column for each dimension and variable, a row for each cell.

    Values are unpacked and missing ones are empty; times are dates.
    """
    first = next(iter(ranges))
    if len({tuple(each) for each in ranges.values()}) != 1:
        raise RefusedRequestError(400, "CSV needs the same section of each variable")
    taken = ranges[first]
    references = checked.variables[first].dimensions
    axes = [
        axis_at(checked, reference, each, number)
        for number, (reference, each) in enumerate(zip(references, taken, strict=True))
    ]
    yield _lines([[*(each.title for each in axes), *(_title(checked, path) for path in ranges)]])
    if not taken:
        yield _lines([[_write_values(checked, path, ())[0] for path in ranges]])
        return
    columns = [_make_even([_place(axis, number) for number in range(len(axis.values))], axis) for axis in axes]
    inner = list(itertools.product(*columns[1:]))
    parts = (part for path in ranges for part in checked.parts.get(path, {}).values())
    heights = (int(part.layout.chunks[0]) for part in parts if chunk_size(part))
    rows = max(1, BLOCK // max(1, len(inner)), *heights)
    for start in range(0, len(taken[0]), rows):
        part = (taken[0][start : start + rows], *taken[1:])
        found = [_write_values(checked, path, part) for path in ranges]
        places = ((outer, *each) for outer in columns[0][start : start + rows] for each in inner)
        yield _lines((*place, *values) for place, values in zip(places, zip(*found, strict=True), strict=True))


def _title(checked: Checked, path: str) -> str:
    name = names.last(path)
    units = physical(checked, path).units if is_numeric(checked, path) else ""
    return f"{name} ({units})" if units else name


def _place(axis: ShownAxis, number: int) -> str:
    """Return a coordinate: a time in words, an integer without a fraction, another number so that it reads back."""
    value = axis.values[number].item()
    if axis.physical.times is not None:
        return axis.text(number)
    return str(int(value)) if value == value and abs(value) < 2**53 and value == math.floor(value) else repr(value)


def _make_even(texts: list[str], axis: ShownAxis) -> list[str]:
    """Return the times of an axis in one form, that of the finest one, which other programs read as a column."""
    if axis.physical.times is None:
        return texts
    longest = max((len(text.partition(" ")[2]) for text in texts), default=0)
    return [_fill_time(text, longest) for text in texts]


def _fill_time(text: str, length: int) -> str:
    """Return a date with a time of day of so many characters: 5 for minutes, 8 for seconds, 12 for milliseconds."""
    date, _, time = text.partition(" ")
    return f"{date} {time}{MIDNIGHT[len(time) : length]}" if length and date[-1:].isdigit() else text


def _write_values(checked: Checked, path: str, part: tuple[range, ...]) -> list[str]:
    """Return the values of a section in words, in their order; numbers read back."""
    stored = read_outer(checked, path, [slice(each.start, each.stop, each.step) for each in part])
    if not is_numeric(checked, path):
        return [plain_text(each, absent="", errors="replace") for each in stored.reshape(-1)]
    decoding = physical(checked, path)
    values, absent = decoding.mask(stored)
    numbers = values.reshape(-1).tolist()
    written: Iterable[str]
    if decoding.times is not None:  # a block of rows does not know the times of the others
        written = (_fill_time(decoding.text(number), SECONDS) for number in numbers)
    elif values.dtype.kind in "iu":
        written = map(str, numbers)
    else:
        written = map(repr if values.dtype.itemsize == 8 else "{:.9g}".format, numbers)
    return ["" if is_absent else text for text, is_absent in zip(written, absent.reshape(-1).tolist(), strict=True)]


MIDNIGHT, SECONDS = "00:00:00.000", 8
"""Time of day of a date alone, and its characters to the second."""


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode("utf-8", "surrogateescape")
