"""Metadata of pyramids: the conventions `multiscales`, `spatial:` and `proj:` of Zarr (GeoZarr), and OME-Zarr 0.5.

Sources: https://github.com/zarr-conventions/multiscales (version 0.1), https://github.com/zarr-conventions/spatial, and
https://ngff.openmicroscopy.org/0.5. A level of `multiscales` is a group; beside a store's own arrays, whose level 0 is
no group of its own, it is an array. Translations count from the corners of cells, as `spatial:transform` does, so that
they are zero; those of OME-Zarr from their centres.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.ast import Attribute, Constant
from nczarr.ast.plain_json import find_json, narrow
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import is_numeric, physical
from nczarr.plugins.cf.coordinates import axis_of
from nczarr.plugins.cf.geo_attributes import ENTRIES, LIST
from nczarr.plugins.cf.geo_conventions import EVEN, list_declarations
from nczarr.plugins.cf.view import CFDataset
from nczarr.plugins.common.nodes import python_value
from nczarr.plugins.pyramid.spec import RECORD, PyramidPlan
from nczarr.semantics.checked import Checked

Json = dict[str, Any]

UUID = "d35379db-88df-4056-af3a-620245f8e347"
ENTRY = {
    "schema_url": "https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v0.1/schema.json",
    "spec_url": "https://github.com/zarr-conventions/multiscales/blob/v0.1/README.md",
    "uuid": UUID,
    "name": "multiscales",
    "description": "Multiscale layout of zarr datasets",
}
"""Entry of `zarr_conventions` for pyramids."""

RESAMPLING = {"mean": "average"}
"""Names of methods in the convention, where they differ."""

OME = "0.5"
"""Version of OME-Zarr."""

UNITS = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), "meter"),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre"), "kilometer"),
    **dict.fromkeys(("mm", "millimeter", "millimetre"), "millimeter"),
    **dict.fromkeys(("um", "micrometer", "micrometre", "micron"), "micrometer"),
    **dict.fromkeys(("nm", "nanometer", "nanometre"), "nanometer"),
    **dict.fromkeys(("s", "second", "seconds"), "second"),
    **{word + end: word for word in ("day", "hour", "minute") for end in ("", "s")},
}
"""Units of OME-Zarr by those of netCDF."""


class LevelFacts(NamedTuple):
    """A pyramid whose metadata are written."""

    checked: Checked
    """Level 0 by itself."""
    plan: PyramidPlan
    base: str
    """FQN of the group with level 0; empty: the root, beside the levels."""

    def asset(self, level: int, path: str = "") -> str:
        """Return the place of a level, or of a variable in it, relative to the group above the levels."""
        above = "" if level == 0 and not self.base else str(level)
        return "/".join((*([above] if above else []), *names.split(path or "/")))

    def shape(self, path: str, level: int) -> tuple[int, ...]:
        """Return the shape of a variable at a level."""
        variable = self.checked.variables[path]
        lengths = zip(variable.dimensions, self.checked.shapes[path], strict=True)
        return tuple(self.plan.length(str(one), length, level) for one, length in lengths)

    def factors(self, path: str, level: int) -> list[int]:
        """Return the cells of level 0 in a cell of a level, along each dimension of a variable."""
        step = self.plan.spec.factor**level
        return [step if one in self.plan.reduced else 1 for one in self.checked.variables[path].dimensions]


def make_attribute(name: str, value: Any) -> Attribute:
    """Return an attribute with a JSON value."""
    constant = narrow(value)
    return Attribute(name=name, value=constant, json=find_json(constant, value, typed=False))


def without_metadata(attributes: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Return the attributes of the group above the levels without those that describe these."""
    remaining = []
    for one in attributes:
        if one.name == LIST and one.json is not None:
            entries = [each for each in json.loads(one.json) if not isinstance(each, dict) or each.get("uuid") != UUID]
            remaining += [make_attribute(LIST, entries)] if entries else []
        elif one.name not in ("multiscales", "ome", RECORD):
            remaining.append(one)
    return tuple(remaining)


def describe_grids(facts: LevelFacts, report: Report) -> dict[str, Json]:
    """Return the attributes of `spatial:` and `proj:` of the variables of level 0. Raises OSError, CompileError."""
    if "geo" not in facts.plan.spec.conventions:
        return {}
    found = list_declarations(facts.checked, Report())
    own = {path: {one.name for one in facts.checked.variables[path].attributes} for path in facts.plan.methods}
    grids = {}
    for path in facts.plan.methods:
        members = {name: value for name, value in found.get(path, {}).items() if name != LIST}
        if "proj:code" in members:  # one form of the system alone
            members.pop("proj:wkt2", None)
        if members and not any(name.startswith(("spatial:", "proj:")) for name in own[path]):
            grids[path] = members
    return grids


def scale_grid(members: Mapping[str, Any], dimensions: Mapping[str, tuple[int, int]]) -> Json:
    """Return attributes of `spatial:` with the cells of a level.

    `dimensions`: cells of level 0 in one cell, and number of cells, by simple name.
    """
    scaled = dict(members)
    axes = scaled.get("spatial:dimensions")
    transform = scaled.get("spatial:transform")
    cells = [dimensions[one] for one in axes if one in dimensions] if isinstance(axes, list) else []
    if len(cells) != 2:
        return scaled
    (down, rows), (right, columns) = cells
    if "spatial:shape" in scaled:
        scaled["spatial:shape"] = [rows, columns]
    if isinstance(transform, list) and len(transform) == 6:
        a, b, left, d, e, top = transform
        scaled["spatial:transform"] = [a * right, b * down, left, d * right, e * down, top]
        if "spatial:bbox" in scaled:
            a, b, _, d, e, _ = scaled["spatial:transform"]
            corners = [(left + a * x + b * y, top + d * x + e * y) for x in (0, columns) for y in (0, rows)]
            xs, ys = zip(*corners, strict=True)
            scaled["spatial:bbox"] = [min(xs), min(ys), max(xs), max(ys)]
    return scaled


def list_conventions(members: Iterable[str]) -> list[Json]:
    """Return the entries of `zarr_conventions` for the prefixes of attributes."""
    prefixes = sorted({name.partition(":")[0] + ":" for name in members})
    return [{**ENTRIES[one], "description": ENTRIES[one]["description"].partition(";")[0]} for one in prefixes]


def describe_pyramid(facts: LevelFacts, grids: Mapping[str, Json], report: Report) -> Json:
    """Return the attributes of the group above the levels. Reports unsuited-axes. Raises OSError, CompileError."""
    members: Json = {}
    if "geo" in facts.plan.spec.conventions:
        methods = {RESAMPLING.get(method, method) for method in facts.plan.methods.values()}
        members[LIST] = [ENTRY]
        members["multiscales"] = {"layout": list(_list_layout(facts, grids))}
        if len(methods) == 1:
            members["multiscales"]["resampling_method"] = methods.pop()
    if "ome" in facts.plan.spec.conventions:
        images = [image for path in facts.plan.methods if (image := _describe_image(facts, path, report)) is not None]
        if images:
            members["ome"] = {"version": OME, "multiscales": images}
    return members


def _list_layout(facts: LevelFacts, grids: Mapping[str, Json]) -> Iterator[Json]:
    """Yield the entries of `layout`: a group for each level, or an array for each level of each variable."""
    factor = float(facts.plan.spec.factor)
    paths = list(facts.plan.methods)
    chains = [""] if facts.base else paths
    for chain in chains:
        path = chain or paths[0]
        method = facts.plan.methods[path]
        axes = [name for name in facts.checked.variables[path].dimensions if name in facts.plan.reduced or chain]
        scale = [factor if one in facts.plan.reduced else 1.0 for one in axes]
        is_common = chain or len({tuple(map(str, facts.checked.variables[one].dimensions[-2:])) for one in paths}) == 1
        for level in range(facts.plan.levels + 1):
            entry: Json = {"asset": facts.asset(level, chain)}
            if level:
                entry["derived_from"] = facts.asset(level - 1, chain)
            entry["transform"] = {
                "scale": scale if level else [1.0] * len(axes),
                "translation": [0.0] * len(axes),
            }
            if level and (chain or len(set(facts.plan.methods.values())) == 1):
                entry["resampling_method"] = RESAMPLING.get(method, method)
            grid = grids.get(path, {}) if is_common else {}
            scaled = scale_grid(grid, measure(facts, path, level))
            entry.update({name: scaled[name] for name in ("spatial:shape", "spatial:transform") if name in scaled})
            yield entry


def measure(facts: LevelFacts, path: str, level: int) -> dict[str, tuple[int, int]]:
    """Return the cells of level 0 in a cell, and the number of cells, by simple name of a variable's dimensions."""
    variable = facts.checked.variables[path]
    together = zip(variable.dimensions, facts.factors(path, level), facts.shape(path, level), strict=True)
    return {names.last(one): (factor, length) for one, factor, length in together if isinstance(one, str)}


def scale_attributes(attributes: Iterable[Attribute], cells: Mapping[str, tuple[int, int]]) -> list[Attribute]:
    """Return attributes of a variable or group at a level: geotransforms with its cells, all others as they are."""
    attributes = list(attributes)
    found: Json = {}
    for one in attributes:
        if one.name.startswith("spatial:"):
            found[one.name] = json.loads(one.json) if one.json is not None else python_value(one.value)
    scaled = scale_grid(found, cells) if found else {}
    return [
        make_attribute(one.name, scaled[one.name]) if scaled.get(one.name) != found.get(one.name) else one
        for one in attributes
    ]


def scale_geotransform(attributes: Iterable[Attribute], down: int, right: int) -> list[Attribute]:
    """Return attributes of a grid mapping with the `GeoTransform` of GDAL for larger cells."""
    scaled = []
    for one in attributes:
        text = python_value(one.value) if one.name == "GeoTransform" else None
        numbers = text.split() if isinstance(text, str) else []
        if len(numbers) == 6 and all(re.fullmatch(r"[-+.0-9eE]+", number) for number in numbers):
            factors = (None, right, down, None, right, down)
            words = [
                number if factor is None else f"{float(number) * factor:.17g}"
                for number, factor in zip(numbers, factors, strict=True)
            ]
            one = Attribute(name=one.name, value=Constant.text(" ".join(words).encode()))
        scaled.append(one)
    return scaled


# ---- OME-Zarr -------------------------------------------------------------------------------------------------------
def _describe_image(facts: LevelFacts, path: str, report: Report) -> Json | None:
    """Return an image of OME-Zarr, of one variable; None if its axes do not fit, which is reported (unsuited-axes)."""
    variable = facts.checked.variables[path]
    axes = [_describe_axis(facts, dimension) for dimension in variable.dimensions]
    kinds = [axis.get("type") for axis, _, _ in axes]
    order = {"time": 0, "channel": 1, None: 1, "space": 2}
    places = [order[kind] for kind in kinds]
    if places != sorted(places) or not 2 <= kinds.count("space") <= 3 or len(kinds) > 5 or places.count(1) > 1:
        text = f"`{path}` has no metadata of OME-Zarr, whose axes are a time, a channel, and 2 or 3 of space"
        report.warning("unsuited-axes", text, variable.span)
        return None
    method = facts.plan.methods[path]
    datasets = []
    for level in range(facts.plan.levels + 1):
        factors = facts.factors(path, level)
        scale = [abs(step) * factor for (_, _, step), factor in zip(axes, factors, strict=True)]
        moved = [first + abs(step) * (factor - 1) / 2 for (_, first, step), factor in zip(axes, factors, strict=True)]
        transformations = [{"type": "scale", "scale": scale}, {"type": "translation", "translation": moved}]
        datasets.append({"path": facts.asset(level, path), "coordinateTransformations": transformations})
    return {"name": variable.name, "axes": [axis for axis, _, _ in axes], "datasets": datasets, "type": method}


def _describe_axis(facts: LevelFacts, reference: str | int) -> tuple[Json, float, float]:
    """Return an axis of OME-Zarr, the place of the first cell, and the distance of cells. Raises OSError.

    Scales are positive: places along a descending coordinate are distances from its first cell. Along an uneven one,
    cells are counted.
    """
    checked, path = facts.checked, str(reference)
    name = names.last(path) if isinstance(reference, str) else "c"
    coordinate = checked.variables.get(path)
    axis = axis_of(CFDataset(checked).variables[path]) if coordinate is not None else ""
    reduced = path in facts.plan.reduced
    kind = "time" if axis == "T" else "space" if reduced or axis in ("X", "Y", "Z") else "channel"
    described: Json = {"name": name, "type": kind}
    first, step = 0.0, 1.0
    if coordinate is not None and coordinate.dimensions == (path,) and is_numeric(checked, path):
        conversion = physical(checked, path)
        unit = UNITS.get(conversion.units.partition(" since ")[0].strip())
        if unit is not None:
            described["unit"] = unit
        values = conversion.floats(read_outer(checked, path, [slice(None)]))
        steps = values[1:] - values[:-1]
        if len(steps) and abs(steps[0]) > 0 and (abs(steps - steps[0]) <= EVEN * abs(steps[0])).all():
            step = float((values[-1] - values[0]) / len(steps))
            first = float(values[0]) if step > 0 else 0.0
    return described, first, step
