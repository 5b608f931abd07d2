"""Aggregation variables in place of the variables of combined files.

Variables of several dimensions along the joined one name their pieces in the sources, and
so do large variables that are the same in all sources, in the first one. Coordinates, their
bounds and small variables are stored as they are. Packed variables get the type of their
unpacked values, because CF unpacks fragments.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.memory import ArrayInMemory, all_fill
from nczarr.arrays.sources.source import Layout, Parts, itemsize
from nczarr.arrays.values.parts import descr
from nczarr.ast import Attribute, Constant, Dimension, Group, Variable
from nczarr.ast.dataset import DEFAULT_STORAGE, MISSING_MARKS, building, map_groups
from nczarr.diagnostics.report import HEAD, Report
from nczarr.diagnostics.secrets import show
from nczarr.options import TargetOptions
from nczarr.pipeline.select.physical import NUMBERS, attributes_of
from nczarr.pipeline.select.subset import set_growth
from nczarr.plugins.combine.aggregation.fragments import CanonicalFragment, canonical_form_of
from nczarr.plugins.combine.aggregation.instructions import DATA, DIMENSIONS
from nczarr.plugins.common.nodes import text_attribute
from nczarr.plugins.unpack.unpack import TYPES, unpacking_of
from nczarr.registry import detect
from nczarr.semantics.check_types import DEFAULT, variable_fill
from nczarr.semantics.checked import Checked, find_coordinates, resize, tables, whole_parts
from nczarr.semantics.resolve import find_in_scope, list_scopes
from nczarr.stores.target_urls import FILE, UnnamedTargetError, UrlNaming
from nczarr.stores.url import is_remote

Lengths = Mapping[str, Sequence[int]]
"""Length of each joined dimension in every file."""

SCALAR = {"dimensions": (), "storage": DEFAULT_STORAGE}
"""Members of an aggregation variable."""

VERSION = 13
"""First minor version of CF 1 with aggregation variables."""

PADDING = -2147483647
"""Default fill value of integers, which pads the rows of a map."""

PACKING = ("scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value", "valid_min", "valid_max",
           "valid_range")  # fmt: skip
"""Attributes of packed values."""


AGGREGATED = NUMBERS | {"char"}
"""Types of variables that name their values; cfdm 1.13.3 reads no file with strings among them."""


def aggregate(
    checked: Checked,
    places: Sequence[str],
    lengths: Lengths,
    orders: Lengths,
    target: str,
    options: TargetOptions,
    report: Report,
) -> tuple[Checked, Checked] | None:
    """Return what an aggregation file of combined files stores, and what it stands for; None after a reported error.

    `places`: paths or URLs of the files; `orders`: numbers of those with cells along
    a dimension, in the order of the result if that is another one. Reports
    unnamed-target, unknown-target. Raises OSError.
    """
    before, naming = report.errors, UrlNaming(target, None, options.writing)
    uris = [_name(place, naming, report) for place in places]
    if report.errors > before:
        return None
    with building():
        chosen = _list_aggregated(checked, lengths, options)
        whole = _unpack(_declare_version(set_growth(checked, dict.fromkeys(checked.dimensions, False))), chosen)
        features = _Features(whole)
        attributes = {path: _describe(path, whole, lengths, orders, uris, features) for path in chosen}

        def change(path: str, group: Group) -> dict[str, Any]:
            """Return the aggregation variables, and in the root what describes their fragments."""
            every = ((attributes.get(names.join(path, node.name)), node) for node in group.variables)
            variables = tuple(
                node.model_copy(update={"attributes": (*node.attributes, *added), **SCALAR}) if added else node
                for added, node in every
            )
            if path != "/":
                return {"variables": variables}
            dimensions = (*group.dimensions, *features.dimensions.values())
            return {"variables": (*variables, *features.variables.values()), "dimensions": dimensions}

        tree = map_groups(whole.dataset, change).model_copy(update={"kind": "nc4"})
        declared = tables(tree)
        stored = whole._replace(
            shapes={**dict.fromkeys(declared.variables, ()), **whole.shapes},
            fills={path: variable_fill(variable, declared) for path, variable in declared.variables.items()},
            parts={**{path: parts for path, parts in whole.parts.items() if path not in attributes}, **features.parts},
        )
        return resize(stored, tree), whole


def _name(place: str, naming: UrlNaming, report: Report) -> str:
    """Return the URI of a fragment dataset; reports unnamed-target, and unknown-target for other files."""
    if not is_remote(place) and os.path.isfile(place):
        with open(place, "rb") as file:
            form = detect("", file.read(HEAD))
        if form is None or not form.target.kinds:
            text = f"an aggregation file cannot name `{show(place)}`, which is neither a netCDF file nor a Zarr store"
            report.error("unknown-target", text, helps=["convert it first: `nczarr convert SRC DST.nc`"])
            return ""
    try:
        uri = naming.url(place)
    except UnnamedTargetError as fault:
        report.error("unnamed-target", f"`{show(place)}`: {fault}", helps=fault.helps)
        return ""
    return uri if is_remote(uri) else FILE * uri.startswith(FILE) + quote(uri.removeprefix(FILE))


def _declare_version(checked: Checked) -> Checked:
    """Return the dataset with a version of CF that has aggregation variables."""
    text = str(attributes_of(checked, "/").get("Conventions") or "")
    version = re.search(r"CF-1\.(\d+)", text)
    if version is not None and int(version[1]) >= VERSION:
        return checked
    new = f"CF-1.{VERSION}"
    text = text.replace(version[0], new) if version is not None else f"{new} {text}".strip()
    others = (attribute for attribute in checked.dataset.attributes if attribute.name != "Conventions")
    return resize(
        checked, checked.dataset.model_copy(update={"attributes": (*others, text_attribute("Conventions", text))})
    )


def _list_aggregated(checked: Checked, lengths: Lengths, target: TargetOptions) -> list[str]:
    """Return the variables that name their values instead of storing them."""
    chosen, coordinates = [], find_coordinates(checked)
    stored = {*coordinates, *coordinates.values()}
    for path, variable in checked.variables.items():
        is_anonymous = any(isinstance(one, int) for one in variable.dimensions)
        if variable.type not in AGGREGATED or path in stored or is_anonymous:
            continue
        is_joined = not lengths.keys().isdisjoint(variable.dimensions)
        rank = len(variable.dimensions) - (variable.type == "char")
        size = math.prod(checked.shapes[path]) * itemsize(descr(variable.type, {}))
        if rank > 1 if is_joined else size > target.writing.embed:
            chosen.append(path)
    return chosen


def _unpack(checked: Checked, chosen: Sequence[str]) -> Checked:
    """Return the dataset with the unpacked values of some variables, as far as they are packed."""
    types = {path: TYPES[found.dtype] for path in chosen if (found := unpacking_of(path, checked)) is not None}

    def unpack(variable: Variable, kind: str) -> Variable:
        """Return a variable of unpacked values; missing ones have a mark that every reader sees."""
        attributes = tuple(attribute for attribute in variable.attributes if attribute.name not in PACKING)
        if any(attribute.name in MISSING_MARKS for attribute in variable.attributes):
            attributes += (Attribute(name="_FillValue", value=Constant.numbers(kind, [DEFAULT[kind]])),)
        return variable.model_copy(update={"type": kind, "attributes": attributes, "storage": DEFAULT_STORAGE})

    def change(path: str, group: Group) -> dict[str, Any]:
        """Return the variables with their unpacked types."""
        every = ((types.get(names.join(path, node.name)), node) for node in group.variables)
        return {"variables": tuple(node if kind is None else unpack(node, kind) for kind, node in every)}

    whole = resize(checked, map_groups(checked.dataset, change))
    fills = {path: variable_fill(whole.variables[path], tables(whole.dataset)) for path in types}
    whole = whole._replace(fills={**whole.fills, **fills})
    parts: dict[str, Parts] = {}
    for path, kind in types.items():
        source = whole_parts(checked, path)[""]
        layout = all_fill(fills[path], kind, checked.shapes[path], {})[""].layout._replace(chunks=source.layout.chunks)
        forms = canonical_form_of(checked, path), canonical_form_of(whole, path)
        parts[path] = {"": CanonicalFragment(source, layout, *forms, "")}
    return whole._replace(parts={**whole.parts, **parts})


def _describe(
    path: str, checked: Checked, lengths: Lengths, orders: Lengths, uris: Sequence[str], features: _Features
) -> tuple[Attribute, ...]:
    """Return the attributes of an aggregation variable, and add what they name to `features`."""
    variable, group = checked.variables[path], names.parent(path)
    axes = [str(reference) for reference in variable.dimensions]
    joined = next((axis for axis in axes if axis in lengths), None)
    along = [1] if joined is None else lengths[joined]
    order = orders.get(joined or "", range(len(along)))
    used = [uris[number].encode() for number in order if along[number]]
    sizes = zip(axes, checked.shapes[path], strict=True)
    rows = [[along[number] for number in order if along[number]] if axis == joined else [size] for axis, size in sizes]
    counts = [len(row) for row in rows]
    table = np.full((len(rows), max(counts)), PADDING, "<i4")
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    identifier = variable.name if group == "/" else "/" + "/".join(names.split(path))
    fragments = [(f"a_{names.last(axis)}", count) for axis, count in zip(axes, counts, strict=True)]
    map_axes = [(f"a_map_{letter}{length}", length) for letter, length in zip("ji", table.shape, strict=True)]
    named = {
        "identifiers": features.put("identifiers", np.array(identifier.encode(), object), []),
        "map": features.put("map", table, map_axes),
        "uris": features.put("uris", np.array(used, object).reshape(counts), fragments),
    }
    place = "" if group == "/" else "/"
    short = {axis: names.last(axis) for axis in axes}
    scopes = list_scopes(group)
    words = (last if find_in_scope(last, scopes, checked.dimensions) == axis else axis for axis, last in short.items())
    data = " ".join(f"{feature}: {place}{name}" for feature, name in named.items())
    return text_attribute(DIMENSIONS, " ".join(words)), text_attribute(DATA, data)


class _Features:
    """Variables that describe fragments, and their dimensions, in the root group; equal ones are shared."""

    def __init__(self, checked: Checked) -> None:
        self.dimensions: dict[tuple[str, int], Dimension] = {}
        self.variables: dict[object, Variable] = {}
        self.parts: dict[str, Parts] = {}
        root = checked.dataset
        self._taken = {node.name for node in itertools.chain(root.dimensions, root.variables, root.groups, root.types)}

    def _name(self, name: str) -> str:
        """Return a free name."""
        free = names.free(name, self._taken.__contains__) if name in self._taken else name
        self._taken.add(free)
        return free

    def _dimension(self, name: str, size: int) -> str:
        """Return the path of a dimension of this length."""
        if (name, size) not in self.dimensions:
            self.dimensions[name, size] = Dimension(name=self._name(name), size=size)
        return names.join("/", self.dimensions[name, size].name)

    def put(self, feature: str, values: NDArray[Any], axes: Sequence[tuple[str, int]]) -> str:
        """Return the name of a variable with these integers or texts along dimensions of these names and lengths."""
        dimensions = tuple(self._dimension(*axis) for axis in axes)
        key = feature, dimensions, tuple(values.reshape(-1).tolist())
        if key not in self.variables:
            kind = "string" if values.dtype.hasobject else "int"
            self.variables[key] = Variable(name=self._name(f"fragment_{feature}"), type=kind, dimensions=dimensions)
            layout = Layout(descr(kind, {}), values.shape, values.shape)
            self.parts[names.join("/", self.variables[key].name)] = {"": ArrayInMemory(layout, values)}
        return self.variables[key].name
