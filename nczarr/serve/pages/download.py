"""Downloads of sections of a dataset: netCDF, CSV, CDL, NCZarr.

A file is made in the folder for temporary files and sent from there. Its name
is gone before the answer begins, so that nothing is left behind.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from nczarr import names
from nczarr.api.brief import brief
from nczarr.arrays.lazy_numpy import np
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.operations import pipeline
from nczarr.options import Options
from nczarr.select.indexing import read_outer
from nczarr.select.physical import is_numeric, physical
from nczarr.select.section_syntax import sections
from nczarr.select.selection import Section, Subset
from nczarr.serve.answers import HttpAnswer, attachment
from nczarr.serve.context import Answer, DeferredWork, ServerContext, of_dataset
from nczarr.serve.dataset_cache import CachedDataset, check_same
from nczarr.serve.pages.plane import ShownAxis, axis_at
from nczarr.serve.protocols.cdmremote import wanted_of
from nczarr.serve.refusals import RETRY, RefusedRequestError, words
from nczarr.serve.request import Request
from nczarr.serve.resources import Disk, FullError, Limits, Spool
from nczarr.serve.value_streams import bounded, chunk_size, size_of, whole

FORMATS = {".nc": "netCDF", ".csv": "CSV", ".cdl": "CDL", ".zip": "NCZarr (zip)"}
"""Titles of formats by the suffix of their files."""

KINDS = {".nc": "application/x-netcdf", ".csv": "text/csv; charset=utf-8", ".cdl": "text/plain; charset=utf-8",
         ".zip": "application/zip"}  # fmt: skip
"""Content types by suffix."""

WORDS = 8
"""Approximate bytes of text for a byte of values."""

TIMES = 3
"""Copies of values in memory while they are written."""

BLOCK = 1 << 16
"""Rows of a CSV file that are made at once, unless a chunk has more."""


class DownloadRequest(NamedTuple):
    """A requested download."""

    suffix: str
    """Suffix of the file; one of `FORMATS`."""
    subset: Subset
    """Part of the dataset."""
    ranges: dict[str, tuple[range, ...]]
    """Indices of the requested variables, without those that come along."""
    size: int
    """Bytes of values."""
    need: int
    """Approximate memory in bytes."""


def _wanted(opened: CachedDataset, query: Mapping[str, str], limits: Limits, home: str) -> DownloadRequest:
    """Return the download that a query requests. Raises RefusedRequestError.

    `format`: suffix; `var`: sections, by default the whole dataset.
    """
    checked, suffix = opened.checked, "." + query.get("format", "nc").lower()
    if suffix not in FORMATS:
        raise RefusedRequestError(400, f"`format` must be one of {', '.join(each[1:] for each in FORMATS)}")
    spec = query.get("var", "")
    if spec.strip():
        ranges = dict(wanted_of(checked, spec, home))
        subset = Subset(tuple(_with_coordinates(checked, ranges)), (), _sections(spec))
    else:
        ranges, subset = {path: tuple(map(range, shape)) for path, shape in checked.shapes.items()}, Subset()
    if suffix == ".csv" and len({checked.variables[path].dimensions for path in ranges}) != 1:
        raise RefusedRequestError(400, "CSV needs `var=` with variables of the same dimensions")
    size = sum(size_of(checked, path, each) for path, each in ranges.items())
    most = limits.response // (WORDS if KINDS[suffix].startswith("text/") else 1)
    if size > most:
        raise RefusedRequestError(
            413, f"the section has {size} bytes of values or more; the limit of this format is {most}"
        )
    chunks = [chunk_size(part) for path in ranges for part in checked.parts.get(path, {}).values()]
    return DownloadRequest(suffix, subset, ranges, size, TIMES * (size + max(chunks, default=0)))


def _sections(spec: str) -> tuple[Section, ...]:
    """Return the sections of a valid text; members stand for their whole variable."""
    found = sections(spec, Report(), "var", members=True)
    return tuple(each._replace(members=(), extents=None if each.members else each.extents) for each in found)


def _with_coordinates(checked: Checked, paths: Mapping[str, object]) -> Iterator[str]:
    """Yield variables, and the coordinate variables of their dimensions."""
    for path in paths:
        yield path
        for each in checked.variables[path].dimensions:
            if isinstance(each, str) and each in checked.variables:
                yield each


@of_dataset
def answer(context: ServerContext, asked: Request, opened: CachedDataset) -> Answer:
    """Answer `/download/PATH?var=…&format=…` by a section as a file."""
    wanted = _wanted(opened, asked.query, context.limits, context.root.home)
    return DeferredWork(work=partial(_answer, opened, wanted, context.limits, context.disk), need=wanted.need)


def _answer(opened: CachedDataset, asked: DownloadRequest, limits: Limits, disk: Disk) -> HttpAnswer:
    """Return the file. Raises RefusedRequestError, CompileError, OSError."""
    if asked.suffix == ".csv":
        body = whole(bounded(_csv(opened.checked, asked.ranges), limits), disk)
    else:
        body = _file(opened, asked, limits, disk)
    check_same(opened)
    name = names.stem(opened.place.segments[-1]) or "data"
    if len(asked.ranges) == 1:
        name += "-" + names.last(next(iter(asked.ranges)))
    return HttpAnswer(body, KINDS[asked.suffix], headers=(attachment(name[:100] + asked.suffix),), need=asked.need)


def _file(opened: CachedDataset, asked: DownloadRequest, limits: Limits, disk: Disk) -> Spool:
    """Return a finished file of a format that has these suffixes. Raises RefusedRequestError, OSError."""
    from nczarr.operations.endpoints import target_format

    report = Report(limit=100)
    if not disk.has(asked.size):
        raise RefusedRequestError(503, "the folder for temporary files is full", RETRY)
    with tempfile.TemporaryDirectory(prefix="nczarr-") as folder:
        path = os.path.join(folder, f"download{asked.suffix}")
        form = target_format(path, None, report)
        part = pipeline.select(opened.checked, asked.subset, report)
        written = None
        if form is not None and part is not None and not report.errors:
            name = part.dataset.name or names.stem(opened.place.segments[-1])
            options = Options(name=name, memory=limits.memory)
            written = pipeline.write(part, path, form, report, options)
        if written is None or report.errors:
            raise RefusedRequestError(400, words(report.sorted(), folder))
        try:
            return Spool.taken(disk, path)
        except FullError as error:
            raise RefusedRequestError(503, str(error), RETRY) from None


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
        yield _lines([[_cells(checked, path, ())[0] for path in ranges]])
        return
    columns = [[_place(axis, number) for number in range(len(axis.values))] for axis in axes]
    inner = list(itertools.product(*columns[1:]))
    rows = max(1, BLOCK // max(1, len(inner)), *(_height(checked, path) for path in ranges))
    for start in range(0, len(taken[0]), rows):
        part = (taken[0][start : start + rows], *taken[1:])
        found = [_cells(checked, path, part) for path in ranges]
        places = ((outer, *each) for outer in columns[0][start : start + rows] for each in inner)
        yield _lines((*place, *values) for place, values in zip(places, zip(*found, strict=True), strict=True))


def _height(checked: Checked, path: str) -> int:
    """Return the chunk length along the first dimension."""
    return max(
        (int(part.layout.chunks[0]) for part in checked.parts.get(path, {}).values() if chunk_size(part)), default=1
    )


def _title(checked: Checked, path: str) -> str:
    name = names.last(path)
    units = physical(checked, path).units if is_numeric(checked, path) else ""
    return f"{name} ({units})" if units else name


def _place(axis: ShownAxis, number: int) -> str:
    return axis.text(number) if axis.physical.times is not None else _number(axis.values[number].item())


def _number(value: float) -> str:
    """Return a number that reads back; an integer without a fraction."""
    return str(int(value)) if value == value and abs(value) < 2**53 and value == math.floor(value) else repr(value)


def _cells(checked: Checked, path: str, part: tuple[range, ...]) -> list[str]:
    """Return the values of a section in words, in their order."""
    stored = read_outer(checked, path, [slice(each.start, each.stop, each.step) for each in part])
    if not is_numeric(checked, path):
        return [_plain(each) for each in stored.reshape(-1)]
    decoding = physical(checked, path)
    values, absent = decoding.masked(stored)
    write = decoding.text if decoding.times is not None else _writer(values.dtype)
    written = map(write, values.reshape(-1).tolist())
    return ["" if gone else each for each, gone in zip(written, absent.reshape(-1).tolist(), strict=True)]


def _writer(kind: np.dtype[Any]) -> Callable[[Any], str]:
    """Return the function that writes numbers of a dtype so that they read back."""
    return str if kind.kind in "iu" else repr if kind.itemsize == 8 else "{:.9g}".format


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else "" if value is None else brief(value)


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode("utf-8", "surrogateescape")
