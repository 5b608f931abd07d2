"""Chunks that would have to be decoded and are larger than the run's memory: refused by name, before anything is
written. Encoded chunks that move as they are may be of any size.
"""

from __future__ import annotations

from nczarr.diagnostics.report import Report
from nczarr.plan.plans import Plan


def check_chunk(plan: Plan, path: str, part: str, size: int, report: Report) -> None:
    """Report a chunk of `size` bytes that is too large to be decoded: oversized-chunk."""
    limit = plan.options.memory
    if size <= limit:
        return
    what = f"variable `{path}`" + (f", part `{part}`" if part else "")
    text = f"{what}: a chunk of {size} bytes would have to be decoded, and the limit is {limit}"
    helps = ["`--memory` sets another limit", "with the chunks and codecs of the source it is moved as it is"]
    report.error("oversized-chunk", text, plan.checked.variables[path].span, helps=helps)
