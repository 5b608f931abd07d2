"""Filters and dimensions of netCDF-4 files that usual readers lack."""

from collections.abc import Mapping

from nczarr import names
from nczarr.arrays.values.parts import is_fixed
from nczarr.ast import Storage
from nczarr.ast.dataset import DEFLATE, FLETCHER32, NBIT, SCALE_OFFSET, SHUFFLE, SZIP
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.semantics.checked import Checked
from nczarr.semantics.resolve import list_scopes

BUILT_IN = frozenset({DEFLATE, SHUFFLE, FLETCHER32, SZIP, NBIT, SCALE_OFFSET})
"""Filters that the usual builds of HDF5 have without a plug-in."""


def report_pointer_filters(checked: Checked, storage: Mapping[str, Storage], report: Report) -> None:
    """Report new filters of strings and lists: pointer-filter.

    HDF5 stores their values in a heap, and encodes only the references to them.
    """
    changed = [
        path
        for path, variable in checked.variables.items()
        if storage[path].codecs not in ((), variable.storage.codecs) and not is_fixed(variable.type, checked.types)
    ]
    if changed:
        text = (
            f"{names.list_first(changed, 1)}: HDF5 encodes only the references to strings and lists, not their values"
        )
        helps = ["write a Zarr store, where the codec applies to the values"]
        report.add(Diagnostic("pointer-filter", Severity.NOTE, text, helps=tuple(helps)))


def report_plugin_filters(checked: Checked, storage: Mapping[str, Storage], report: Report) -> None:
    """Report new filters that readers without a plug-in cannot decode: plugin-filter.

    A copy of a netCDF-4 file has the readers of its source.
    """
    users: dict[str, list[str]] = {}
    for path, variable in checked.variables.items():
        parts = checked.parts.get(path, {})
        is_new = storage[path].codecs != variable.storage.codecs or any(source.keyed for source in parts.values())
        if not (parts and is_new):
            continue
        for codec in storage[path].codecs:
            if codec.id not in BUILT_IN:
                users.setdefault(f"{codec.name} ({codec.id})" if codec.name else str(codec.id), []).append(path)
    if not users:
        return
    paths = list(dict.fromkeys(path for users_of_filter in users.values() for path in users_of_filter))
    what = "filter" if len(users) == 1 else "filters"
    text = (
        f"{names.list_first(paths, 1)}: ncdump and other programs of netCDF-C, and h5py, read values of the {what} "
        f"{', '.join(users)} only with a plug-in; netCDF4-python has some of them"
    )
    helps = ["`--codec zlib:5` needs no plug-in", "readers set HDF5_PLUGIN_PATH, or import hdf5plugin in Python"]
    report.warning("plugin-filter", text, helps=helps)


def report_unseen_dimensions(checked: Checked, report: Report) -> None:
    """Report variables along dimensions that are in no group around them: unseen-dimension.

    The library opens such a file; netCDF4-python looks for dimensions in the groups around a variable alone.
    """
    for path, variable in checked.variables.items():
        scopes = list_scopes(names.parent(path))
        for one in variable.dimensions:
            if isinstance(one, str) and names.parent(one) not in scopes:
                text = f"variable `{path}` uses dimension `{one}`, which is in no group around it"
                helps = [
                    f"declare the dimension in `{names.parent(path)}`, or move the variable to `{names.parent(one)}`"
                ]
                what = "netCDF4-python and xarray cannot open such a file"
                report.warning("unseen-dimension", f"{text}: {what}", variable.span, helps=helps)
