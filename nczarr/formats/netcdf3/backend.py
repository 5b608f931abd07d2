"""`write`: a classic netCDF file from front to back, so that it can go to a pipe.

Header, fixed variables in the order of definition, records. The bytes are those of the netCDF library; only where
that leaves something undefined (unwritten cells under `_NoFill`) do they differ: they hold the fill value.
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
    """The pieces of the file. The plan has proved that its kind holds the dataset."""
    assert plan.kind is not None
    layout = lay_out(plan.checked, plan.kind)
    yield header(plan.checked, plan.kind, layout)
    yield from values(plan.checked, plan.checked.parts, layout)
