"""Sources for a combination, opened one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from nczarr.diagnostics import Report
from nczarr.options import Subset
from nczarr.passes.checked import Checked
from nczarr.secrets import shown

Reader = Callable[[str, Report], Checked | None]
"""Reads the dataset at a path or URL; None: an error stands in the report. Raises OSError."""


def opened(
    paths: Iterable[str], read: Reader, subset: Subset, report: Report, step: Callable[[int], None] | None = None
) -> Iterator[tuple[str, Checked]]:
    """Each source by its name, or what is wanted of it; ends with the first that is in error.

    What is found of a source says so in a note. `step` is told of each that is read.
    """
    from nczarr import pipeline

    for path in paths:
        own = Report(strict=report.strict)
        checked = read(path, own)
        if checked is not None and not own.errors:
            checked = pipeline.select(checked, subset, own)
        own.annotate(f"of `{shown(path)}`")
        for found in own.sorted():
            report.add(found)
        if checked is None or own.errors:
            return
        yield shown(path), checked
        if step is not None:
            step(1)
