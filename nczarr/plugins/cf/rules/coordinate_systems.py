"""5 Coordinate systems and domains, 6.1 Labels, and Appendix F."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf.coordinates import axis_of, has_values, read_pieces, units_axis
from nczarr.plugins.cf.references import parse_grid_mapping
from nczarr.plugins.cf.rule import (
    Breach,
    find_missing,
    find_missing_dimensions,
    find_no_text,
    load_table,
    name_dimensions,
)
from nczarr.plugins.cf.view import INTEGERS, CFDataset, CFVariable


# ---- 5 Coordinate systems ---------------------------------------------------------------------------------------
def check_coordinates(dataset: CFDataset) -> Iterator[Breach]:
    """Find coordinates that are not monotonic, missing, or of other dimensions."""
    for variable in dataset.variables.values():
        if variable.is_coordinate and variable.is_numeric:
            yield from _check_coordinate_variable(dataset, variable)
        elif variable.name in map(dataset.label, variable.axes) and len(variable.axes) > 1:
            what = f"`{variable.path}` has {len(variable.axes)} dimensions, and the name of one of them"
            yield Breach("multidimensional", what, variable.node)
        if "coordinates" in variable.attributes:
            yield from find_no_text(variable, "coordinates")
            yield from find_missing(dataset, variable, "coordinates", variable.text("coordinates").split())
            if not dataset.is_container(variable):
                yield from _check_dimensions_of_coordinates(dataset, variable)
    if "featureType" not in dataset.root.attributes:
        yield from _find_absent(dataset)


def _check_coordinate_variable(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    for name in MISSING_MARKS:  # 5: neither is allowed
        if name in variable.attributes:
            what = f"the coordinate variable `{variable.path}` has `{name}`"
            yield Breach("fill", what, variable.attributes[name])
    is_projected = variable.standard_name.startswith("projection_") and axis_of(variable) in ("X", "Y")
    if is_projected and "axis" not in variable.attributes:
        yield Breach("axis", f"`{variable.path}` has no `axis`", variable.node)
    if variable.shape[0] > 1 and has_values(dataset, variable):  # 5: strictly monotonic
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


def _check_dimensions_of_coordinates(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    """Find names in `coordinates` whose variables have dimensions that the variable does not have."""
    allowed = dataset.find_spanned(variable) | dataset.find_instances(variable)
    for name in variable.text("coordinates").split():
        other = dataset.resolve(name, variable.group)
        if other is None or other is variable:
            continue
        axes = other.dimensions if other.type != "char" else other.dimensions[:-1]  # 6.1: the last axis is of the text
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


# ---- 5.6 Grid mappings, and Appendix F --------------------------------------------------------------------------
_TABLE = load_table("grid_mapping")
MAPPINGS: dict[str, list[str]] = _TABLE["mappings"]
"""Grid mappings, with their parameters that are not optional; `|` separates alternatives."""

FIRST_VERSIONS = {"geostationary": (1, 7), "oblique_mercator": (1, 7), "sinusoidal": (1, 7), "healpix": (1, 13)}
"""First versions with grid mappings that CF 1.6 does not have."""

DATUMS = _TABLE["datums"]
TEXTS = (*DATUMS, *_TABLE["texts"])


def check_grid_mapping(dataset: CFDataset) -> Iterator[Breach]:
    """Find references to grid mappings and parameters that are wrong."""
    for variable in dataset.variables.values():
        if "grid_mapping" in variable.attributes:
            yield from _check_grid_mapping(dataset, variable)
        is_unused = "grid_mapping_name" in variable.attributes and not variable.dimensions
        if is_unused or dataset.is_named_by(variable, "grid_mapping"):
            yield from _check_grid_mapping_variable(dataset, variable)
        if variable.standard_name == "healpix_index":
            yield from _check_healpix_indices(dataset, variable)


def _check_grid_mapping(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["grid_mapping"]
    mappings = parse_grid_mapping(variable.text("grid_mapping"))
    if mappings is None:
        yield from find_no_text(variable, "grid_mapping", "form")
        yield Breach("form", f"`grid_mapping` of `{variable.path}` has no valid form", node)
        return
    for mapping in mappings:
        words = (mapping.name, *mapping.coordinates)
        yield from find_missing(dataset, variable, "grid_mapping", words)
        for name in mapping.coordinates:
            other = dataset.resolve(name, variable.group)
            if other is None or other.is_coordinate:
                continue
            if other.path not in {named.path for named in dataset.list_named(variable, "coordinates")}:
                what = f"`grid_mapping` of `{variable.path}` names `{name}`, and `coordinates` does not"
                yield Breach("listed", what, node, name)


def _check_grid_mapping_variable(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    path, attributes = variable.path, variable.attributes
    node, name = attributes.get("grid_mapping_name"), variable.text("grid_mapping_name")
    if node is None:
        yield Breach("named", f"the grid mapping variable `{path}` has no `grid_mapping_name`", variable.node)
    elif name not in MAPPINGS or dataset.version < FIRST_VERSIONS.get(name, (1, 6)):
        yield Breach("name", f"`grid_mapping_name` of `{path}` is `{name}`", node, "", tuple(suggest(name, MAPPINGS)))
    for attribute in (*TEXTS, *_TABLE["numbers"]):
        kind = variable.kind(attribute)
        if kind and (kind == "text") != (attribute in TEXTS):
            expected = "a text" if attribute in TEXTS else "a number"
            yield Breach("type", f"`{attribute}` of `{path}` is not {expected}", attributes[attribute])
    datums = [attribute for attribute in DATUMS if attribute in attributes]
    if datums and len(datums) < len(DATUMS):
        absent = next(attribute for attribute in DATUMS if attribute not in attributes)
        yield Breach("datum", f"`{path}` has `{datums[0]}`, and no `{absent}`", attributes[datums[0]])
    if "projected_crs_name" in attributes and "geographic_crs_name" not in attributes:
        what = f"`{path}` has `projected_crs_name`, and no `geographic_crs_name`"
        yield Breach("projected", what, attributes["projected_crs_name"])
    if "crs_wkt" in attributes and not _is_wkt(variable.text("crs_wkt")):
        yield Breach("wkt", f"`crs_wkt` of `{path}` is not WKT", attributes["crs_wkt"])
    for parameter in MAPPINGS.get(name, ()):
        if not any(alternative in attributes for alternative in parameter.split("|")) and "crs_wkt" not in attributes:
            shown = " or ".join(f"`{alternative}`" for alternative in parameter.split("|"))
            yield Breach("parameters", f"`{path}` is `{name}`, and has no {shown}", variable.node)
    for attribute, replacement in _TABLE["deprecated"].get(name, {}).items():
        if attribute in attributes:
            what = f"`{attribute}` of `{path}` is deprecated"
            yield Breach("deprecated", what, attributes[attribute], "", (f"write `{replacement}`",))
    if variable.dimensions:
        yield Breach("scalar", f"the grid mapping variable `{path}` has dimensions", variable.node)
    if name == "healpix":
        yield from _check_refinement_level(variable)


def _is_wkt(text: str) -> bool:
    """Return whether a text has a keyword and balanced brackets."""
    opened, _, _ = text.partition("[")
    return (
        bool(opened)
        and opened.strip().replace("_", "").isalnum()
        and "[" in text
        and text.endswith("]")
        and (text.count("[") == text.count("]"))
    )


def _check_refinement_level(variable: CFVariable) -> Iterator[Breach]:
    scheme, node = variable.text("indexing_scheme"), variable.attributes.get("refinement_level")
    if scheme in ("nested", "ring") and node is None:
        yield Breach("refinement", f"`{variable.path}` has no `refinement_level`", variable.node)
    elif node is not None:
        level = variable.value("refinement_level")
        if scheme in ("nuniq", "zuniq") or not (isinstance(level, int) and 0 <= level <= 29):
            yield Breach("refinement", f"`refinement_level` of `{variable.path}` is {level}, beside `{scheme}`", node)


def _check_healpix_indices(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    if variable.type not in INTEGERS:
        yield Breach("healpix-index", f"`{variable.path}` has the type `{variable.type}`", variable.node)
        return
    pieces = read_pieces(dataset, variable) if has_values(dataset, variable) else ()
    if any((values[~missing] < 0).any() for values, missing in pieces):
        yield Breach("healpix-index", f"`{variable.path}` has negative values", variable.node)


# ---- 5.8 Domain variables ---------------------------------------------------------------------------------------


def check_domain(dataset: CFDataset) -> Iterator[Breach]:
    """Find domains whose dimensions and coordinates do not agree."""
    for variable in dataset.variables.values():
        if not dataset.is_domain(variable):
            continue
        names_of = variable.text("dimensions").split()
        yield from find_no_text(variable, "dimensions")
        yield from find_missing_dimensions(dataset, variable, "dimensions", names_of)
        axes: set[object] = {dataset.resolve_dimension(name, variable.group) for name in names_of}
        axes |= {dataset.sampled.get(axis) for axis in axes}
        for attribute in ("coordinates", "cell_measures"):
            for other in dataset.list_named(variable, attribute):
                if not set(other.axes) <= axes:
                    what = f"`{other.name}` of the domain `{variable.path}` has the dimensions"
                    what = f"{what} {name_dimensions(dataset, other.axes)}"
                    yield Breach("coordinates", what, variable.attributes[attribute], other.name)
        if "long_name" not in variable.attributes:
            yield Breach("described", f"the domain `{variable.path}` has no `long_name`", variable.node)
        for name in load_table("domain")["data_only"]:
            if name in variable.attributes:
                what = f"the domain `{variable.path}` has the attribute `{name}`"
                yield Breach("attributes", what, variable.attributes[name])


# ---- 6.1 Labels -------------------------------------------------------------------------------------------------
def check_labels(dataset: CFDataset) -> Iterator[Breach]:
    """Find labels with other dimensions than their data variables have."""
    for variable in dataset.variables.values():
        if dataset.is_container(variable) and not dataset.is_domain(variable):
            continue
        for label in dataset.list_named(variable, "coordinates"):
            if label.type not in ("char", "string"):
                continue
            node = variable.attributes["coordinates"]
            if len(label.axes) > 1:
                what = f"the label `{label.path}` has {len(label.dimensions)} dimensions"
                yield Breach("dimensions", what, node, label.name)
            allowed = dataset.find_spanned(variable) | dataset.find_instances(variable)
            if len(label.axes) == 1 and label.axes[0] not in allowed and not dataset.is_domain(variable):
                what = f"the label `{label.path}` has the dimension `{dataset.label(label.axes[0])}`"
                yield Breach("match", f"{what}, which `{variable.path}` does not have", node, label.name)
