"""Fingerprint of a run: equal for the same source and the same target.

A resumed run compares it to recognize its own work in the target. Options that change no byte, such as
threads and memory, do not count.
"""

from __future__ import annotations

import math
import os

from nczarr import __version__
from nczarr.arrays.source import itemsize
from nczarr.plan.plans import StorePlan
from nczarr.secrets import shown
from nczarr.stores.journal import Journal

RESUMABLE = 64 << 20
"""Data size that is worth resuming; smaller local runs start again."""


def journal(plan: StorePlan) -> Journal:
    """Return the journal of a run. Raises OSError if the source is unreachable."""
    from nczarr.stores.stat import identity

    options, run = plan.options, os.urandom(8).hex()
    if options.source is None:
        return Journal(None, run=run)
    known = identity(options.source, options.storage.of("source"))
    return Journal(None if known is None else fingerprint(plan, known), shown(options.source), run=run)


def fingerprint(plan: StorePlan, identity: str) -> str:
    """Return the fingerprint of a plan for a source with this identity."""
    import hashlib  # loads a library: only where there is a journal

    options = plan.options
    found = hashlib.sha256()
    for text in (
        __version__,
        plan.form.name,
        options.part,
        identity,
        plan.checked.dataset.model_dump_json(),
        repr((options.consolidated, options.char_netcdf, options.tables, options.xarray, sorted(options.allow_loss))),
        *(repr((path, targets)) for path, targets in plan.targets.items()),
    ):
        data = text.encode("utf-8", "surrogateescape")
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()


def data_size(plan: StorePlan) -> int:
    """Return the decoded size of all target arrays; texts count as zero."""
    layouts = (target.layout for targets in plan.targets.values() for target in targets.values())
    return sum(math.prod(layout.shape) * itemsize(layout.dtype) for layout in layouts)
