"""`write`: plan → a classic netCDF file, front to back, so that it can go to a pipe.

Header, fixed variables in definition order, records, with the bytes of the netCDF library; cells that it
leaves undefined (unwritten under `_NoFill`) hold the fill value.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.check.classic_layout import lay_out
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf3.data import values
from nczarr.formats.netcdf3.header import header
from nczarr.options import Options
from nczarr.plan.plans import FilePlan


def write(plan: FilePlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the pieces of the file, whose kind the plan has checked."""
    assert plan.kind is not None
    layout = lay_out(plan.checked, plan.kind)
    yield header(plan.checked, plan.kind, layout)
    yield from values(plan.checked, plan.checked.parts, layout)
