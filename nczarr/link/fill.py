"""Filling of a store from a plan: data, by local threads or a cluster, then metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from nczarr.arrays.counts import Counts
from nczarr.arrays.thread_pool import DISTANT_WORKERS
from nczarr.diagnostics.report import Report
from nczarr.link.metadata import put_metadata
from nczarr.link.run import link
from nczarr.link.tasks import Array, arrays
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from nczarr.link.cluster import Cluster


def fill(
    plan: StorePlan, store: Store, report: Report, counts: Counts | None = None, cluster: Cluster | None = None
) -> Counts:
    """Write the whole plan, on a cluster if one is given; return counts. Raises OSError if the store fails."""
    counts = Counts() if counts is None else counts
    found: Iterator[tuple[int, Array]] = iter(enumerate(arrays(plan)))
    capabilities = plan.form.capabilities
    if capabilities.arrays is not None and capabilities.arrays.by_reference:
        from nczarr.link.references import ReferringStore, refer

        found = refer(found, cast("ReferringStore", store), plan.options.writing.inline, counts)
    if cluster is None:
        link(found, store, plan.options, counts)
    else:
        cluster.link(found, store, plan.options, counts)
    put_metadata(plan, store, report, plan.options.workers or DISTANT_WORKERS)
    return counts
