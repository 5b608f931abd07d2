"""Datasets as items of a SpatioTemporal Asset Catalog, with the datacube extension."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.pipeline.info import DatasetFacts, VariableFacts
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import attributes_of, is_numeric, physical, text_of
from nczarr.semantics.checked import Checked, find_coordinates
from nczarr.stores import local_paths

VERSION = "1.0.0"
EXTENSION = "https://stac-extensions.github.io/datacube/v2.2.0/schema.json"

AXES = {
    "x": re.compile(r"longitude|degrees?_?e(ast)?|X", re.IGNORECASE),
    "y": re.compile(r"latitude|degrees?_?n(orth)?|Y", re.IGNORECASE),
}
"""Standard names, units and axes of horizontal coordinates."""

MEDIA = {
    ".nc": "application/netcdf",
    ".nc4": "application/netcdf",
    ".h5": "application/x-hdf5",
    ".json": "application/json",
}
"""Media types of files by suffix; stores are `application/vnd+zarr`."""

_DATE = re.compile(r"(-?[0-9]{4,})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9:.]+))?")


def make_item(facts: DatasetFacts, checked: Checked, is_store: bool) -> dict[str, Any]:
    """Return the item of a dataset as JSON has it. Reads coordinates; raises OSError, CompileError.

    Without times the date is that of the last change of a local file, else the start of 1970.
    """
    dimensions = {path: _describe_dimension(checked, path, length) for path, (length, _) in facts.dimensions.items()}
    extents = {entry["axis"]: entry["extent"] for entry in dimensions.values() if entry["type"] == "spatial"}
    span = next((entry["extent"] for entry in dimensions.values() if entry["type"] == "temporal"), None)
    properties: dict[str, Any] = {"datetime": None}
    if span is not None and None not in span:
        properties |= {"start_datetime": span[0], "end_datetime": span[1]}
    else:
        changed = os.stat(facts.path).st_mtime if os.path.exists(facts.path) else 0
        properties["datetime"] = datetime.fromtimestamp(int(changed), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if facts.title:
        properties["title"] = facts.title
    short = {path: names.readable(names.last(path)) for path in dimensions}
    properties["cube:dimensions"] = {short[path]: entry for path, entry in dimensions.items()}
    properties["cube:variables"] = {
        names.readable(entry.path.lstrip("/")): _describe_variable(checked, entry, short) for entry in facts.variables
    }
    item: dict[str, Any] = {
        "type": "Feature",
        "stac_version": VERSION,
        "stac_extensions": [EXTENSION],
        "id": local_paths.name_of(facts.path) or "dataset",
        "geometry": None,
        "properties": properties,
        "links": [],
        "assets": {"data": {"href": facts.path, "roles": ["data"], "type": _media_type(facts.path, is_store)}},
    }
    if {"x", "y"} <= set(extents) and None not in (*extents["x"], *extents["y"]):
        item["bbox"], item["geometry"] = _place(extents["x"], extents["y"])
    return item


def _media_type(path: str, is_store: bool) -> str:
    suffix = local_paths.suffix_of(path).lower()
    return "application/vnd+zarr" if is_store else MEDIA.get(suffix, "application/octet-stream")


def _describe_dimension(checked: Checked, path: str, length: int) -> dict[str, Any]:
    """Return a dimension of the cube, with the extent of its coordinate."""
    if path not in find_coordinates(checked) or not length or not is_numeric(checked, path):
        return {"type": "other", "extent": [0, max(0, length - 1)]}
    attributes, decoding = attributes_of(checked, path), physical(checked, path)
    values = decoding.floats(read_outer(checked, path, [slice(0, length)]))
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (None, None)
    if decoding.times is not None:
        dates = [None if value is None else _write_date(decoding.text(value)) for value in (low, high)]
        return {"type": "temporal", "extent": dates}
    words = [str(attributes.get(name, "")) for name in ("standard_name", "units", "axis")]
    for axis, pattern in AXES.items():
        if any(pattern.fullmatch(word.strip()) for word in words):
            return {"type": "spatial", "axis": axis, "extent": [low, high], "reference_system": 4326}
    vertical = str(attributes.get("axis", "")).upper() == "Z" or "positive" in attributes
    described: dict[str, Any] = {"type": "spatial", "axis": "z"} if vertical else {"type": "other"}
    units = text_of(attributes, "units")
    return {**described, "extent": [low, high], **({"unit": units} if units else {})}


def _write_date(text: str) -> str | None:
    """Return a date of any calendar as RFC 3339 has it; of days that no year has, the one before."""
    match = _DATE.match(text)
    if match is None or match[1].startswith("-"):
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    while day > 28:
        try:
            datetime(max(1, min(year, 9999)), month, day, tzinfo=UTC)
            break
        except ValueError:
            day -= 1
    clock = (match[4] or "00:00:00").partition(".")[0]
    clock += ":00" * (2 - clock.count(":"))
    return f"{year:04}-{month:02}-{day:02}T{clock}Z"


def _describe_variable(checked: Checked, entry: VariableFacts, short: dict[str, str]) -> dict[str, Any]:
    attributes, variable = attributes_of(checked, entry.path), checked.variables[entry.path]
    described: dict[str, Any] = {
        "type": "auxiliary" if entry.path in find_coordinates(checked) else "data",
        "dimensions": [short[name] for name in map(str, variable.dimensions) if name in short],
    }
    for member, name in (("description", "long_name"), ("unit", "units")):
        text = text_of(attributes, name)
        if text:
            described[member] = text
    return described


def _place(x: list[float], y: list[float]) -> tuple[list[float], dict[str, Any]]:
    """Return box and area of longitudes and latitudes; longitudes beyond 180 continue in the west."""
    west, east = x
    if east - west >= 359 or east - west + (east - west) / 50 >= 360:
        west, east = -180.0, 180.0
    west, east = (((value + 180) % 360) - 180 if abs(value) > 180 else value for value in (west, east))
    south, north = max(-90.0, y[0]), min(90.0, y[1])
    boxes = [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]
    rings = [[[left, south], [right, south], [right, north], [left, north], [left, south]] for left, right in boxes]
    if len(rings) == 1:
        return [west, south, east, north], {"type": "Polygon", "coordinates": rings}
    return [west, south, east, north], {"type": "MultiPolygon", "coordinates": [[ring] for ring in rings]}
