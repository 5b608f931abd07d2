"""Target of a combination: whether it can be made, or is one more source, and how much work it is."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from time import perf_counter

from nczarr import names
from nczarr.arrays.execution.counts import bytes_text
from nczarr.arrays.execution.thread_pool import processors
from nczarr.arrays.regions import all_of, cut_along, repeat_chunks
from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.ast.rectilinear import largest
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import show
from nczarr.names import list_first
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.plan.plans import Plan, StorePlan
from nczarr.registry import Format
from nczarr.semantics.checked import Checked
from nczarr.stores import local_paths
from nczarr.stores.url import is_remote

FORGOTTEN = "the last argument is the target: is it missing? `-o` names a target that is no source"


def is_open(
    target: str, form: Format, options: Options, report: Report, sources: Sequence[str], *, unnamed: bool
) -> bool:
    """Return whether a target is to be made and can be. Reports finished-target, target-exists. Raises OSError.

    `unnamed`: no option names the target.
    """
    if options.run.resume and not options.target.overwrite:
        from nczarr.plugins.combine.join.journal import is_finished

        if is_finished(target):
            report.warning("finished-target", f"`{show(target)}` already exists, made by an earlier run")
            return False
    if is_remote(target):
        return True
    is_alike = unnamed and _suffix(target) in map(_suffix, sources)
    if is_alike and not options.target.overwrite and os.path.lexists(target):
        report.error("target-exists", f"`{show(target)}` exists, and may be one more source", helps=[FORGOTTEN])
        return False
    place = endpoints.locate(target, report)
    return place is not None and endpoints.is_free(place, form, report, options, sources)


def _suffix(path: str) -> str:
    return local_paths.name_of(path.rstrip("/")).rpartition(".")[2].lower()


def is_source(
    target: str,
    options: Options,
    variables: Collection[str],
    lengths: Mapping[str, Sequence[int]],
    new: str | None,
    report: Report,
) -> bool:
    """Return whether a target that is to be replaced looks like a source. Reports target-exists.

    It then has all variables, and is no longer than one of the sources: an earlier result is longer.
    `lengths`: of each joined dimension in every source; `new`: the new dimension.
    """
    reading = Options.of(storage=options.run.storage.of("target"), following=options.reading.following)
    try:
        old = phases.read_path(target, Report(), reading)
    except (OSError, CompileError):  # nothing is there, or no dataset
        return False
    if old is None or not old.variables.keys() >= set(variables):
        return False
    longest = {path: max(several) for path, several in lengths.items() if path in old.dimensions}
    if any(old.dimensions[path].size > length for path, length in longest.items()):
        return False
    if new is not None and names.join("/", new) in old.dimensions:
        return False
    text = f"`{show(target)}` has the variables of the sources and is as short as one: it is not replaced"
    report.error("target-exists", text, helps=[FORGOTTEN, f"if it is not: remove `{show(target)}` first"])
    return True


LARGE = 256 << 20
"""Minimum bytes of values for an outlook."""

SAMPLE = 8 << 20
"""Bytes of values that are read to estimate the time."""

SHOWN = 4
"""Maximum variables in a note."""


def describe_work(checked: Checked, count: int, workers: int | None) -> str | None:
    """Return in words what will be read and written, and the estimated time; None for little work. Raises OSError."""
    sizes: list[tuple[int, ArraySource]] = []
    for parts in checked.parts.values():
        sizes += [(math.prod(one.layout.shape) * (itemsize(one.layout.dtype) or 16), one) for one in parts.values()]
    total = sum(size for size, _ in sizes)
    if total < LARGE:
        return None
    size, source = max(sizes, key=lambda pair: pair[0])
    seconds = _measure_rate(source, size) * total / min(workers or processors(), processors())
    text = f"{count} sources with {bytes_text(total)} of values are read and written"
    return f"{text}: about {_words(seconds)}, if all are read as the first {bytes_text(min(SAMPLE, size))}"


def _measure_rate(source: ArraySource, size: int) -> float:
    """Return the seconds in which a byte of an array is read, of a first block. Raises OSError, CompileError."""
    shape = source.layout.shape
    element = max(1, size // max(1, math.prod(shape)))
    lengths = repeat_chunks(tuple(max(1, one) for one in largest(source.layout.chunks)), shape, SAMPLE // element)
    begin = perf_counter()
    values = source.read(next(iter(cut_along(all_of(shape), lengths))))
    return (perf_counter() - begin) / max(1, values.size * element)


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def report_shards(plan: Plan, along: Collection[str], report: Report) -> None:
    """Report rewritten-shards: what an append of one step along joined dimensions writes again."""
    if not isinstance(plan, StorePlan):
        return
    rows: dict[str, int] = {}
    for path, targets in plan.targets.items():
        variable = plan.checked.variables[path]
        axis = next((number for number, one in enumerate(variable.dimensions) if one in along), None)
        layout = targets[""].layout if "" in targets else None
        if axis is None or layout is None or layout.shards is None or layout.shards[axis] == layout.chunks[axis]:
            continue
        others = math.prod(length for number, length in enumerate(layout.shape) if number != axis)
        rows[path] = others * itemsize(layout.dtype) * layout.shards[axis]
    if rows:
        size = bytes_text(sum(rows.values()))
        text = f"an append along {list_first(along, SHOWN)} rewrites up to {size} of values in shards"
        notes = [f"`{path}`: {bytes_text(size)}" for path, size in list(rows.items())[:SHOWN]]
        helps = ("`--shards append` makes shards that are one chunk long along the first dimension",)
        report.add(Diagnostic("rewritten-shards", Severity.NOTE, text, notes=tuple(notes), helps=helps))
