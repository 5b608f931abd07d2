"""Single files: built by libraries, texts and streams. They appear whole or not at all."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from nczarr import registry
from nczarr.arrays.execution.counts import Counts, Step
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show
from nczarr.plan.plans import Plan
from nczarr.stores import local_paths
from nczarr.stores.lock import Lock

Inspect: TypeAlias = Callable[[str], None]
"""Inspector of a finished target at its temporary place; it reports errors."""


def write(
    plan: Plan, path: str, report: Report, counts: Counts | None, inspect: Inspect | None, lock: Lock | None
) -> bool:
    """Make a text or single file; return False after an error. Raises OSError."""
    from nczarr.stores.local_paths import add_path_to_errors
    from nczarr.stores.lock import assure
    from nczarr.stores.open import write_beside

    done, build = True, plan.form.target.build
    with note_interruption(path), write_beside(path, plan.options.run.storage.of("target")) as unfinished:
        place = unfinished.path
        with add_path_to_errors(path):
            if build is None:
                with open(place, "xb") as file:
                    file.writelines(pieces(plan, report))
            else:
                place = local_paths.absolute(place)  # a relative one may look like a URL to a library: `file://t.nc`
                done = registry.load(build)(plan, place, report, counts or Counts())
        if done and inspect is not None:
            inspect(place)
        if not done or report.errors or (lock is not None and not assure(lock, path, report)):
            unfinished.discard()
    return done and not report.errors


@contextmanager
def note_interruption(path: str) -> Iterator[None]:
    """Add to an interruption that the incomplete file is removed."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"`{show(path)}` is incomplete, and what was written of it was removed")
        raise


def pieces(plan: Plan, report: Report) -> Iterator[bytes]:
    """Return the bytes of a text or single file in pieces."""
    assert plan.form.write is not None
    content: Iterator[bytes] = registry.load(plan.form.write)(plan, report, plan.options)
    return content


def steps(plan: Plan, report: Report) -> Iterator[Step] | None:
    """Return the steps of `write`, one per part; None after an error."""
    if not (plan.form.target.build and plan.form.target.steps):
        return _encodings(plan)
    file_steps: Iterator[Step] | None = registry.load(plan.form.target.steps)(plan, report)
    return file_steps


def _encodings(plan: Plan) -> Iterator[Step]:
    """Yield the steps of a target whose values are all encoded anew."""
    checked = plan.checked
    for path, parts in checked.parts.items():
        shape = checked.shapes[path]
        fixed = is_fixed(checked.variables[path].type, checked.types)
        width = size(checked.variables[path].type, checked.types) if fixed else 0
        if parts and plan.form.capabilities.data:
            yield Step(path, "", "encode", 1, shape, math.prod(shape) * width)
