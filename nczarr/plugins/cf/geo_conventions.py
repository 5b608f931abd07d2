"""Declarations of Zarr's conventions CF, `proj:` and `spatial:` for a dataset (`--declare geo`).

A group declares CF if its `Conventions` name it. A variable whose last dimensions have evenly spaced coordinates
declares `spatial:`, with the corners of its cells; a variable with a grid mapping declares `proj:`, with the WKT of
`crs_wkt`, or what pyproj makes of the other attributes. What a variable cannot declare is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.diagnostics.report import Report
from nczarr.pipeline.plugin_parts import ConventionDeclaration
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import physical
from nczarr.plugins.cf.coordinates import axis_of
from nczarr.plugins.cf.view import CFDataset, CFVariable
from nczarr.semantics.checked import Checked

EVEN = 1e-4
"""Largest difference of two steps of a coordinate, as a share of a step: that of rounded decimals."""

_CODE = re.compile(r'(?:ID|AUTHORITY)\["EPSG",\s*"?(\d+)"?\]\]\s*$')


def list_declarations(checked: Checked, report: Report) -> dict[str, dict[str, Any]]:
    """Return what each node declares, by FQN: attributes, and the names of conventions in `zarr_conventions`.

    Reports undeclared-grid. Raises OSError, CompileError.
    """
    dataset = CFDataset(checked)
    declared: dict[str, dict[str, Any]] = {}
    for path, group in checked.groups.items():
        text = next((owner.text("Conventions") for owner in dataset.owners if owner.path == path), "")
        if any(attribute.name == "Conventions" for attribute in group.attributes) and "CF-" in text:
            declared[path] = {"zarr_conventions": ["CF"]}
    for path, variable in dataset.variables.items():
        members: dict[str, Any] = {}
        axes = _find_axes(dataset, variable)
        if axes is not None:
            members |= _describe_cells(checked, variable, axes, report)
        if variable.text("grid_mapping"):
            members |= _describe_system(dataset, variable, report)
        if members:
            prefixes = {name.partition(":")[0] + ":" for name in members}
            declared[path] = {"zarr_conventions": sorted(prefixes), **members}
    return declared


def _find_axes(dataset: CFDataset, variable: CFVariable) -> tuple[CFVariable, CFVariable] | None:
    """Return the coordinates of the last two dimensions, if these are Y and X."""
    if len(variable.dimensions) < 2:
        return None
    last = [dataset.variables.get(str(dimension)) for dimension in variable.dimensions[-2:]]
    found = [one for one in last if one is not None and one.is_coordinate and one.is_numeric]
    return (found[0], found[1]) if list(map(axis_of, found)) == ["Y", "X"] else None


def _describe_cells(
    checked: Checked, variable: CFVariable, axes: tuple[CFVariable, CFVariable], report: Report
) -> dict[str, Any]:
    """Return the members of `spatial:`; none (reported) for coordinates that are not evenly spaced."""
    starts, steps, lengths = [], [], []
    for axis in axes:
        stored = read_outer(checked, axis.path, [slice(None)])
        values, absent = physical(checked, axis.path).mask(stored)
        values = values.astype("f8")
        step = (values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else 0.0
        if not step or absent.any() or (np.abs(np.diff(values) - step) > EVEN * abs(step)).any():
            text = f"`{variable.path}` declares no `spatial:`: the values of `{axis.path}` are not evenly spaced"
            report.warning("undeclared-grid", text, variable.node.span)
            return {}
        starts.append(float(values[0] - step / 2))
        steps.append(float(step))
        lengths.append(len(values))
    (top, left), (down, right) = starts, steps
    ends = [start + step * length for start, step, length in zip(starts, steps, lengths, strict=True)]
    (low_y, high_y), (low_x, high_x) = (sorted(pair) for pair in zip(starts, ends, strict=True))
    return {
        "spatial:dimensions": [names.last(str(dimension)) for dimension in variable.dimensions[-2:]],
        "spatial:shape": lengths,
        "spatial:transform": [right, 0.0, left, 0.0, down, top],
        "spatial:bbox": [low_x, low_y, high_x, high_y],
    }


def _describe_system(dataset: CFDataset, variable: CFVariable, report: Report) -> dict[str, Any]:
    """Return the members of `proj:`; none (reported) without a coordinate reference system."""
    mapping = next(_list_mappings(dataset, variable), None)
    text = "" if mapping is None else mapping.text("crs_wkt") or mapping.text("spatial_ref")
    reason = f"there is no variable `{variable.text('grid_mapping')}`"
    if mapping is not None and not text:
        text, reason = _make_wkt(mapping)
    if not text:
        report.warning("undeclared-grid", f"`{variable.path}` declares no `proj:`: {reason}", variable.node.span)
        return {}
    code = _CODE.search(text)
    members = {"proj:wkt2": text}
    return {"proj:code": f"EPSG:{code[1]}", **members} if code is not None else members


def _list_mappings(dataset: CFDataset, variable: CFVariable) -> Iterator[CFVariable]:
    """Yield the variables that an attribute `grid_mapping` names, in either form."""
    words = variable.text("grid_mapping").split()
    is_long = any(word.endswith(":") for word in words)
    for word in words:
        if not is_long or word.endswith(":"):
            path = names.join(variable.group, word.removesuffix(":"))
            found = dataset.variables.get(path) or dataset.variables.get(names.join("/", word.removesuffix(":")))
            if found is not None:
                yield found


def _make_wkt(mapping: CFVariable) -> tuple[str, str]:
    """Return the WKT of a grid mapping's attributes by pyproj; or an empty text and the reason."""
    try:
        from pyproj import CRS
        from pyproj.exceptions import CRSError
    except ImportError:
        return "", f"`{mapping.path}` has no `crs_wkt`; `pip install pyproj` makes it of the other attributes"
    try:
        system = CRS.from_cf({name: mapping.value(name) for name in mapping.attributes})
    except (CRSError, KeyError, TypeError, ValueError) as error:
        return "", f"`{mapping.path}` is no coordinate reference system: {error}"
    return str(system.to_wkt("WKT2_2019")), ""


GEO = ConventionDeclaration("conventions of Zarr v3", list_declarations)
