"""`plan`: from a checked dataset to the plan of one target.

Finds every loss before a byte is written. Value losses are errors unless allowed; annotation losses make one
warning.
"""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.capabilities import Format
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.plan.plans import Loss, Plan


def plan(checked: Checked, form: Format, options: Options, report: Report, more: Iterable[Loss] = ()) -> Plan | None:
    """Return the plan of a target, or None; report every loss, those of the format's rules (`more`) included."""
    if form.kinds:
        from nczarr.plan.file import plan_file

        return plan_file(checked, form, options, report)
    if form.capabilities.arrays is not None:
        from nczarr.plan.store import plan_store

        return plan_store(checked, form, options, report, more)
    from nczarr.plan.stream import plan_stream

    return plan_stream(checked, form, options, report, more)
