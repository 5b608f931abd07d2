"""Extension of a file: it is written again beside its place, and takes the place by one rename.

Encoded chunks of the old file are copied as bytes.
"""

from __future__ import annotations

import os
from contextlib import suppress

from nczarr.arrays.codecs.chain import expressible
from nczarr.arrays.execution.counts import Counts, Watcher
from nczarr.arrays.sources.patchwork import patched
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.operations import pipeline
from nczarr.operations.append.request import Appended, AppendRequest, ExtendableTarget
from nczarr.operations.combine.spec import Way
from nczarr.options import Options
from nczarr.plan.plans import FilePlan, conversion_of
from nczarr.stores.lock import Lock, Unchanged
from nczarr.stores.url import is_remote


def rewritten(
    target: ExtendableTarget,
    whole: Checked,
    way: Way,
    request: AppendRequest,
    report: Report,
    options: Options,
    watch: Watcher | None,
    lock: Lock,
) -> Appended | None:
    """Write a file that holds `whole` in the place of the target; None after a reported error. Raises OSError."""
    whole = _patched(target.checked, whole, way)
    path = target.path if is_remote(target.path) else os.path.realpath(target.path)
    lengths = {
        dimension: (target.checked.dimensions[dimension].size, whole.dimensions[dimension].size)
        for dimension in sorted(way.dimensions)
    }
    options = options._replace(overwrite=True, kind=whole.dataset.kind)
    if request.rehearsal:
        planned = pipeline.plan(whole, target.form, report, options)
        steps = pipeline.steps(whole, path, target.form, report, options) if planned is not None else None
        if planned is None or steps is None or report.errors:
            return None
        assert isinstance(planned, FilePlan)
        return Appended(conversion_of(path, planned, Counts()), lengths, tuple(steps))
    mode = None if is_remote(path) else os.stat(path).st_mode
    if target.identity is not None:
        lock = Unchanged(lock, path, target.identity)
    done = pipeline.write(whole, path, target.form, report, options, watch, lock)
    if done is None:
        return None
    if mode is not None:
        with suppress(OSError):
            os.chmod(path, mode & 0o7777)
    return Appended(done._replace(target=target.path), lengths)


def _patched(old: Checked, whole: Checked, way: Way) -> Checked:
    """Return the result in the grid of the file, so that its chunks are copied even if the last one is incomplete."""
    parts = dict(whole.parts)
    for path in way.axes:
        one, joined_source = (side.parts.get(path, {}).get("") for side in (old, whole))
        if one is None or joined_source is None or one.stored is None or joined_source.stored is not None:
            continue
        dtype, chunks, chain = one.stored
        if expressible(chain):
            layout = one.layout._replace(dtype=dtype, shape=joined_source.layout.shape, chunks=chunks, codecs=chain)
            parts[path] = {**parts[path], "": patched(joined_source, layout, 0)}
    return whole._replace(parts=parts)
