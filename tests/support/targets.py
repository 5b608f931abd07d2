"""Targets made in one call: a dataset is planned and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nczarr import link
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plan.plans import Plan
from nczarr.registry import Format
from nczarr.semantics.checked import Checked


def store(
    checked: Checked, path: str, form: Format, report: Report, options: Options, *more: Any, **named: Any
) -> Plan | None:
    """Write a store; return its plan, None after an error."""
    planned = phases.plan(checked, form, report, options)
    return planned if planned is not None and link.write(planned, path, report, *more, **named) else None


def content(checked: Checked, form: Format, report: Report, options: Options) -> Mapping[str, bytes] | None:
    """Return the keys of a store that is made in memory; None after an error."""
    planned = phases.plan_store(checked, form, report, options)
    return None if planned is None else link.content(planned, report)
