"""`plan_file`: from `Checked` to `Planned`, for one netCDF file of a known kind.

Expects: a checked dataset and the kind of file in the options. Reports: what the kind cannot hold (format-conflict),
variables that are larger than the kind or the run allows, storage hints that a classic file does not keep.
"""

from __future__ import annotations

import math

from nczarr.ast import CompoundType
from nczarr.ast.storage import DEFAULT_STORAGE
from nczarr.capabilities import NETCDF_KINDS, Format
from nczarr.data.parts import Types, is_fixed, size
from nczarr.diagnostics import Report
from nczarr.options import Options
from nczarr.passes.anonymous import name_dimensions
from nczarr.passes.checked import Checked
from nczarr.passes.classic_sizes import check_sizes
from nczarr.passes.kinds import check_target
from nczarr.passes.planned import Loss, Planned

POINTER = 16
"""Bytes that a string or a list of any length takes in an HDF5 file, its content aside."""


def plan_file(checked: Checked, form: Format, options: Options, report: Report) -> Planned | None:
    """Decide whether a netCDF file may be made of the dataset. Returns None if an error was found."""
    kind = options.kind
    if kind is None:
        raise ValueError("a plan for a netCDF file needs its kind")
    before = report.errors
    named = name_dimensions(checked)
    check_target(named, kind, report)
    if report.errors == before:
        check_sizes(named, kind, report)
    _check_size(named, options, report)
    if report.errors > before:
        return None
    lost = [
        Loss("storage", "annotation", path, f"variable `{path}`, storage hints", variable.span)
        for path, variable in named.variables.items()
        if not NETCDF_KINDS[kind].storage and variable.storage != DEFAULT_STORAGE
    ]
    return Planned(named, form, options, tuple(lost), parts=named.parts, kind=kind)


def _check_size(checked: Checked, options: Options, report: Report) -> None:
    sizes = {
        path: math.prod(checked.shapes[path]) * _width(variable.type, checked.types)
        for path, variable in checked.variables.items()
    }
    total = sum(sizes.values())
    if total <= options.max_size:
        return
    largest = max(sizes, key=lambda path: sizes[path])
    text = (
        f"the dataset declares {total} bytes, {sizes[largest]} of them in `{largest}`; the limit is {options.max_size}"
    )
    helps = ["`--max-size` sets another limit", "a store has no limit: what is not given takes no room there"]
    report.error("oversized-target", text, checked.variables[largest].span, helps=helps)


def _width(type_name: str, types: Types) -> int:
    if is_fixed(type_name, types):
        return size(type_name, types)
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        return sum(math.prod(field.shape) * _width(field.type, types) for field in declared.fields)
    return POINTER
