"""5.6 Grid mappings, and Appendix F."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.names import suggest
from nczarr.operations.cf.breaches import find_missing, find_no_text
from nczarr.operations.cf.references import parse_grid_mapping
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.values import has_values, read_pieces
from nczarr.operations.cf.view import INTEGERS, CFDataset, CFVariable

_CENTRAL = ("longitude_of_central_meridian", "latitude_of_projection_origin")
_ORIGIN = ("longitude_of_projection_origin", "latitude_of_projection_origin")

MAPPINGS: dict[str, tuple[str, ...]] = {
    "albers_conical_equal_area": ("standard_parallel", *_CENTRAL),
    "azimuthal_equidistant": _ORIGIN,
    "geostationary": (*_ORIGIN, "perspective_point_height", "sweep_angle_axis|fixed_angle_axis"),
    "healpix": ("indexing_scheme",),
    "lambert_azimuthal_equal_area": _ORIGIN,
    "lambert_conformal_conic": ("standard_parallel", *_CENTRAL),
    "lambert_cylindrical_equal_area": (_CENTRAL[0], "standard_parallel|scale_factor_at_projection_origin"),
    "latitude_longitude": (),
    "mercator": (_ORIGIN[0], "standard_parallel|scale_factor_at_projection_origin"),
    "oblique_mercator": ("azimuth_of_central_line", *_ORIGIN, "scale_factor_at_projection_origin"),
    "orthographic": _ORIGIN,
    "polar_stereographic": (
        "longitude_of_projection_origin|straight_vertical_longitude_from_pole",
        _ORIGIN[1],
        "standard_parallel|scale_factor_at_projection_origin",
    ),
    "rotated_latitude_longitude": ("grid_north_pole_latitude", "grid_north_pole_longitude"),
    "sinusoidal": _ORIGIN[:1],
    "stereographic": (*_ORIGIN, "scale_factor_at_projection_origin"),
    "transverse_mercator": ("scale_factor_at_central_meridian", *_CENTRAL),
    "vertical_perspective": (*_ORIGIN, "perspective_point_height"),
}
"""Grid mappings, with their parameters that are not optional; `|` separates alternatives."""

FIRST_VERSIONS = {"geostationary": (1, 7), "oblique_mercator": (1, 7), "sinusoidal": (1, 7), "healpix": (1, 13)}
"""First versions with grid mappings that CF 1.6 does not have."""

DATUMS = ("reference_ellipsoid_name", "prime_meridian_name", "horizontal_datum_name", "geographic_crs_name")

TEXTS = (*DATUMS, "crs_wkt", "fixed_angle_axis", "geoid_name", "geopotential_datum_name", "grid_mapping_name",
         "indexing_scheme", "projected_crs_name", "sweep_angle_axis")  # fmt: skip

NUMBERS = ("azimuth_of_central_line", "earth_radius", "false_easting", "false_northing", "grid_north_pole_latitude",
           "grid_north_pole_longitude", "inverse_flattening", "latitude_of_projection_origin", "refinement_level",
           "longitude_of_central_meridian", "longitude_of_prime_meridian", "longitude_of_projection_origin",
           "north_pole_grid_longitude", "perspective_point_height", "scale_factor_at_central_meridian",
           "scale_factor_at_projection_origin", "semi_major_axis", "semi_minor_axis", "standard_parallel",
           "straight_vertical_longitude_from_pole", "towgs84")  # fmt: skip


DEPRECATED = {
    ("lambert_cylindrical_equal_area", "scale_factor_at_projection_origin"): "standard_parallel",
    ("polar_stereographic", "straight_vertical_longitude_from_pole"): "longitude_of_projection_origin",
}


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find references to grid mappings and parameters that are wrong."""
    for variable in dataset.variables.values():
        if "grid_mapping" in variable.attributes:
            yield from _find_reference(dataset, variable)
        is_unused = "grid_mapping_name" in variable.attributes and not variable.dimensions
        if is_unused or dataset.is_named_by(variable, "grid_mapping"):
            yield from _find_parameters(dataset, variable)
        if variable.standard_name == "healpix_index":
            yield from _find_indices(dataset, variable)


def _find_reference(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
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


def _find_parameters(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    path, attributes = variable.path, variable.attributes
    node, name = attributes.get("grid_mapping_name"), variable.text("grid_mapping_name")
    if node is None:
        yield Breach("named", f"the grid mapping variable `{path}` has no `grid_mapping_name`", variable.node)
    elif name not in MAPPINGS or dataset.version < FIRST_VERSIONS.get(name, (1, 6)):
        yield Breach("name", f"`grid_mapping_name` of `{path}` is `{name}`", node, "", tuple(suggest(name, MAPPINGS)))
    for attribute in (*TEXTS, *NUMBERS):
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
    for (mapping, attribute), replacement in DEPRECATED.items():
        if name == mapping and attribute in attributes:
            what = f"`{attribute}` of `{path}` is deprecated"
            yield Breach("deprecated", what, attributes[attribute], "", (f"write `{replacement}`",))
    if variable.dimensions:
        yield Breach("scalar", f"the grid mapping variable `{path}` has dimensions", variable.node)
    if name == "healpix":
        yield from _find_refinement(variable)


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


def _find_refinement(variable: CFVariable) -> Iterator[Breach]:
    scheme, node = variable.text("indexing_scheme"), variable.attributes.get("refinement_level")
    if scheme in ("nested", "ring") and node is None:
        yield Breach("refinement", f"`{variable.path}` has no `refinement_level`", variable.node)
    elif node is not None:
        level = variable.value("refinement_level")
        if scheme in ("nuniq", "zuniq") or not (isinstance(level, int) and 0 <= level <= 29):
            yield Breach("refinement", f"`refinement_level` of `{variable.path}` is {level}, beside `{scheme}`", node)


def _find_indices(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    if variable.type not in INTEGERS:
        yield Breach("healpix-index", f"`{variable.path}` has the type `{variable.type}`", variable.node)
        return
    pieces = read_pieces(dataset, variable) if has_values(dataset, variable) else ()
    if any((values[~missing] < 0).any() for values, missing in pieces):
        yield Breach("healpix-index", f"`{variable.path}` has negative values", variable.node)


TOPIC = Topic(load_rules("grid_mapping"), find)
