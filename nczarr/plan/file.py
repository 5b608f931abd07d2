"""Plans of netCDF files: limits of a kind of file, and storage in the netCDF library."""

from __future__ import annotations

import math

from nczarr.arrays.values.c_structs import stored_size, struct
from nczarr.ast import Storage
from nczarr.ast.kinds import KIND_NAMES
from nczarr.ast.rectilinear import varies
from nczarr.ast.storage import DEFAULT_STORAGE
from nczarr.check.anonymous_dimensions import name_dimensions
from nczarr.check.checked import Checked
from nczarr.check.classic_sizes import check_sizes
from nczarr.check.kinds import check_target
from nczarr.check.restrict_to_kind import reduced
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.plan.hdf5_limits import check_limits, hdf5_storage
from nczarr.plan.hdf5_losses import hdf5_losses
from nczarr.plan.losses import report_losses, unknown_extensions
from nczarr.plan.plans import FilePlan, Loss
from nczarr.plan.requested_storage import StorageRequests, storage_of, storage_requests
from nczarr.registry import NETCDF_KINDS, Format

GROWING = 2**31 - 1
"""Maximum chunk length along an unlimited dimension."""


def plan_file(checked: Checked, form: Format, options: Options, report: Report) -> FilePlan | None:
    """Return the plan of a netCDF file; None after an error. Raises ValueError without a kind.

    Expects the kind in the options. Reports format-conflict, variables larger
    than the kind or the run allows, and storage hints that a classic file
    drops.
    """
    kind = options.kind
    if kind is None:
        raise ValueError("a plan for a netCDF file needs its kind")
    before = report.errors
    named = name_dimensions(checked)
    accepted = options.accepts("format-conflict")
    check_target(named, kind, report, accepted=accepted)
    if accepted:
        named = reduced(named, kind)
    if report.errors == before:
        check_sizes(named, kind, report)
        if kind == "nc7":
            _check_empty_dimensions(named, report)
    check_size(named, options, report)
    requests = storage_requests(named, form.name, None, options, report)
    if report.errors > before:
        return None
    storage = {path: _requested(path, named, requests) for path in named.variables}
    lost: list[Loss] = [*unknown_extensions(named)]
    if NETCDF_KINDS[kind].storage:
        for path, request in storage.items():
            variable = named.variables[path]
            itemsize = stored_size(variable.type, named.types)
            atomic = variable.type not in named.types
            chunks = named.variables[path].storage.chunks
            storage[path], unmet = hdf5_storage(request, named.shapes[path], itemsize, atomic=atomic)
            if chunks is not None and varies(chunks):
                unmet.append("the different lengths of its chunks")
            lost += [Loss("storage", "annotation", path, f"variable `{path}`, {what}", variable.span) for what in unmet]
        lost += hdf5_losses(named)
        check_limits(named, storage, report)
    else:
        lost += [
            Loss("storage", "annotation", path, f"variable `{path}`, storage hints", named.variables[path].span)
            for path, request in storage.items()
            if request != DEFAULT_STORAGE
        ]
    if report.errors > before:
        return None
    report_losses(lost, form, options, report)
    return FilePlan(named, form, options, tuple(lost), kind, storage) if report.errors == before else None


def _check_empty_dimensions(checked: Checked, report: Report) -> None:
    """Report dimensions of length 0, which are unlimited in HDF5 files, beyond the one of the classic model."""
    growing = [dimension for dimension in checked.dimensions.values() if dimension.unlimited or not dimension.size]
    for dimension in growing[1:]:
        if any(not candidate.unlimited for candidate in (growing[0], dimension)):
            text = f"dimensions `{growing[0].name}` and `{dimension.name}` would both be unlimited"
            text += f"; {KIND_NAMES['nc7']} has one unlimited dimension"
            report.error("format-conflict", text, dimension.span, helps=["use --kind nc4"])


def _requested(path: str, checked: Checked, requests: StorageRequests) -> Storage:
    """Return the requested storage of a variable. HDF5 encodes only the references of strings and lists."""
    variable = checked.variables[path]
    limits = tuple(
        GROWING if checked.dimensions[str(ref)].unlimited else length
        for ref, length in zip(variable.dimensions, checked.shapes[path], strict=True)
    )
    return storage_of(path, variable, limits, requests, struct(variable.type, checked.types).size)


def check_size(checked: Checked, options: Options, report: Report) -> None:
    """Report a dataset whose file, unwritten cells included, would exceed the run's size limit."""
    sizes = {
        path: math.prod(checked.shapes[path]) * struct(variable.type, checked.types).size
        for path, variable in checked.variables.items()
    }
    total = sum(sizes.values())
    if total <= options.max_size:
        return
    largest = max(sizes, key=lambda path: sizes[path])
    text = (
        f"the dataset declares {total} bytes, {sizes[largest]} of them in `{largest}`; the limit is {options.max_size}"
    )
    helps = [
        "raise the limit with `--max-size`",
        "write a store, which has no limit: missing values take no space there",
    ]
    report.error("oversized-target", text, checked.variables[largest].span, helps=helps)
