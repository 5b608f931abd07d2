"""What a run is known by: the same source, made into the same target, has the same fingerprint.

From it a run that goes on with a begun target knows that what is there is its own work. The number of threads, the
memory and whatever else changes no byte of the target do not count.
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
"""Bytes of data that are worth going on with: below, a run of this machine just begins again."""


def journal(plan: StorePlan) -> Journal:
    """The journal of a run. Raises OSError if the source is out of reach."""
    from nczarr.stores.stat import identity

    options, run = plan.options, os.urandom(8).hex()
    if options.source is None:
        return Journal(None, run=run)
    known = identity(options.source, options.storage.of("source"))
    return Journal(None if known is None else fingerprint(plan, known), shown(options.source), run=run)


def fingerprint(plan: StorePlan, identity: str) -> str:
    """The fingerprint of a plan for a source of this identity."""
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
    """Bytes of all arrays of the target before they are encoded; texts count for nothing."""
    layouts = (target.layout for targets in plan.targets.values() for target in targets.values())
    return sum(math.prod(layout.shape) * itemsize(layout.dtype) for layout in layouts)
