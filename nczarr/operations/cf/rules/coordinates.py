"""5 Coordinate systems."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.operations.cf.axes import axis_of, units_axis
from nczarr.operations.cf.breaches import find_missing, find_no_text, name_dimensions
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.values import has_values, read_pieces
from nczarr.operations.cf.view import CFDataset, CFVariable


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find coordinates that are not monotonic, missing, or of other dimensions."""
    for variable in dataset.variables.values():
        if variable.is_coordinate and variable.is_numeric:
            yield from _find_coordinate(dataset, variable)
        elif variable.name in map(dataset.label, variable.axes) and len(variable.axes) > 1:
            what = f"`{variable.path}` has {len(variable.axes)} dimensions, and the name of one of them"
            yield Breach("multidimensional", what, variable.node)
        if "coordinates" in variable.attributes:
            yield from find_no_text(variable, "coordinates")
            yield from find_missing(dataset, variable, "coordinates", variable.text("coordinates").split())
            if not dataset.is_container(variable):
                yield from _find_dimensions(dataset, variable)
    if "featureType" not in dataset.root.attributes:
        yield from _find_absent(dataset)


def _find_coordinate(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    for name in ("_FillValue", "missing_value"):
        if name in variable.attributes:
            what = f"the coordinate variable `{variable.path}` has `{name}`"
            yield Breach("fill", what, variable.attributes[name])
    is_projected = variable.standard_name.startswith("projection_") and axis_of(variable) in ("X", "Y")
    if is_projected and "axis" not in variable.attributes:
        yield Breach("axis", f"`{variable.path}` has no `axis`", variable.node)
    if variable.shape[0] > 1 and has_values(dataset, variable):
        fault = find_disorder(dataset, variable)
        if fault:
            yield Breach("monotonic", f"`{variable.path}` {fault}", variable.node)


def find_disorder(dataset: CFDataset, variable: CFVariable) -> str:
    """Return where the values of a coordinate are not strictly monotonic; an empty text if they are."""
    last, direction, start = None, 0.0, 0
    for values, missing in read_pieces(dataset, variable):
        if missing.any():
            return f"has a missing value at index {start + int(missing.argmax())}"
        joined = values if last is None else np.concatenate([np.asarray([last], values.dtype), values])
        if len(joined) > 1:
            greater = joined[1:] > joined[:-1]
            less = joined[1:] < joined[:-1]
            direction = direction or (1.0 if greater[0] else -1.0)
            right = greater if direction > 0 else less
            if not right.all():
                place = int((~right).argmax())
                index = start + place + (1 if last is None else 0)
                return f"is not monotonic: {joined[place]:g} at index {index - 1}, {joined[place + 1]:g} at {index}"
        last, start = values[-1], start + len(values)
    return ""


def _find_dimensions(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    allowed = dataset.find_spanned(variable) | dataset.find_instances(variable)
    for name in variable.text("coordinates").split():
        other = dataset.resolve(name, variable.group)
        if other is None or other is variable:
            continue
        axes = other.dimensions if other.type != "char" else other.dimensions[:-1]
        if not set(axes) <= allowed:
            shown, ours = name_dimensions(dataset, axes), name_dimensions(dataset, variable.dimensions)
            what = f"`{name}` has the dimensions {shown}, and `{variable.path}`, whose coordinate it is, has {ours}"
            yield Breach("dimensions", what, variable.attributes["coordinates"], name)


def _find_absent(dataset: CFDataset) -> Iterator[Breach]:
    """Find dimensions with the name of an axis whose coordinates are in a variable of another name."""
    for variable in dataset.data:
        for other in dataset.list_named(variable, "coordinates"):
            if len(other.dimensions) != 1 or other.is_coordinate or not units_axis(other) or not other.is_numeric:
                continue
            axis = other.dimensions[0]
            name = dataset.label(axis)
            if name.lower() not in NAMES or NAMES[name.lower()] != units_axis(other) or axis not in variable.dimensions:
                continue
            if dataset.coordinate_of(axis, variable.group) is None:
                what = f"the dimension `{name}` of `{variable.path}` has no coordinate variable"
                yield Breach("present", what, variable.node, "", (f"rename `{other.path}` to `{name}`",))


NAMES = {"lat": "Y", "latitude": "Y", "lon": "X", "longitude": "X", "time": "T", "height": "Z", "depth": "Z",
         "lev": "Z", "level": "Z", "plev": "Z"}  # fmt: skip
"""Names of dimensions that say their axis."""

TOPIC = Topic(load_rules("coordinates"), find)
