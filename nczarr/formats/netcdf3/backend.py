"""`write`: plan → a classic netCDF file, front to back, so that it can go to a pipe.

Header, fixed variables in definition order, records. The bytes equal those of the netCDF library, except
where it leaves cells undefined (unwritten under `_NoFill`): these hold the fill value.
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
    """Yield the pieces of the file. The plan has checked that its kind can hold the dataset."""
    assert plan.kind is not None
    layout = lay_out(plan.checked, plan.kind)
    yield header(plan.checked, plan.kind, layout)
    yield from values(plan.checked, plan.checked.parts, layout)
