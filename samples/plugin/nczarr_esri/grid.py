"""ESRI ASCII grid: a header of numbers, then the cells in rows from north to south.

ncols 3
nrows 2
xllcorner 5.0
yllcorner 47.0
cellsize 0.5
NODATA_value -9999
1 2 -9999
4 5 6
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from nczarr import sdk
from nczarr.sdk import Checked, Loss, Options, Report, Unchecked, names, np, read_outer

FORMAT = sdk.Format(
    name="esri",
    title="ESRI ASCII grid",
    suffixes=(".asc",),
    spec="https://desktop.arcgis.com/en/arcmap/latest/manage-data/raster-and-images/esri-ascii-raster-format.htm",
    capabilities=sdk.Capabilities(
        groups=False, storage=False, kind=False, names=False, definition_order=False, unlimited="none"
    ),
    detects=r"(?i)\s*ncols\s+[0-9]+\s",
    read="nczarr_esri.grid:read",
    write="nczarr_esri.grid:write",
    losses="nczarr_esri.grid:list_losses",
    display=sdk.Display(dumped=True),
)
"""The row of the format: what it can hold, how it is recognised, and who reads and writes it."""

CODE = "esri-grid"
"""Code of this plugin's diagnostics; `codes/esri-grid.md` is its page."""

_ENTRY = re.compile(rb"\s*([A-Za-z_]+)[ \t]+(\S+)")


def read(source: sdk.Source, report: Report, options: Options) -> Unchecked | None:
    """Return the dataset of a grid; None after an error, which `report` has with its place."""
    text, at, header = bytes(source.data), 0, dict[str, float]()
    while entry := _ENTRY.match(text, at):
        span = sdk.Span(source, entry.start(2), entry.end(2))
        try:
            header[entry[1].decode().lower()] = float(entry[2])
        except ValueError:
            report.error(CODE, f"`{entry[1].decode()}` is not a number", span)
            return None
        at = entry.end()
    here, tokens = sdk.Span(source, at, at), text[at:].split()
    if lacks := [name for name in ("ncols", "nrows", "cellsize") if name not in header]:
        report.error(CODE, f"the header lacks `{lacks[0]}`", here)
        return None
    if wrong := [name for name in header if not math.isfinite(header[name])]:
        report.error(CODE, f"`{wrong[0]}` is not a finite number", here)
        return None
    rows, columns = int(header["nrows"]), int(header["ncols"])
    if rows < 1 or columns < 1 or len(tokens) != rows * columns:
        report.error(CODE, f"{rows} rows of {columns} cells are {rows * columns} values, here are {len(tokens)}", here)
        return None
    numbers = (*tokens, *(f"{header[name]:.17g}".encode() for name in ("nodata_value",) if name in header))
    is_integer = all(re.fullmatch(rb"-?[0-9]{1,9}", number) for number in numbers)
    try:
        cells = np.array(list(map(float, tokens))).reshape(rows, columns)
    except ValueError as error:
        report.error(CODE, f"a cell is not a number: {error}", here)
        return None
    size, kind, dtype = header["cellsize"], *(("int", "<i4") if is_integer else ("double", "<f8"))
    centers = {name: header.get(f"{name}llcenter", header.get(f"{name}llcorner", 0.0) + size / 2) for name in "xy"}
    missing = sdk.Constant.numbers(kind, [np.dtype(dtype).type(header.get("nodata_value", 0)).item()])
    fill = (sdk.Attribute(name="_FillValue", value=missing),) if "nodata_value" in header else ()
    values = {
        "/y": (centers["y"] + size * np.arange(rows))[::-1].copy(),
        "/x": centers["x"] + size * np.arange(columns),
        "/cells": cells.astype(dtype),
    }
    dataset = sdk.Dataset(
        name=names.stem(source.name.replace("\\", "/").rpartition("/")[2]),
        dimensions=(sdk.Dimension(name="y", size=rows), sdk.Dimension(name="x", size=columns)),
        variables=(
            sdk.Variable(name="y", type="double", dimensions=("/y",)),
            sdk.Variable(name="x", type="double", dimensions=("/x",)),
            sdk.Variable(name="cells", type=kind, dimensions=("/y", "/x"), attributes=fill),
        ),
    )
    parts: dict[str, sdk.Parts] = {
        path: {"": sdk.ArrayInMemory(sdk.Layout(array.dtype.str, array.shape, array.shape), array)}
        for path, array in values.items()
    }
    return Unchecked(dataset, parts=parts)


def write(plan: sdk.StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the text of the one grid of a dataset; an error says what it lacks."""
    grids, problems = find_grids(plan.checked)
    if len(grids) != 1:
        reason = f"{len(grids)} variables are grids" if grids else "; ".join(problems) or "it has no variables"
        report.error(CODE, f"the dataset is not one grid: {reason}")
        return
    yield from write_grid(plan.checked, grids[0])


def write_grid(checked: Checked, path: str) -> Iterator[bytes]:
    """Yield the text of a grid, north up. `path`: its FQN, one of `find_grids`."""
    y, x = read_axes(checked, path)
    size, is_north_up = _cell_size(x), y[0] > y[-1] or len(y) == 1
    fills = [each.value for each in checked.variables[path].attributes if each.name == "_FillValue"]
    header = [f"ncols {len(x)}", f"nrows {len(y)}", f"xllcenter {x[0]}", f"yllcenter {min(y[0], y[-1])}"]
    header += [f"cellsize {size}", *(f"NODATA_value {fill.as_numbers()[0]}" for fill in fills)]
    yield "".join(f"{line}\n" for line in header).encode()
    for number in range(len(y)) if is_north_up else reversed(range(len(y))):
        row = read_outer(checked, path, [number, slice(None)])
        yield (" ".join(map(str, row.tolist() if row.dtype != "<f4" else row)) + "\n").encode()


def read_axes(checked: Checked, path: str) -> list[Any]:
    """Return the coordinates of rows and columns of a grid."""
    return [read_outer(checked, str(axis), [slice(None)]) for axis in checked.variables[path].dimensions]


def list_losses(checked: Checked, options: Options) -> Iterator[Loss]:
    """Yield what a grid does not hold of a dataset: attributes, and further variables."""
    grids, problems = find_grids(checked)
    if not grids:
        yield Loss(CODE, "value", "/", f"no variable is a grid: {'; '.join(problems) or 'none has two dimensions'}")
        return
    held = {*grids, *(axis for path in grids for axis in checked.variables[path].dimensions)}
    owners: dict[str, Any] = {"/": checked.dataset, **checked.variables}
    for path, owner in owners.items():
        if path != "/" and path not in held:
            yield Loss(CODE, "value", path, f"an ESRI grid has no room for variable `{path}`", owner.span)
        elif path not in ("/", "/cells", "/x", "/y"):
            yield Loss(CODE, "annotation", path, f"an ESRI grid has no name for `{path}`", owner.span)
        for attribute in owner.attributes:
            if attribute.name != "_FillValue" or path not in grids:
                text = f"an ESRI grid has no attribute `{attribute.name}` of `{path}`"
                yield Loss(CODE, "annotation", path, text, attribute.span)


def find_grids(checked: Checked) -> tuple[list[str], list[str]]:
    """Return the variables that are grids, and for others of two dimensions the reason."""
    grids, problems = [], []
    for path, variable in checked.variables.items():
        if len(variable.dimensions) == 2:
            problem = _find_problem(checked, path)
            problems += [f"variable `{path}` {problem}"] if problem else []
            grids += [] if problem else [path]
    return grids, problems


def _find_problem(checked: Checked, path: str) -> str | None:
    variable = checked.variables[path]
    if 0 in checked.shapes[path]:
        return "has no cells"
    if variable.type in ("char", "string") or variable.type in checked.types:
        return "does not hold numbers"
    sizes = set()
    for axis in variable.dimensions:
        coordinate = checked.variables.get(str(axis))
        if coordinate is None or coordinate.type not in ("float", "double") or coordinate.dimensions != (axis,):
            return f"has no coordinates along `{axis}`"
        values = read_outer(checked, str(axis), [slice(None)])
        size = _cell_size(values)
        first = min(values[0], values[-1])
        if size is None or sorted(values.tolist()) != (first + size * np.arange(len(values))).tolist():
            return f"has coordinates `{axis}` of different distances"
        sizes |= {size} if len(values) > 1 else set()
    return "has cells that are not square" if len(sizes) > 1 else None


def _cell_size(values: Any) -> float | None:
    """Return the distance of coordinates, the shortest number that is it; None without a distance."""
    if len(values) == 1:
        return 1.0
    distance = abs(float(values[-1] - values[0])) / (len(values) - 1)
    return float(f"{distance:.12g}") or None
