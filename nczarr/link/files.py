"""Single files: those that libraries build, texts and streams. They appear whole or not at all."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import TypeAlias

from nczarr import registry
from nczarr.arrays.counts import Counts, Step
from nczarr.arrays.parts import is_fixed, size
from nczarr.diagnostics.report import Report
from nczarr.plan.planned import Planned

Inspect: TypeAlias = Callable[[Planned, str], None]
"""Looks at a finished target, at a place that nobody else knows, and reports what is wrong with it."""


def build(planned: Planned, path: str, report: Report, counts: Counts, inspect: Inspect | None) -> bool:
    """Make a file with a library; False after an error. Raises OSError."""
    from nczarr.stores.single import beside

    assert planned.form.build is not None
    with beside(path, planned.options.storage.of("target")) as unfinished:
        place = os.path.abspath(unfinished.path)  # a relative one may look like a URL to a library: `file://t.nc`
        try:
            done: bool = registry.load(planned.form.build)(planned, place, report, counts)
        except OSError as error:
            if error.filename is None:  # libraries say why, not where
                error.filename = path
            raise
        if done and inspect is not None:
            inspect(planned, place)
        if not done or report.errors:
            unfinished.discard()
    return done and not report.errors


def write_text(planned: Planned, path: str, report: Report, inspect: Inspect | None) -> bool:
    """Make a text, or a file from front to back; False after an error. Raises OSError."""
    from nczarr.stores.single import beside

    with beside(path, planned.options.storage.of("target")) as unfinished:
        with open(unfinished.path, "xb") as file:
            file.writelines(pieces(planned, report))
        if inspect is not None:
            inspect(planned, unfinished.path)
        if report.errors:
            unfinished.discard()
    return not report.errors


def pieces(planned: Planned, report: Report) -> Iterator[bytes]:
    """The bytes of a text or single file, piece by piece."""
    assert planned.form.write is not None
    made: Iterator[bytes] = registry.load(planned.form.write)(planned, report, planned.options)
    return made


def encodings(planned: Planned) -> Iterator[Step]:
    """The steps of a target whose values are all written anew."""
    checked = planned.checked
    for path, parts in checked.parts.items():
        shape = checked.shapes[path]
        fixed = is_fixed(checked.variables[path].type, checked.types)
        width = size(checked.variables[path].type, checked.types) if fixed else 0
        if parts and planned.form.capabilities.data:
            yield Step(path, "", "encode", 1, shape, math.prod(shape) * width)
