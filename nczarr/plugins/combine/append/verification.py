"""Verification of an extension before it becomes visible: its records are read again, and compared with the sources."""

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import all_of, cut_along, repeat_chunks
from nczarr.arrays.sources.source import ArraySource
from nczarr.ast.rectilinear import largest
from nczarr.diagnostics.report import UNREAD, CompileError, Report, Source
from nczarr.diagnostics.secrets import show
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.compare.values import values
from nczarr.plugins.combine.append.placement import Extension
from nczarr.semantics.checked import Checked, whole_parts
from nczarr.stores import extension
from nczarr.stores.extension import ExtendJournal

PIECE = 1 << 20
"""Values compared at once."""


def verify_journal(work: Extension, journal: ExtendJournal) -> bool:
    """Compare a store as it will be with a committed journal; return False after unequal-target. Raises OSError."""
    storage = work.request.options.run.storage.of("target")
    opened = endpoints.open_source(work.target.path, Report(), Options.of(storage=storage, unfinished=True))
    assert opened is not None and not isinstance(opened, Source)  # noqa: PT018
    opened.survey()
    reading = Report()
    return _verify(
        work, phases.read(extension.view(opened, journal), reading, _reading(work), work.target.form), reading
    )


def verify_snapshot(work: Extension, place: str | None) -> bool:
    """Compare a snapshot of a repository, which no branch names yet; False after unequal-target. Raises OSError."""
    assert place is not None
    reading = Report()
    return _verify(work, phases.read_path(place, reading, _reading(work)), reading)


def _reading(work: Extension) -> Options:
    storage = work.request.options.run.storage.of("target")
    return work.request.options.change(allow_loss=UNREAD, storage=storage, verify=False, parser=None, kind=None)


def _verify(work: Extension, again: Checked | None, reading: Report) -> bool:
    """Compare the records of an extended dataset with the sources; False after unequal-target. Raises OSError."""
    report, name = work.report, show(work.target.path)
    if again is None or reading.errors:
        first = next((f": {one.message}" for one in reading.list_sorted()), "")
        report.error("unequal-target", f"`{name}` could not be read with the new records{first}")
        return False
    before = report.errors
    for path, axis in work.way.axes.items():
        try:
            text = _compare(work, path, axis, again)
        except CompileError as failure:
            text = str(failure)
        if text is not None:
            report.error("unequal-target", f"`{path}` was not written to `{name}` as the sources have it: {text}")
    return report.errors == before


def _compare(work: Extension, path: str, axis: int, again: Checked) -> str | None:
    """Return in words how a variable differs from what the sources have; None if it is equal."""
    expected = whole_parts(work.whole, path)
    found = whole_parts(again, path) if path in again.variables else {}
    if expected.keys() == found.keys() == {""}:
        return _find_difference(work, axis, expected[""], found[""])
    if not found:
        return "it is missing"
    difference = values(work.whole, again, path)
    return None if difference is None else difference.message


def _find_difference(work: Extension, axis: int, expected: ArraySource, found: ArraySource) -> str | None:
    """Return the first place of the new records where two arrays differ, in words; None if they are equal."""
    shape = expected.layout.shape
    if shape != found.layout.shape:
        return f"the shape is {found.layout.shape}, not {shape}"
    chunks = repeat_chunks(tuple(max(1, one) for one in largest(found.layout.chunks)), shape, PIECE)
    for begin, end in _list_records(work):
        region = list(all_of(shape))
        region[axis] = slice(begin, end)
        for part in cut_along(tuple(region), chunks):
            one, other = expected.read(part), found.read(part)
            same = one == other
            if one.dtype.kind == "f":
                same |= np.isnan(one) & np.isnan(other)
            if not np.all(same):
                place = [int(index[0]) + span.start for index, span in zip(np.nonzero(~same), part, strict=True)]
                return f"the first difference is at ({', '.join(map(str, place))})"
    return None


def _list_records(work: Extension) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the records that come from the sources."""
    begin = 0
    for run in work.pieces:
        if run.source != 0:
            yield begin, begin + run.length
        begin += run.length
