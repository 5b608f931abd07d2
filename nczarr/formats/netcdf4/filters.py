"""HDF5 filters that the library at hand has no plug-in for: those whose codec we have are lent to it.

So a dataset with bzip2 can be written, and read again, wherever Python can compress; and a filter of which nothing is
known can still be declared for a variable without values, for then nobody calls it.
"""

from __future__ import annotations

from nczarr.arrays import codecs
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4.filter_plugins import BUILT_IN, OURS, available, is_lent, lend
from nczarr.formats.netcdf4.library import Library
from nczarr.formats.netcdf4.write_chunks import will_move
from nczarr.plan.plans import FilePlan


def provide(lib: Library, plan: FilePlan, report: Report) -> bool:
    """See to it that every filter of a dataset can be declared, and used where there are values to encode.

    Reports `unavailable-filter`, with its number, for each variable whose values nobody can encode.
    """
    before = report.errors
    for path, variable in plan.checked.variables.items():
        for codec in plan.storage[path].codecs:
            if codec.id in BUILT_IN or available(lib, codec.id):
                continue
            can = codec.id in OURS and codecs.expressible([codec])
            if not can and plan.checked.parts.get(path) and not will_move(path, plan):
                name = f" ({codec.name})" if codec.name else ""
                text = f"variable `{path}` has values and needs HDF5 filter {codec.id}{name}, which is not available"
                helps = ["install its plug-in and set HDF5_PLUGIN_PATH, or choose another codec with `--codec`"]
                report.error("unavailable-filter", text, variable.span, helps=helps)
            elif not is_lent(codec.id):
                lend(lib, codec.id)
    return report.errors == before
